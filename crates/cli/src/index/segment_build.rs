//! Builds a segment from files of fingerprints, for `twinprint index build` and `add`.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{anyhow, bail};
use twinprint::plan::Plan;
use twinprint::raw::{FingerprintDigest, RawFiles};
use twinprint::segment::{self, Builder, Interrupted, ProgressCallback, Resumable, Segment, SegmentError};
use twinprint::sort::Sorter;
use twinprint::store::{self, NameWriter, Settings};
use twinprint::{Progress, Unit, Width};

use super::memory::{MemoryArgs, within_memory};
use super::names;
use super::resume::{INTERRUPTED, InputSummary, RESUMABLE, ended};
use crate::progress::Bars;
use crate::{interrupt, terminal};

/// Builds a segment from files of fingerprints, and shows progress.
pub(super) struct SegmentBuild {
    bars: Arc<Bars>,
    cancel: Arc<AtomicBool>,
    memory: u64,
    /// The id of each fingerprint by its position, if the files have names.
    ids: Option<Vec<u64>>,
}

/// A segment that was built from files of fingerprints.
pub(super) struct BuiltSegment<W> {
    pub(super) segment: Segment<W>,
    /// The digest of all fingerprints and their ids.
    pub(super) digest: u128,
    /// The largest id plus one.
    pub(super) next: u64,
}

impl SegmentBuild {
    pub(super) fn new(quiet: bool, memory: &MemoryArgs) -> anyhow::Result<Self> {
        Ok(Self {
            bars: Arc::new(Bars::new(quiet)),
            cancel: interrupt::flag()?,
            memory: memory.bytes(),
            ids: None,
        })
    }

    /// Gives the fingerprints these ids instead of their positions.
    pub(super) fn with_ids(self, ids: Vec<u64>) -> Self {
        Self {
            ids: Some(ids),
            ..self
        }
    }

    /// Writes the names in `files` as those of a new index in `directory`.
    pub(super) fn names(
        &self,
        files: &RawFiles,
        directory: &Path,
        writer: &mut NameWriter<'_>,
    ) -> anyhow::Result<()> {
        self.bars.stage("names", 0, Unit::Steps);
        names::write(files, directory, self.memory, writer, || self.go_on())
    }

