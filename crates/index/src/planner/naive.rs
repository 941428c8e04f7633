//! Methods that are listed for comparison with the tables of a segment: those that need no plan, and random
//! permutations, which are not exact.

use super::expected::ExpectedLookup;
use super::workload::probe;
use super::{Alternative, LookupCosts, Workload, memory};
use crate::flips::ball_size;
use crate::segment::bounds_bytes;

/// Estimates the naive methods ([`crate::naive`]) and random permutations. `best` is the cost of the chosen plan.
pub(super) fn alternatives(workload: &Workload, costs: &LookupCosts, best: f64) -> Vec<Alternative> {
    let n = workload.n.max(1) as f64;
    let ball = ball_size(workload.bits, workload.k);
    // An entry is a fingerprint and the number of a row, aligned to the fingerprint.
    let row = f64::from(workload.bits) / 8.0;
    let entry = row + row.max(4.0);
    let searched = |entries: f64| entries.max(2.0).log2().ceil() * entry;
    let matches = n * ball / f64::from(workload.bits).exp2();
    let times = |cost: f64| format!("{:.3e} times the cost", cost / best);
    let lookup = |probes: f64, entries: f64| ExpectedLookup {
        key_bits: (workload.bits, workload.bits),
        probes,
        candidates: matches,
        bytes: probes * searched(entries) + matches * entry,
        missed: 0.0,
    };
    let variations = ball * probe(workload, costs);
    let mut out = vec![
        Alternative {
            name: "every variation of the query".into(),
            tables: 1,
            cost: variations,
            bytes: n * entry,
            lookup: Some(lookup(ball, n)),
            verdict: times(variations),
        },
        Alternative {
            name: "every variation of every fingerprint stored".into(),
            tables: 1,
            cost: probe(workload, costs),
            bytes: n * ball * entry,
            lookup: Some(lookup(1.0, n * ball)),
            verdict: format!("needs {}", memory(n * ball * entry)),
        },
    ];
    let prefix = workload.n.max(2).ilog2().min(workload.bits);
    // A permutation finds a neighbour at distance k if none of the differing bits is among its leading bits.
    let found: f64 = (0..workload.k.min(workload.bits))
        .map(|i| f64::from(workload.bits.saturating_sub(prefix + i)) / f64::from(workload.bits - i))
        .product();
    for tables in [4u32, 20, 100] {
        let probes = f64::from(tables);
        let candidates = probes * n / f64::from(prefix).exp2();
        out.push(Alternative {
            name: format!("random:{tables},{prefix}"),
            tables: tables as usize,
            cost: probes * probe(workload, costs) + candidates * costs.candidate,
            bytes: n * row * probes,
            lookup: Some(ExpectedLookup {
                key_bits: (prefix, prefix),
                probes,
                candidates,
                bytes: probes * bounds_bytes(workload.codec, workload.bits) as f64
                    + candidates * f64::from((workload.bits - prefix).div_ceil(8)),
                missed: (1.0 - found).powi(tables as i32),
            }),
            verdict: "misses pairs".into(),
        });
    }
    out
}
