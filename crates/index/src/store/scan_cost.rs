//! The choice between looking up each of many queries and one pass over all stored rows.

use twinprint_fingerprint::Width;

use super::scan::PASS_ROWS;
use super::view::Snapshot;
use crate::flips::ball_size;
use crate::join::between;
use crate::plan::PlanError;
use crate::planner::{LookupCosts, LookupMode, Medium, Workload, plan_segment};
use crate::segment::Codec;

/// The pages of 4 KiB of an index that are not in memory; see `Snapshot::missing_pages`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MissingPages {
    /// The number of missing pages that a scan reads.
    pub scanned: f64,
    /// The number of missing pages of all tables.
    pub tables: f64,
    /// The share of the pages of all tables that is missing, from 0 to 1.
    pub share: f64,
}

impl MissingPages {
    /// The time that `queries` lookups of `probes` probes wait for the disk, in nanoseconds. Each probe reads a page at
    /// random, until it takes less time to read all tables in order.
    fn lookups(&self, queries: f64, probes: f64, costs: &LookupCosts) -> f64 {
        let random = queries * probes * self.share * costs.read;
        random.min(self.tables * costs.page)
    }
}

/// Returns `true` if one pass over `n` stored fingerprints answers `queries` queries sooner than a lookup of each
/// would. The estimate is for an index of this codec, and one core. `missing` are the pages that must be read from disk
/// first; lookups read more of them than a scan if there are many queries.
///
/// # Errors
/// `Bits` if no plan exists for the width.
pub fn scan_is_cheaper<W: Width>(
    codec: Codec,
    n: u64,
    queries: u64,
    k: u32,
    costs: &LookupCosts,
    missing: &MissingPages,
) -> Result<bool, PlanError> {
    let workload = Workload {
        n,
        bits: W::BITS,
        k,
        memory: None,
        medium: Medium::Memory,
        mode: LookupMode::Batch,
        skew_bits: 0.0,
        codec,
    };
    let choice = plan_segment(&workload, costs)?;
    let lookup = choice.alternatives.first().map_or(0.0, |chosen| chosen.cost);
    let chunk = usize::try_from(n).unwrap_or(usize::MAX).clamp(1, PASS_ROWS);
    let rows = usize::try_from(queries).unwrap_or(usize::MAX);
    let scan = between::cost::<W>(rows, chunk, k) * (n as f64 / chunk as f64);
    let tables = choice.plan.plan.tables.iter().zip(&choice.plan.address_bits);
    let probes = tables.map(|(table, &bits)| ball_size(bits, table.radius)).sum();
    let queries = queries as f64;
    let scan = scan + missing.scanned * costs.page;
    Ok(scan < lookup * queries + missing.lookups(queries, probes, costs))
}

impl<W: Width> Snapshot<W> {
    /// Estimates the pages of the index that are not in memory, from a sample of pages. Systems other than Linux do not
    /// tell; all pages count as present there.
    pub fn missing_pages(&self) -> MissingPages {
        let mut missing = MissingPages::default();
        let mut all = 0.0;
        for live in &self.view.segments {
            let tables = live.segment.missing_pages();
            missing.scanned += tables.first().map_or(0.0, |table| table.missing);
            missing.tables += tables.iter().map(|table| table.missing).sum::<f64>();
            all += tables.iter().map(|table| table.pages).sum::<f64>();
        }
        missing.share = missing.tables / f64::max(all, 1.0);
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_cheaper_for_very_many_queries() {
        let codec = Codec::default();
        let cheaper = |n, queries, k| {
            scan_is_cheaper::<u64>(
                codec,
                n,
                queries,
                k,
                &LookupCosts::default(),
                &MissingPages::default(),
            )
            .unwrap()
        };
        // Measured in docs/scale.md: a scan compares a million queries with ten million rows per second. Their lookups take one or two seconds.
        assert!(!cheaper(100_000_000, 1_000_000, 3));
        assert!(!cheaper(10_000_000, 1000, 3) && !cheaper(1 << 20, 1, 10));
        assert!(cheaper(1_000_000, 100_000_000, 3) && cheaper(10_000_000, 10_000_000, 10));
        assert!(!cheaper(0, 0, 3));
        // Lookups in pages take longer, so a scan is cheaper for fewer queries.
        let enough = |codec| {
            let is_cheaper = |queries| {
                scan_is_cheaper::<u64>(
                    codec,
                    10_000_000,
                    queries,
                    3,
                    &LookupCosts::default(),
                    &MissingPages::default(),
                )
            };
            (10..40).find(|log| is_cheaper(1 << log).unwrap()).unwrap()
        };
        assert!(enough(Codec::HUFFMAN) < enough(Codec::default()));
    }

    #[test]
    fn what_must_be_read_from_disk_counts_for_lookups_and_for_scans() {
        let costs = LookupCosts::default();
        let choose = |queries, missing: &MissingPages| {
            scan_is_cheaper::<u64>(Codec::default(), 100_000_000, queries, 3, &costs, missing).unwrap()
        };
        let warm = MissingPages::default();
        let cold = MissingPages {
            scanned: 120_000.0,
            tables: 240_000.0,
            share: 1.0,
        };
        // A few lookups read little of the index, and a scan all of a table.
        assert!(!choose(10, &warm) && !choose(10, &cold));
        // A scan needs more time for a million queries than both need to read the tables.
        assert!(!choose(1_000_000, &cold));
        // The number of queries from which on a scan is cheaper is lower if more must be read for lookups.
        let enough = |missing: &MissingPages| (0..48).find(|&log| choose(1 << log, missing)).unwrap_or(48);
        let slow = MissingPages { tables: 1e9, ..cold };
        assert!(enough(&slow) < enough(&warm));
        // Lookups never wait longer than it takes to read all tables in order.
        assert!(cold.lookups(1e9, 52.0, &costs) <= cold.tables * costs.page);
        assert!(cold.lookups(1.0, 52.0, &costs) <= 52.0 * costs.read);
    }
}
