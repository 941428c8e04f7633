//! The join of the rows with a limit on the number of edges: rows with too many neighbours become hot, and their
//! classes are left to the set join.
//!
//! Invariant: the join returns every pair of rows within the radius, unless one of the two rows is hot. In that case
//! all items of the hot row are core members of the set join, and all items of the other row are at least fringe
//! members.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;
use twinprint_cluster::JoinRole;
use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::hamming_one_to_many;
use twinprint_index::join::{Pair, self_join_of_open};
use twinprint_index::planner::plan_join;

use super::{
    Candidates, EdgeLimits, HOT_ROW_MIN_CLASSES, HOT_ROW_MIN_NEIGHBORS, HotRow, JoinRows, ReplacedEdges,
};
use crate::error::DedupError;
use crate::ids::{Id, IdVec, ItemId, RowId, ids};
use crate::options::DedupOptions;

/// The least number of pairs of rows that one task sorts or expands.
pub(super) const PAIRS_PER_TASK: usize = 4096;

/// Two rows within the radius.
pub(super) type RowPair = (RowId, RowId);

/// The largest number of hot rows that the report lists.
pub(crate) const MAX_REPORTED_ROWS: usize = 20;

/// Returns the pairs of rows from which edges are made, at most about as many as fit into memory. Adds the hot rows to
/// `found`, and gives the items of hot rows and of their neighbours a role in the set join.
///
/// The join closes a row once it has counted more than [`HOT_ROW_MIN_NEIGHBORS`] neighbours of it, and leaves out pairs
/// of two closed rows. So the degree of a row that stays open is exact, a closed row is hot in any case, and the set of
/// hot rows does not depend on the order in which threads find the pairs. At most n ·
/// [`HOT_ROW_MIN_NEIGHBORS`] pairs are counted, apart from those found at the time when their rows are closed.
pub(super) fn join_rows<W: Width>(
    rows: &JoinRows<W>,
    k: u32,
    limits: EdgeLimits,
    options: &DedupOptions,
    found: &mut Candidates,
) -> Result<Vec<RowPair>, DedupError> {
    let limit = limits.in_memory;
    let degrees: IdVec<RowId, AtomicU32> = (0..rows.len()).map(|_| AtomicU32::new(0)).collect();
    let total = AtomicU64::new(0);
    let collected = Mutex::new(Vec::new());
    let choice = plan_join(&rows.fingerprints, k);
    let is_closed =
        |row: u32| options.verify && degrees[RowId::new(row)].load(Ordering::Relaxed) > HOT_ROW_MIN_NEIGHBORS;
    let stats = self_join_of_open(
        &rows.fingerprints,
        k,
        &choice.plan,
        &is_closed,
        &|batch: &[Pair]| {
            for pair in batch {
                let (a, b) = both(pair);
                let [items_of_a, items_of_b] = [a, b].map(|row| rows.items(row).len() as u32);
                degrees[a].fetch_add(items_of_b, Ordering::Relaxed);
                degrees[b].fetch_add(items_of_a, Ordering::Relaxed);
            }
            let before = total.fetch_add(batch.len() as u64, Ordering::Relaxed);
            if before < limit
                && let Ok(mut collected) = collected.lock()
            {
                collected.extend(batch.iter().map(both));
            }
        },
    );
    found.plan = stats.plan;
    found.plans = choice.alternatives;
    let complete = total.into_inner() <= limit;
    if !options.verify {
        found.row_pairs = stats.pairs;
        return if complete {
            Ok(take(collected))
        } else {
            Err(DedupError::TooManyMatches { limit, k })
        };
    }
    let degrees = degrees.map(AtomicU32::into_inner);
    let items = |row: RowId| rows.items(row).len();
    let hot_rows = |limit: u64| -> IdVec<RowId, bool> {
        let rows = degrees.entries().map(|(row, &degree)| (degree, items(row)));
        hot_rows(rows, limit).collect()
    };
    let hot = hot_rows(limits.all);
    let replaced = if limits.in_memory < limits.all {
        hot_rows(limits.in_memory)
    } else {
        hot.clone()
    };
    if complete && !replaced.iter().any(|&hot| hot) {
        found.row_pairs = stats.pairs;
        return Ok(take(collected));
    }
    found.hot = reported(rows, k, &hot);
    let sorted = SortedPairs::new(rows.len());
    if complete {
        let pairs = take(collected);
        pairs.par_chunks(PAIRS_PER_TASK).for_each(|pairs| {
            sorted.add([&hot, &replaced], pairs.iter().copied());
        });
    } else {
        drop(take(collected));
        let is_hot = |row: u32| hot[RowId::new(row)];
        self_join_of_open(
            &rows.fingerprints,
            k,
            &choice.plan,
            &is_hot,
            &|batch: &[Pair]| sorted.add([&hot, &replaced], batch.iter().map(both)),
        );
    }
    found.row_pairs = sorted.count.into_inner();
    let warm = sorted.warm.map(|warm| warm.map(AtomicBool::into_inner));
    let mut roles = found.roles.clone();
    give_roles(rows, &hot, &warm[0], &mut roles);
    if replaced == hot {
        found.roles = roles;
    } else {
        give_roles(rows, &replaced, &warm[1], &mut found.roles);
        found.replaced = Some(ReplacedEdges { roles, k });
    }
    Ok(take(sorted.cold))
}

