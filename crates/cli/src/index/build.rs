//! `twinprint index build`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use clap::ValueHint;
use twinprint::collection::Collection;
use twinprint::raw::RawFiles;
use twinprint::segment::{self, Builder, Codec, Form, Interrupted, Left, Segment, Written};
use twinprint::sort::Sorter;
use twinprint::store::{self, Settings};
use twinprint::{Progress, Unit};

use super::files::IdArgs;
use super::profile::ProfileArgs;
use super::resume::{self, INTERRUPTED, Known, ended};
use crate::progress::Bars;
use crate::{interrupt, number, terminal};

/// Makes an index of files of fingerprints
///
/// Ended on the way, by Ctrl-C, a kill or a power cut, the same command goes on after the last table that was whole, if there is one, and does
/// not read the files again. It begins anew if one of them or an option has changed.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Files of fingerprints: *.u64 (64 bits each, little-endian; also .u64.gz, .u64.zst …), whose ids are their positions, counted through all
    /// files, or *.parquet with a column "fingerprint" of 64-bit whole numbers and perhaps one "id"
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    ids: IdArgs,

    /// Directory for the index, made if it is not there
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: PathBuf,

    /// Radius that queries will mostly have; others are answered too
    #[arg(short = 'k', long, default_value_t = 3, value_name = "K", value_parser = clap::value_parser!(u32).range(0..=64))]
    hamming: u32,

    /// How fingerprints are stored; kept for what is added later
    #[arg(long, value_enum, default_value_t = CodecArg::Packed)]
    codec: CodecArg,

    #[command(flatten)]
    profile: ProfileArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

/// How fingerprints are stored.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CodecArg {
    /// The quickest to search, and the largest
    Packed,
    /// 5 to 16 % smaller than packed up to some ten million fingerprints, no smaller at a hundred million; queries take two to three times as long
    EliasFano,
    /// Huffman-coded differences in pages of 128, found by the last of each: 4 to 14 % smaller than packed; a query takes ten times as long and more, one among many
    /// four to eight times
    Huffman,
}

