//! `twinprint index join`

use std::path::{Path, PathBuf};

use clap::ValueHint;
use twinprint::index_join::{JoinOptions, JoinSide, join};
use twinprint::raw::{Column, ColumnKind, Ids, RawFiles, RowValue};
use twinprint::{ProfileLabel, Width};

use super::memory::{MemoryArgs, within_memory};
use super::names::SideNames;
use super::profile;
use super::rows::RowArgs;
use super::width::{self, at_width};
use crate::own_input::refuse_own_input;
use crate::progress::Bars;
use crate::{interrupt, number};

/// The radius if `-k` is not given and A is not an index.
const DEFAULT_RADIUS: u32 = 3;

const fn columns(a: ColumnKind, b: ColumnKind) -> [Column; 3] {
    [
        Column::new("a", a),
        Column::new("b", b),
        Column::new("hamming", ColumnKind::Distance),
    ]
}

/// The columns of the output. A row is a pair of ids or of lists of ids, which are numbers or names.
fn columns_of(all_pairs: bool, a_names: bool, b_names: bool) -> &'static [Column] {
    use ColumnKind::{Id, Ids, Name, Names};
    match (all_pairs, a_names, b_names) {
        (true, false, false) => const { &columns(Id, Id) },
        (true, false, true) => const { &columns(Id, Name) },
        (true, true, false) => const { &columns(Name, Id) },
        (true, true, true) => const { &columns(Name, Name) },
        (false, false, false) => const { &columns(Ids, Ids) },
        (false, false, true) => const { &columns(Ids, Names) },
        (false, true, false) => const { &columns(Names, Ids) },
        (false, true, true) => const { &columns(Names, Names) },
    }
}

/// Finds all pairs of fingerprints within Hamming distance k, between two indexes or files, or within one
///
/// Writes rows of a, b and hamming, one for each pair of fingerprints: a and b are the lists of ids that have them.
/// Within one index or file, each pair is written once, with the smallest id in a. A fingerprint that several ids have
/// is also a row: its distance is 0, and all these ids are in a and in b.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Directory of an index, or a file of fingerprints as for `index build`
    #[arg(value_name = "A", value_hint = ValueHint::AnyPath)]
    a: PathBuf,

    /// Another index or file; without it, A is joined with itself
    #[arg(value_name = "B", value_hint = ValueHint::AnyPath)]
    b: Option<PathBuf>,

    /// Largest Hamming distance of a pair [default: the radius that index A was built for, or 3]
    #[arg(short = 'k', long, value_name = "K", value_parser = clap::value_parser!(u32).range(width::RADII))]
    hamming: Option<u32>,

    /// Write a row for each pair of ids, including ids of equal fingerprints
    #[arg(long)]
    all_pairs: bool,

    /// Write nothing if there would be more rows. A fingerprint counts once for each of its ids
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

/// An index or a file of fingerprints of any width.
enum Input<'a> {
    Index(&'a Path),
    Files(RawFiles),
}

/// One side of the join, with its radius and its profile.
struct InputSide<W> {
    side: JoinSide<W>,
    radius: Option<u32>,
    profile: Option<ProfileLabel>,
    names: Option<SideNames>,
}

impl Input<'_> {
    /// The width of the fingerprints, in bits.
    fn bits(&self) -> anyhow::Result<u32> {
        match self {
            Self::Index(path) => width::of_index(path),
            Self::Files(files) => Ok(files.bits()),
        }
    }

    /// Reads the side. An error if its fingerprints have another width than `W`, or if the names of its ids do not fit into
    /// `memory`, of which `held` bytes are in use.
    fn side<W: Width>(self, memory: u64, held: u64) -> anyhow::Result<InputSide<W>> {
        match self {
            Self::Index(path) => {
                width::check_index(path, W::BITS)?;
                let committed = super::read(path)?;
                Ok(InputSide {
                    side: JoinSide::Index(committed.snapshot),
                    radius: Some(committed.settings.radius),
                    profile: ProfileLabel::read(&committed.settings.label),
                    names: committed.names.map(SideNames::Index),
                })
            }
            Self::Files(files) => {
                files.check_bits(W::BITS)?;
                Ok(InputSide {
                    profile: profile::of_files(&files)?,
                    names: SideNames::of_files(&files, memory, held)?,
                    side: JoinSide::Files(files),
                    radius: None,
                })
            }
        }
    }
}

