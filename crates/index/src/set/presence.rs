//! An approximate set of tokens, which finds out that a set shares too few tokens with any of many others.

use std::sync::atomic::{AtomicU64, Ordering};

use super::place::{element, table_bits};

/// The number of bits for each added token, up to the largest number of bits. One in sixteen other tokens seems to be in the
/// set then.
const BITS_PER_TOKEN: u64 = 16;
/// log₂ of the smallest and of the largest number of bits: 8 KiB and 64 MiB.
const SIZE_BITS: [u32; 2] = [16, 29];

/// A set of tokens that may seem to contain others, too: a Bloom filter with one hash function (Bloom 1970).
///
/// Adding is commutative: the set depends on what was added, not on when or by which thread.
///
/// ```
/// use twinprint_index::TokenPresence;
///
/// let presence = TokenPresence::new(1000);
/// presence.add(&[1, 2, 3]);
/// assert_eq!(presence.most_present(&[2, 3, 4]), 2);
/// ```
#[derive(Debug)]
pub struct TokenPresence {
    /// A power of two of words.
    words: Box<[AtomicU64]>,
}

impl TokenPresence {
    /// Creates an empty set for about `tokens` tokens. It takes two bytes for each token, up to 64 MiB.
    pub fn new(tokens: u64) -> Self {
        Self {
            words: (0..Self::words_for(tokens)).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn words_for(tokens: u64) -> usize {
        let bits = tokens.saturating_mul(BITS_PER_TOKEN).saturating_add(1);
        1 << (table_bits(bits, SIZE_BITS) - u64::BITS.ilog2())
    }

    /// The memory of a set for about `tokens` tokens, in bytes.
    pub fn bytes_for(tokens: u64) -> usize {
        Self::words_for(tokens) * size_of::<u64>()
    }

    /// The memory in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// The word and the mask of the bit of a token.
    fn place(&self, token: u64) -> (&AtomicU64, u64) {
        // In bounds: an element is below the number of bits.
        let bit = element(token, self.words.len().trailing_zeros() + u64::BITS.ilog2());
        (&self.words[bit / 64], 1 << (bit % 64))
    }

    /// Adds tokens.
    pub fn add(&self, tokens: &[u64]) {
        for &token in tokens {
            let (word, bit) = self.place(token);
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// Returns an upper bound of the number of `tokens` that were added.
    pub fn most_present(&self, tokens: &[u64]) -> usize {
        let present = tokens.iter().filter(|&&token| {
            let (word, bit) = self.place(token);
            word.load(Ordering::Relaxed) & bit != 0
        });
        present.count()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_added_token_is_missed(added in prop::collection::vec(any::<u64>(), 0..300), expected in 0u64..400) {
            let presence = TokenPresence::new(expected);
            presence.add(&added);
            prop_assert_eq!(presence.most_present(&added), added.len());
        }
    }

    #[test]
    fn few_other_tokens_seem_present() {
        let presence = TokenPresence::new(100_000);
        let hash = |i: u64| (i + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let [added, others] =
            [0..100_000, 200_000..300_000].map(|range| range.map(hash).collect::<Vec<u64>>());
        presence.add(&added);
        assert!(presence.most_present(&others) < 8_000);
    }
}
