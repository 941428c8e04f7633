//! A commit writes memtables as a segment, writes deletions as files of deleted ids, and then writes a manifest that
//! names these files.
//!
//! A commit is bound to a stamp: that of the last change before it, or of the change that filled a memtable. Changes
//! made while the commit writes have later stamps and belong to the next commit.

use std::path::PathBuf;
use std::sync::Arc;

use twinprint_fingerprint::Width;

use super::StoreError;
use super::locks::lock;
use super::manifest::{BOUND_VERSION, Manifest, SegmentEntry};
use super::structure::{CommitPoint, CommittedState};
use super::tombstones::Tombstones;
use super::view::{FrozenMemtable, LiveSegment, View};
use super::writing::Shared;
use crate::segment::{Builder, Options, Segment, SegmentError};

impl<W: Width> Shared<W> {
    /// Commits all changes made so far.
    pub(super) fn commit(&self) -> Result<(), StoreError> {
        let mut structure = lock(&self.structure);
        let moment = {
            let writing = self.writing()?;
            self.freeze(&writing);
            CommitPoint {
                stamp: self.now().stamp,
                checkpoint: writing.checkpoint,
            }
        };
        self.write_out(&mut structure, &moment, None)
    }

    /// Commits the changes up to the one that filled the last frozen memtable. Does nothing if no frozen memtable
    /// waits.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        let mut structure = lock(&self.structure);
        {
            // If no frozen memtable waits, the full memtable is still the active one, and is frozen here.
            let writing = self.writing()?;
            let now = self.now();
            let active = now.view.active.as_ref();
            if active.is_some_and(|active| now.entries >= active.capacity()) {
                self.freeze(&writing);
            }
        }
        let last = self.now().view.frozen.last().cloned();
        last.map_or(Ok(()), |last| {
            let moment = CommitPoint {
                stamp: last.stamp,
                checkpoint: last.checkpoint,
            };
            self.write_out(&mut structure, &moment, None)
        })
    }

    /// Commits the changes up to a stamp, and adds a segment that the caller has written, if one is given.
    pub(super) fn write_out(
        &self,
        structure: &mut CommittedState,
        moment: &CommitPoint,
        whole: Option<SegmentEntry>,
    ) -> Result<(), StoreError> {
        if structure.stamp == moment.stamp {
            return Ok(());
        }
        let written = self.write_files(structure, moment, whole);
        written.map_err(|error| self.refuse(error))
    }

    fn write_files(
        &self,
        structure: &mut CommittedState,
        moment: &CommitPoint,
        whole: Option<SegmentEntry>,
    ) -> Result<(), StoreError> {
        // Segments change only under the lock `structure`. So the segments of the view are those of the manifest, in
        // its order, followed by `whole`.
        let view = self.now().view;
        let mut manifest = structure.manifest.clone();
        manifest.segments.extend(whole);
        let mut replaced = Vec::new();
        if let Some(staged) = structure.staged_names.take() {
            let before = manifest.names.replace(staged);
            replaced.extend(before.map(|names| self.files.names(names.number)));
        }
        for (live, entry) in view.segments.iter().zip(&mut manifest.segments) {
            self.write_tombstones(structure, entry, &live.tombstones, moment.stamp, &mut replaced)?;
        }
        let frozen: Vec<Arc<FrozenMemtable<W>>> = view
            .frozen
            .iter()
            .filter(|f| f.stamp <= moment.stamp)
            .cloned()
            .collect();
        let rows = frozen
            .iter()
            .flat_map(|f| f.memtable.living(f.entries, moment.stamp));
        let number = structure.take_number();
        let most = frozen.iter().map(|f| u64::from(f.entries)).sum();
        let new = self.write_segment(number, &self.segment_options(most)?, rows.map(Ok))?;
        manifest
            .segments
            .extend(new.as_ref().map(|(entry, _)| entry.clone()));
        manifest.checkpoint = moment.checkpoint;
        self.replace_manifest(structure, manifest)?;
        structure.stamp = moment.stamp;
        self.files.remove(replaced);

        let writing = lock(&self.writing);
        let died = frozen
            .iter()
            .flat_map(|f| f.memtable.died_since(f.entries, moment.stamp));
        let new = new.map(|(entry, segment)| {
            Arc::new(LiveSegment {
                entry,
                segment,
                tombstones: Tombstones::since(died),
            })
        });
        self.advance(&writing, |now| {
            let waiting = now.view.frozen.iter().filter(|f| f.stamp > moment.stamp);
            now.view = Arc::new(View {
                segments: now.view.segments.iter().cloned().chain(new).collect(),
                frozen: waiting.cloned().collect(),
                active: now.view.active.clone(),
            });
        });
        Ok(())
    }

    /// Writes the tombstones of a segment up to `stamp` to a file, unless they have not grown. Appends the path of the
    /// file that it replaces to `replaced`.
    pub(super) fn write_tombstones(
        &self,
        structure: &mut CommittedState,
        entry: &mut SegmentEntry,
        tombstones: &Tombstones,
        stamp: u64,
        replaced: &mut Vec<PathBuf>,
    ) -> Result<(), StoreError> {
        // Sets of deleted ids only grow, so a set of the same size has not changed.
        if tombstones.len() as u64 == entry.deleted_ids() {
            return Ok(());
        }
        let ids = tombstones.until(stamp);
        if ids.len() as u64 == entry.deleted_ids() {
            return Ok(());
        }
        let number = structure.take_number();
        let written = self.files.write_tombstones(number, &ids)?;
        let old = entry.deleted.replace(written);
        replaced.extend(old.map(|old| self.files.tombstones(old.number)));
        Ok(())
    }

    /// Writes a segment of the given rows. Returns `None`, without writing one, if there are no rows.
    pub(super) fn write_segment(
        &self,
        number: u64,
        options: &Options,
        rows: impl Iterator<Item = Result<(W, u64), SegmentError>>,
    ) -> Result<Option<(SegmentEntry, Segment<W>)>, StoreError> {
        let path = self.files.segment(number);
        let mut builder = Builder::new(&path, options)?;
        let (mut first, mut last, mut any) = (u64::MAX, 0, false);
        for row in rows {
            let (fingerprint, id) = row?;
            (first, last, any) = (first.min(id), last.max(id), true);
            builder.push(fingerprint, id)?;
        }
        if !any {
            return Ok(None);
        }
        let segment = builder.finish()?;
        Ok(Some((SegmentEntry::new(number, &segment, first..=last), segment)))
    }

    /// Writes the manifest again if an earlier version wrote it. The new one has the digests of all files, which
    /// earlier versions did not record.
    pub(super) fn renew_manifest(&self) -> Result<(), StoreError> {
        let mut structure = lock(&self.structure);
        drop(self.writing()?);
        if structure.manifest.version >= BOUND_VERSION {
            return Ok(());
        }
        let manifest = structure.manifest.clone();
        let written = self.replace_manifest(&mut structure, manifest);
        written.map_err(|error| self.refuse(error))
    }

    /// Replaces the manifest on disk by `manifest`, with the next generation number.
    pub(super) fn replace_manifest(
        &self,
        structure: &mut CommittedState,
        mut manifest: Manifest,
    ) -> Result<(), StoreError> {
        manifest.version = manifest.written_version();
        manifest.generation += 1;
        manifest.next = structure.next;
        self.files.write_manifest(&manifest)?;
        structure.manifest = manifest;
        Ok(())
    }
}
