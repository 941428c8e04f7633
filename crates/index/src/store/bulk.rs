//! Bulk additions: a segment that the caller has built becomes part of the index.

use std::path::Path;
use std::sync::Arc;

use twinprint_fingerprint::Width;

use super::locks::lock;
use super::manifest::SegmentEntry;
use super::structure::CommitPoint;
use super::tombstones::Tombstones;
use super::view::{LiveSegment, View};
use super::{Index, StoreError};
use crate::segment::Segment;

impl<W: Width> Index<W> {
    /// Adds all ids of a segment, which `build` writes to the given path, and commits. An id that is already in the
    /// index gets the fingerprint of the segment instead of its earlier one. Either all ids are added or none. Returns
    /// the number of ids. The ids of the segment must be distinct.
    ///
    /// Other changes do not wait while `build` runs. Until the next compaction, each id within the range of ids of an
    /// older segment takes a tombstone there, 8 bytes on disk and about 20 in memory. Ids beyond the largest stored one
    /// take none.
    ///
    /// # Errors
    /// Any error of `build`, after which the index is unchanged; the errors of [`Index::commit`].
    pub fn add_segment<E: From<StoreError>>(
        &self,
        build: impl FnOnce(&Path) -> Result<Segment<W>, E>,
    ) -> Result<u64, E> {
        let shared = &*self.shared;
        drop(shared.writing()?);
        let number = lock(&shared.structure).take_number();
        let segment = build(&shared.files.segment(number))?;
        let entry = SegmentEntry::of(number, &segment)?;
        let rows = entry.rows;

        let mut structure = lock(&shared.structure);
        let writing = shared.writing()?;
        shared.freeze(&writing);
        let now = shared.now();
        let stamp = now.stamp + 1;
        let overlaps = |live: &Arc<LiveSegment<W>>| {
            live.entry.ids.start() <= entry.ids.end() && entry.ids.start() <= live.entry.ids.end()
        };
        if !now.view.frozen.is_empty() || now.view.segments.iter().any(overlaps) {
            for id in segment.ids() {
                now.view.kill(id.map_err(StoreError::from)?, stamp);
            }
        }
        let live = Arc::new(LiveSegment {
            entry: entry.clone(),
            segment,
            tombstones: Tombstones::default(),
        });
        shared.advance(&writing, |now| {
            now.stamp = stamp;
            now.view = Arc::new(View {
                segments: now.view.segments.iter().cloned().chain([live]).collect(),
                frozen: now.view.frozen.clone(),
                active: None,
            });
        });
        let moment = CommitPoint {
            stamp,
            checkpoint: writing.checkpoint,
        };
        drop(writing);
        shared.write_out(&mut structure, &moment, Some(entry))?;
        drop(structure);
        shared.wakeup.notify();
        shared.compact_by_caller()?;
        Ok(rows)
    }
}