/// Makes the items of hot rows core members of the set join, and those of warm rows at least fringe members.
fn give_roles<W: Width>(
    rows: &JoinRows<W>,
    hot: &IdVec<RowId, bool>,
    warm: &IdVec<RowId, bool>,
    roles: &mut IdVec<ItemId, JoinRole>,
) {
    for row in ids::<RowId>(rows.len()) {
        let Some(role) = row_role(hot[row], warm[row]) else {
            continue;
        };
        for &item in rows.items(row) {
            roles[item] = roles[item].max(role);
        }
    }
}

/// The least role of the items of a row: core members in a hot row, and fringe members in a warm one, which is within the
/// radius of a hot row. `None` for another row.
pub(crate) fn row_role(is_hot: bool, is_warm: bool) -> Option<JoinRole> {
    match (is_hot, is_warm) {
        (true, _) => Some(JoinRole::Core),
        (false, true) => Some(JoinRole::Fringe),
        (false, false) => None,
    }
}

/// Decides of each row whether it is hot. `rows` yields the degree and the number of items of each row. The rows that are not
/// hot have at most `limit` edges.
fn hot_rows(rows: impl Iterator<Item = (u32, usize)> + Clone, limit: u64) -> impl Iterator<Item = bool> {
    let max_degree = affordable_degree(rows.clone(), limit);
    rows.map(move |row| is_hot(row, max_degree))
}

/// True if a row is hot. `row` has its degree and the number of its items, and `max_degree` is that of
/// [`affordable_degree`].
pub(crate) fn is_hot((degree, items): (u32, usize), max_degree: Option<u32>) -> bool {
    items > HOT_ROW_MIN_CLASSES || max_degree.is_none_or(|max| degree > max)
}

/// The pairs of rows with at most one hot row, sorted by how they are searched. All hot rows are among the rows that are
/// left to the set join.
struct SortedPairs {
    /// The pairs that become edges: neither row is left to the set join.
    cold: Mutex<Vec<RowPair>>,
    /// The rows within the radius of a hot row, and those within the radius of a row that is left to the set join.
    warm: [IdVec<RowId, AtomicBool>; 2],
    /// The number of pairs with at most one hot row.
    count: AtomicU64,
}

impl SortedPairs {
    fn new(rows: usize) -> Self {
        let none = || (0..rows).map(|_| AtomicBool::new(false)).collect();
        Self {
            cold: Mutex::default(),
            warm: [none(), none()],
            count: AtomicU64::new(0),
        }
    }

