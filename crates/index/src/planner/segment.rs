//! The choice of a segment's tables: for lookups of one query or of many, in memory or on disk.
//!
//! The cost of a lookup is Σ over the tables of probes · cost of a probe + candidates · cost of a candidate. A table of
//! n rows with addresses of u bits and radius ρ takes V(u, ρ) probes, the size of the Hamming ball, and has V(u, ρ) · n
//! · 2^(−H₂) candidates, where H₂ is the collision entropy of the address (u if nothing is known of the rows). On disk
//! a probe is a read. The size is that of every table in its codec (`stored`), and of the ids once. Address widths
//! around log₂ n are tried. In memory the layout with the smallest product of cost and size is chosen: a layout that is
//! faster by half must not be larger by more than half. On disk, where reads are expensive and space is cheap, the
//! layout with the lowest cost is chosen, among those that take at most [`MAX_DISK_COPIES`] times the space of the
//! fingerprints. A bucket of several pages costs their reads in order in addition to that of the first one.
//!
//! The planner chooses a layout for the requested codec. It excludes a layout if packed rows in another layout are both
//! smaller and faster: three tables in Elias–Fano coding take more space than two packed ones and answer more slowly.
//!
//! In memory, only disjoint parts are chosen for a segment: their tables can answer lookups of every radius, not just of
//! the planned one, and the first table keeps the fingerprints in their order. On disk, every exact design is eligible,
//! because designs that match whole keys need a fraction of the reads. The costs of the other designs and of naive
//! methods are listed for comparison.

use std::fmt;

use super::cost::TableLoad;
use super::expected::{self, ExpectedLookup};
use super::workload::{LookupCosts, Medium, Workload, probe};
use super::{Alternative, CHOSEN_VERDICT, PlanChoice, catalogue, memory, naive, stored};
use crate::plan::{Plan, PlanError};
use crate::segment::{Codec, MAX_ADDRESS_BITS};

/// The plan of a segment's tables, with their address widths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentPlan {
    /// The masks and radii of the tables.
    pub plan: Plan,
    /// The number of address bits of each table.
    pub address_bits: Vec<u32>,
}

/// A plan with its estimated cost in nanoseconds and its size in bytes.
struct CostedPlan {
    plan: SegmentPlan,
    cost: f64,
    bytes: f64,
    /// The expected work of a lookup.
    lookup: ExpectedLookup,
    /// True if the plan can be chosen: it consists of disjoint parts, or the segment is on disk.
    eligible: bool,
}

/// The quantity that the chosen plan minimises: cost · size in memory, and cost alone on disk.
fn aim(workload: &Workload, cost: f64, bytes: f64) -> f64 {
    match workload.medium {
        Medium::Memory => cost * bytes,
        Medium::Disk => cost,
    }
}

/// The largest size of tables that are chosen for a disk, if no size is given, as a multiple of the size of the
/// fingerprints. Ten tables of whole keys and the ids fit.
const MAX_DISK_COPIES: f64 = 8.0;

/// The largest size of a segment that is chosen for a workload, in bytes.
fn limit(workload: &Workload) -> f64 {
    match (workload.memory, workload.medium) {
        (Some(most), _) => most as f64,
        (None, Medium::Memory) => f64::INFINITY,
        (None, Medium::Disk) => MAX_DISK_COPIES * workload.n.max(1) as f64 * f64::from(workload.bits) / 8.0,
    }
}

/// The cost of reading the pages of a bucket after its first, in nanoseconds.
fn pages(workload: &Workload, costs: &LookupCosts, rows: f64, u: u32) -> f64 {
    const PAGE_BYTES: f64 = 4096.0;
    match workload.medium {
        Medium::Memory => 0.0,
        Medium::Disk => rows * f64::from(workload.bits - u) / 8.0 / PAGE_BYTES * costs.page,
    }
}