impl Args {
    fn input<'a>(&self, path: &'a Path) -> anyhow::Result<Input<'a>> {
        if path.is_dir() {
            return Ok(Input::Index(path));
        }
        let ids = if self.positions { Ids::Positions } else { Ids::Own };
        Ok(Input::Files(RawFiles::open(&[path.to_owned()], &ids)?))
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(output) = &args.rows.output {
        let files = [Some(&args.a), args.b.as_ref()].into_iter().flatten();
        refuse_own_input(output, files.map(PathBuf::as_path))?;
    }
    let a = args.input(&args.a)?;
    let b = args.b.as_ref().map(|b| args.input(b)).transpose()?;
    at_width!(a.bits()?, join_inputs(args, a, b))
}

fn join_inputs<W: Width>(args: &Args, a: Input<'_>, b: Option<Input<'_>>) -> anyhow::Result<()> {
    width::check_radius(args.hamming.unwrap_or_default(), W::BITS)?;
    let memory = args.memory.bytes();
    let a = a.side::<W>(memory, 0)?;
    let held = names_memory(&a);
    let b = b.map(|b| b.side::<W>(memory, held)).transpose()?;
    if let Some(b) = &b {
        profile::check_same(a.profile.as_ref(), b.profile.as_ref())?;
    }
    let options = JoinOptions {
        k: args.hamming.or(a.radius).unwrap_or(DEFAULT_RADIUS),
        all_pairs: args.all_pairs,
        max_rows: args.max_rows,
        memory,
        held: held + b.as_ref().map_or(0, names_memory),
        work_dir: args.work_dir.clone(),
    };
    let a_names = a.names.as_ref();
    let b_names = b.as_ref().map_or(a_names, |b| b.names.as_ref());
    let columns = columns_of(args.all_pairs, a_names.is_some(), b_names.is_some());
    let mut out = args.rows.open(columns, &[])?;
    let bars = Bars::new(args.quiet);
    let cancel = interrupt::flag()?;
    let b = b.as_ref().map(|b| &b.side);
    let joined = join(&a.side, b, &options, &bars, &cancel, |row| {
        let hamming = RowValue::Number(row.hamming.into());
        if args.all_pairs {
            return out.row(&[one(row.a, a_names), one(row.b, b_names), hamming]);
        }
        let (a, b) = (named(row.a, a_names), named(row.b, b_names));
        out.row(&[
            several(row.a, a.as_deref()),
            several(row.b, b.as_deref()),
            hamming,
        ])
    });
    bars.finish();
    joined.map_err(within_memory)?;
    out.finish()?;
    Ok(())
}

/// The memory of the names of a side in bytes.
fn names_memory<W>(side: &InputSide<W>) -> u64 {
    side.names.as_ref().map_or(0, SideNames::memory)
}

/// The value of the only id of a list.
fn one<'n>(ids: &[u64], names: Option<&'n SideNames>) -> RowValue<'n> {
    let id = ids.first().copied().unwrap_or_default();
    names.map_or(RowValue::Number(id), |names| RowValue::Name(names.get(id)))
}

/// The names of a list of ids; `None` if ids are numbers.
fn named<'n>(ids: &[u64], names: Option<&'n SideNames>) -> Option<Vec<&'n str>> {
    names.map(|names| ids.iter().map(|&id| names.get(id)).collect())
}

/// The value of a list of ids.
fn several<'v>(ids: &'v [u64], names: Option<&'v [&'v str]>) -> RowValue<'v> {
    names.map_or(RowValue::Numbers(ids), RowValue::Names)
}
