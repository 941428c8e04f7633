//! The expected work of a lookup: what [`Stats`](crate::segment::Stats) counts, for uniform fingerprints.

#[cfg(test)]
mod tests;

use super::cost::TableLoad;
use super::stored;
use super::workload::Workload;
use crate::plan::check::is_exact;
use crate::plan::{Plan, TableSpec, leading_bits};
use crate::segment::{Codec, bounds_bytes};

/// The expected work of one lookup within the planned radius, on average over uniform fingerprints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedLookup {
    /// The smallest and the largest number of key bits by which the tables find rows.
    pub key_bits: (u32, u32),
    /// The number of addresses probed.
    pub probes: f64,
    /// The number of rows compared.
    pub candidates: f64,
    /// The number of bytes read from directories and rows.
    pub bytes: f64,
    /// The share of the fingerprints at the planned distance that the tables miss; 0 if the plan is exact.
    pub missed: f64,
}

impl ExpectedLookup {
    /// The work of comparing `n` rows, which have `bytes` bytes.
    pub(super) fn scan(n: f64, bytes: f64) -> Self {
        Self {
            key_bits: (0, 0),
            probes: 0.0,
            candidates: n,
            bytes,
            missed: 0.0,
        }
    }

    /// The work of a lookup in the tables of an exact plan with these address widths.
    pub(super) fn of(plan: &Plan, address_bits: &[u32], workload: &Workload) -> Self {
        let n = workload.n.max(1) as f64;
        let (mut probes, mut candidates, mut bytes) = (0.0, 0.0, 0.0);
        for (table, &u) in plan.tables.iter().zip(address_bits) {
            let load = TableLoad {
                n,
                u,
                radius: table.radius,
                skew: workload.skew_bits.exp2(),
            };
            let (probed, compared) = load.lookup();
            probes += probed;
            candidates += compared;
            bytes += probed * bounds_bytes(workload.codec, plan.bits) as f64;
            bytes += match workload.codec.bounded() {
                Codec::Packed(_) => compared * f64::from((plan.bits - u).div_ceil(8)),
                Codec::Huffman { page_rows } => {
                    // The rows of a bucket continue on the next page if they reach its end.
                    let rows = f64::from(page_rows).min(n);
                    let pages = (probed + (compared - probed).max(0.0) / rows).min(n / rows * probed);
                    pages * stored::page_bytes(n, plan.bits, page_rows)
                }
            };
        }
        Self {
            key_bits: (
                address_bits.iter().copied().min().unwrap_or(0),
                address_bits.iter().copied().max().unwrap_or(0),
            ),
            probes,
            candidates,
            bytes,
            missed: 0.0,
        }
    }
}

/// The share of the fingerprints at the planned distance that tables with these addresses miss; 0 if the plan is exact.
pub(super) fn missed(plan: &Plan, address_bits: &[u32]) -> f64 {
    if is_exact(plan).is_ok() {
        return 0.0;
    }
    let tables = plan.tables.iter().zip(address_bits).map(|(table, &u)| TableSpec {
        mask: leading_bits(table.mask, u),
        radius: table.radius,
    });
    let addressed = Plan::new(plan.bits, plan.k, plan.name.clone(), tables.collect());
    addressed.map_or(1.0, |plan| 1.0 - plan.recall(plan.k).share)
}
