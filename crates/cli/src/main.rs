//! The `twinprint` command: parses flags, calls the library, shows progress and results.
//!
//! Results go to stdout, progress and messages to stderr. Exit status: 0 done, 1 failed, 2 wrong usage.
#![forbid(unsafe_code)]

mod compare;
mod completions;
mod config;
mod dedup;
mod fingerprint;
mod forecast;
mod input;
mod interrupt;
mod man;
mod number;
mod progress;
mod summary;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use twinprint::DedupError;

use crate::config::Arguments;

/// Finds near-duplicate documents, Chinese and English, exactly within its radius, and verifies them on the text.
#[derive(Parser)]
#[command(
    name = "twinprint",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Dedup(dedup::Args),
    Fingerprint(fingerprint::Args),
    Compare(compare::Args),
    Completions(completions::Args),
    Man(man::Args),
}

fn main() -> ExitCode {
    match parse().and_then(run) {
        Ok(code) => code,
        Err(error) if terminal::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::error(&error);
            ExitCode::from(if is_wrong_usage(&error) {
                2
            } else {
                interrupt::exit_status()
            })
        }
    }
}

/// The command line, with what the file of its `--config` adds.
fn parse() -> anyhow::Result<Command> {
    let mut command = Cli::command();
    command.build();
    let arguments = Arguments::read(&command, std::env::args_os().collect())?;
    let parsed = command
        .try_get_matches_from(&arguments.all)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => Ok(cli.command),
        Err(error) => Err(arguments.blame(&error).unwrap_or_else(|| error.exit())),
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Dedup(args) => dedup::run(&args),
        Command::Fingerprint(args) => fingerprint::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    }
}

/// Whether an option was refused for its value, which is as wrong as one that does not parse.
fn is_wrong_usage(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(DedupError::Option(_)))
}
