//! The tokens of the sampled texts, each with the texts that have it.

use twinprint_fingerprint::kernel::prefetch_read;

/// The number of bits of the bitmap for each token. One in so many tokens of other texts passes it.
const BITS_PER_TOKEN: usize = 16;

/// An inverted index of tokens, behind a bitmap that rejects most other tokens.
pub(super) struct SampledTokens {
    bitmap: Vec<u64>,
    /// The number of leading bits of a token that address the bitmap.
    address_bits: u32,
    /// For each word of the bitmap, the number of tokens before those that it has.
    before: Vec<u32>,
    /// The distinct tokens, scrambled and ascending.
    tokens: Vec<u64>,
    /// For each token the position of its first text in `texts`, and the number of all positions.
    starts: Vec<u32>,
    texts: Vec<u32>,
}

impl SampledTokens {
    /// Indexes sets of distinct tokens, each with its number.
    pub(super) fn new<'s>(sets: impl Iterator<Item = (u32, &'s [u64])>) -> Self {
        let mut postings: Vec<(u64, u32)> = Vec::new();
        for (number, set) in sets {
            postings.extend(set.iter().map(|&token| (scrambled(token), number)));
        }
        postings.sort_unstable();
        let address_bits = (postings.len() * BITS_PER_TOKEN)
            .next_power_of_two()
            .max(64)
            .ilog2();
        let mut index = Self {
            bitmap: vec![0; (1 << address_bits) / 64],
            before: Vec::new(),
            address_bits,
            tokens: Vec::new(),
            starts: Vec::new(),
            texts: postings.iter().map(|posting| posting.1).collect(),
        };
        for (at, &(token, _)) in (0u32..).zip(&postings) {
            if index.tokens.last() != Some(&token) {
                index.tokens.push(token);
                index.starts.push(at);
                let address = index.address(token);
                index.bitmap[address / 64] |= 1 << (address % 64);
            }
        }
        index.starts.push(postings.len() as u32);
        let mut position = 0;
        index.before = (0..=index.bitmap.len())
            .map(|word| {
                let is_before = |&&token: &&u64| index.address(token) / 64 < word;
                position += index.tokens[position..].iter().take_while(is_before).count();
                position as u32
            })
            .collect();
        index
    }

    /// True if no text has a token.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The bit of the bitmap for a scrambled token.
    fn address(&self, scrambled: u64) -> usize {
        (scrambled >> (64 - self.address_bits)) as usize
    }

    /// Fetches what [`range`](Self::range) reads first for a token. The bitmap may be larger than the caches of a core.
    #[inline]
    pub(super) fn prefetch(&self, token: u64) {
        prefetch_read(&self.bitmap, self.address(scrambled(token)) / 64);
    }

    /// The range of the texts that have this token; `None` if no text has it.
    #[inline]
    pub(super) fn range(&self, token: u64) -> Option<(u32, u32)> {
        let scrambled = scrambled(token);
        let address = self.address(scrambled);
        if self.bitmap[address / 64] >> (address % 64) & 1 == 0 {
            return None;
        }
        // A word of the bitmap has few tokens.
        let from = self.before[address / 64] as usize;
        let to = self.before[address / 64 + 1] as usize;
        let at = from + self.tokens[from..to].binary_search(&scrambled).ok()?;
        Some((self.starts[at], self.starts[at + 1]))
    }

    /// The texts of a range, ascending.
    pub(super) fn texts(&self, (from, to): (u32, u32)) -> &[u32] {
        &self.texts[from as usize..to as usize]
    }
}

/// The product of a token with an odd constant, so that different tokens stay different. The indexed tokens are the
/// smallest of their sets, so their leading bits are similar; those of the products are not.
fn scrambled(token: u64) -> u64 {
    token.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_texts_of_a_token_are_those_that_have_it(
            sets in prop::collection::vec(prop::collection::btree_set(0u64..300, 0..40), 0..30),
            tokens in prop::collection::vec(0u64..400, 1..50),
        ) {
            let spread = |token: u64| token.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let sets: Vec<Vec<u64>> = sets.into_iter().map(|set| set.into_iter().map(spread).collect()).collect();
            let index = SampledTokens::new((0u32..).zip(sets.iter().map(Vec::as_slice)));
            prop_assert_eq!(index.is_empty(), sets.iter().all(Vec::is_empty));
            for token in tokens.into_iter().map(spread) {
                let texts = (0u32..).zip(&sets).filter(|(_, set)| set.contains(&token));
                let expected: Vec<u32> = texts.map(|(number, _)| number).collect();
                let found = index.range(token).map_or(&[][..], |range| index.texts(range));
                prop_assert_eq!(found, &expected[..]);
            }
        }
    }
}