/// Chooses the tables of a segment. The result also lists all other plans that were considered, with their costs.
///
/// ```
/// use twinprint_index::planner::{LookupCosts, LookupMode, Medium, Workload, plan_segment};
/// use twinprint_index::segment::Codec;
///
/// let workload = Workload {
///     n: 1_000_000_000,
///     bits: 64,
///     k: 3,
///     memory: Some(32 << 30),
///     medium: Medium::Memory,
///     mode: LookupMode::Batch,
///     skew_bits: 0.0,
///     codec: Codec::default(),
/// };
/// let choice = plan_segment(&workload, &LookupCosts::default())?;
/// assert_eq!(choice.alternatives[0].verdict, "chosen");
/// // A table of all plans with their costs.
/// println!("{choice}");
/// # Ok::<(), twinprint_index::plan::PlanError>(())
/// ```
///
/// # Errors
/// `Bits` for a width outside 1..=128.
pub fn plan_segment(workload: &Workload, costs: &LookupCosts) -> Result<PlanChoice<SegmentPlan>, PlanError> {
    let scan = Plan::scan(workload.bits, workload.k)?;
    let mut plans = catalogue(workload.bits, workload.k);
    plans.push(scan);
    let costed_for = |workload: &Workload| -> Vec<CostedPlan> {
        plans
            .iter()
            .map(|plan| cost_of(plan.clone(), workload, costs))
            .collect()
    };
    let mut costed = costed_for(workload);
    costed.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let plain = if workload.codec == Codec::default() {
        Vec::new()
    } else {
        let codec = Codec::default();
        costed_for(&Workload { codec, ..*workload })
    };
    let beaten = |p: &CostedPlan| {
        let mut plain = plain.iter().filter(|plain| plain.eligible);
        plain.any(|plain| plain.cost <= p.cost && plain.bytes <= p.bytes)
    };
    let fits = |p: &CostedPlan| p.bytes <= limit(workload);
    let parts = || costed.iter().enumerate().filter(|(_, p)| p.eligible);
    let chosen = parts()
        .filter(|(_, p)| fits(p) && !beaten(p))
        .min_by(|a, b| aim(workload, a.1.cost, a.1.bytes).total_cmp(&aim(workload, b.1.cost, b.1.bytes)));
    // If no plan fits into the allowed size, the smallest one that is not a scan is chosen.
    let smallest = || parts().min_by(|a, b| a.1.bytes.total_cmp(&b.1.bytes));
    let best = chosen.or_else(smallest).map_or(0, |(i, _)| i);
    let best = costed.remove(best);
    let mut alternatives = vec![row(&best, CHOSEN_VERDICT.into())];
    let mut losers: Vec<Alternative> = costed
        .iter()
        .map(|p| {
            let verdict = if !fits(p) {
                format!("needs {}", memory(p.bytes))
            } else if p.eligible && beaten(p) {
                "packed rows in other tables are both smaller and faster".to_owned()
            } else if p.eligible || p.cost >= best.cost {
                format!(
                    "{:.1} times the cost, {:.1} times the space",
                    p.cost / best.cost,
                    p.bytes / best.bytes
                )
            } else {
                format!(
                    "serves radii up to {} only, and takes {:.1} times the space",
                    workload.k,
                    p.bytes / best.bytes
                )
            };
            row(p, verdict)
        })
        .collect();
    losers.extend(naive::alternatives(workload, costs, best.cost));
    losers.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    alternatives.extend(losers);
    Ok(PlanChoice {
        plan: best.plan,
        alternatives,
    })
}

fn row(p: &CostedPlan, verdict: String) -> Alternative {
    Alternative {
        name: p.plan.to_string(),
        tables: p.plan.plan.tables.len(),
        cost: p.cost,
        bytes: p.bytes,
        lookup: Some(p.lookup),
        verdict,
    }
}

