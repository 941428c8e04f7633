//! `twinprint index build`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use clap::ValueHint;
use twinprint::raw::RawFiles;
use twinprint::segment::{self, Builder, Segment, SegmentError};
use twinprint::store::{self, Settings};
use twinprint::{Progress, Unit};

use crate::progress::Bars;
use crate::{interrupt, number, terminal};

/// Makes an index of files of fingerprints
#[derive(clap::Args)]
pub(super) struct Args {
    /// Files of fingerprints (*.u64: 64 bits each, little-endian); the id of each is its position, counted through all files
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    inputs: Vec<PathBuf>,

    /// Directory for the index, made if it is not there
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: PathBuf,

    /// Radius that queries will mostly have; others are answered too
    #[arg(short = 'k', long, default_value_t = 3, value_name = "K", value_parser = clap::value_parser!(u32).range(0..=64))]
    hamming: u32,

    /// Name of the profile that made the fingerprints, to be shown by `stat`
    #[arg(long, default_value = "", hide_default_value = true)]
    profile: String,

    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let files = RawFiles::open(&args.inputs)?;
    let settings = Settings {
        radius: args.hamming,
        label: args.profile.clone(),
    };
    let gather = Gather::new(args.quiet)?;
    let options = store::Options::default();
    let built = store::create_from(&args.output, &settings, &options, files.len(), |path| {
        gather.segment(&files, 0, args.hamming, path)
    });
    gather.finish();
    built?;
    terminal::out(&format!(
        "{}: {}\n",
        args.output.display(),
        number::counted(files.len(), "fingerprint")
    ))
}

/// What is said after Ctrl-C.
const INTERRUPTED: &str = "interrupted; nothing was added";

/// Reads files into a segment, and shows how far it is.
pub(super) struct Gather {
    bars: Bars,
    cancel: Arc<AtomicBool>,
}

impl Gather {
    pub(super) fn new(quiet: bool) -> anyhow::Result<Self> {
        Ok(Self {
            bars: Bars::new(quiet),
            cancel: interrupt::flag()?,
        })
    }

    /// Gives fingerprints ids from `first` on and makes a segment of them for lookups within `radius`.
    pub(super) fn segment(
        &self,
        files: &RawFiles,
        first: u64,
        radius: u32,
        path: &Path,
    ) -> anyhow::Result<Segment<u64>> {
        let options = segment::Options {
            ids_below: first.checked_add(files.len()),
            stop: Some(Arc::clone(&self.cancel)),
            ..store::segment_options::<u64>(files.len(), radius)?
        };
        let mut builder = Builder::new(path, &options)?;
        self.bars.stage("read", files.len() * 8, Unit::Bytes);
        let mut id = first;
        files.read(|stretch| {
            if self.cancel.load(Ordering::Relaxed) {
                bail!(INTERRUPTED);
            }
            for &fingerprint in stretch {
                builder.push(fingerprint, id)?;
                id += 1;
            }
            self.bars.advance(stretch.len() as u64 * 8);
            Ok(())
        })?;
        self.bars.stage("write", 0, Unit::Steps);
        builder.finish().map_err(|error| match error {
            SegmentError::Stopped => anyhow::anyhow!(INTERRUPTED),
            error => error.into(),
        })
    }

    pub(super) fn finish(&self) {
        self.bars.finish();
    }
}
