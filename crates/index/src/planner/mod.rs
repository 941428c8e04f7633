//! Chooses among plans by estimated cost, and reports why the others were not chosen.
//!
//! The planner considers the whole catalogue ([`crate::plan`]), disjoint parts whose widths are balanced to the load,
//! and the scan. For each table it finds the address width with the lowest cost. The cost model and its constants are
//! in `cost`; `skew` estimates from a sample how clumped the rows are.

mod cost;
mod display;
mod expected;
mod lookup;
mod measure;
mod naive;
mod segment;
mod skew;
mod stored;
#[cfg(test)]
mod tests;
mod workload;

use rayon::prelude::*;
use twinprint_fingerprint::Width;

use self::cost::{JoinCosts, TableLoad};
use self::display::{duration, memory};
pub use self::expected::ExpectedLookup;
pub use self::lookup::{plan_lookup, plan_lookup_of};
pub use self::measure::measure;
pub use self::segment::{SegmentPlan, plan_addresses, plan_segment};
use self::skew::Sample;
pub use self::workload::{LookupCosts, LookupMode, Medium, Workload};
use crate::plan::MAX_ADDRESS_BITS;
use crate::plan::{JoinPlan, Plan, PlanError, even_radii};

/// The maximum number of tables of a plan that is considered for a join, because every table needs all rows to be
/// sorted.
const MAX_CONSIDERED_TABLES: usize = 64;
/// A join of up to this number of rows is a scan, because planning would cost more than another plan could save.
const MAX_SCANNED_ROWS: usize = 4096;
/// The maximum number of flips of one table that are kept in memory.
const MAX_FLIPS: f64 = 4e6;

/// A plan that the planner considered, with its estimated cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The plan's name.
    pub name: String,
    /// The number of its tables.
    pub tables: usize,
    /// The estimated cost of the whole join, or of one lookup, in nanoseconds of one core.
    pub cost: f64,
    /// Estimated bytes of memory in addition to the given rows.
    pub bytes: f64,
    /// The expected work of one lookup; `None` for a join.
    pub lookup: Option<ExpectedLookup>,
    /// `chosen`, or the reason why the plan was not chosen.
    pub verdict: String,
}

/// The planner's choice and the plans it compared.
#[derive(Clone, Debug)]
pub struct PlanChoice<P> {
    /// The plan chosen.
    pub plan: P,
    /// All plans that were considered: first the chosen one, then the others by cost.
    pub alternatives: Vec<Alternative>,
}

/// A plan with its estimated cost in nanoseconds and its memory in bytes.
#[derive(Clone, Debug)]
struct CostedPlan {
    plan: Plan,
    address_bits: Vec<u32>,
    cost: f64,
    bytes: f64,
}

/// Chooses the cheapest plan for the join of `rows` with themselves at radius `k`.
///
/// ```
/// use twinprint_index::plan::JoinPlan;
/// use twinprint_index::planner::plan_join;
///
/// let rows = [1u64, 2, 3];
/// assert_eq!(plan_join(&rows, 3).plan, JoinPlan::Scan);
/// ```
pub fn plan_join<W: Width>(rows: &[W], k: u32) -> PlanChoice<JoinPlan> {
    choose_join(rows.len(), W::BITS, k, Some(&Sample::of(rows)))
}

/// Like [`plan_join`], but for `n` uniform rows of `bits` bits, which need not exist.
///
/// # Errors
/// `Bits` if the width is outside 1..=128.
pub fn plan_join_uniform(n: usize, bits: u32, k: u32) -> Result<PlanChoice<JoinPlan>, PlanError> {
    crate::plan::all_bits(bits)?;
    Ok(choose_join(n, bits, k, None))
}

fn choose_join(n: usize, bits: u32, k: u32, sample: Option<&Sample>) -> PlanChoice<JoinPlan> {
    let step_costs = JoinCosts::of(bits);
    let rows = n as f64;
    let scan = rows * rows / 2.0 * step_costs.compare;
    let mut costed: Vec<CostedPlan> = Vec::new();
    if n > MAX_SCANNED_ROWS {
        let mut plans = catalogue(bits, k);
        plans
            .extend((2..=k.saturating_add(1).min(bits)).filter_map(|s| balanced(n, bits, k, s, &step_costs)));
        costed = plans
            .into_iter()
            .map(|plan| cost_join(plan, rows, &step_costs, None))
            .collect();
        costed.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        if let Some(sample) = sample {
            // Skew can only raise a plan's cost, so a plan that is too expensive for uniform rows need not be
            // considered again.
            let mut least = scan;
            for p in &mut costed {
                if p.cost >= least {
                    break;
                }
                *p = cost_join(p.plan.clone(), rows, &step_costs, Some(sample));
                least = least.min(p.cost);
            }
            costed.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        }
    }
    let best = costed.first().filter(|p| p.cost < scan);
    let chosen = best.map_or(scan, |p| p.cost);
    let plan = best.map_or(JoinPlan::Scan, |p| JoinPlan::from_exact(&p.plan, &p.address_bits));
    let mut scan_row = Alternative {
        name: "scan".into(),
        tables: 0,
        cost: scan,
        bytes: 0.0,
        lookup: None,
        verdict: verdict(scan, chosen),
    };
    let mut alternatives: Vec<Alternative> = costed
        .iter()
        .map(|p| alternative(p, &p.address_bits, chosen))
        .collect();
    match alternatives.first_mut() {
        Some(first) if plan != JoinPlan::Scan => {
            first.verdict = CHOSEN_VERDICT.into();
            alternatives.push(scan_row);
            alternatives[1..].sort_by(|a, b| a.cost.total_cmp(&b.cost));
        }
        _ => {
            scan_row.verdict = CHOSEN_VERDICT.into();
            alternatives.insert(0, scan_row);
        }
    }
    PlanChoice { plan, alternatives }
}

