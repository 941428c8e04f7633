//! `twinprint index`: fingerprints alone, without documents, by the billion.

mod adding;
mod build;
mod change;
mod codec;
mod export;
mod files;
mod join;
mod look;
mod memory;
mod profile;
mod query;
mod resume;
mod rows;
mod texts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Subcommand, ValueHint};
use twinprint::store;

pub(crate) use self::codec::CodecArg;

const EXAMPLES: &str = "\
Examples:
  twinprint index build old.u64 -o seen
      an index of the fingerprints in a file (64 bits each, little-endian); the id of each is its position
  twinprint index query seen --queries new.u64 -k 3
      every fingerprint within 3 bits of each of those in new.u64: query, id, hamming
  twinprint index query seen --text news.jsonl --profile 1e0ng > found.jsonl
      the same for texts, of which the fingerprints are made as those in the index were; one built with --profile knows how
  twinprint index add seen new.u64
      adds those in new.u64; their ids go on from the last
  twinprint index delete seen 17 42
      no answer has these ids any more
  twinprint index join seen new.u64 -k 3
      all pairs within 3 bits of one of either: a, b, hamming; `index join seen` alone finds them within the index
  twinprint index export seen -o seen.parquet
      ids and fingerprints out again, ordered by id
  twinprint index stat seen
      how many fingerprints there are, in which files
  twinprint index check seen
      reads every byte and says whether it is what was written";

/// Keeps fingerprints on disk and finds those within k bits of others
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
    Stat(look::StatArgs),
    Check(look::CheckArgs),
}

/// The directory of an index.
#[derive(clap::Args)]
struct Directory {
    /// Directory of the index
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    index: PathBuf,
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
        Action::Stat(args) => look::stat(args),
        Action::Check(args) => look::check(args),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// What was committed to an index.
fn read(index: &Path) -> anyhow::Result<store::Committed<u64>> {
    Ok(store::read(index)?)
}
