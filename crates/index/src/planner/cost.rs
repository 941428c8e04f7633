//! The cost model: nanoseconds of one core.
//!
//! The constants were measured with `cargo bench --bench join` on an AMD EPYC 9004 core (AVX-512, 1 MiB second-level
//! cache) with uniform rows, user time: `compare` from the scan of 4·10⁵ rows (64 bits) and 1.5·10⁵ (128); `sort` and
//! `run` from 4·10⁶ rows in parts of radius 0 addressed by 16 to 23 bits, where little else is left; `bucket_pair` and
//! `gather` from 10⁶ rows in two parts of radius 3 addressed by 14 to 18 bits. `probe`, `candidate` and `scanned` are
//! those of one core with 10⁸ rows in memory beyond the cache. They need only be right to a factor of two or so: plans
//! of nearly equal cost are nearly equally good.

use crate::flips::ball_size;

/// Costs of the steps of a join or lookup, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinCosts {
    /// The cost of comparing two fingerprints of two blocks in cache.
    pub(super) compare: f64,
    /// The cost of sorting one row by address.
    pub(super) sort: f64,
    /// The cost of beginning one run of equal addresses.
    pub(super) run: f64,
    /// The cost of visiting one bucket that a run is compared with.
    pub(super) bucket_pair: f64,
    /// The cost of copying one row of a small bucket next to those of others.
    pub(super) gather: f64,
    /// The cost of probing one address of a table for a query, outside the cache.
    pub(super) probe: f64,
    /// The cost of comparing a query with one candidate of a bucket.
    pub(super) candidate: f64,
    /// The cost of comparing a query with one row of a scan.
    pub(super) scanned: f64,
}

impl JoinCosts {
    pub(super) fn of(bits: u32) -> Self {
        let wide = if bits > 64 { 2.0 } else { 1.0 };
        Self {
            compare: if bits > 64 { 0.12 } else { 0.056 },
            sort: if bits > 64 { 32.0 } else { 22.0 },
            run: 80.0,
            bucket_pair: 6.0,
            gather: 0.25 * wide,
            probe: 28.0,
            candidate: 0.6 * wide,
            scanned: 0.28 * wide,
        }
    }
}

/// The number of rows and the addresses of one table, from which its cost follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableLoad {
    /// The number of rows.
    pub(super) n: f64,
    /// The number of address bits.
    pub(super) u: u32,
    /// The largest number of address bits that may differ.
    pub(super) radius: u32,
    /// The probability that two rows share an address, as a multiple of that of uniform rows: 2^(u − H₂).
    pub(super) skew: f64,
}

impl TableLoad {
    /// The number of comparisons of two rows in one table of a self-join.
    pub(super) fn comparisons(&self) -> f64 {
        self.n * self.n / 2.0 * self.density().min(1.0)
    }

    /// The share of all pairs of rows that are compared.
    fn density(&self) -> f64 {
        ball_size(self.u, self.radius) * self.skew / 2f64.powi(self.u as i32)
    }

    /// The cost of one table of a self-join, in nanoseconds of one core.
    pub(super) fn join(&self, step_costs: &JoinCosts) -> f64 {
        let space = 2f64.powi(self.u as i32);
        let occupied = space * -(-self.n / space).exp_m1();
        let partners = (ball_size(self.u, self.radius) - 1.0) / 2.0;
        // Four rows of a bucket are compared at a time, so a bucket of m rows costs as much as m + 1.5 rows on average.
        let length = self.n / occupied;
        let comparisons = self.comparisons();
        let gathered = (comparisons / length).min(occupied * partners * length);
        step_costs.sort * self.n
            + occupied * (step_costs.run + partners * step_costs.bucket_pair)
            + gathered * step_costs.gather
            + comparisons * (1.0 + 1.5 / length) * step_costs.compare
            + space
    }

    /// The number of probes and the number of candidates of one table for one query.
    pub(super) fn lookup(&self) -> (f64, f64) {
        (ball_size(self.u, self.radius), self.n * self.density().min(1.0))
    }
}
