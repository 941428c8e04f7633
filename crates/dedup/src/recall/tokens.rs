//! The prefix tokens of the sampled texts, each with the texts whose prefix has it.

use rustc_hash::FxHashMap;
use twinprint_index::set::PrefixFilter;

/// The number of bits of the bitmap for each token. One in so many tokens of other texts passes it.
const BITS_PER_TOKEN: usize = 16;

/// An inverted index of prefix tokens, behind a bitmap that rejects most other tokens.
///
/// The prefix of a set is its first tokens in the order of their hashes. Any order is correct.
pub(super) struct SampledTokens {
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
        (token >> (64 - self.address_bits)) as usize
    }

    /// True if a text may have this token in its prefix. False positives are rare.
    pub(super) fn contains(&self, token: u64) -> bool {
        let address = self.address(token);
        self.bitmap[address / 64] >> (address % 64) & 1 == 1 && self.ranges.contains_key(&token)
    }

    /// The texts whose prefix has this token, ascending.
    pub(super) fn texts(&self, token: u64) -> &[u32] {
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
