//! `twinprint idf`, and the flags by which other commands use a table.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Subcommand, ValueHint};
use twinprint::{IdfError, IdfPower, IdfTable, IdfTableSize, Profile, build_idf};

use crate::dedup::profile_named;
use crate::input::InputArgs;
use crate::intake::IntakeArgs;
use crate::number::{bytes, count};
use crate::progress::Bars;
use crate::usage::UsageError;
use crate::{interrupt, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint idf build news.jsonl -o news.tpidf
      how rare words are in your documents; then: twinprint dedup news.jsonl -o out --idf news.tpidf";

/// Makes tables of idf weights, which let rare words count for more
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Build(BuildArgs),
}

/// Counts in how many documents each word occurs, and writes the table
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
struct BuildArgs {
    #[command(flatten)]
    input: InputArgs,

    /// File to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,

    /// What it is called in a profile's id, letters and digits; the file's name unless given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Words in the table at most, those of most documents; others weigh as the rarest of them
    #[arg(long, default_value_t = 50_000, value_name = "N", value_parser = crate::number::parse_count::<usize>)]
    words: usize,

    /// The profile whose features are counted
    #[arg(long, default_value = "tp1-words-lntf")]
    profile: String,

    #[command(flatten)]
    intake: IntakeArgs,

    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

/// The table a profile's weights are multiplied by.
#[derive(clap::Args)]
pub(crate) struct IdfArgs {
    /// Multiply weights by how rare a word is, from a table: a file of idf build, or zhen1, which is shipped (Chinese and English)
    #[arg(long, value_name = "TABLE", help_heading = "Fingerprints", value_hint = ValueHint::FilePath)]
    idf: Option<String>,

    /// Take the square roots of that table: rare words count for more, but a few do not decide
    #[arg(long, requires = "idf", help_heading = "Fingerprints")]
    idf_root: bool,
}

impl IdfArgs {
    /// The profile of an id, as `named` has it, with the table where one is given.
    pub(crate) fn profile(
        &self,
        id: &str,
        named: impl FnOnce(&str) -> anyhow::Result<Profile>,
    ) -> anyhow::Result<Profile> {
        let Some(given) = &self.idf else {
            return named(id);
        };
        let table = table(given)?;
        let refuse = |what: &str| UsageError(format!("--profile {id}: {what}"));
        // An id that names the table, as config.toml has it, is that of the profile without it.
        let (base, key_and_stop_words) = id.split_at(id.find('+').unwrap_or(id.len()));
        let mut parts: Vec<&str> = base.split('-').collect();
        let with_table = parts.get(2).and_then(|weight| weight.split_once('.'));
        let root = match with_table {
            None => self.idf_root,
            Some((weight, of)) => {
                let root = of.strip_prefix("root.");
                if root.unwrap_or(of) != table.name() {
                    Err(refuse(&format!("the table {given} is another, {}", table.name())))?;
                }
                if self.idf_root && root.is_none() {
                    Err(refuse(
                        "takes the table's values as they are; leave out --idf-root",
                    ))?;
                }
                parts[2] = weight;
                root.is_some()
            }
        };
        let power = if root { IdfPower::Root } else { IdfPower::Whole };
        Ok(named(&(parts.join("-") + key_and_stop_words))?.with_idf(table, power))
    }

    /// What `config.toml` has of it.
    pub(crate) fn given(&self) -> Option<(String, bool)> {
        self.idf.clone().map(|table| (table, self.idf_root))
    }
}

fn table(given: &str) -> anyhow::Result<IdfTable> {
    if !Path::new(given).exists()
        && let Some(table) = IdfTable::shipped(given)
    {
        return Ok(table);
    }
    let bytes = std::fs::read(given).with_context(|| format!("--idf {given}"))?;
    IdfTable::read(&bytes).map_err(|error| {
        let hint = match error {
            IdfError::Magic => " (`twinprint idf build` makes one)",
            _ => "",
        };
        UsageError(format!("--idf {given}: {error}{hint}")).into()
    })
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let What::Build(args) = &args.what;
    let stem = args.output.file_stem().unwrap_or_default().to_string_lossy();
    let name = args.name.clone().unwrap_or_else(|| stem.into_owned());
    let profile = profile_named(&args.profile, None)?;
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
    Ok(args.intake.end_counting(&intake, args.quiet))
}
