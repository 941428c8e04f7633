//! `twinprint shard`

use std::process::ExitCode;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use twinprint::{Stage, TaskShare};

use crate::progress::Bars;
use crate::usage::usage;
use crate::{dedup, interrupt, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint shard analyse crawl/ -o out --task 3/8
      analyses every eighth part of the input, from the third on; seven other processes analyse the others
  twinprint shard status crawl/ -o out
      lists the stages with the number of their tasks and of those that have ended

Once all stages have ended, `twinprint dedup crawl/ -o out --on-disk` writes the result.";

/// Runs one stage of a run on disk, or a share of its tasks, so that several machines can work on one run
///
/// The stages are those of `twinprint dedup --on-disk` with the same options: analyse, classes, items, against, parameters,
/// join, candidates, verify, lead, groups, recall, winnow, shared, passages and parts, in this order. The last four only have
/// tasks with --parts. All processes need the same files under the same paths, and the same folder for the stages, on a shared
/// file system: beside the output directory, or in --work-dir. A task that has ended never runs again, so a process that was
/// killed is started again with the same command. To start over, delete the folder before the first stage.
#[derive(clap::Args)]
#[group(skip)]
#[command(
    after_help = EXAMPLES,
    // A stage always runs on disk and cannot start over, and the last command decides whether the folder stays.
    mut_arg("on_disk", |arg| arg.hide(true)),
    mut_arg("fresh", |arg| arg.hide(true)),
    mut_arg("incremental", |arg| arg.hide(true)),
    // A stage runs, and these are not offered on disk.
    mut_arg("dry_run", |arg| arg.hide(true)),
    mut_arg("sample", |arg| arg.hide(true)),
    mut_arg("append", |arg| arg.hide(true)),
    mut_arg("order", |arg| arg.hide(true)),
)]
pub(crate) struct Args {
    /// Stage to run, or `status`
    #[arg(value_name = "STAGE")]
    step: Step,

    /// Share of the stage's tasks: process I of N
    #[arg(long, value_name = "I/N", default_value = "1/1", help_heading = "Running")]
    task: TaskShare,

    #[command(flatten)]
    dedup: dedup::Args,
}

/// The first argument: a stage, or the listing of the stages.
#[derive(Clone, Copy)]
enum Step {
    Run(Stage),
    Status,
}

impl ValueEnum for Step {
    fn value_variants<'a>() -> &'a [Self] {
        const STEPS: [Step; Stage::ALL.len() + 1] = {
            let mut steps = [Step::Status; Stage::ALL.len() + 1];
            let mut i = 0;
            while i < Stage::ALL.len() {
                steps[i] = Step::Run(Stage::ALL[i]);
                i += 1;
            }
            steps
        };
        &STEPS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self {
            Self::Run(stage) => stage.name(),
            Self::Status => "status",
        }))
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.dedup.is_dry_run() {
        return Err(usage(
            "--dry-run: a stage runs; `twinprint dedup --on-disk --dry-run` estimates the run",
        ));
    }
    let cancel = interrupt::flag()?;
    let prepared = args.dedup.prepare(&cancel)?;
    let bars = Bars::new(args.dedup.is_quiet());
    let job = prepared.job(&args.dedup);
    let folder = job.stage_folder();
    if matches!(args.step, Step::Status) && !folder.exists() {
        let state = if job.out.join("report.json").is_file() {
            format!("{} has a complete result", job.out.display())
        } else {
            "no stage has begun".to_owned()
        };
        terminal::out(&format!("{state}: {} does not exist\n", folder.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let states = match args.step {
        Step::Run(stage) => {
            twinprint::dedup_stage(&job, stage, args.task, &bars, &cancel).map(|state| vec![state])
        }
        Step::Status => twinprint::dedup_status(&job, &bars, &cancel),
    };
    bars.finish();
    let states = states?;
    if !args.dedup.is_quiet() || matches!(args.step, Step::Status) {
        for state in states {
            let tasks = state
                .tasks
                .map_or_else(|| "?".to_owned(), |tasks| tasks.to_string());
            terminal::out(&format!(
                "{:<11} {:>6} of {tasks} tasks have ended\n",
                state.stage.name(),
                state.whole
            ))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
