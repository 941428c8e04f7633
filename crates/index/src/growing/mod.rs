//! An index in memory into which fingerprints are inserted and from which they are removed, for lookups within a
//! radius.
//!
//! Permuted tables ([`Tables`](crate::Tables)) cannot be changed, so the rows are in several **levels**, each with
//! tables of its own, the longest first (the logarithmic method: Bentley and Saxe, *Decomposable searching problems I*,
//! 1980). New rows wait in a **tail** that is scanned. A full tail becomes a level, merged with the younger levels that
//! are not much longer. A row is therefore merged O(log n) times and a lookup searches O(log n) levels.
//!
//! The caller chooses where merges run: [`GrowingIndex::maintain`] merges on the calling thread, and
//! [`GrowingIndex::maintain_in_background`] merges on a thread of its own, while lookups still use the old levels and
//! the tail.
//!
//! Invariants:
//! * A row is in one level or in the tail.
//! * `removed` has the ids that were removed but whose row is still in a level or in the tail. The next merge of such a
//!   row drops the row, and its id from `removed`.
//! * While a merge runs, the ids whose rows it drops are in `Merge::dropped` and not in `removed`. A lookup ignores
//!   them only in the rows that are being merged. An id that is inserted again in the meantime gets a new row in the
//!   tail.

mod background;
mod level;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use twinprint_fingerprint::Width;

use self::background::{MergeThread, Progress};
use self::level::{IdRows, Level};

/// The policy for merging rows of a [`GrowingIndex`] into larger tables. It affects speed only, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergePolicy {
    /// The number of new rows at which they are put into tables. Until then they are scanned.
    pub tail_rows: usize,
    /// A younger level is merged with the tail if it has at most this many times the rows merged so far. A larger ratio
    /// leaves fewer levels to search and merges each row more often.
    pub size_ratio: usize,
}

impl Default for MergePolicy {
    fn default() -> Self {
        Self {
            tail_rows: 1 << 13,
            size_ratio: 6,
        }
    }
}

/// A row within the radius of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Neighbor {
    /// The id under which the row was inserted.
    pub id: u64,
    /// Hamming distance from the query.
    pub distance: u32,
}

/// An exact index in memory of fingerprints that are inserted and removed.
///
/// ```
/// use twinprint_index::GrowingIndex;
///
/// let mut index = GrowingIndex::new(3);
/// index.insert(1, 0b0000u64);
/// index.insert(2, 0b0111);
/// index.insert(3, u64::MAX);
/// index.remove(1);
/// index.maintain();
///
/// let mut found = Vec::new();
/// index.lookup(0b0001, 3, &mut found);
/// assert_eq!(found.iter().map(|row| (row.id, row.distance)).collect::<Vec<_>>(), [(2, 2)]);
/// ```
pub struct GrowingIndex<W> {
    k: u32,
    policy: MergePolicy,
    /// The levels, longest first.
    levels: Vec<Arc<Level<W>>>,
    tail: IdRows<W>,
    /// Ids that were removed. Their rows are ignored until a merge drops them.
    removed: FxHashSet<u64>,
    merge: Option<Merge<W>>,
}

/// A merge that runs on a background thread.
struct Merge<W> {
    /// The number of levels being merged, from the youngest.
    levels: usize,
    /// The number of rows of the tail being merged, from the first.
    tail_rows: usize,
    /// The ids whose rows the merge drops.
    dropped: Arc<FxHashSet<u64>>,
    thread: MergeThread<W>,
}

impl<W: Width> GrowingIndex<W> {
    /// Creates an empty index whose tables are planned for lookups within Hamming distance `k`.
    pub fn new(k: u32) -> Self {
        Self::with_policy(k, MergePolicy::default())
    }

    /// Creates an empty index whose tables are planned for lookups within Hamming distance `k`, and whose rows are
    /// merged according to `policy`.
    pub fn with_policy(k: u32, policy: MergePolicy) -> Self {
        Self {
            k,
            policy,
            levels: Vec::new(),
            tail: IdRows::default(),
            removed: FxHashSet::default(),
            merge: None,
        }
    }

