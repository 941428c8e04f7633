//! `twinprint index`: stores up to billions of fingerprints on disk, without their documents.

mod adding;
mod build;
mod change;
mod codec;
mod export;
mod files;
mod inspect;
mod join;
mod lookups;
mod memory;
mod names;
mod profile;
mod query;
mod recall;
mod resume;
mod rows;
mod search;
mod segment_build;
mod texts;
mod width;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Subcommand, ValueHint};
use twinprint::{Width, store};

pub(crate) use self::codec::CODECS;
pub(crate) use self::width::check_radius;

const EXAMPLES: &str = "\
Examples:
  twinprint index build old.u64 -o seen
      an index of the fingerprints in a file (64 bits each, little-endian); the id of each is its position
  twinprint index build out/clusters.parquet --positions -o kept
      an index of the fingerprints that `twinprint dedup -o out` wrote, of 128 or 64 bits
  twinprint index query seen --queries new.u64 -k 3
      every fingerprint within 3 bits of those in new.u64: query, id, hamming
  twinprint index query seen --queries new.u64 --search variations --stats > found.jsonl
      the same by the naive way: every variation of a query is looked up; prints the work to stderr
  twinprint index query seen --text news.jsonl --profile 1e0ng > found.jsonl
      the same for texts; --profile names the profile of the index, unless the index was built with it
  twinprint index add seen new.u64
      adds those in new.u64; their ids continue after the last
  twinprint index delete seen 17 42
      removes these ids from all answers
  twinprint index join seen new.u64 -k 3
      all pairs within 3 bits, one of each side: a, b, hamming; `index join seen` finds the pairs within the index
  twinprint index export seen -o seen.parquet
      writes ids and fingerprints, ordered by id
  twinprint index stat seen
      the number of fingerprints, and the files
  twinprint index check seen
      reads every byte and verifies the checksums";

/// Stores fingerprints on disk, and finds those within Hamming distance k of others
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Build(build::Args),
    Add(change::AddArgs),
    Delete(change::DeleteArgs),
    Compact(change::CompactArgs),
    Query(query::Args),
    Join(join::Args),
    Export(export::Args),
    Stat(inspect::StatArgs),
    Check(inspect::CheckArgs),
}

/// The argument that names the directory of an index.
#[derive(clap::Args)]
struct Directory {
    /// Directory of the index
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    index: PathBuf,
}

impl Directory {
    /// The width of the fingerprints of the index, in bits.
    fn bits(&self) -> anyhow::Result<u32> {
        width::of_index(&self.index)
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::Build(args) => build::run(args),
        Action::Add(args) => change::add(args),
        Action::Delete(args) => change::delete(args),
        Action::Compact(args) => change::compact(args),
        Action::Query(args) => return query::run(args),
        Action::Join(args) => join::run(args),
        Action::Export(args) => export::run(args),
        Action::Stat(args) => inspect::stat(args),
        Action::Check(args) => inspect::check(args),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the committed state of an index.
fn read<W: Width>(index: &Path) -> anyhow::Result<store::Committed<W>> {
    Ok(store::read(index)?)
}
