//! The choice of tables in memory for one lookup at a time.

use twinprint_fingerprint::Width;

use super::cost::{JoinCosts, TableLoad};
use super::skew::Differences;
use super::{CHOSEN_VERDICT, CostedPlan, PlanChoice, alternative, catalogue, memory};
use crate::plan::MAX_ADDRESS_BITS;
use crate::plan::{Plan, PlanError, TableSpec, leading_bits};

/// Chooses the cheapest plan for single lookups among `n` uniform rows. `memory` limits the bytes of the tables; `None`
/// is no limit. A scan needs little more than the rows themselves, and is chosen if nothing else fits.
///
/// ```
/// use twinprint_index::planner::plan_lookup;
///
/// let choice = plan_lookup(1_000_000, 64, 3, None)?;
/// assert!(choice.plan.tables.len() > 1);
/// let small = plan_lookup(100, 64, 3, None)?;
/// assert_eq!(small.plan.name, "scan");
/// # Ok::<(), twinprint_index::plan::PlanError>(())
/// ```
///
/// # Errors
/// `Bits` if the width is outside 1..=128.
pub fn plan_lookup(n: usize, bits: u32, k: u32, memory: Option<u64>) -> Result<PlanChoice<Plan>, PlanError> {
    choose(n, bits, k, memory, None)
}

/// Like [`plan_lookup`], but for given rows, whose skew is estimated from a sample. Texts of one language share
/// frequent words, so their fingerprints are nearer to one another than uniform ones, and fewer, wider tables are
/// cheaper for them. Queries are assumed to have the same distribution as the rows. O(1) in the number of rows.
///
/// # Errors
/// The same as for [`plan_lookup`].
pub fn plan_lookup_of<W: Width>(
    rows: &[W],
    k: u32,
    memory: Option<u64>,
) -> Result<PlanChoice<Plan>, PlanError> {
    choose(rows.len(), W::BITS, k, memory, Some(&Differences::of(rows)))
}

fn choose(
    n: usize,
    bits: u32,
    k: u32,
    memory: Option<u64>,
    differences: Option<&Differences>,
) -> Result<PlanChoice<Plan>, PlanError> {
    let step_costs = JoinCosts::of(bits);
    let rows = n as f64;
    let scan = CostedPlan {
        plan: Plan::scan(bits, k)?,
        address_bits: vec![1],
        cost: step_costs.probe + rows * step_costs.scanned,
        bytes: rows * (f64::from(bits) / 8.0 + 4.0),
    };
    let fits = |p: &CostedPlan| memory.is_none_or(|m| p.bytes <= m as f64);
    let mut costed: Vec<CostedPlan> = catalogue(bits, k)
        .into_iter()
        .map(|plan| cost_lookup(plan, rows, &step_costs, None))
        .collect();
    by_cost(&mut costed);
    if let Some(differences) = differences {
        // Skew can only raise a plan's cost, so a plan that is too expensive for uniform rows need not be considered
        // again.
        let mut least = scan.cost;
        for p in &mut costed {
            if p.cost >= least {
                break;
            }
            *p = cost_lookup(p.plan.clone(), rows, &step_costs, Some(differences));
            if fits(p) {
                least = least.min(p.cost);
            }
        }
    }
    costed.push(scan);
    by_cost(&mut costed);
    let best = costed
        .iter()
        .position(fits)
        .or_else(|| costed.iter().position(|p| p.plan.name == "scan"));
    let best = costed.remove(best.unwrap_or(0));
    let mut chosen = alternative(&best, &best.address_bits, best.cost);
    chosen.verdict = CHOSEN_VERDICT.into();
    let mut alternatives = vec![chosen];
    alternatives.extend(costed.iter().map(|p| {
        let mut loser = alternative(p, &p.address_bits, best.cost);
        if !fits(p) {
            loser.verdict = format!("needs {} of memory", self::memory(p.bytes));
        }
        loser
    }));
    Ok(PlanChoice {
        plan: best.plan,
        alternatives,
    })
}

/// Sorts plans by cost, cheapest first. Of plans with equal cost, the one with the fewest tables comes first.
fn by_cost(costed: &mut [CostedPlan]) {
    costed.sort_by(|a, b| {
        let tables = a.plan.tables.len().cmp(&b.plan.tables.len());
        a.cost.total_cmp(&b.cost).then(tables)
    });
}

fn cost_lookup(
    plan: Plan,
    rows: f64,
    step_costs: &JoinCosts,
    differences: Option<&Differences>,
) -> CostedPlan {
    let row_bytes = f64::from(plan.bits) / 8.0;
    let width = (rows.max(2.0) as usize).ilog2().min(MAX_ADDRESS_BITS);
    let (mut cost, mut bytes) = (0.0, rows * 4.0);
    let mut address_bits = Vec::new();
    for &TableSpec { mask, radius } in &plan.tables {
        let u = width.min(mask.count_ones());
        let load = TableLoad {
            n: rows,
            u,
            radius,
            skew: 1.0,
        };
        let (probes, mut candidates) = load.lookup();
        if let Some(differences) = differences {
            candidates = candidates.max(rows * differences.share(leading_bits(mask, u), radius));
        }
        cost += probes * step_costs.probe + candidates * step_costs.candidate;
        bytes += rows * row_bytes + 4.0 * 2f64.powi(u as i32) + 4.0 * probes;
        address_bits.push(u);
    }
    CostedPlan {
        plan,
        address_bits,
        cost,
        bytes,
    }
}
