//! `twinprint index join`

use std::path::{Path, PathBuf};

use clap::ValueHint;
use twinprint::ProfileLabel;
use twinprint::index_join::{JoinOptions, JoinSide, join};
use twinprint::raw::{Column, ColumnKind, Ids, RawFiles, RowValue};

use super::memory::{MemoryArgs, within_memory};
use super::profile;
use super::rows::RowArgs;
use crate::progress::Bars;
use crate::{interrupt, number};

/// The radius if neither the index nor the user names one.
const DEFAULT_RADIUS: u32 = 3;

/// The columns of rows for pairs of fingerprints.
const GROUP_COLUMNS: &[Column] = &[
    Column::new("a", ColumnKind::Ids),
    Column::new("b", ColumnKind::Ids),
    Column::new("hamming", ColumnKind::Distance),
];
/// The columns of rows for pairs of ids.
const PAIR_COLUMNS: &[Column] = &[
    Column::new("a", ColumnKind::Id),
    Column::new("b", ColumnKind::Id),
    Column::new("hamming", ColumnKind::Distance),
];

/// Finds all pairs within k bits of two indexes or files, or of one with itself
///
/// Writes rows of a, b and hamming, one for each pair of fingerprints: a and b are the ids that have them. Of one joined with itself every pair comes
/// once, a beginning with the smaller id; and a fingerprint that several ids have is a row at distance 0 with all of them as a and as b.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Directory of an index, or a file of fingerprints as for `index build`
    #[arg(value_name = "A", value_hint = ValueHint::AnyPath)]
    a: PathBuf,

    /// The same; without it, A is joined with itself
    #[arg(value_name = "B", value_hint = ValueHint::AnyPath)]
    b: Option<PathBuf>,

    /// Largest Hamming distance [default: the radius that index A was built for, or 3]
    #[arg(short = 'k', long, value_name = "K", value_parser = clap::value_parser!(u32).range(0..=64))]
    hamming: Option<u32>,

    /// Write a row for each pair of ids, also of equal fingerprints
    #[arg(long)]
    all_pairs: bool,

    /// Write nothing if there are more rows; a fingerprint counts once for each of its ids
    #[arg(long, default_value = "100000000", value_name = "N", value_parser = number::parse_count::<u64>)]
    max_rows: u64,

    /// Use positions as ids even if a Parquet file has a column of ids
    #[arg(long)]
    positions: bool,

    #[command(flatten)]
    rows: RowArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Directory for data that does not fit into memory [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    work_dir: Option<PathBuf>,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

/// A side of the join, with the settings of its index.
struct InputSide {
    side: JoinSide,
    radius: Option<u32>,
    profile: Option<ProfileLabel>,
}

impl Args {
    fn side(&self, path: &Path) -> anyhow::Result<InputSide> {
        if path.is_dir() {
            let committed = super::read(path)?;
            return Ok(InputSide {
                side: JoinSide::Index(committed.snapshot),
                radius: Some(committed.settings.radius),
                profile: ProfileLabel::read(&committed.settings.label),
            });
        }
        let ids = if self.positions { Ids::Positions } else { Ids::Own };
        let files = RawFiles::open(&[path.to_owned()], &ids)?;
        Ok(InputSide {
            profile: profile::of_files(&files)?,
            side: JoinSide::Files(files),
            radius: None,
        })
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let a = args.side(&args.a)?;
    let b = args.b.as_ref().map(|b| args.side(b)).transpose()?;
    if let Some(b) = &b {
        profile::check_same(a.profile.as_ref(), b.profile.as_ref())?;
    }
    let options = JoinOptions {
        k: args.hamming.or(a.radius).unwrap_or(DEFAULT_RADIUS),
        all_pairs: args.all_pairs,
        max_rows: args.max_rows,
        memory: args.memory.bytes(),
        work_dir: args.work_dir.clone(),
    };
    let columns = if args.all_pairs {
        PAIR_COLUMNS
    } else {
        GROUP_COLUMNS
    };
    let mut out = args.rows.open(columns, &[])?;
    let bars = Bars::new(args.quiet);
    let cancel = interrupt::flag()?;
    let b = b.as_ref().map(|b| &b.side);
    let joined = join(&a.side, b, &options, &bars, &cancel, |row| {
        let hamming = RowValue::Number(row.hamming.into());
        if args.all_pairs {
            let one = |ids: &[u64]| RowValue::Number(ids.first().copied().unwrap_or_default());
            return out.row(&[one(row.a), one(row.b), hamming]);
        }
        out.row(&[RowValue::Numbers(row.a), RowValue::Numbers(row.b), hamming])
    });
    bars.finish();
    joined.map_err(within_memory)?;
    out.finish()?;
    Ok(())
}
