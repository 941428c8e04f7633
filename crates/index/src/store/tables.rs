//! Chooses the tables of segments and memtables by the number of their rows.

use twinprint_fingerprint::Width;

use super::Settings;
use crate::plan::{Plan, PlanError};
use crate::planner::{
    LookupCosts, LookupMode, Medium, SegmentPlan, Workload, plan_addresses, plan_lookup, plan_segment,
};
use crate::segment;

/// Returns the options for a segment of `rows` fingerprints of an index. Its tables are the fastest for batches of
/// queries within the index's radius.
///
/// # Errors
/// `Bits` if no plan exists for the width.
pub fn segment_options<W: Width>(rows: u64, settings: &Settings) -> Result<segment::Options, PlanError> {
    let choice = plan_segment(&workload::<W>(rows, settings), &LookupCosts::default())?;
    Ok(options_of(choice.plan, settings))
}

/// Like [`segment_options`], but for a given plan, whose address widths are chosen.
pub fn segment_options_of<W: Width>(plan: Plan, rows: u64, settings: &Settings) -> segment::Options {
    let choice = plan_addresses(plan, &workload::<W>(rows, settings), &LookupCosts::default());
    options_of(choice.plan, settings)
}

/// The workload that the segments of an index are planned for: batches of queries in memory.
fn workload<W: Width>(rows: u64, settings: &Settings) -> Workload {
    Workload {
        n: rows,
        bits: W::BITS,
        k: settings.radius,
        memory: None,
        medium: Medium::Memory,
        mode: LookupMode::Batch,
        skew_bits: 0.0,
        codec: settings.codec,
    }
}

fn options_of(SegmentPlan { plan, address_bits }: SegmentPlan, settings: &Settings) -> segment::Options {
    segment::Options {
        plan: Some(plan),
        address_bits,
        codec: settings.codec,
        ..segment::Options::default()
    }
}

/// Returns the plan of a memtable of `rows` fingerprints: the one with the fastest lookup among those with at most
/// about four tables. If no such plan serves the radius, it is a scan, which compares every row.
///
/// # Errors
/// `Bits` if no plan exists for the width.
pub(super) fn plan_for<W: Width>(rows: u64, radius: u32) -> Result<Plan, PlanError> {
    // The memory limit is that of four tables with their rows and ids, and of a directory with about one address per
    // row.
    let tables = 4;
    let bytes = tables * rows.max(1 << 10) * u64::from(W::BITS / 8 + 4) + 4 * rows;
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    Ok(plan_lookup(rows, W::BITS, radius, Some(bytes))?.plan)
}
