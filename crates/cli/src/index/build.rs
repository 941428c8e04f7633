//! `twinprint index build`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use clap::ValueHint;
use twinprint::collection::Collection;
use twinprint::raw::{FingerprintDigest, RawFiles};
use twinprint::segment::{
    self, Builder, Codec, Interrupted, ProgressCallback, Resumable, Segment, SegmentError,
};
use twinprint::sort::Sorter;
use twinprint::store::{self, Settings};
use twinprint::{Progress, Unit};

use super::codec::CODECS;
use super::files::IdArgs;
use super::memory::{MemoryArgs, within_memory};
use super::profile::ProfileArgs;
use super::resume::{self, INTERRUPTED, InputSummary, RESUMABLE, ended};
use crate::choice::explained;
use crate::progress::Bars;
use crate::{interrupt, number, terminal};

/// Makes an index of files of fingerprints
///
/// After an interruption (Ctrl-C, a kill, a power cut) the same command resumes after the last table that was complete, if there is one. It reads
/// the files once to compare them with what was read before, and starts over if a fingerprint, an id or an option has changed. It also starts over
/// after an interruption in the last step, the check that no given id occurs twice.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Files of fingerprints: *.u64 (64 bits each, little-endian; also .u64.gz, .u64.zst …), whose ids are their positions, counted through all
    /// files, or *.parquet with a column "fingerprint" of 64-bit whole numbers and perhaps one "id"
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    ids: IdArgs,

    /// Directory for the index, made if it does not exist; it must not hold files of another index
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: PathBuf,

    /// Radius that most queries will have; others are answered too
    #[arg(short = 'k', long, default_value_t = 3, value_name = "K", value_parser = clap::value_parser!(u32).range(0..=64))]
    hamming: u32,

    /// Storage format of the fingerprints; later additions use it too
    #[arg(long, value_parser = explained(CODECS), default_value = "packed")]
    codec: Codec,

    #[command(flatten)]
    profile: ProfileArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let files = args.ids.open(&args.inputs)?;
    let settings = Settings {
        radius: args.hamming,
        codec: args.codec,
        label: args
            .profile
            .label(&files)?
            .map_or_else(String::new, |label| label.written()),
    };
    if Collection::is_at(&args.output) {
        bail!(
            "{} holds a collection; name a directory of its own for the index",
            args.output.display()
        );
    }
    let gather = SegmentBuild::new(args.quiet, &args.memory)?;
    let segment = segment::Options {
        resume: Some(resume::work(files.has_ids(), &settings)),
        ..gather.options(&files, 0, &settings)?
    };
    let built = store::create_from(&args.output, &settings, &store::Options::default(), |path| {
        let gathered = gather.segment(&files, 0, path, &segment)?;
        anyhow::Ok((gathered.segment, gathered.next))
    });
    gather.finish();
    built?;
    terminal::out(&format!(
        "{}: {}\n",
        args.output.display(),
        number::counted(files.len(), "fingerprint")
    ))
}

/// Reads files into a segment, and shows the progress.
pub(super) struct SegmentBuild {
    bars: Arc<Bars>,
    cancel: Arc<AtomicBool>,
    memory: u64,
}

/// A segment of the fingerprints in files.
pub(super) struct BuiltSegment {
    pub(super) segment: Segment<u64>,
    /// The digest of all fingerprints and ids.
    pub(super) digest: u128,
    /// The id after the largest one.
    pub(super) next: u64,
}

impl SegmentBuild {
    pub(super) fn new(quiet: bool, memory: &MemoryArgs) -> anyhow::Result<Self> {
        Ok(Self {
            bars: Arc::new(Bars::new(quiet)),
            cancel: interrupt::flag()?,
            memory: memory.bytes(),
        })
    }

