//! A level of a growing index: rows that do not change, in permuted tables where those are cheaper than a scan.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use twinprint_fingerprint::{Width, kernel};

use super::Neighbor;
use crate::planner::plan_lookup_of;
use crate::table::{Match, Tables};

/// Fingerprints and, at the same positions, their ids.
#[derive(Clone)]
pub(super) struct IdRows<W> {
    fingerprints: Vec<W>,
    ids: Vec<u64>,
}

impl<W> Default for IdRows<W> {
    fn default() -> Self {
        Self {
            fingerprints: Vec::new(),
            ids: Vec::new(),
        }
    }
}

impl<W: Width> IdRows<W> {
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn ids(&self) -> &[u64] {
        &self.ids
    }

    pub(super) fn push(&mut self, id: u64, fingerprint: W) {
        self.fingerprints.push(fingerprint);
        self.ids.push(id);
    }

    /// Returns a copy of the first `rows` rows.
    pub(super) fn first(&self, rows: usize) -> Self {
        Self {
            fingerprints: self.fingerprints[..rows].to_vec(),
            ids: self.ids[..rows].to_vec(),
        }
    }

    pub(super) fn drop_first(&mut self, rows: usize) {
        self.fingerprints.drain(..rows);
        self.ids.drain(..rows);
    }

    /// Appends all rows of `rows` whose ids are not in `dropped`.
    fn append(&mut self, rows: &Self, dropped: &FxHashSet<u64>) {
        if dropped.is_empty() {
            self.fingerprints.extend_from_slice(&rows.fingerprints);
            self.ids.extend_from_slice(&rows.ids);
            return;
        }
        for (&fingerprint, &id) in rows.fingerprints.iter().zip(&rows.ids) {
            if !dropped.contains(&id) {
                self.push(id, fingerprint);
            }
        }
    }

    /// Compares all rows with `query`. For every row within Hamming distance `k`, calls `found` with its position, and
    /// with its id and distance.
    pub(super) fn scan(&self, query: W, k: u32, mut found: impl FnMut(usize, Neighbor)) {
        let mut near = Vec::new();
        kernel::hamming_one_to_many(query, &self.fingerprints, k, &mut near);
        for hit in near {
            let row = hit.row as usize;
            if let Some(&id) = self.ids.get(row) {
                let distance = u32::from(hit.distance);
                found(row, Neighbor { id, distance });
            }
        }
    }
}

/// An immutable level of a growing index.
pub(super) struct Level<W> {
    rows: IdRows<W>,
    /// Permuted tables of the rows; `None` if a scan of the rows is cheaper.
    tables: Option<Tables<W>>,
}

impl<W: Width> Level<W> {
    /// Merges the rows of several levels and of the tail into a new level, except for the ids in `dropped`. The tables
    /// of the new level are planned for radius `k`.
    pub(super) fn merge(levels: &[Arc<Self>], tail: &IdRows<W>, dropped: &FxHashSet<u64>, k: u32) -> Self {
        let mut rows = IdRows::default();
        let count = levels.iter().map(|level| level.len()).sum::<usize>() + tail.len();
        rows.fingerprints.reserve_exact(count);
        rows.ids.reserve_exact(count);
        for level in levels {
            rows.append(&level.rows, dropped);
        }
        rows.append(tail, dropped);
        // If there is no plan for the radius, or if there are 2^32 rows or more, the level has no tables. Lookups then
        // scan the rows, which is exact too.
        let plan = plan_lookup_of(&rows.fingerprints, k, None)
            .ok()
            .map(|choice| choice.plan)
            .filter(|plan| plan.name != "scan" && u32::try_from(rows.len()).is_ok());
        let tables = plan.and_then(|plan| Tables::build(&rows.fingerprints, &plan).ok());
        Self { rows, tables }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn ids(&self) -> &[u64] {
        self.rows.ids()
    }

    #[cfg(test)]
    pub(super) fn has_tables(&self) -> bool {
        self.tables.is_some()
    }

    /// Calls `found` with every row within Hamming distance `k` of `query`. `matches` is a buffer for reuse.
    pub(super) fn lookup(&self, query: W, k: u32, matches: &mut Vec<Match>, mut found: impl FnMut(Neighbor)) {
        match &self.tables {
            Some(tables) => {
                tables.lookup(query, k, matches);
                for row in matches {
                    if let Some(&id) = self.rows.ids.get(row.id as usize) {
                        let distance = u32::from(row.distance);
                        found(Neighbor { id, distance });
                    }
                }
            }
            None => self.rows.scan(query, k, |_, neighbor| found(neighbor)),
        }
    }
}
