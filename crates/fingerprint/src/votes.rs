//! SimHash (Charikar 2002): every feature votes on every bit with its weight.
//!
//! Sum i is Σ weight over the features whose hash has bit i, minus Σ weight over the others; bit i of the
//! fingerprint is 1 where sum i > 0. With `ones` the first of the two sums and `total` the weight of all
//! features, sum i = 2·`ones[i]` − `total`, so only `ones` is counted.
//!
//! Invariant: the counters are exact. The kernels count in narrow lanes and flush before one can overflow;
//! the counters here are 64 bits and would need 2⁴⁷ features of the highest weight (2 PiB of hashes).

use std::marker::PhantomData;

use crate::{Width, kernel};

/// The fingerprint of features given by 128-bit hashes and weights.
///
/// Features are taken in pairs up to the shorter slice. O(features · bits / SIMD lanes); no allocation.
#[must_use]
pub fn simhash<W: Width>(hashes: &[u128], weights: &[u16]) -> W {
    let mut votes = Votes::new();
    votes.add(hashes, weights);
    votes.finish()
}

/// The signed sums of any weighted hashes: the plain definition, and the twin the kernels are tested
/// against. Sums saturate.
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

/// Reusable counters for one fingerprint: add features in any number of calls, then finish.
///
/// The order of the calls does not matter. 1 KiB, no allocation.
#[derive(Debug, Clone)]
pub struct Votes<W> {
    /// Weight of the features with bit i set: bits 0..64, then 64..128 (used at width 128 only).
    ones: [[u64; 64]; 2],
    total: u64,
    width: PhantomData<W>,
}

impl<W: Width> Default for Votes<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Width> Votes<W> {
    /// Counters at zero.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ones: [[0; 64]; 2],
            total: 0,
            width: PhantomData,
        }
    }

    /// Adds features given by 128-bit hashes and weights, in pairs up to the shorter slice.
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

    /// Adds features given by 64-bit hashes and weights, in pairs up to the shorter slice.
    ///
    /// At a width of 128 such a feature has zeros in its high half.
    pub fn add_64(&mut self, hashes: &[u64], weights: &[u16]) {
        let n = hashes.len().min(weights.len());
        let (hashes, weights) = (&hashes[..n], &weights[..n]);
        kernel::vote_64(hashes, weights, &mut self.ones[0]);
        self.total += weights.iter().map(|&w| u64::from(w)).sum::<u64>();
    }

    /// Adds features of weight 1 given by 64-bit hashes.
    ///
    /// At a width of 128 such a feature has zeros in its high half.
    pub fn add_unit_64(&mut self, hashes: &[u64]) {
        kernel::vote_unit_64(hashes, &mut self.ones[0]);
        self.total += hashes.len() as u64;
    }

    /// The signed sums, one a bit, as [`accumulate`] gives them.
    #[must_use]
    pub fn sums(&self) -> Vec<i64> {
        self.used()
            .map(|&ones| ones as i64 - (self.total - ones) as i64)
            .collect()
    }

    /// The fingerprint: bit i is 1 where sum i > 0. With no feature it is 0.
    #[must_use]
    pub fn finish(&self) -> W {
        let bits = self.used().enumerate();
        W::truncate(bits.fold(0, |f, (i, &ones)| f | u128::from(ones > self.total - ones) << i))
    }

    /// Sets the counters back to zero.
    pub fn clear(&mut self) {
        self.ones[0] = [0; 64];
        if W::BITS > 64 {
            self.ones[1] = [0; 64];
        }
        self.total = 0;
    }

    fn used(&self) -> impl Iterator<Item = &u64> {
        self.ones.as_flattened().iter().take(W::BITS as usize)
    }
}
