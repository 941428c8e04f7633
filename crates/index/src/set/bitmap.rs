//! A bitmap of a set of tokens, by which most pairs of sets below a threshold are excluded without their tokens.

use super::place::element;

/// The number of words of a bitmap.
const WORDS: usize = 2;
/// The number of bits of a bitmap, a power of two.
const BITS: u32 = WORDS as u32 * u64::BITS;

/// 128 bits of a set. Every token has one of the bits, and the bit is set if the set has an odd number of its tokens.
///
/// A token that both sets have adds the same bit to both bitmaps. So the bits in which two bitmaps differ are at most as
/// many as the tokens that only one of the sets has. This bound is never too large, and it is close as long as these
/// tokens are fewer than the bits. (Sandes, Teodoro and Melo, "Bitmap filter: speeding up exact set similarity joins with
/// bitwise operations", Information Systems 2020.)
///
/// ```
/// use twinprint_index::{PrefixFilter, TokenBitmap};
///
/// let [a, b, c] = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [11, 12, 13, 14, 15]].map(|set| TokenBitmap::of(&set));
/// // Two tokens are in one of the first two sets only.
/// assert!(a.difference(b) <= 2);
/// // Sets of five tokens at Jaccard ≥ 0.6 differ in two at most, so the third set is excluded.
/// assert_eq!(PrefixFilter::new(0.6).most_different(5, 5), 2);
/// assert!(a.difference(c) > 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBitmap([u64; WORDS]);

impl TokenBitmap {
    /// Makes the bitmap of a set of distinct tokens. Linear.
    pub fn of(tokens: &[u64]) -> Self {
        let mut bits = [0; WORDS];
        for &token in tokens {
            let bit = element(token, BITS.ilog2());
            bits[bit / 64] ^= 1 << (bit % 64);
        }
        Self(bits)
    }

    /// The words of the bitmap, from which [`from_words`](Self::from_words) makes it again.
    ///
    /// ```
    /// use twinprint_index::TokenBitmap;
    ///
    /// let bitmap = TokenBitmap::of(&[3, 4, 5]);
    /// assert_eq!(TokenBitmap::from_words(bitmap.words()), bitmap);
    /// ```
    #[must_use]
    pub fn words(self) -> [u64; WORDS] {
        self.0
    }

    /// Makes a bitmap from its [`words`](Self::words).
    #[must_use]
    pub fn from_words(words: [u64; WORDS]) -> Self {
        Self(words)
    }

    /// Returns a lower bound on the number of tokens that only one of two sets has.
    #[must_use]
    pub fn difference(self, other: Self) -> u32 {
        let words = self.0.iter().zip(other.0);
        words.map(|(a, b)| (a ^ b).count_ones()).sum()
    }
}