const CHOSEN_VERDICT: &str = "chosen";

fn verdict(cost: f64, chosen: f64) -> String {
    format!("{:.1} times the cost", cost / chosen.max(1.0))
}

/// Returns a plan's name, followed by its address widths if there are at most eight.
fn named(plan: &str, address_bits: &[u32]) -> String {
    let widths: Vec<String> = address_bits.iter().map(ToString::to_string).collect();
    if widths.len() <= 8 {
        format!("{plan} by {} bits", widths.join(","))
    } else {
        plan.to_owned()
    }
}

fn alternative(p: &CostedPlan, address_bits: &[u32], chosen: f64) -> Alternative {
    Alternative {
        name: named(&p.plan.name, address_bits),
        tables: p.plan.tables.len(),
        cost: p.cost,
        bytes: p.bytes,
        lookup: None,
        verdict: verdict(p.cost, chosen),
    }
}

/// Returns every plan of the catalogue that exists for this width and radius and has at most [`MAX_CONSIDERED_TABLES`]
/// tables.
fn catalogue(bits: u32, k: u32) -> Vec<Plan> {
    let mut plans: Vec<Plan> = Vec::new();
    plans.extend(Plan::one_table(bits, k));
    plans.extend((2..=k.saturating_add(1).min(bits)).filter_map(|s| Plan::even_parts(bits, k, s).ok()));
    if k <= 60 {
        plans.extend((k + 2..=k + 4).filter_map(|r| Plan::blocks(bits, k, r).ok()));
    }
    plans.extend(Plan::nested_blocks(bits, k, k.saturating_add(1)));
    plans.extend(Plan::qr11(bits, k));
    plans.extend(Plan::half_spaces(bits, k));
    plans.retain(|plan| plan.tables.len() <= MAX_CONSIDERED_TABLES);
    plans
}

/// Returns a plan of `s` disjoint parts with even radii, whose widths minimise the sum of the tables' costs: each bit
/// goes to the part whose cost it lowers most.
fn balanced(n: usize, bits: u32, k: u32, s: u32, step_costs: &JoinCosts) -> Option<Plan> {
    let radii = even_radii(k, s);
    let cost = |radius: i32, width: u32| match u32::try_from(radius) {
        Ok(radius) => {
            cheapest_address(width, |u| {
                TableLoad {
                    n: n as f64,
                    u,
                    radius,
                    skew: 1.0,
                }
                .join(step_costs)
            })
            .1
        }
        Err(_) => 0.0,
    };
    let mut widths: Vec<u32> = radii
        .iter()
        .map(|&r| (r.max(0) as u32 + 1).min(bits / s))
        .collect();
    let mut costs: Vec<(f64, f64)> = radii
        .iter()
        .zip(&widths)
        .map(|(&r, &w)| (cost(r, w), cost(r, w + 1)))
        .collect();
    for _ in widths.iter().sum::<u32>()..bits {
        // If several parts would save the same (or nothing), the narrowest one is widened.
        let gain = |p: &usize| (costs[*p].0 - costs[*p].1, std::cmp::Reverse(widths[*p]));
        let part = (0..widths.len())
            .max_by(|a, b| gain(a).0.total_cmp(&gain(b).0).then(gain(a).1.cmp(&gain(b).1)))?;
        widths[part] += 1;
        costs[part] = (costs[part].1, cost(radii[part], widths[part] + 1));
    }
    let mut plan = Plan::parts_of_widths(bits, k, &radii, &widths).ok()?;
    plan.name.push_str(" balanced");
    Some(plan)
}

/// Returns the address width up to `width` with the lowest cost, and that cost.
fn cheapest_address(width: u32, cost: impl Fn(u32) -> f64) -> (u32, f64) {
    (1..=width.clamp(1, MAX_ADDRESS_BITS))
        .map(|u| (u, cost(u)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or((1, f64::INFINITY))
}

fn cost_join(plan: Plan, n: f64, step_costs: &JoinCosts, sample: Option<&Sample>) -> CostedPlan {
    let mut address_bits = Vec::new();
    let (mut cost, mut bytes) = (0.0, 0f64);
    let skews: Vec<Option<Vec<f64>>> = match sample {
        Some(sample) => plan
            .tables
            .par_iter()
            .map(|table| Some(sample.skew(table.mask)))
            .collect(),
        None => vec![None; plan.tables.len()],
    };
    for (table, skew) in plan.tables.iter().zip(skews) {
        let (u, least) = cheapest_address(table.mask.count_ones(), |u| {
            if crate::flips::ball_size(u, table.radius) > MAX_FLIPS {
                return f64::INFINITY;
            }
            let skew = skew
                .as_ref()
                .and_then(|s| s.get(u as usize))
                .copied()
                .unwrap_or(1.0);
            TableLoad {
                n,
                u,
                radius: table.radius,
                skew,
            }
            .join(step_costs)
        });
        address_bits.push(u);
        cost += least;
        // Only one table is in memory at a time: two copies of its rows and ids, and its directory.
        bytes = bytes.max(2.0 * n * (f64::from(plan.bits) / 8.0 + 4.0) + 4.0 * 2f64.powi(u as i32));
    }
    CostedPlan {
        plan,
        address_bits,
        cost,
        bytes,
    }
}
