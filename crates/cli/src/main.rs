//! The `twinprint` command: parses flags, calls the library, shows progress and results.
//!
//! Results go to stdout, progress and messages to stderr. Exit status: 0 done, 1 failed, 2 wrong usage.
#![forbid(unsafe_code)]

mod compare;
mod dedup;
mod fingerprint;
mod input;
mod interrupt;
mod number;
mod progress;
mod summary;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use twinprint::DedupError;

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
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Dedup(args) => dedup::run(&args),
        Command::Fingerprint(args) => fingerprint::run(&args),
        Command::Compare(args) => compare::run(&args),
    };
    match result {
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

/// Whether an option was refused for its value, which is as wrong as one that does not parse.
fn is_wrong_usage(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(DedupError::Option(_)))
}
