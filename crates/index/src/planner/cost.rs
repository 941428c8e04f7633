//! The cost model: nanoseconds of one core.
//!
//! The constants were measured with `cargo bench --bench join` on an AMD EPYC 9004 core (AVX-512, 1 MiB second-level cache)
//! with uniform rows, user time: `compare` from the scan of 4·10⁵ rows (64 bits) and 1.5·10⁵ (128); `sort` and `run` from
//! 4·10⁶ rows in parts of radius 0 addressed by 16 to 23 bits, where little else is left; `bucket_pair` and `gather` from
//! 10⁶ rows in two parts of radius 3 addressed by 14 to 18 bits. `probe`, `candidate` and `scanned` are those of one core
//! with 10⁸ rows in memory beyond the cache. They need only be right to a factor of two or so: plans of nearly equal
//! cost are nearly equally good.

use crate::flips::ball_size;

/// Costs of the steps of a join or lookup, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinCosts {
    /// Comparing two fingerprints, block against block in cache.
    pub(super) compare: f64,
    /// Ordering one row by address.
    pub(super) sort: f64,
    /// Starting on one run of equal addresses.
    pub(super) run: f64,
    /// Visiting one partner bucket.
    pub(super) bucket_pair: f64,
    /// Copying one row of a partner bucket next to the others.
    pub(super) gather: f64,
    /// Probing one address of a table from a query, outside the cache.
    pub(super) probe: f64,
    /// Comparing a query with one candidate of a bucket.
    pub(super) candidate: f64,
    /// Comparing a query with one row of a scan.
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

/// Rows and address space of one table of a join.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableLoad {
    /// Rows.
    pub(super) n: f64,
    /// Address bits.
    pub(super) u: u32,
    /// Flips probed.
    pub(super) radius: u32,
    /// The probability that two rows share an address, relative to uniform rows: 2^(u − H₂).
    pub(super) skew: f64,
}

impl TableLoad {
    /// Rows compared with one another in one table of a self-join.
    pub(super) fn comparisons(&self) -> f64 {
        self.n * self.n / 2.0 * self.density().min(1.0)
    }

    /// The share of all pairs of rows that are compared.
    fn density(&self) -> f64 {
        ball_size(self.u, self.radius) * self.skew / 2f64.powi(self.u as i32)
    }

    /// Cost of one table of a self-join.
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

    /// Probes and candidates of one table for one query.
    pub(super) fn lookup(&self) -> (f64, f64) {
        (ball_size(self.u, self.radius), self.n * self.density().min(1.0))
    }
}