    /// The options for building a segment of fingerprints for an index with these settings. Fingerprints without ids of their own will get ids from `first` on.
    ///
    /// # Errors
    /// Too little memory.
    pub(super) fn options(
        &self,
        files: &RawFiles,
        first: u64,
        settings: &Settings,
    ) -> anyhow::Result<segment::Options> {
        let positions = (!files.has_ids()).then(|| first.saturating_add(files.len()));
        let bars = Arc::clone(&self.bars);
        let options = segment::Options {
            ids_below: positions,
            stop: Some(Arc::clone(&self.cancel)),
            memory: self.memory,
            written: Some(ProgressCallback::new(move |rows| bars.advance(rows))),
            ..store::segment_options::<u64>(files.len(), settings)?
        };
        let needed = options.least_memory::<u64>(files.len())?;
        SegmentError::check_memory(needed, options.memory).map_err(|error| within_memory(error.into()))?;
        Ok(options)
    }

    /// Makes a segment of all files, with [options](Self::options) for them. With [`segment::Options::resume`] it resumes an interrupted build of the same
    /// input.
    pub(super) fn segment(
        &self,
        files: &RawFiles,
        first: u64,
        path: &Path,
        options: &segment::Options,
    ) -> anyhow::Result<BuiltSegment> {
        let (segment, known) = match self.resumed(files, first, path, options)? {
            Some(resumed) => resumed,
            None => self.read(files, first, path, options)?,
        };
        if !known.ascending {
            self.bars.stage("check ids", 0, Unit::Steps);
            if let Err(error) = self.distinct(&segment, path, options.memory) {
                // Otherwise the next writer would find an unknown segment.
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

    /// Reads all files into a segment.
    fn read(
        &self,
        files: &RawFiles,
        first: u64,
        path: &Path,
        options: &segment::Options,
    ) -> anyhow::Result<(Segment<u64>, InputSummary)> {
        let tables = options.plan.as_ref().map_or(1, |plan| plan.tables.len() as u64);
        let mut builder = Builder::new(path, options)?;
        self.bars.stage("read", files.len(), Unit::Fingerprints);
        let (mut largest, mut ascending) = (None, true);
        let mut digest = FingerprintDigest::new(files.has_ids());
        files.read(first, |fingerprints, ids| {
            self.go_on()?;
            digest.add(fingerprints, ids);
            for (&fingerprint, &id) in fingerprints.iter().zip(ids) {
                builder.push(fingerprint, id)?;
                ascending &= largest < Some(id);
                largest = largest.max(Some(id));
            }
            self.bars.advance(fingerprints.len() as u64);
            anyhow::Ok(())
        })?;
        let next = largest.map_or(Some(first), |id| id.checked_add(1));
        let next =
            next.with_context(|| format!("the id {} is too large: no id could follow it", u64::MAX))?;
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

    /// Resumes an interrupted build of the same input, if there is one.
    fn resumed(
        &self,
        files: &RawFiles,
        first: u64,
        path: &Path,
        options: &segment::Options,
    ) -> anyhow::Result<Option<(Segment<u64>, InputSummary)>> {
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
            return starting_over("another version of twinprint began it");
        };
        if interrupted.len() != files.len() || self.digest(files, first, RESUMABLE)? != known.digest {
            return starting_over("its input was another");
        }
        let (whole, tables) = (interrupted.whole(), interrupted.tables());
        terminal::note(&format!(
            "resuming an interrupted build after table {whole} of {tables}"
        ));
        // The last complete table is read back and counts as one more.
        let to_come = (tables - whole) as u64 + 1;
        self.bars
            .stage("write", files.len().saturating_mul(to_come), Unit::Fingerprints);
        let segment = interrupted.finish().map_err(|error| ended(path, error))?;
        Ok(Some((segment, known)))
    }

    /// The digest of all files. An interruption gives the error `interrupted`.
    pub(super) fn digest(
        &self,
        files: &RawFiles,
        first: u64,
        interrupted: &'static str,
    ) -> anyhow::Result<u128> {
        self.bars.stage("compare", files.len(), Unit::Fingerprints);
        let mut digest = FingerprintDigest::new(files.has_ids());
        files.read(first, |fingerprints, ids| {
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

    /// Returns an error if an id occurs twice, because only one of the two could be replaced or deleted.
    fn distinct(&self, segment: &Segment<u64>, path: &Path, memory: u64) -> anyhow::Result<()> {
        let mut sorter = Sorter::new(path.parent().unwrap_or(path), u64::MAX.into(), memory);
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
                    bail!("the id {id} occurs twice; ids must differ (--positions takes positions instead)");
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
