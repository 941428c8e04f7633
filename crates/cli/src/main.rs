//! The `twinprint` command: parses the command line, calls the library, and prints progress and results.
//!
//! Results go to stdout, progress and messages to stderr. [`intake::EXIT_CODES`] lists the exit codes.
#![forbid(unsafe_code)]

mod answers;
mod append;
mod calibrate;
mod choice;
mod cluster;
mod collection;
mod compare;
mod compare_given;
mod completions;
mod config;
mod dedup;
mod eval;
mod fields;
mod fingerprint;
mod fingerprint_output;
mod forecast;
mod idf;
mod index;
mod input;
mod intake;
mod interrupt;
mod listing;
mod man;
mod measure;
mod notation;
mod number;
mod output;
mod own_input;
mod plan;
mod profile;
mod progress;
mod replay;
mod serve;
mod shard;
mod stories;
mod story_args;
mod subject;
mod summary;
mod terminal;
mod usage;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::config::Arguments;

/// Finds near-duplicate documents, Chinese and English: all pairs of fingerprints within a Hamming radius, verified on
/// the texts
#[derive(Parser)]
#[command(
    name = "twinprint",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = intake::EXIT_CODES
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Calibrate(calibrate::Args),
    Dedup(dedup::Args),
    Eval(eval::Args),
    Fingerprint(fingerprint::Args),
    Idf(idf::Args),
    Cluster(cluster::Args),
    Compare(compare::Args),
    Plan(plan::Args),
    Index(index::Args),
    Collection(collection::Args),
    Serve(serve::Args),
    Shard(Box<shard::Args>),
    Replay(replay::Args),
    Verify(verify::Args),
    Completions(completions::Args),
    Man(man::Args),
}

fn main() -> ExitCode {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A panic in a decoder is caught and reported as a reject or an error, so the default message of the panic is
        // not printed.
        if !twinprint::catches_panics() {
            hook(panic);
        }
    }));
    match parse().and_then(run) {
        Ok(code) => code,
        Err(error) if terminal::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let error = usage::with_flag(error);
            let code = if usage::is_wrong_usage(&error) {
                2
            } else {
                interrupt::exit_status()
            };
            terminal::error(&error);
            ExitCode::from(code)
        }
    }
}

/// Parses a command line, including the options of its `--config` file. Also returns the complete command line, for error
/// messages.
fn parse_line(given: Vec<OsString>) -> anyhow::Result<(clap::error::Result<Cli>, Arguments)> {
    let mut command = Cli::command();
    command.build();
    let arguments = Arguments::read(&command, given)?;
    let parsed = command
        .try_get_matches_from(&arguments.all)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    Ok((parsed, arguments))
}

/// Parses the command line of this process.
fn parse() -> anyhow::Result<Command> {
    let (parsed, arguments) = parse_line(std::env::args_os().collect())?;
    match parsed {
        Ok(cli) => Ok(cli.command),
        Err(error) => Err(arguments
            .blame(&error)
            .unwrap_or_else(|| with_short_value(error).exit())),
    }
}

/// The number of characters of a wrong value that an error repeats.
const SHOWN_CHARS: usize = 60;

/// Shortens the wrong value that an error repeats.
fn with_short_value(mut error: clap::Error) -> clap::Error {
    let short = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => {
            let end = value.char_indices().nth(SHOWN_CHARS);
            end.map(|(end, _)| format!("{}…", &value[..end]))
        }
        _ => None,
    };
    if let Some(short) = short {
        error.insert(ContextKind::InvalidValue, ContextValue::String(short));
    }
    error
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Dedup(args) => dedup::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Fingerprint(args) => fingerprint::run(&args),
        Command::Idf(args) => idf::run(&args),
        Command::Cluster(args) => cluster::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Index(args) => index::run(&args),
        Command::Collection(args) => collection::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Shard(args) => shard::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    }
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use clap::{Arg, Command};

    use super::*;

    /// Options whose value is named N but is not a count: threads, bits and a seed.
    const NO_COUNTS: [&str; 3] = ["threads", "equal-bits", "seed"];

    /// Calls `each` with every option of a command and of its subcommands, and with the names of the commands.
    fn options(command: &Command, path: &[String], each: &mut impl FnMut(&[String], &Arg)) {
        for arg in command.get_arguments() {
            each(path, arg);
        }
        for below in command.get_subcommands() {
            let path = [path, &[below.get_name().to_owned()]].concat();
            options(below, &path, each);
        }
    }

    #[test]
    fn every_count_and_every_size_accepts_common_notations() {
        let mut command = Cli::command();
        command.build();
        let (mut counts, mut sizes) = (0, 0);
        options(&command, &["twinprint".to_owned()], &mut |path, arg| {
            let (Some(long), Some([name])) = (arg.get_long(), arg.get_value_names()) else {
                return;
            };
            let values: &[&str] = match name.as_str() {
                "N" | "SECONDS" if !NO_COUNTS.contains(&long) => {
                    counts += 1;
                    &["1e2", "1_00", "100"]
                }
                "SIZE" | "BYTES" => {
                    sizes += 1;
                    &["1e9", "1.5 GiB", "4_096"]
                }
                _ => return,
            };
            for value in values {
                let line = [path, &[format!("--{long}={value}")]].concat();
                // A wrong value is reported before missing arguments.
                let refused = command
                    .clone()
                    .try_get_matches_from(&line)
                    .err()
                    .map(|error| error.kind());
                let wrong = [ErrorKind::ValueValidation, ErrorKind::InvalidValue];
                assert!(!refused.is_some_and(|kind| wrong.contains(&kind)), "{line:?}");
            }
        });
        assert!(counts > 15 && sizes > 8, "{counts} counts, {sizes} sizes");
    }

    #[test]
    fn every_listed_value_is_accepted() {
        let mut command = Cli::command();
        command.build();
        let mut values = 0;
        options(&command, &["twinprint".to_owned()], &mut |_, arg| {
            for value in arg.get_possible_values() {
                let parser = arg.get_value_parser().clone();
                let lone = Command::new("lone").arg(Arg::new("value").value_parser(parser));
                let parsed = lone.try_get_matches_from(["lone", value.get_name()]);
                assert!(parsed.is_ok(), "{arg} {}", value.get_name());
                values += 1;
            }
        });
        assert!(values > 50, "{values} values");
    }
}
