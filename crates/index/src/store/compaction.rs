//! Compaction merges several segments into one, without their deleted ids.
//!
//! Compaction is size-tiered: a segment is merged with all smaller ones once these are larger than it in total. So each
//! remaining segment is at least as large as all smaller ones together, there are at most about log₂ n segments for n
//! rows, and a row is rewritten only when its segment grows by half or more. A segment of which a quarter of the ids is
//! deleted is rewritten by itself.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use twinprint_fingerprint::Width;

use super::locks::lock;
use super::manifest::SegmentEntry;
use super::tombstones::Tombstones;
use super::view::{LiveSegment, View};
use super::writing::Shared;
use super::{Index, StoreError, segment_options};
use crate::segment::{Options, SegmentError};

/// A segment is due for compaction if at least one in this number of its ids is deleted.
const DELETED_SHARE: u64 = 4;

impl<W: Width> Index<W> {
    /// Commits, then merges all segments into one. Deleted ids are then no longer on disk, as soon as no snapshot uses
    /// the old files. A manifest of an earlier version is replaced by one with digests, even if there is nothing to
    /// merge.
    ///
    /// # Errors
    /// The same as for [`Index::commit`].
    pub fn compact(&self) -> Result<(), StoreError> {
        self.shared.commit()?;
        let _one = lock(&self.shared.compacting);
        self.shared.compact(|entries| {
            let is_one = entries.len() <= 1 && entries.iter().all(|e| e.deleted.is_none());
            let all = entries.iter().map(|e| e.number).collect();
            if is_one { HashSet::new() } else { all }
        })?;
        self.shared.renew_manifest()
    }
}

impl<W: Width> Shared<W> {
    /// Merges segments until none is due for compaction.
    pub(super) fn compact_where_due(&self) -> Result<(), StoreError> {
        let _one = lock(&self.compacting);
        while self.compact(due)? {}
        Ok(())
    }

    /// Merges the committed segments whose numbers `choose` returns. Returns `false` if `choose` returns none.
    fn compact(&self, choose: impl FnOnce(&[SegmentEntry]) -> HashSet<u64>) -> Result<bool, StoreError> {
        let (inputs, number, stamp) = {
            let mut structure = lock(&self.structure);
            drop(self.writing()?);
            let chosen = choose(&structure.manifest.segments);
            let view = self.now().view;
            let inputs = view
                .segments
                .iter()
                .filter(|live| chosen.contains(&live.entry.number));
            let inputs: Vec<Arc<LiveSegment<W>>> = inputs.cloned().collect();
            if inputs.is_empty() {
                return Ok(false);
            }
            (inputs, structure.take_number(), structure.stamp)
        };
        let merged = self.merge(&inputs, number, stamp);
        match merged {
            Err(StoreError::Segment(SegmentError::Stopped)) => Ok(false),
            merged => merged.map(|()| true).map_err(|error| self.refuse(error)),
        }
    }

    /// Replaces the segments `inputs` by one with the rows that were not deleted at `stamp`, which must be the stamp of
    /// a commit.
    fn merge(&self, inputs: &[Arc<LiveSegment<W>>], number: u64, stamp: u64) -> Result<(), StoreError> {
        let rows = inputs.iter().flat_map(|live| {
            let rows = live.segment.iter();
            rows.filter(move |row| !matches!(row, Ok((_, id)) if live.tombstones.holds(*id, stamp)))
        });
        let rows = rows.map(|row| {
            if self.stop.load(Ordering::Relaxed) {
                Err(SegmentError::Stopped)
            } else {
                row
            }
        });
        let most = inputs.iter().map(|live| live.entry.rows).sum();
        let last = inputs.iter().map(|live| *live.entry.ids.end()).max();
        let options = Options {
            ids_below: last.and_then(|last| last.checked_add(1)),
            stop: Some(self.stop.clone()),
            ..self.segment_options(most)?
        };
        let merged = self.write_segment(number, &options, rows)?;

        let mut structure = lock(&self.structure);
        let is_input = |entry: &SegmentEntry| inputs.iter().any(|live| live.entry.number == entry.number);
        let mut manifest = structure.manifest.clone();
        let (gone, stay) = manifest.segments.into_iter().partition(is_input);
        manifest.segments = stay;
        // The ids that were deleted from the inputs while they were merged. Deletions that were committed in the
        // meantime must stay durable.
        let later = || {
            let each = inputs.iter().flat_map(|live| live.tombstones.after(stamp));
            Tombstones::since(each)
        };
        if let Some((entry, _)) = &merged {
            let mut entry = entry.clone();
            let committed = structure.stamp;
            self.write_tombstones(&mut structure, &mut entry, &later(), committed, &mut Vec::new())?;
            manifest.segments.push(entry);
        }
        self.replace_manifest(&mut structure, manifest)?;

        // No id can be deleted while the lock `writing` is held, so no deletion is lost.
        let writing = lock(&self.writing);
        let merged = merged.map(|(entry, segment)| {
            let tombstones = later();
            Arc::new(LiveSegment {
                entry,
                segment,
                tombstones,
            })
        });
        self.advance(&writing, |now| {
            let stay = now.view.segments.iter().filter(|live| !is_input(&live.entry));
            now.view = Arc::new(View {
                segments: stay.cloned().chain(merged).collect(),
                frozen: now.view.frozen.clone(),
                active: now.view.active.clone(),
            });
        });
        drop(writing);
        let gone: Vec<SegmentEntry> = gone;
        self.files.remove(gone.iter().flat_map(|e| {
            let tombstones = e.deleted.map(|deleted| self.files.tombstones(deleted.number));
            std::iter::once(self.files.segment(e.number)).chain(tombstones)
        }));
        Ok(())
    }

