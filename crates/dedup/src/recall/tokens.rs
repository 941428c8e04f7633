//! The prefix tokens of the sampled texts, each with the texts whose prefix has it.

use rustc_hash::FxHashMap;
use twinprint_index::set::PrefixFilter;

/// The number of bits of the bitmap for each token. One in so many tokens of other texts passes it.
const BITS_PER_TOKEN: usize = 16;

/// An inverted index of prefix tokens, behind a bitmap that rejects most other tokens.
///
/// The prefix of a set is its first tokens in ascending order. Any order is correct. In this one, all prefixes are in the
/// lowest part of the range of tokens, so most tokens are rejected by their value alone.
pub(super) struct SampledTokens {
    /// The largest token of all prefixes.
    largest: u64,
    bitmap: Vec<u64>,
    /// The number of leading bits of a token that address the bitmap.
    address_bits: u32,
    /// For each token, the range of its texts in `texts`.
    ranges: FxHashMap<u64, (u32, u32)>,
    texts: Vec<u32>,
}

impl SampledTokens {
    /// Indexes the prefixes of sorted sets, which are numbered from 0.
    pub(super) fn new<'s>(sets: impl Iterator<Item = &'s [u64]>, filter: PrefixFilter) -> Self {
        let mut postings: Vec<(u64, u32)> = Vec::new();
        for (number, set) in (0u32..).zip(sets) {
            let prefix = &set[..filter.prefix_len(set.len())];
            postings.extend(prefix.iter().map(|&token| (token, number)));
        }
        postings.sort_unstable();
        let address_bits = (postings.len() * BITS_PER_TOKEN).next_power_of_two().max(64).ilog2();
        let mut tokens = Self {
            largest: postings.last().map_or(0, |posting| posting.0),
            bitmap: vec![0; (1 << address_bits) / 64],
            address_bits,
            ranges: FxHashMap::default(),
            texts: postings.iter().map(|posting| posting.1).collect(),
        };
        let mut from = 0;
        for postings in postings.chunk_by(|a, b| a.0 == b.0) {
            let (token, to) = (postings[0].0, from + postings.len() as u32);
            tokens.ranges.insert(token, (from, to));
            let address = tokens.address(token);
            tokens.bitmap[address / 64] |= 1 << (address % 64);
            from = to;
        }
        tokens
    }

    /// True if no text has a token.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    fn address(&self, token: u64) -> usize {
        // The leading bits of prefix tokens are similar. Those of a product with an odd constant are not.
        (token.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.address_bits)) as usize
    }

    /// The texts whose prefix has this token, ascending.
    #[inline]
    pub(super) fn texts(&self, token: u64) -> &[u32] {
        if token > self.largest {
            return &[];
        }
        let address = self.address(token);
        if self.bitmap[address / 64] >> (address % 64) & 1 == 0 {
            return &[];
        }
        match self.ranges.get(&token) {
            Some(&(from, to)) => &self.texts[from as usize..to as usize],
            None => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_texts_of_a_token_are_those_with_it_in_their_prefix(
            sets in prop::collection::vec(prop::collection::btree_set(0u64..300, 0..40), 0..30),
            threshold in 0.05f64..=1.0,
            tokens in prop::collection::vec(0u64..400, 1..50),
        ) {
            let sets: Vec<Vec<u64>> = sets.into_iter().map(|set| set.into_iter().collect()).collect();
            let filter = PrefixFilter::new(threshold);
            let index = SampledTokens::new(sets.iter().map(Vec::as_slice), filter);
            prop_assert_eq!(index.is_empty(), sets.iter().all(Vec::is_empty));
            for token in tokens {
                let has = |set: &Vec<u64>| set[..filter.prefix_len(set.len())].contains(&token);
                let expected: Vec<u32> =
                    (0u32..).zip(&sets).filter(|(_, set)| has(set)).map(|(number, _)| number).collect();
                prop_assert_eq!(index.texts(token), &expected[..]);
            }
        }
    }
}