    /// The number of rows, without removed ones.
    pub fn len(&self) -> usize {
        let dropped = self.merge.as_ref().map_or(0, |merge| merge.dropped.len());
        self.rows_stored().saturating_sub(self.removed.len() + dropped)
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Inserts a row. The id must not be in the index. An id that was removed may be inserted again, but only with its
    /// earlier fingerprint. O(1); call [`maintain`](Self::maintain) or
    /// [`maintain_in_background`](Self::maintain_in_background) afterwards.
    pub fn insert(&mut self, id: u64, fingerprint: W) {
        // If the id is in `removed`, its row is still stored with the same fingerprint, and need not be added again.
        if !self.removed.remove(&id) {
            self.tail.push(id, fingerprint);
        }
    }

    /// Removes a row. The id must be in the index, which is not checked. O(1).
    pub fn remove(&mut self, id: u64) {
        self.removed.insert(id);
    }

    /// Appends the rows within Hamming distance `k` of `query` to `out`, each once, in no particular order. If `k` is
    /// greater than the `k` of [`new`](Self::new), every row is compared.
    pub fn lookup(&self, query: W, k: u32, out: &mut Vec<Neighbor>) {
        let (merging_from, merging_rows, dropped) = match &self.merge {
            Some(merge) => (
                self.levels.len() - merge.levels,
                merge.tail_rows,
                Some(&*merge.dropped),
            ),
            None => (self.levels.len(), 0, None),
        };
        let dropped = dropped.filter(|dropped| !dropped.is_empty());
        let removed = Some(&self.removed).filter(|removed| !removed.is_empty());
        let mut matches = Vec::new();
        for (number, level) in self.levels.iter().enumerate() {
            let dropped = dropped.filter(|_| number >= merging_from);
            level.lookup(query, k, &mut matches, |neighbor| {
                let ignored = [removed, dropped].into_iter().flatten();
                if !ignored.into_iter().any(|ids| ids.contains(&neighbor.id)) {
                    out.push(neighbor);
                }
            });
        }
        self.tail.scan(query, k, |row, neighbor| {
            let dropped = dropped.filter(|_| row < merging_rows);
            let ignored = [removed, dropped].into_iter().flatten();
            if !ignored.into_iter().any(|ids| ids.contains(&neighbor.id)) {
                out.push(neighbor);
            }
        });
    }

    /// If the tail is full or most rows are removed, waits for a merge in the background to end, and then merges on the
    /// calling thread.
    pub fn maintain(&mut self) {
        if self.is_merge_due() {
            self.finish_merge();
        }
        // The background merge that has just ended may have made a second merge unnecessary.
        if self.is_merge_due() {
            self.merge_now(self.levels_to_merge());
        }
    }

    /// Puts the result of a background merge that has ended into use. Then starts a merge on a thread of low priority
    /// if the tail is full or most rows are removed. Never waits. If no thread can be started, the tail continues to
    /// grow.
    pub fn maintain_in_background(&mut self) {
        if let Some(merge) = self.merge.take() {
            match merge.thread.progress() {
                Progress::Running => self.merge = Some(merge),
                Progress::Merged(level) => self.adopt(&merge, level),
                Progress::Lost => self.merge_again(&merge),
            }
        }
        if self.merge.is_none() && self.is_merge_due() {
            self.start_merge();
        }
    }

    /// Merges the tail and the younger levels now, even if no merge is due. Useful after many insertions and before
    /// many lookups.
    pub fn merge(&mut self) {
        self.finish_merge();
        self.merge_now(self.levels_to_merge());
    }

    /// The number of rows in the levels and the tail, including removed ones.
    fn rows_stored(&self) -> usize {
        self.levels.iter().map(|level| level.len()).sum::<usize>() + self.tail.len()
    }

    fn is_merge_due(&self) -> bool {
        let removed = self.removed.len();
        self.tail.len() >= self.policy.tail_rows
            || removed > self.policy.tail_rows && removed * 2 > self.rows_stored()
    }

    /// The number of levels, from the youngest, to merge with the tail.
    fn levels_to_merge(&self) -> usize {
        if self.removed.len() * 3 > self.rows_stored() {
            return self.levels.len();
        }
        let mut rows = self.tail.len();
        let mut count = 0;
        for level in self.levels.iter().rev() {
            if level.len() > rows * self.policy.size_ratio {
                break;
            }
            rows += level.len();
            count += 1;
        }
        count
    }

    /// Takes out of `removed` the ids whose rows are in the youngest `levels` levels or in the tail.
    fn take_removed(&mut self, levels: usize) -> FxHashSet<u64> {
        if levels == self.levels.len() {
            return std::mem::take(&mut self.removed);
        }
        let mut dropped = FxHashSet::default();
        if !self.removed.is_empty() {
            let youngest = &self.levels[self.levels.len() - levels..];
            let ids = youngest
                .iter()
                .flat_map(|level| level.ids())
                .chain(self.tail.ids());
            dropped.extend(ids.copied().filter(|id| self.removed.remove(id)));
        }
        dropped
    }

    fn merge_now(&mut self, levels: usize) {
        let dropped = self.take_removed(levels);
        let tail = std::mem::take(&mut self.tail);
        let youngest = self.levels.split_off(self.levels.len() - levels);
        self.levels
            .push(Arc::new(Level::merge(&youngest, &tail, &dropped, self.k)));
    }

    fn start_merge(&mut self) {
        let levels = self.levels_to_merge();
        let dropped = Arc::new(self.take_removed(levels));
        let tail_rows = self.tail.len();
        let youngest = self.levels[self.levels.len() - levels..].to_vec();
        let (tail, ignored, k) = (self.tail.clone(), Arc::clone(&dropped), self.k);
        match MergeThread::start(move || Level::merge(&youngest, &tail, &ignored, k)) {
            Ok(thread) => {
                self.merge = Some(Merge {
                    levels,
                    tail_rows,
                    dropped,
                    thread,
                });
            }
            Err(_no_thread) => self.removed.extend(dropped.iter()),
        }
    }

    /// Waits for a merge in the background, if one runs, and puts its result into use.
    fn finish_merge(&mut self) {
        if let Some(merge) = self.merge.take() {
            match merge.thread.wait() {
                Some(level) => self.adopt(&merge, level),
                None => self.merge_again(&merge),
            }
        }
    }

    /// Repeats on this thread a merge whose thread ended without a result.
    fn merge_again(&mut self, merge: &Merge<W>) {
        let youngest = &self.levels[self.levels.len() - merge.levels..];
        let tail = self.tail.first(merge.tail_rows);
        let level = Level::merge(youngest, &tail, &merge.dropped, self.k);
        self.adopt(merge, level);
    }

    fn adopt(&mut self, merge: &Merge<W>, level: Level<W>) {
        let replaced = self.levels.split_off(self.levels.len() - merge.levels);
        merge.thread.release(replaced);
        self.levels.push(Arc::new(level));
        self.tail.drop_first(merge.tail_rows);
    }
}

impl<W> fmt::Debug for GrowingIndex<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrowingIndex")
            .field("k", &self.k)
            .field("policy", &self.policy)
            .field("levels", &self.levels.len())
            .field("removed", &self.removed.len())
            .field("merging", &self.merge.is_some())
            .finish_non_exhaustive()
    }
}