    /// Returns the options for building a segment of `rows` ids.
    pub(super) fn segment_options(&self, rows: u64) -> Result<Options, StoreError> {
        Ok(Options {
            storage: Some(self.options.storage.clone()),
            ..segment_options::<W>(rows, &self.settings)?
        })
    }
}

/// Returns the numbers of the segments that are due for compaction now.
fn due(entries: &[SegmentEntry]) -> HashSet<u64> {
    let mut by_size: Vec<(u64, &SegmentEntry)> = entries
        .iter()
        .map(|e| (e.rows.saturating_sub(e.deleted_ids()), e))
        .collect();
    by_size.sort_by_key(|&(living, e)| (living, e.number));
    let mut smaller = 0;
    let mut outweighed = 0;
    for (i, &(living, _)) in by_size.iter().enumerate() {
        if i > 0 && living < smaller {
            outweighed = i + 1;
        }
        smaller += living;
    }
    if outweighed > 0 {
        return by_size[..outweighed].iter().map(|(_, e)| e.number).collect();
    }
    let is_sparse = |e: &&SegmentEntry| e.deleted_ids() * DELETED_SHARE >= e.rows.max(1);
    entries
        .iter()
        .find(is_sparse)
        .map(|e| e.number)
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::manifest::TombstoneFile;
    use super::*;

    fn entries(rows: &[u64]) -> Vec<SegmentEntry> {
        let numbered = (1..).zip(rows);
        let entry = |(number, &rows): (u64, &u64)| SegmentEntry {
            number,
            bytes: 0,
            rows,
            ids: 0..=0,
            digest: None,
            deleted: None,
        };
        numbered.map(entry).collect()
    }

    #[test]
    fn small_segments_are_merged_with_those_that_they_outnumber() {
        let due_of = |rows: &[u64]| {
            let mut due: Vec<u64> = due(&entries(rows)).into_iter().collect();
            due.sort_unstable();
            due
        };
        assert!(due_of(&[]).is_empty() && due_of(&[9]).is_empty());
        assert!(due_of(&[5, 5]).is_empty() && due_of(&[100, 10, 40]).is_empty());
        assert_eq!(due_of(&[5, 5, 5]), [1, 2, 3]);
        assert_eq!(due_of(&[1000, 5, 6, 10]), [2, 3, 4]);
        assert_eq!(due_of(&[1, 10, 10, 20]), [1, 2, 3, 4]);
    }

    #[test]
    fn few_segments_remain_after_many_flushes() {
        let (mut sizes, mut written) = (Vec::new(), 0);
        let mut most = 0;
        for _ in 0..1000 {
            sizes.push(1);
            loop {
                let due = due(&entries(&sizes));
                if due.is_empty() {
                    break;
                }
                let numbered = (1..).zip(std::mem::take(&mut sizes));
                let (merged, unmerged): (Vec<_>, Vec<_>) = numbered.partition(|(n, _)| due.contains(n));
                sizes = unmerged.into_iter().map(|(_, rows)| rows).collect();
                sizes.push(merged.iter().map(|(_, rows)| rows).sum());
                written += sizes[sizes.len() - 1];
            }
            most = most.max(sizes.len());
        }
        assert_eq!(sizes.iter().sum::<u64>(), 1000);
        assert!(most <= 11, "{most} segments");
        assert!(written <= 10 * 1000, "each row written {} times", written / 1000);
    }

    #[test]
    fn mostly_deleted_segments_are_rewritten() {
        let sparse = |count| {
            let mut sparse = entries(&[100, 1000]);
            sparse[1].deleted = Some(TombstoneFile {
                number: 3,
                count,
                digest: None,
            });
            sparse
        };
        assert_eq!(due(&sparse(250)), HashSet::from([2]));
        assert!(due(&sparse(249)).is_empty());
    }
}
