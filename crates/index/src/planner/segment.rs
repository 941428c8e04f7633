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
use super::stored;
use super::{Alternative, CHOSEN_VERDICT, PlanChoice, catalogue, duration, memory};
use crate::plan::{Plan, PlanError};
use crate::segment::{Codec, MAX_ADDRESS_BITS};

/// The workload that a segment is planned for: its rows, its size limit and the lookups in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// The number of distinct fingerprints.
    pub n: u64,
    /// The width of the fingerprints in bits.
    pub bits: u32,
    /// The radius of lookups.
    pub k: u32,
    /// The largest allowed size of the segment in bytes; `None` is no limit.
    pub memory: Option<u64>,
    /// The medium that the segment is read from.
    pub medium: Medium,
    /// The kind of lookups.
    pub mode: LookupMode,
    /// The bits of entropy that an address lacks: u − H₂, 0 for uniform fingerprints.
    pub skew_bits: f64,
    /// The storage format of rows.
    pub codec: Codec,
}

/// The medium a segment is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// The segment is in memory, as a file in the system's cache or loaded.
    Memory,
    /// Every probe reads from disk.
    Disk,
}

/// The kind of lookups a segment is planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupMode {
    /// One query at a time.
    Online,
    /// Many queries at once.
    Batch,
}

/// The costs of the steps of a lookup, in nanoseconds of one core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupCosts {
    /// A probe for a single query in packed rows with plain directories, while other probes are in flight. The costs of
    /// other codecs are multiples of it.
    pub online: f64,
    /// A probe for one of many queries that are sorted by address.
    pub batch: f64,
    /// The comparison of a query with a candidate.
    pub candidate: f64,
    /// The comparison of a query with a row of a scan.
    pub scanned: f64,
    /// A read from disk while others are in flight.
    pub read: f64,
    /// The read of a page of 4 KiB from disk in order, after the page before it.
    pub page: f64,
}

impl Default for LookupCosts {
    /// Constants that reproduce the lookups of `docs/scale.md` within a tenth: 10⁷ and 10⁸ rows in two, three and four
    /// tables, on one core of an Intel Xeon with AVX-512. A read takes as long as from a solid-state disk with 32 reads
    /// in flight.
    fn default() -> Self {
        Self {
            online: 60.0,
            batch: 18.0,
            candidate: 1.0,
            scanned: 0.3,
            read: 5000.0,
            page: 1000.0,
        }
    }
}

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
    losers.extend(naive(workload, costs, best.cost));
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
        verdict,
    }
}

/// The cost of one probe, in nanoseconds.
fn probe(workload: &Workload, costs: &LookupCosts) -> f64 {
    match (workload.medium, workload.mode) {
        (Medium::Disk, _) => costs.read,
        (Medium::Memory, LookupMode::Online) => costs.online * stored::online_factor(workload.codec),
        (Medium::Memory, LookupMode::Batch) => costs.batch * stored::batch_factor(workload.codec),
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
        return CostedPlan {
            cost: n * costs.scanned,
            bytes: n * (f64::from(plan.bits) + id_bits) / 8.0,
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
        plan: SegmentPlan { plan, address_bits },
        eligible,
    }
}

/// Estimates methods that are listed for comparison only: those that need no plan, and random permutations, which are
/// not exact.
fn naive(workload: &Workload, costs: &LookupCosts, best: f64) -> Vec<Alternative> {
    let n = workload.n.max(1) as f64;
    let ball = crate::flips::ball_size(workload.bits, workload.k);
    let row = f64::from(workload.bits) / 8.0;
    // The bytes of one entry of a hash table that is filled to 70 %.
    let entry = (row + 4.0) / 0.7;
    let times = |cost: f64| format!("{:.3e} times the cost", cost / best);
    let variations = ball * probe(workload, costs);
    let mut out = vec![
        Alternative {
            name: format!("every variation of the query ({ball:.3e})"),
            tables: 1,
            cost: variations,
            bytes: n * entry,
            verdict: times(variations),
        },
        Alternative {
            name: "every variation of every fingerprint stored".into(),
            tables: 1,
            cost: probe(workload, costs),
            bytes: n * ball * entry,
            verdict: format!("needs {}", memory(n * ball * entry)),
        },
    ];
    let prefix = workload.n.max(2).ilog2().min(workload.bits);
    // A permutation finds a neighbour at distance k if none of the differing bits is among its leading bits.
    let found: f64 = (0..workload.k.min(workload.bits))
        .map(|i| f64::from(workload.bits.saturating_sub(prefix + i)) / f64::from(workload.bits - i))
        .product();
    for tables in [4u32, 20, 100] {
        let missed = (1.0 - found).powi(tables as i32);
        out.push(Alternative {
            name: format!("random permutations, {tables}"),
            tables: tables as usize,
            cost: f64::from(tables)
                * (probe(workload, costs) + n / 2f64.powi(prefix as i32) * costs.candidate),
            bytes: n * row * f64::from(tables),
            verdict: format!(
                "misses {:.2} % of neighbours at distance {}",
                100.0 * missed,
                workload.k
            ),
        });
    }
    out
}

impl fmt::Display for SegmentPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.name == "scan" {
            return f.write_str("scan");
        }
        f.write_str(&super::named(&self.plan.name, &self.address_bits))
    }
}

impl fmt::Display for LookupCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [online, batch, candidate, scanned] =
            [self.online, self.batch, self.candidate, self.scanned].map(duration);
        let [read, page] = [self.read, self.page].map(duration);
        write!(
            f,
            "a probe {online} (among many queries {batch}), a candidate {candidate}, a row of a scan {scanned}, a read {read}, a page in order {page}"
        )
    }
}
