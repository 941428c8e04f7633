//! `twinprint verify`

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueHint;
use twinprint::eval::{CheckJob, ResultCheck, check_result};
use twinprint::threads;

use crate::number::counted;
use crate::progress::Bars;
use crate::{Command, dedup, interrupt, parse_line, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint verify out
      checks the counts, the leaders, and the texts of 1000 removed and 1000 kept documents
  twinprint verify out --sample 20000 --max-missed 0.001
      searches for duplicates of more kept documents, and allows fewer misses";

/// Checks the result of a run: counts, leaders, and a search for duplicates that were kept
///
/// The report, the groups and the records must have the same counts. Every removed document must have a leader that is kept. A
/// sample of removed documents is compared with their leaders by their texts. A sample of kept documents is compared with all kept
/// documents, without fingerprints. Needs clusters.jsonl. Texts are compared if the run verified them and wrote kept/.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Output directory of `twinprint dedup`
    #[arg(value_name = "OUT", value_hint = ValueHint::DirPath)]
    output: PathBuf,

    /// Number of removed documents, and of kept ones, whose texts are compared
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = crate::number::parse_count::<usize>)]
    sample: usize,

    /// Largest share of the sampled kept documents that may have a duplicate among the kept ones. A search by fingerprints
    /// may miss some
    #[arg(long, default_value_t = 0.01, value_name = "SHARE", value_parser = crate::number::parse_share)]
    max_missed: f64,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,

    /// Worker threads; 0 uses all cores
    #[arg(long, default_value_t = 0, value_name = "N")]
    threads: usize,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let run = run_of(&args.output)?;
    if !args.output.join("clusters.jsonl").is_file() {
        bail!(
            "{}: there is no clusters.jsonl, which the check needs; run dedup with --clusters both",
            args.output.display()
        );
    }
    let cancel = interrupt::flag()?;
    let prepared = run.prepare(&cancel)?;
    let options = prepared.job(&run);
    let bars = Bars::new(args.quiet);
    let job = CheckJob {
        out: &args.output,
        source: options.source,
        options: options.options,
        sample: args.sample,
    };
    let check = threads::pool(args.threads)?.install(|| check_result(&job, &bars, &cancel));
    bars.finish();
    let check = check?;
    print(&check, job.compares_texts())?;
    if !check.problems.is_empty() {
        bail!(
            "the result has {}",
            counted(check.problems.len() as u64, "problem")
        );
    }
    let share = check.missed as f64 / check.searched.max(1) as f64;
    if share > args.max_missed {
        bail!(
            "{} of {} sampled kept documents have a duplicate among the kept ones, more than {} (--max-missed)",
            check.missed,
            check.searched,
            args.max_missed
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The arguments of the run that made a result, from its config.toml.
fn run_of(output: &Path) -> anyhow::Result<dedup::Args> {
    let config = output.join("config.toml");
    if !config.is_file() {
        bail!(
            "{}: there is no config.toml; give the output directory of `twinprint dedup`",
            output.display()
        );
    }
    let given = ["twinprint", "dedup", "--output"].map(OsString::from).into_iter();
    let given = given.chain([output.into(), "--config".into(), config.clone().into()]);
    let (parsed, _) = parse_line(given.collect())?;
    match parsed.with_context(|| config.display().to_string())?.command {
        Command::Dedup(run) => Ok(run),
        _ => bail!("{}: these are not the options of a run", config.display()),
    }
}

fn print(check: &ResultCheck, compares_texts: bool) -> anyhow::Result<()> {
    let (records, groups) = (&check.records, &check.groups);
    terminal::out(&format!(
        "records   {} read: {} kept, {} removed, {} rejected\n",
        records.read, records.kept, records.removed, records.rejected
    ))?;
    let known = match groups.known {
        0 => String::new(),
        known => format!(", {known} of them as duplicates of known documents"),
    };
    terminal::out(&format!(
        "groups    {} kept and {} removed{known}\n",
        groups.kept, groups.removed
    ))?;
    if compares_texts {
        terminal::out(&format!(
            "leaders   {} removed documents compared with their leaders\n",
            check.compared
        ))?;
        terminal::out(&format!(
            "kept      {} of {} sampled documents have a duplicate among the kept ones\n",
            check.missed, check.searched
        ))?;
    } else {
        terminal::out(
            "texts     not compared: the run did not verify texts, or did not write the kept ones apart\n",
        )?;
    }
    for pair in &check.examples {
        terminal::out(&format!(
            "          {:?} and {:?}, Jaccard {:.6}\n",
            pair.a, pair.b, pair.jaccard
        ))?;
    }
    for problem in &check.problems {
        terminal::out(&format!("problem   {problem}\n"))?;
    }
    Ok(())
}
