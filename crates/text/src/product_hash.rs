//! A fast hash of small values under secret numbers: their product, with its halves combined.
//!
//! The hash may change with the version, so it serves where hashes live no longer than a run.

use twinprint_fingerprint::ShortFeature;

/// Multiplies to 128 bits and combines the two halves with XOR.
#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of a feature under two secret numbers.
#[inline(always)]
pub(crate) fn of_feature(feature: ShortFeature, [x, y]: [u64; 2]) -> u64 {
    let number = feature.number();
    fold(number as u64 ^ x, (number >> 64) as u64 ^ y)
}
