//! `twinprint idf`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Subcommand, ValueHint};
use twinprint::{IdfTableSize, build_idf};

use crate::input::InputArgs;
use crate::intake::{IntakeArgs, PrintedRejects};
use crate::number::{bytes, count};
use crate::own_input::refuse_own_documents;
use crate::profile::profile_named;
use crate::progress::Bars;
use crate::{interrupt, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint idf build news.jsonl -o news.tpidf
      the rarity of words in your documents; then: twinprint dedup news.jsonl -o out --idf news.tpidf";

/// Makes idf tables, which give rare words more weight in fingerprints
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Build(BuildArgs),
}

/// Counts in how many documents each word occurs, and writes the table
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
struct BuildArgs {
    #[command(flatten)]
    input: InputArgs,

    /// File to write the table to
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,

    /// Name of the table in a profile's id, letters and digits [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Largest number of words in the table. The most frequent words are used; all other words weigh as much as the
    /// rarest of these
    #[arg(long, default_value_t = 50_000, value_name = "N", value_parser = crate::number::parse_count::<usize>)]
    words: usize,

    /// Profile whose features are the words of the table
    #[arg(long, default_value = "tp1-words-lntf")]
    profile: String,

    #[command(flatten)]
    intake: IntakeArgs,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Action::Build(args) = &args.action;
    let stem = args.output.file_stem().unwrap_or_default().to_string_lossy();
    let name = args.name.clone().unwrap_or_else(|| stem.into_owned());
    let profile = profile_named(&args.profile, None)?;
    refuse_own_documents(&args.output, &args.input.inputs, &args.input.options())?;
    let bars = Bars::new(args.quiet);
    let table = build_idf(
        &args.input.inputs,
        &args.input.options(),
        &profile,
        IdfTableSize {
            name: &name,
            max_words: args.words,
        },
        &bars,
        &interrupt::flag()?,
    );
    bars.finish();
    let (table, intake) = table?;
    let file = table.to_bytes();
    std::fs::write(&args.output, &file).with_context(|| args.output.display().to_string())?;
    terminal::out(&format!(
        "{}: {} words of {} documents, {}\n",
        args.output.display(),
        count(table.len() as u64),
        count(table.documents()),
        bytes(file.len() as u64)
    ))?;
    Ok(args
        .intake
        .end_counting(&intake, args.quiet, PrintedRejects::None))
}
