//! The choice between looking up each of many queries and one pass over all stored rows.

use twinprint_fingerprint::Width;

use super::scan::PASS_ROWS;
use crate::join::between;
use crate::plan::PlanError;
use crate::planner::{LookupCosts, LookupMode, Medium, Workload, plan_segment};
use crate::segment::Codec;

/// Returns `true` if one pass over `n` stored fingerprints answers `queries` queries sooner than a lookup of each
/// would. The estimate is for an index of this codec in memory, and one core.
///
/// # Errors
/// `Bits` if no plan exists for the width.
pub fn scan_is_cheaper<W: Width>(
    codec: Codec,
    n: u64,
    queries: u64,
    k: u32,
    costs: &LookupCosts,
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
    Ok(scan < lookup * queries as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_cheaper_for_very_many_queries() {
        let codec = Codec::default();
        let cheaper =
            |n, queries, k| scan_is_cheaper::<u64>(codec, n, queries, k, &LookupCosts::default()).unwrap();
        // Measured in docs/scale.md: a scan compares a million queries with ten million rows per second. Their lookups take one or two seconds.
        assert!(!cheaper(100_000_000, 1_000_000, 3));
        assert!(!cheaper(10_000_000, 1000, 3) && !cheaper(1 << 20, 1, 10));
        assert!(cheaper(1_000_000, 100_000_000, 3) && cheaper(10_000_000, 10_000_000, 10));
        assert!(!cheaper(0, 0, 3));
        // Lookups in pages take longer, so a scan is cheaper for fewer queries.
        let enough = |codec| {
            let is_cheaper =
                |queries| scan_is_cheaper::<u64>(codec, 10_000_000, queries, 3, &LookupCosts::default());
            (10..40).find(|log| is_cheaper(1 << log).unwrap()).unwrap()
        };
        assert!(enough(Codec::HUFFMAN) < enough(Codec::default()));
    }
}