    /// The ids of fingerprints at these positions.
    fn ids<'p>(&self, positions: &'p [u64]) -> Cow<'p, [u64]> {
        let Some(ids) = &self.ids else {
            return Cow::Borrowed(positions);
        };
        let at = |&position: &u64| {
            usize::try_from(position)
                .ok()
                .and_then(|position| ids.get(position).copied())
        };
        positions.iter().filter_map(at).collect()
    }

    /// The options for building a segment from `files`, for an index with the given settings. If the files have no ids,
    /// the fingerprints get ids from `first` on. Without a plan or address bits, they are chosen for the number of
    /// fingerprints.
    ///
    /// # Errors
    /// Fails if the memory limit is too low for the build.
    pub(super) fn options<W: Width>(
        &self,
        files: &RawFiles,
        first: u64,
        settings: &Settings,
        plan: Option<Plan>,
        address_bits: Option<u32>,
    ) -> anyhow::Result<segment::Options> {
        let mut planned = match plan {
            Some(plan) => segment::Options {
                // A plan that misses pairs was refused before, unless its keys are random.
                allow_inexact: true,
                ..store::segment_options_of::<W>(plan, files.len(), settings)
            },
            None => store::segment_options::<W>(files.len(), settings)?,
        };
        if let Some(bits) = address_bits {
            planned.address_bits.fill(bits);
        }
        let positions = (!files.has_ids()).then(|| first.saturating_add(files.len()));
        let bars = Arc::clone(&self.bars);
        let options = segment::Options {
            ids_below: positions,
            stop: Some(Arc::clone(&self.cancel)),
            memory: self.memory,
            written: Some(ProgressCallback::new(move |rows| bars.advance(rows))),
            ..planned
        };
        let needed = options.least_memory::<W>(files.len())?;
        SegmentError::check_memory(needed, options.memory).map_err(|error| within_memory(error.into()))?;
        Ok(options)
    }

    /// Builds a segment of all files. `options` comes from [`options`](Self::options) for the same files. If
    /// [`segment::Options::resume`] is set, an interrupted build of the same input is resumed.
    pub(super) fn segment<W: Width>(
        &self,
        files: &RawFiles,
        first: u64,
        path: &Path,
        options: &segment::Options,
    ) -> anyhow::Result<BuiltSegment<W>> {
        let (segment, known) = match self.resumed(files, first, path, options)? {
            Some(resumed) => resumed,
            None => self.read(files, first, path, options)?,
        };
        if !known.ascending {
            self.bars.stage("check ids", 0, Unit::Steps);
            if let Err(error) = self.distinct(&segment, path, options.memory) {
                // The segment is removed. Otherwise the next writer would find a segment that the manifest does not
                // name.
                let _left_over = std::fs::remove_file(path);
                return Err(error);
            }
        }
        Ok(BuiltSegment {
            segment,
            digest: known.digest,
            next: known.next,
        })
    }

    /// Reads all files and builds a segment from them.
    fn read<W: Width>(
        &self,
        files: &RawFiles,
        first: u64,
        path: &Path,
        options: &segment::Options,
    ) -> anyhow::Result<(Segment<W>, InputSummary)> {
        let tables = options.plan.as_ref().map_or(1, |plan| plan.tables.len() as u64);
        let mut builder = Builder::new(path, options)?;
        self.bars.stage("read", files.len(), Unit::Fingerprints);
        let (mut largest, mut ascending) = (None, true);
        let mut position = 0;
        let mut digest = FingerprintDigest::new(files.has_ids());
        files.read(first, |fingerprints: &[W], ids| {
            self.go_on()?;
            let ids = &*self.ids(ids);
            digest.add(fingerprints, ids);
            for (&fingerprint, &id) in fingerprints.iter().zip(ids) {
                if id == u64::MAX {
                    return Err(no_next_id(files, position));
                }
                builder.push(fingerprint, id)?;
                ascending &= largest < Some(id);
                largest = largest.max(Some(id));
                position += 1;
            }
            self.bars.advance(fingerprints.len() as u64);
            anyhow::Ok(())
        })?;
        let next = largest.map_or(first, |id| id + 1);
        let known = InputSummary {
            digest: digest.finish(),
            next,
            ascending,
        };
        builder.note(known.written());
        self.bars
            .stage("write", files.len().saturating_mul(tables), Unit::Fingerprints);
        let segment = builder.finish().map_err(|error| ended(path, error))?;
        Ok((segment, known))
    }

    /// Resumes an interrupted build of the same input. `None` if no build was interrupted or it cannot be resumed.
    fn resumed<W: Width>(
        &self,
        files: &RawFiles,
        first: u64,
        path: &Path,
        options: &segment::Options,
    ) -> anyhow::Result<Option<(Segment<W>, InputSummary)>> {
        let [_, journal] = segment::unfinished(path);
        if options.resume.is_none() || !journal.exists() {
            return Ok(None);
        }
        self.bars.stage("verify", 0, Unit::Steps);
        let left = Interrupted::find(path, options);
        self.bars.finish();
        let starting_over = |why: &str| {
            terminal::note(&format!(
                "an interrupted build cannot be resumed: {why}; starting over"
            ));
            Ok(None)
        };
        let interrupted = match left.map_err(|error| ended(path, error))? {
            Resumable::Nothing => return Ok(None),
            Resumable::Unusable(error) => return starting_over(&format!("{:#}", anyhow::Error::from(error))),
            Resumable::Tables(interrupted) => interrupted,
        };
        let Some(known) = InputSummary::read(interrupted.notes()) else {
            return starting_over("another version of twinprint started it");
        };
        if interrupted.len() != files.len() || self.digest::<W>(files, first, RESUMABLE)? != known.digest {
            return starting_over("it had a different input");
        }
        let (whole, tables) = (interrupted.whole(), interrupted.tables());
        terminal::note(&format!(
            "resuming an interrupted build after table {whole} of {tables}"
        ));
        // The last complete table is read again, so it counts as work too.
        let to_come = (tables - whole) as u64 + 1;
        self.bars
            .stage("write", files.len().saturating_mul(to_come), Unit::Fingerprints);
        let segment = interrupted.finish().map_err(|error| ended(path, error))?;
        Ok(Some((segment, known)))
    }

    /// The digest of all fingerprints in the files and their ids. Ctrl-C ends it with the error `interrupted`.
    pub(super) fn digest<W: Width>(
        &self,
        files: &RawFiles,
        first: u64,
        interrupted: &'static str,
    ) -> anyhow::Result<u128> {
        self.bars.stage("compare", files.len(), Unit::Fingerprints);
        let mut digest = FingerprintDigest::new(files.has_ids());
        files.read(first, |fingerprints: &[W], ids| {
            if self.cancel.load(Ordering::Relaxed) {
                bail!(interrupted);
            }
            digest.add(fingerprints, ids);
            self.bars.advance(fingerprints.len() as u64);
            anyhow::Ok(())
        })?;
        self.bars.finish();
        Ok(digest.finish())
    }

    /// Returns an error if an id occurs twice: a later change could replace or delete only one of its fingerprints.
    fn distinct<W: Width>(&self, segment: &Segment<W>, path: &Path, memory: u64) -> anyhow::Result<()> {
        let mut sorter = Sorter::new(path.parent().unwrap_or(path), u128::from(u64::MAX), memory);
        for (i, id) in segment.ids().enumerate() {
            if i % (1 << 16) == 0 {
                self.go_on()?;
            }
            sorter.push(id?.into())?;
        }
        let mut before = None;
        sorter.finish(|ids| {
            self.go_on()?;
            for &id in ids {
                if before.replace(id) == Some(id) {
                    bail!(
                        "the id {id} occurs twice; make ids unique, or use positions as ids with --positions"
                    );
                }
            }
            Ok(())
        })
    }

    fn go_on(&self) -> anyhow::Result<()> {
        if self.cancel.load(Ordering::Relaxed) {
            bail!(INTERRUPTED);
        }
        Ok(())
    }

    pub(super) fn finish(&self) {
        self.bars.finish();
    }
}

/// The error about an id that no other id can follow.
fn no_next_id(files: &RawFiles, position: u64) -> anyhow::Error {
    let problem = format!(
        "the id {} is too large, because no id could follow it; choose a smaller id, or use positions as ids with --positions",
        u64::MAX
    );
    match files.row_of_id(position) {
        Some(row) => anyhow!("{row}: {problem}"),
        None => anyhow!(problem),
    }
}
