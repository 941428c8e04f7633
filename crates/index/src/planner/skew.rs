//! An estimate from a sample of how clumped the rows are.
//!
//! H₂ = −log₂ Σ p² over the addresses is the collision entropy of an address; for uniform bits it equals the width. The
//! share of sampled pairs of rows with equal addresses estimates Σ p². The pairs whose addresses differ by a given flip
//! are at most as many as the pairs with equal addresses (Cauchy–Schwarz), so the estimate bounds the work of every
//! radius.

use twinprint_fingerprint::Width;

use crate::address::Address;
use crate::plan::MAX_ADDRESS_BITS;

/// The maximum number of sampled rows: enough to see collisions among 2^18 addresses, and few enough to sort quickly.
const SAMPLE_ROWS: usize = 1 << 14;

/// The number of sampled pairs: enough to see what holds for one pair in ten thousand.
const SAMPLE_PAIRS: usize = 1 << 15;

/// The bits in which sampled pairs of rows differ.
#[derive(Clone, Debug, Default)]
pub(super) struct Differences(Vec<u128>);

impl Differences {
    /// Samples 2¹⁵ pairs of rows at different positions, and returns their differences; none if there are fewer than
    /// two rows.
    pub(super) fn of<W: Width>(rows: &[W]) -> Self {
        let n = rows.len() as u64;
        if n < 2 {
            return Self::default();
        }
        let mut state = 0u64;
        // The high half of a 128-bit product of a uniform number and `bound` is uniform below `bound`.
        let mut below = |bound: u64| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ state >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            ((u128::from(mixed ^ mixed >> 32) * u128::from(bound)) >> 64) as u64
        };
        let pairs = (0..SAMPLE_PAIRS).map(|_| {
            let first = below(n);
            let second = (first + 1 + below(n - 1)) % n;
            rows[first as usize].widen() ^ rows[second as usize].widen()
        });
        Self(pairs.collect())
    }

    /// Returns the share of the sampled pairs that differ in at most `radius` of the bits of `mask`.
    pub(super) fn share(&self, mask: u128, radius: u32) -> f64 {
        let near = self
            .0
            .iter()
            .filter(|&&bits| (bits & mask).count_ones() <= radius);
        near.count() as f64 / self.0.len().max(1) as f64
    }
}

/// A sample of the rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    rows: Vec<u128>,
}

impl Sample {
    /// Samples at most 2¹⁴ rows at regular intervals.
    pub(super) fn of<W: Width>(rows: &[W]) -> Self {
        let step = rows.len().div_ceil(SAMPLE_ROWS).max(1);
        Self {
            rows: rows.iter().step_by(step).map(|r| r.widen()).collect(),
        }
    }

    /// Estimates the skew 2^(u − H₂) of the addresses formed by the u highest bits of `mask`, for each u from 0 to the
    /// width of the mask. The skew is at least 1, and 1 without a sample.
    pub(super) fn skew(&self, mask: u128) -> Vec<f64> {
        let address = Address::new(mask);
        let width = address.bits().min(MAX_ADDRESS_BITS);
        let mut addresses: Vec<u32> = self.rows.iter().map(|&row| address.of(row)).collect();
        addresses.sort_unstable();
        let pairs = (addresses.len() as f64) * (addresses.len() as f64 - 1.0) / 2.0;
        (0..=width)
            .map(|u| {
                let runs = addresses.chunk_by(|a, b| (a ^ b) >> (width - u) == 0);
                let colliding: f64 = runs
                    .map(|run| run.len() as f64 * (run.len() as f64 - 1.0) / 2.0)
                    .sum();
                if pairs > 0.0 {
                    (colliding / pairs * 2f64.powi(u as i32)).max(1.0)
                } else {
                    1.0
                }
            })
            .collect()
    }
}
