//! The SimHash fingerprint (Charikar 2002): every feature votes on every bit with its weight.
//!
//! Sum i is Σ weight over the features whose hash has bit i, minus Σ weight over the others; bit i of the
//! fingerprint is 1 where sum i > 0. With `ones` the first of the two sums and `total` the weight of all
//! features, sum i = 2·`ones[i]` − `total`, so only `ones` is counted.
//!
//! Invariant: the counters are exact. The kernels count in narrow lanes and flush before one can overflow;
//! the counters here are 64 bits and would need 2⁴⁷ features of the highest weight (2 PiB of hashes).

use std::marker::PhantomData;

use crate::kernel;
use crate::width::Width;

/// Computes the fingerprint of features, given by their 128-bit hashes and their weights.
///
/// Hashes and weights are paired up to the end of the shorter slice. O(features · bits / SIMD lanes); no
/// allocation.
///
/// ```
/// use twinprint_fingerprint::{HashKey, Width, hash_one, simhash};
///
/// let hashes = ["the", "cat", "sat"].map(|word| hash_one(&HashKey::PUBLIC, word.as_bytes()));
/// let a: u64 = simhash(&hashes, &[1, 1, 1]);
/// let b: u64 = simhash(&hashes, &[2, 2, 2]);
/// assert_eq!(a.distance(b), 0);
/// ```
#[must_use]
pub fn simhash<W: Width>(hashes: &[u128], weights: &[u16]) -> W {
    let mut votes = Votes::new();
    votes.add(hashes, weights);
    votes.finish()
}

/// Computes, for each bit, the sum of the weights of the hashes that have it minus the weights of the others. This is
/// the plain definition that the kernels are tested against. Sums saturate.
///
/// ```
/// use twinprint_fingerprint::{Width, accumulate};
///
/// let sums = accumulate(&[0b01u16, 0b11], &[3, -1]);
/// assert_eq!(sums[..3], [2, -4, -2]);
/// assert_eq!(u16::from_sums(&sums), 0b01);
/// ```
#[must_use]
pub fn accumulate<W: Width>(hashes: &[W], weights: &[i64]) -> Vec<i64> {
    let mut sums = vec![0i64; W::BITS as usize];
    for (&hash, &weight) in hashes.iter().zip(weights) {
        for (i, sum) in (0..W::BITS).zip(&mut sums) {
            *sum = if hash.bit(i) {
                sum.saturating_add(weight)
            } else {
                sum.saturating_sub(weight)
            };
        }
    }
    sums
}

/// Vote counters for one fingerprint, which can be cleared and used for the next.
///
/// Features may be added in any number of calls and in any order. The counters take 1 KiB and no heap memory.
///
/// ```
/// use twinprint_fingerprint::{HashKey, Votes, hash_one, simhash};
///
/// let hashes = ["the", "cat", "sat"].map(|word| hash_one(&HashKey::PUBLIC, word.as_bytes()));
/// let mut votes = Votes::<u64>::new();
/// votes.add(&hashes[..1], &[5]);
/// votes.add(&hashes[1..], &[2, 1]);
/// assert_eq!(votes.finish(), simhash::<u64>(&hashes, &[5, 2, 1]));
/// votes.clear();
/// assert_eq!(votes.finish(), 0);
/// ```
#[derive(Debug, Clone)]
pub struct Votes<W> {
    /// `ones[0][b]` is the total weight of the features whose hash has bit b set, `ones[1][b]` the same for bit 64 + b
    /// (at width 128 only).
    ones: [[u64; 64]; 2],
    /// The total weight of all features.
    total: u64,
    width: PhantomData<W>,
}

impl<W: Width> Default for Votes<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Width> Votes<W> {
    /// Creates counters that are all zero.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ones: [[0; 64]; 2],
            total: 0,
            width: PhantomData,
        }
    }

    /// Adds features, given by their 128-bit hashes and their weights. The two slices are paired up to the end of the
    /// shorter one.
    pub fn add(&mut self, hashes: &[u128], weights: &[u16]) {
        let n = hashes.len().min(weights.len());
        let (hashes, weights) = (&hashes[..n], &weights[..n]);
        if W::BITS > 64 {
            kernel::vote_128(hashes, weights, &mut self.ones);
        } else {
            kernel::vote_low_64(hashes, weights, &mut self.ones[0]);
        }
        self.total += weights.iter().map(|&w| u64::from(w)).sum::<u64>();
    }

    /// Adds features, given by their 64-bit hashes and their weights. The two slices are paired up to the end of the
    /// shorter one.
    ///
    /// At a width of 128 bits, the high 64 bits of these hashes count as zeros.
    pub fn add_64(&mut self, hashes: &[u64], weights: &[u16]) {
        let n = hashes.len().min(weights.len());
        let (hashes, weights) = (&hashes[..n], &weights[..n]);
        kernel::vote_64(hashes, weights, &mut self.ones[0]);
        self.total += weights.iter().map(|&w| u64::from(w)).sum::<u64>();
    }

    /// Adds features of weight 1, given by their 64-bit hashes.
    ///
    /// At a width of 128 bits, the high 64 bits of these hashes count as zeros.
    pub fn add_unit_64(&mut self, hashes: &[u64]) {
        kernel::vote_unit_64(hashes, &mut self.ones[0]);
        self.total += hashes.len() as u64;
    }

    /// Returns the signed sum of each bit, equal to the result of [`accumulate`].
    #[must_use]
    pub fn sums(&self) -> Vec<i64> {
        self.used()
            .map(|&ones| ones as i64 - (self.total - ones) as i64)
            .collect()
    }

    /// Returns the fingerprint: bit i is 1 if its signed sum is positive. Without features the fingerprint is 0.
    #[must_use]
    pub fn finish(&self) -> W {
        let [low, high] = &self.ones;
        let low = u128::from(majorities(low, self.total));
        if W::BITS > 64 {
            W::truncate(u128::from(majorities(high, self.total)) << 64 | low)
        } else {
            W::truncate(low)
        }
    }

    /// Sets the counters back to zero.
    pub fn clear(&mut self) {
        self.ones[0] = [0; 64];
        if W::BITS > 64 {
            self.ones[1] = [0; 64];
        }
        self.total = 0;
    }

    /// Returns the counters of the bits that a fingerprint of this width has.
    fn used(&self) -> impl Iterator<Item = &u64> {
        self.ones.as_flattened().iter().take(W::BITS as usize)
    }
}

/// Returns the bits whose counters are more than half of `total`. In a short text this takes a noticeable share of the time. The
/// processor computes several bytes at once, because none depends on another.
fn majorities(ones: &[u64; 64], total: u64) -> u64 {
    let bit = |bits: u8, &ones: &u64| bits << 1 | u8::from(ones > total - ones);
    let (bytes, _) = ones.as_chunks::<8>();
    let mut number = [0; 8];
    for (byte, ones) in number.iter_mut().zip(bytes) {
        *byte = ones.iter().rev().fold(0, bit);
    }
    u64::from_le_bytes(number)
}
