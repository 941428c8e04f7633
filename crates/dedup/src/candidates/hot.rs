//! The join of the rows with a limit on the number of edges: rows with too many neighbours become hot, and their
//! classes are left to the set join.
//!
//! Invariant: the join returns every pair of rows within the radius, unless one of the two rows is hot. In that case
//! all items of the hot row are core members of the set join, and all items of the other row are at least fringe
//! members.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;
use twinprint_cluster::JoinRole;
use twinprint_fingerprint::Width;
use twinprint_index::join::{Pair, self_join, self_join_with};
use twinprint_index::planner::plan_join;

use super::{Candidates, HOT_ROW_MIN_CLASSES, HOT_ROW_MIN_NEIGHBORS, HotRow, JoinRows};
use crate::error::DedupError;
use crate::ids::{Id, IdVec, RowId, ids};
use crate::options::DedupOptions;

/// Returns the pairs of rows from which edges are made, at most about `limit`. Adds the hot rows to `found`, and gives
/// the items of hot rows and of their neighbours a role in the set join.
pub(super) fn join_rows<W: Width>(
    rows: &JoinRows<W>,
    k: u32,
    limit: u64,
    options: &DedupOptions,
    found: &mut Candidates,
) -> Result<Vec<Pair>, DedupError> {
    let degrees: IdVec<RowId, AtomicU32> = (0..rows.len()).map(|_| AtomicU32::new(0)).collect();
    let total = AtomicU64::new(0);
    let collected = Mutex::new(Vec::new());
    let choice = plan_join(&rows.fingerprints, k);
    let stats = self_join_with(&rows.fingerprints, k, &choice.plan, &|batch: &[Pair]| {
        for pair in batch {
            let (a, b) = both(pair);
            let [items_of_a, items_of_b] = [a, b].map(|row| rows.items(row).len() as u32);
            degrees[a].fetch_add(items_of_b, Ordering::Relaxed);
            degrees[b].fetch_add(items_of_a, Ordering::Relaxed);
        }
        let before = total.fetch_add(batch.len() as u64, Ordering::Relaxed);
        if before < limit {
            collect(&collected, batch);
        }
    });
    found.row_pairs = stats.pairs;
    found.plan = stats.plan;
    found.plans = choice.alternatives;
    let complete = total.into_inner() <= limit;
    if !options.verify {
        return if complete {
            Ok(take(collected))
        } else {
            Err(DedupError::TooManyMatches { limit, k })
        };
    }
    let degrees = degrees.map(AtomicU32::into_inner);
    let items = |row: RowId| rows.items(row).len();
    let max_degree = affordable_degree(&degrees, limit, items);
    let hot: IdVec<RowId, bool> = degrees
        .entries()
        .map(|(row, &degree)| items(row) > HOT_ROW_MIN_CLASSES || max_degree.is_none_or(|max| degree > max))
        .collect();
    found.hot = ids(rows.len())
        .zip(&rows.fingerprints)
        .filter(|&(row, _)| hot[row])
        .map(|(row, fingerprint)| HotRow {
            fingerprint: fingerprint.widen(),
            classes: items(row) as u64,
            neighbors: u64::from(degrees[row]),
            item: rows.items(row)[0],
        })
        .collect();
    found
        .hot
        .sort_by_key(|row| (std::cmp::Reverse(row.classes + row.neighbors), row.item));
    if complete && found.hot.is_empty() {
        return Ok(take(collected));
    }
    let mut pairs = take(collected);
    let warm = if complete {
        warm_rows(&hot, |mark| pairs.iter().for_each(mark))
    } else {
        pairs = Vec::new();
        let warm = Mutex::new(IdVec::filled(false, rows.len()));
        self_join(&rows.fingerprints, k, &|batch: &[Pair]| {
            if let Ok(mut warm) = warm.lock() {
                for pair in batch {
                    mark_warm(&hot, &mut warm, pair);
                }
            }
        });
        warm.into_inner().unwrap_or_default()
    };
    for row in ids::<RowId>(rows.len()) {
        if hot[row] || warm[row] {
            let role = if hot[row] {
                JoinRole::Core
            } else {
                JoinRole::Fringe
            };
            for &item in rows.items(row) {
                found.roles[item] = found.roles[item].max(role);
            }
        }
    }
    let left_to_the_set_join = |pair: &Pair| {
        let (a, b) = both(pair);
        hot[a] || hot[b]
    };
    if complete {
        pairs.retain(|pair| !left_to_the_set_join(pair));
        return Ok(pairs);
    }
    let collected = Mutex::new(Vec::new());
    self_join(&rows.fingerprints, k, &|batch: &[Pair]| {
        let cold: Vec<Pair> = batch
            .iter()
            .filter(|pair| !left_to_the_set_join(pair))
            .copied()
            .collect();
        collect(&collected, &cold);
    });
    Ok(take(collected))
}

/// The two rows of a pair, as typed ids.
fn both(pair: &Pair) -> (RowId, RowId) {
    (RowId::new(pair.a), RowId::new(pair.b))
}

fn collect(pairs: &Mutex<Vec<Pair>>, batch: &[Pair]) {
    if let Ok(mut pairs) = pairs.lock() {
        pairs.extend_from_slice(batch);
    }
}

fn take(pairs: Mutex<Vec<Pair>>) -> Vec<Pair> {
    pairs.into_inner().unwrap_or_default()
}

/// Returns the warm rows, which are within the radius of a hot row. `each` calls its argument with every pair of rows.
fn warm_rows(hot: &IdVec<RowId, bool>, each: impl FnOnce(&mut dyn FnMut(&Pair))) -> IdVec<RowId, bool> {
    let mut warm = IdVec::filled(false, hot.len());
    each(&mut |pair| mark_warm(hot, &mut warm, pair));
    warm
}

fn mark_warm(hot: &IdVec<RowId, bool>, warm: &mut IdVec<RowId, bool>, pair: &Pair) {
    let (a, b) = both(pair);
    if hot[a] {
        warm[b] = true;
    }
    if hot[b] {
        warm[a] = true;
    }
}

/// The largest degree of a row that is not hot: [`HOT_ROW_MIN_NEIGHBORS`], or less if the rows up to that degree would
/// have more than `limit` edges. `None` if all rows are hot. `items` returns the number of items of a row.
fn affordable_degree(degrees: &IdVec<RowId, u32>, limit: u64, items: impl Fn(RowId) -> usize) -> Option<u32> {
    let mut rows: Vec<(u32, u64)> = degrees
        .entries()
        .filter(|&(row, &degree)| degree <= HOT_ROW_MIN_NEIGHBORS && items(row) <= HOT_ROW_MIN_CLASSES)
        .map(|(row, &degree)| (degree, items(row) as u64))
        .collect();
    rows.par_sort_unstable();
    let (mut ends, mut affordable) = (0, None);
    for level in rows.chunk_by(|a, b| a.0 == b.0) {
        // Every edge is counted twice, once for each of its two items.
        let ends_of = |&(degree, items): &(u32, u64)| items * (u64::from(degree) + items - 1);
        ends += level.iter().map(ends_of).sum::<u64>();
        if ends > 2 * limit {
            return affordable;
        }
        affordable = Some(level[0].0);
    }
    Some(HOT_ROW_MIN_NEIGHBORS)
}
