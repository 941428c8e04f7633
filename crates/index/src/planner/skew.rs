//! How clumped the rows are, from a sample.
//!
//! H₂ = −log₂ Σ p² over the addresses is the collision entropy of an address; for uniform bits it equals the width. The
//! sample estimates Σ p² by its share of colliding pairs. Pairs whose addresses differ by a given flip are at most as
//! many as pairs that share one (Cauchy–Schwarz), so the estimate bounds the work of every radius.

use fingerprint::Width;

use crate::address::{Address, MAX_ADDRESS_BITS};

/// Rows sampled: enough to see 2^18 addresses' collisions, quick to sort.
const SAMPLE: usize = 1 << 14;

/// Sampled rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    rows: Vec<u128>,
}

impl Sample {
    /// At most 2¹⁴ rows at even steps.
    pub(super) fn of<W: Width>(rows: &[W]) -> Self {
        let step = rows.len().div_ceil(SAMPLE).max(1);
        Self {
            rows: rows.iter().step_by(step).map(|r| r.widen()).collect(),
        }
    }

    /// 2^(u − H₂) for the addresses of the u highest bits of `mask`, for each u from 0 to the width of the mask. At least
    /// 1; 1 without a sample.
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
