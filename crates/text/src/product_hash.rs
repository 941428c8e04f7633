//! A fast hash of small values under secret numbers: their product, with its halves combined.
//!
//! The hash may change with the version, so it serves where hashes live no longer than a run.

use twinprint_fingerprint::{ShortFeature, WindowFeature};

/// Multiplies to 128 bits and combines the two halves with XOR.
#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// A feature that is a number, so that it is compared and hashed without its text.
pub(crate) trait NumberFeature: Copy + Default + Eq + Into<ShortFeature> {
    /// The hash of the number under two secret numbers.
    fn product_hash(self, secrets: [u64; 2]) -> u64;
}

impl NumberFeature for ShortFeature {
    #[inline(always)]
    fn product_hash(self, [x, y]: [u64; 2]) -> u64 {
        let number = self.number();
        fold(number as u64 ^ x, (number >> 64) as u64 ^ y)
    }
}

impl NumberFeature for WindowFeature {
    #[inline(always)]
    fn product_hash(self, [x, y]: [u64; 2]) -> u64 {
        fold(self.number() ^ x, y)
    }
}
