//! `twinprint index build`

use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::ValueHint;
use twinprint::Width;
use twinprint::collection::Collection;
use twinprint::plan::{Design, Plan, check};
use twinprint::raw::RawFiles;
use twinprint::segment::{self, Codec, Search, Segment, SegmentError};
use twinprint::store::{self, NameWriter, Settings};

use super::codec::CODECS;
use super::files::IdArgs;
use super::memory::MemoryArgs;
use super::profile::ProfileArgs;
use super::recall;
use super::resume;
use super::segment_build::SegmentBuild;
use super::width::{self, at_width};
use crate::choice::explained;
use crate::usage::UsageError;
use crate::{number, terminal};

/// Makes an index from files of fingerprints
///
/// If a build is interrupted (Ctrl-C, a kill, a power cut), run the same command again: it resumes after the last
/// complete table. It reads the files once to check that they are the same as before. It starts over if no table is
/// complete, or if a fingerprint, an id or an option has changed. It also starts over if the interruption came in the
/// last step, which checks that no given id occurs twice.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Files of fingerprints, all of one width: *.u32, *.u64 or *.u128 (32, 64 or 128 bits each, little-endian; also
    /// .u64.gz, .u64.zst …), whose ids are their positions, counted through all files; or *.parquet with a column
    /// "fingerprint" of 32-bit or 64-bit whole numbers, or of 16 bytes for 128 bits, and optionally a column "id" of whole
    /// numbers or strings
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    ids: IdArgs,

    /// Directory for the index, made if it does not exist. It must not have files of another index
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: PathBuf,

    /// Largest Hamming distance of most queries, for which the index is optimised; queries with any other distance work
    /// too
    #[arg(short = 'k', long, default_value_t = 3, value_name = "K", value_parser = clap::value_parser!(u32).range(width::RADII))]
    hamming: u32,

    /// Storage format of the fingerprints, also of those added later
    #[arg(long, value_parser = explained(CODECS), default_value = "packed")]
    codec: Codec,

    /// Design of the tables: scan, one-table, parts:S (S equal parts), parts:W1,W2,… (parts of these widths), blocks:R,
    /// nested:R, qr11, half-spaces, masks:HEX,HEX/R,… (key bits, of which R may differ), or random:N,BITS (N random keys
    /// of BITS bits, which miss some fingerprints) [default: chosen for the number of fingerprints]
    ///
    /// `twinprint plan --check` describes a design. If the tables are not disjoint parts, a query with a larger distance
    /// than -k compares every fingerprint. `index add` and `index compact` ignore the design: they choose tables for the
    /// number of fingerprints.
    #[arg(long, value_name = "DESIGN")]
    plan: Option<Design>,

    /// Address bits of each table: the leading bits of a key by which its directory finds rows [default: chosen for the
    /// number of fingerprints and the codec]. With 1, a table is little more than a sorted list, in which `index query
    /// --search binary` finds keys
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=i64::from(segment::MAX_ADDRESS_BITS)))]
    address_bits: Option<u32>,

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
    width::check_radius(args.hamming, files.bits())?;
    at_width!(files.bits(), build(args, &files))
}

fn build<W: Width>(args: &Args, files: &RawFiles) -> anyhow::Result<()> {
    let settings = Settings {
        radius: args.hamming,
        codec: args.codec,
        label: args
            .profile
            .label(files)?
            .map_or_else(String::new, |label| label.written()),
    };
    if Collection::is_at(&args.output) {
        bail!(
            "{} is the directory of a collection; choose another directory for the index",
            args.output.display()
        );
    }
    let plan = args
        .plan
        .as_ref()
        .map(|design| checked_plan(design, W::BITS, args.hamming))
        .transpose()?;
    let gather = SegmentBuild::new(args.quiet, &args.memory)?;
    let segment = segment::Options {
        resume: Some(resume::work(files.has_ids(), &settings)),
        ..gather.options::<W>(files, 0, &settings, plan, args.address_bits)?
    };
    let mut missing = None;
    let create = |path: &Path| {
        let gathered = gather.segment::<W>(files, 0, path, &segment)?;
        missing = missed(&gathered.segment, args.hamming);
        anyhow::Ok((gathered.segment, gathered.next))
    };
    let options = store::Options::default();
    let built = if files.has_names() {
        let names = |writer: &mut NameWriter<'_>| gather.names(files, &args.output, writer);
        store::create_named_from(&args.output, &settings, &options, names, create)
    } else {
        store::create_from(&args.output, &settings, &options, create)
    };
    gather.finish();
    built?;
    terminal::out(&format!(
        "{}: {}{}\n",
        args.output.display(),
        number::counted(files.len(), "fingerprint"),
        missing.map_or_else(String::new, |recall| format!("; {recall}"))
    ))
}

/// Describes the share of the fingerprints that queries find in a segment that is not exact.
fn missed<W: Width>(segment: &Segment<W>, k: u32) -> Option<String> {
    (!segment.is_exact()).then(|| recall::described(k, &segment.recalls(Search::Directory, k)))
}

/// The plan of a design. An error if it has too many tables, or misses pairs within `k` although its keys are not random.
fn checked_plan(design: &Design, bits: u32, k: u32) -> anyhow::Result<Plan> {
    let refuse = |problem: &dyn Display| UsageError(format!("--plan {}: {problem}", design.short_name()));
    let plan = design.plan(bits, k).map_err(|problem| refuse(&problem))?;
    let tables = plan.tables.len();
    if tables > segment::MAX_TABLES {
        return Err(refuse(&SegmentError::TooManyTables { tables }).into());
    }
    if !design.is_random() {
        check::is_exact(&plan).map_err(|missed| refuse(&missed))?;
    }
    Ok(plan)
}