/// Chooses the address widths of a given plan for a segment. The result has the plan as its only alternative, with its
/// estimated cost and work.
///
/// ```
/// use twinprint_index::Plan;
/// use twinprint_index::planner::{LookupCosts, LookupMode, Medium, Workload, plan_addresses};
/// use twinprint_index::segment::Codec;
///
/// let workload = Workload {
///     n: 1_000_000,
///     bits: 64,
///     k: 3,
///     memory: None,
///     medium: Medium::Memory,
///     mode: LookupMode::Batch,
///     skew_bits: 0.0,
///     codec: Codec::default(),
/// };
/// // The four tables of Manku et al.: one probe in each, and n / 2^16 candidates.
/// let choice = plan_addresses(Plan::blocks(64, 3, 4)?, &workload, &LookupCosts::default());
/// assert_eq!(choice.plan.address_bits, [16; 4]);
/// let expected = choice.alternatives[0].lookup.unwrap();
/// assert_eq!(expected.probes, 4.0);
/// assert_eq!(expected.candidates, 4.0 * 1e6 / 65_536.0);
/// assert_eq!(expected.missed, 0.0);
/// # Ok::<(), twinprint_index::plan::PlanError>(())
/// ```
pub fn plan_addresses(plan: Plan, workload: &Workload, costs: &LookupCosts) -> PlanChoice<SegmentPlan> {
    let mut costed = cost_of(plan, workload, costs);
    costed.lookup.missed = expected::missed(&costed.plan.plan, &costed.plan.address_bits);
    let alternatives = vec![row(&costed, CHOSEN_VERDICT.into())];
    PlanChoice {
        plan: costed.plan,
        alternatives,
    }
}

/// Estimates the cost of a plan, at the best address widths that fit into the allowed size, or at the smallest ones if
/// none fit.
fn cost_of(plan: Plan, workload: &Workload, costs: &LookupCosts) -> CostedPlan {
    let n = workload.n.max(1) as f64;
    let log = workload.n.max(2).ilog2();
    let id_bits = f64::from(log + 1);
    let union = plan.tables.iter().fold(0, |all, t| all | t.mask);
    let widths: u32 = plan.tables.iter().map(|t| t.mask.count_ones()).sum();
    let is_disjoint = union.count_ones() == widths;
    let eligible = (is_disjoint || workload.medium == Medium::Disk) && plan.name != "scan";
    let at = |wide: u32| {
        let (mut cost, mut bytes, mut address_bits) = (0.0, n * id_bits / 8.0, Vec::new());
        for table in &plan.tables {
            let u = wide.min(table.mask.count_ones()).min(MAX_ADDRESS_BITS);
            let (probes, candidates) = TableLoad {
                n,
                u,
                radius: table.radius,
                skew: workload.skew_bits.exp2(),
            }
            .lookup();
            cost += probes * probe(workload, costs) + candidates * costs.candidate;
            cost += pages(workload, costs, candidates, u);
            bytes += stored::table_bytes(workload.codec, n, plan.bits, u);
            address_bits.push(u);
        }
        (cost, bytes, address_bits)
    };
    if plan.name == "scan" {
        let bytes = n * f64::from(plan.bits) / 8.0;
        return CostedPlan {
            cost: n * costs.scanned,
            bytes: bytes + n * id_bits / 8.0,
            lookup: ExpectedLookup::scan(n, bytes),
            plan: SegmentPlan {
                address_bits: vec![1],
                plan,
            },
            eligible,
        };
    }
    let tried: Vec<_> = (log.saturating_sub(2)..=log + 2)
        .map(|wide| at(wide.max(1)))
        .collect();
    let fits = |t: &&(f64, f64, Vec<u32>)| t.1 <= limit(workload);
    let best = tried
        .iter()
        .filter(fits)
        .min_by(|a, b| aim(workload, a.0, a.1).total_cmp(&aim(workload, b.0, b.1)));
    let smallest = tried.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let (cost, bytes, address_bits) = best.or(smallest).cloned().unwrap_or_default();
    CostedPlan {
        cost,
        bytes,
        lookup: ExpectedLookup::of(&plan, &address_bits, workload),
        plan: SegmentPlan { plan, address_bits },
        eligible,
    }
}

impl fmt::Display for SegmentPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.name == "scan" {
            return f.write_str("scan");
        }
        f.write_str(&super::named(&self.plan.name, &self.address_bits))
    }
}