impl From<CodecArg> for Codec {
    fn from(arg: CodecArg) -> Self {
        match arg {
            CodecArg::Packed => Self::Packed(Form::Plain),
            CodecArg::EliasFano => Self::Packed(Form::EliasFano),
            CodecArg::Huffman => Self::HUFFMAN,
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let files = args.ids.open(&args.inputs)?;
    let settings = Settings {
        radius: args.hamming,
        codec: args.codec.into(),
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
    let gather = Gather::new(args.quiet, &args.memory)?;
    let options = store::Options::default();
    let work = resume::work(&args.inputs, &args.ids, &settings);
    let built = store::create_from(&args.output, &settings, &options, |path| {
        let gathered = gather.segment(&files, 0, &settings, path, work)?;
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

/// Memory that building takes.
#[derive(clap::Args)]
pub(super) struct MemoryArgs {
    /// Memory to stay within, about; what does not fit waits on disk, beside the index
    #[arg(long, default_value = "4GiB", value_name = "SIZE", value_parser = number::parse_bytes)]
    memory: u64,
}

/// Reads files into a segment, and shows how far it is.
pub(super) struct Gather {
    bars: Arc<Bars>,
    cancel: Arc<AtomicBool>,
    memory: u64,
}

/// A segment of what files hold.
pub(super) struct Gathered {
    pub(super) segment: Segment<u64>,
    /// The id after the largest.
    pub(super) next: u64,
}

impl Gather {
    pub(super) fn new(quiet: bool, memory: &MemoryArgs) -> anyhow::Result<Self> {
        Ok(Self {
            bars: Arc::new(Bars::new(quiet)),
            cancel: interrupt::flag()?,
            memory: memory.memory,
        })
    }

    /// Makes a segment of fingerprints for an index with these settings. Those without ids of their own get ids from `first` on. Where `work` says
    /// what is built, it goes on with what an interrupted build of the same left.
    pub(super) fn segment(
        &self,
        files: &RawFiles,
        first: u64,
        settings: &Settings,
        path: &Path,
        work: Option<Vec<u8>>,
    ) -> anyhow::Result<Gathered> {
        let positions = (!files.has_ids()).then(|| first.saturating_add(files.len()));
        let bars = Arc::clone(&self.bars);
        let options = segment::Options {
            ids_below: positions,
            stop: Some(Arc::clone(&self.cancel)),
            memory: self.memory,
            written: Some(Written::new(move |rows| bars.advance(rows))),
            resume: work,
            ..store::segment_options::<u64>(files.len(), settings)?
        };
        let (segment, known) = match self.left(files.len(), path, &options)? {
            Some(segment) => segment,
            None => self.anew(files, first, path, &options)?,
        };
        if !known.ascending {
            self.bars.stage("check ids", 0, Unit::Steps);
            if let Err(error) = self.distinct(&segment, path, options.memory) {
                // The next writer would find it otherwise.
                let _left_over = std::fs::remove_file(path);
                return Err(error);
            }
        }
        Ok(Gathered {
            segment,
            next: known.next,
        })
    }

    /// Reads all files into a segment.
    fn anew(
        &self,
        files: &RawFiles,
        first: u64,
        path: &Path,
        options: &segment::Options,
    ) -> anyhow::Result<(Segment<u64>, Known)> {
        let tables = options.plan.as_ref().map_or(1, |plan| plan.tables.len() as u64);
        let mut builder = Builder::new(path, options)?;
        self.bars.stage("read", files.len(), Unit::Fingerprints);
        let (mut largest, mut ascending) = (None, true);
        files.read(first, |fingerprints, ids| {
            self.go_on()?;
            for (&fingerprint, &id) in fingerprints.iter().zip(ids) {
                builder.push(fingerprint, id)?;
                ascending &= largest < Some(id);
                largest = largest.max(Some(id));
            }
            self.bars.advance(fingerprints.len() as u64);
            anyhow::Ok(())
        })?;
        let next = largest.map_or(Some(first), |id| id.checked_add(1));
        let next = next.with_context(|| format!("the id {} is too large: none could follow", u64::MAX))?;
        let known = Known { next, ascending };
        builder.note(known.written());
        self.bars
            .stage("write", files.len().saturating_mul(tables), Unit::Fingerprints);
        let segment = builder.finish().map_err(|error| ended(path, error))?;
        Ok((segment, known))
    }

    /// Goes on with what an interrupted build left, if that can be.
    fn left(
        &self,
        rows: u64,
        path: &Path,
        options: &segment::Options,
    ) -> anyhow::Result<Option<(Segment<u64>, Known)>> {
        let [_, journal] = segment::unfinished(path);
        if options.resume.is_none() || !journal.exists() {
            return Ok(None);
        }
        self.bars.stage("verify", 0, Unit::Steps);
        let left = Interrupted::find(path, options);
        self.bars.finish();
        let interrupted = match left.map_err(|error| ended(path, error))? {
            Left::Nothing => return Ok(None),
            Left::Unusable(error) => {
                let why = anyhow::Error::from(error);
                terminal::note(&format!(
                    "an interrupted build cannot be gone on with: {why:#}; beginning anew"
                ));
                return Ok(None);
            }
            Left::Tables(interrupted) => interrupted,
        };
        let Some(known) = Known::read(interrupted.notes()) else {
            return Ok(None);
        };
        let (whole, tables) = (interrupted.whole(), interrupted.tables());
        terminal::note(&format!(
            "going on after table {whole} of {tables} of an interrupted build"
        ));
        // One of them is read back.
        let to_come = (tables - whole) as u64 + 1;
        self.bars
            .stage("write", rows.saturating_mul(to_come), Unit::Fingerprints);
        let segment = interrupted.finish().map_err(|error| ended(path, error))?;
        Ok(Some((segment, known)))
    }

    /// Whether no id is there twice: it could be replaced or deleted once only.
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
                    bail!(
                        "the id {id} is there twice; ids must differ (--positions takes positions instead)"
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
