//! Chooses among plans by cost, and says why the others lost.

use fingerprint::Width;

use crate::join::JoinPlan;
use crate::plan::Plan;

/// What the planner chose.
#[derive(Clone, Debug)]
pub struct Choice<P> {
    /// The plan chosen.
    pub plan: P,
}

/// The cheapest way to join `rows` with themselves at radius `k`.
pub fn plan_join<W: Width>(rows: &[W], k: u32) -> Choice<JoinPlan> {
    let s = (k / 3 + 2).min(W::BITS);
    let bits = rows.len().max(2).ilog2();
    let plan = match Plan::even_parts(W::BITS, k, s) {
        Ok(plan) if rows.len() > 1 << 16 => JoinPlan::from_exact(&plan, &vec![bits; plan.tables.len()]),
        _ => JoinPlan::Scan,
    };
    Choice { plan }
}