    /// Adds pairs. Several threads may add pairs at a time. `hot` has the hot rows, and the rows that are left to the set join.
    fn add(&self, hot: [&IdVec<RowId, bool>; 2], pairs: impl ExactSizeIterator<Item = RowPair>) {
        let (mut cold, mut count) = (Vec::with_capacity(pairs.len()), 0);
        for (a, b) in pairs {
            for (hot, warm) in hot.iter().zip(&self.warm) {
                for (hot, row) in [(hot[a], b), (hot[b], a)] {
                    if hot {
                        warm[row].store(true, Ordering::Relaxed);
                    }
                }
            }
            count += u64::from(!hot[0][a] || !hot[0][b]);
            if !hot[1][a] && !hot[1][b] {
                cold.push((a, b));
            }
        }
        self.count.fetch_add(count, Ordering::Relaxed);
        if let Ok(mut all) = self.cold.lock() {
            all.extend(cold);
        }
    }
}

/// The hot rows that the report lists: those with the most classes, and of these the first ones. Their neighbours are
/// counted by comparing them with all rows.
fn reported<W: Width>(rows: &JoinRows<W>, k: u32, hot: &IdVec<RowId, bool>) -> Vec<HotRow> {
    let mut chosen: Vec<RowId> = ids(rows.len()).filter(|&row| hot[row]).collect();
    let key = |&row: &RowId| (std::cmp::Reverse(rows.items(row).len()), rows.items(row)[0]);
    if chosen.len() > MAX_REPORTED_ROWS {
        chosen.select_nth_unstable_by_key(MAX_REPORTED_ROWS, key);
        chosen.truncate(MAX_REPORTED_ROWS);
    }
    chosen.sort_unstable_by_key(key);
    let describe = |&row: &RowId| {
        let fingerprint = rows.fingerprints[row.index()];
        let mut near = Vec::new();
        hamming_one_to_many(fingerprint, &rows.fingerprints, k, &mut near);
        let others = near
            .iter()
            .map(|hit| RowId::new(hit.row))
            .filter(|&other| other != row);
        HotRow {
            fingerprint: fingerprint.widen(),
            classes: rows.items(row).len() as u64,
            neighbors: others.map(|other| rows.items(other).len() as u64).sum(),
            item: rows.items(row)[0],
        }
    };
    chosen.par_iter().map(describe).collect()
}

/// The two rows of a pair, as typed ids.
fn both(pair: &Pair) -> RowPair {
    (RowId::new(pair.a), RowId::new(pair.b))
}

fn take(pairs: Mutex<Vec<RowPair>>) -> Vec<RowPair> {
    pairs.into_inner().unwrap_or_default()
}

/// The largest degree of a row that is not hot: [`HOT_ROW_MIN_NEIGHBORS`], or less if the rows up to that degree would
/// have more than `limit` edges. `None` if all rows are hot. `rows` yields the degree and the number of items of each row.
pub(crate) fn affordable_degree(rows: impl Iterator<Item = (u32, usize)>, limit: u64) -> Option<u32> {
    // The ends of edges at the rows of each degree; `None` without such rows. Every edge has two ends.
    let mut ends_of: Vec<Option<u64>> = vec![None; HOT_ROW_MIN_NEIGHBORS as usize + 1];
    for (degree, items) in rows.filter(|&(_, items)| items <= HOT_ROW_MIN_CLASSES) {
        if let Some(ends) = ends_of.get_mut(degree as usize) {
            let items = items as u64;
            *ends.get_or_insert_default() += items * (u64::from(degree) + items - 1);
        }
    }
    let (mut ends, mut affordable) = (0, None);
    for (degree, of_degree) in (0..).zip(ends_of) {
        let Some(of_degree) = of_degree else { continue };
        ends += of_degree;
        if ends > 2 * limit {
            return affordable;
        }
        affordable = Some(degree);
    }
    Some(HOT_ROW_MIN_NEIGHBORS)
}
