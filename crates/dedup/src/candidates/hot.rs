//! The join of the rows within a bound of edges: rows of too many neighbours are made hot and left to the set join.
//!
//! Invariant: a pair of rows within the radius is returned, or one of its rows is hot, so that all of its items are core members and those
//! of the other row at least fringe members.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;
use twinprint_cluster::JoinRole;
use twinprint_fingerprint::Width;
use twinprint_index::join::{Pair, self_join, self_join_with};
use twinprint_index::planner::plan_join;

use super::{Candidates, HOT_ROW_MIN_CLASSES, HOT_ROW_MIN_NEIGHBORS, HotRow, Rows};
use crate::error::DedupError;
use crate::options::DedupOptions;

/// The row pairs to be expanded to edges, of which there are at most about `limit`. Marks the members that hot rows add.
pub(super) fn join_rows<W: Width>(
    rows: &Rows<W>,
    k: u32,
    limit: u64,
    options: &DedupOptions,
    found: &mut Candidates,
) -> Result<Vec<Pair>, DedupError> {
    let n = rows.fingerprint.len();
    let degrees: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
    let total = AtomicU64::new(0);
    let held = Mutex::new(Vec::new());
    let choice = plan_join(&rows.fingerprint, k);
    let stats = self_join_with(&rows.fingerprint, k, &choice.plan, &|batch: &[Pair]| {
        for pair in batch {
            let [a, b] = [pair.a, pair.b].map(|row| rows.items(row).len() as u32);
            degrees[pair.a as usize].fetch_add(b, Ordering::Relaxed);
            degrees[pair.b as usize].fetch_add(a, Ordering::Relaxed);
        }
        let before = total.fetch_add(batch.len() as u64, Ordering::Relaxed);
        if before < limit {
            hold(&held, batch);
        }
    });
    found.row_pairs = stats.pairs;
    found.plan = stats.plan;
    found.plans = choice.alternatives;
    let complete = total.into_inner() <= limit;
    if !options.verify {
        return if complete {
            Ok(take(held))
        } else {
            Err(DedupError::TooManyMatches { limit, k })
        };
    }
    let degrees: Vec<u32> = degrees.into_iter().map(AtomicU32::into_inner).collect();
    let crowd = |row: usize| rows.items(row as u32).len();
    let most = affordable_degree(&degrees, limit, crowd);
    let hot: Vec<bool> = (0..n)
        .map(|row| crowd(row) > HOT_ROW_MIN_CLASSES || most.is_none_or(|most| degrees[row] > most))
        .collect();
    found.hot = (0..n)
        .filter(|&row| hot[row])
        .map(|row| HotRow {
            fingerprint: rows.fingerprint[row].widen(),
            classes: crowd(row) as u64,
            neighbors: u64::from(degrees[row]),
            item: rows.items(row as u32)[0],
        })
        .collect();
    found
        .hot
        .sort_by_key(|row| (std::cmp::Reverse(row.classes + row.neighbors), row.item));
    if complete && found.hot.is_empty() {
        return Ok(take(held));
    }
    let mut pairs = take(held);
    let warm = if complete {
        warm_rows(&hot, |mark| pairs.iter().for_each(mark))
    } else {
        pairs = Vec::new();
        let warm = Mutex::new(vec![false; n]);
        self_join(&rows.fingerprint, k, &|batch: &[Pair]| {
            if let Ok(mut warm) = warm.lock() {
                for pair in batch {
                    mark_warm(&hot, &mut warm, pair);
                }
            }
        });
        warm.into_inner().unwrap_or_default()
    };
    for row in 0..n as u32 {
        if hot[row as usize] || warm[row as usize] {
            let member = if hot[row as usize] {
                JoinRole::Core
            } else {
                JoinRole::Fringe
            };
            for &item in rows.items(row) {
                found.member[item as usize] = found.member[item as usize].max(member);
            }
        }
    }
    let left_to_the_set_join = |pair: &Pair| hot[pair.a as usize] || hot[pair.b as usize];
    if complete {
        pairs.retain(|pair| !left_to_the_set_join(pair));
        return Ok(pairs);
    }
    let held = Mutex::new(Vec::new());
    self_join(&rows.fingerprint, k, &|batch: &[Pair]| {
        let cold: Vec<Pair> = batch
            .iter()
            .filter(|pair| !left_to_the_set_join(pair))
            .copied()
            .collect();
        hold(&held, &cold);
    });
    Ok(take(held))
}

fn hold(held: &Mutex<Vec<Pair>>, batch: &[Pair]) {
    if let Ok(mut held) = held.lock() {
        held.extend_from_slice(batch);
    }
}

fn take(held: Mutex<Vec<Pair>>) -> Vec<Pair> {
    held.into_inner().unwrap_or_default()
}

/// Rows next to a hot one.
fn warm_rows(hot: &[bool], each: impl FnOnce(&mut dyn FnMut(&Pair))) -> Vec<bool> {
    let mut warm = vec![false; hot.len()];
    each(&mut |pair| mark_warm(hot, &mut warm, pair));
    warm
}

fn mark_warm(hot: &[bool], warm: &mut [bool], pair: &Pair) {
    if hot[pair.a as usize] {
        warm[pair.b as usize] = true;
    }
    if hot[pair.b as usize] {
        warm[pair.a as usize] = true;
    }
}

/// The degree above which a row is hot: [`HOT_ROW_MIN_NEIGHBORS`], or the most that leaves at most `limit` edges among the rows up to it. `None` when all
/// rows are hot. `crowd` tells the items of a row.
fn affordable_degree(degrees: &[u32], limit: u64, crowd: impl Fn(usize) -> usize) -> Option<u32> {
    let mut rows: Vec<(u32, u64)> = degrees
        .iter()
        .enumerate()
        .filter(|&(row, &degree)| degree <= HOT_ROW_MIN_NEIGHBORS && crowd(row) <= HOT_ROW_MIN_CLASSES)
        .map(|(row, &degree)| (degree, crowd(row) as u64))
        .collect();
    rows.par_sort_unstable();
    let (mut ends, mut affordable) = (0, None);
    for level in rows.chunk_by(|a, b| a.0 == b.0) {
        // Each edge has two ends, one at each of its items.
        let ends_of = |&(degree, items): &(u32, u64)| items * (u64::from(degree) + items - 1);
        ends += level.iter().map(ends_of).sum::<u64>();
        if ends > 2 * limit {
            return affordable;
        }
        affordable = Some(level[0].0);
    }
    Some(HOT_ROW_MIN_NEIGHBORS)
}
