//! Errors about wrong usage, and the options that fix errors of the library.
//!
//! The library reports what happened and never names an option. This module adds the option that fixes it.

use std::sync::OnceLock;

use twinprint::collection::CollectionError;
use twinprint::eval::EvalError;
use twinprint::index_join::JoinError;
use twinprint::raw::RawError;
use twinprint::sink::SinkError;
use twinprint::source::{FieldRole, Intake, RejectMessage, RejectReason, Setting, SourceError};
use twinprint::stream::{StateError, StreamError};
use twinprint::threads::ThreadsError;
use twinprint::work::WorkError;
use twinprint::{AgainstProblem, DedupError, IdfError, JobError, OptionError, Shortage};
use twinprint_server::ServeError;

use crate::terminal::with_causes;

/// The command line is wrong. The message names the option. The exit code is 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// Makes an error about the value of an option, or about a combination of options.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    UsageError(message.into()).into()
}

/// Adds the option that fixes the problem to an error message.
pub(crate) fn with_flag(error: anyhow::Error) -> anyhow::Error {
    if let Some(option) = option_error(&error) {
        return usage(format!("{}: {}", flag(option.option), option.problem));
    }
    if let Some(message) = wrong_usage(&error) {
        return usage(message);
    }
    let fix = fix(&error);
    let message = against(&error)
        .or_else(|| nothing_accepted(&error))
        .or_else(|| other_options(&error));
    match (message, fix) {
        (Some(message), Some(fix)) => anyhow::anyhow!("{message}; {fix}"),
        (Some(message), None) => anyhow::anyhow!(message),
        (None, Some(fix)) => anyhow::anyhow!("{}; {fix}", with_causes(&error)),
        (None, None) => error,
    }
}

/// If the error is about the directory of `--against`: a message that names this option.
fn against(error: &anyhow::Error) -> Option<String> {
    let Some(DedupError::Against { path, problem }) = dedup_error(error) else {
        return None;
    };
    let (path, problem) = (path.display().to_string(), problem.to_string());
    // The messages of a store begin with the name of its directory, so the directory is not added.
    Some(if problem.starts_with(&path) {
        format!("--against {problem}")
    } else {
        format!("--against {path}: {problem}")
    })
}

/// The message for an input without documents, with the flag that would accept its first record.
fn nothing_accepted(error: &anyhow::Error) -> Option<String> {
    let Some(JobError::Source(SourceError::NothingAccepted(intake))) = job_error(error) else {
        return None;
    };
    let mut intake = intake.clone();
    let first = intake.files.first_mut()?;
    first.reason = reject_message(&first.reason).into();
    Some(SourceError::NothingAccepted(intake).to_string())
}

/// The message for a state that was made with other options, with their flags.
fn other_options(error: &anyhow::Error) -> Option<String> {
    let Some(StreamError::State(StateError::Options { path, differences })) = error.downcast_ref() else {
        return None;
    };
    let mut differences = differences.clone();
    for difference in differences.iter_mut().filter(|difference| difference.is_option) {
        difference.name = flag(&difference.name);
    }
    let path = path.clone();
    Some(StateError::Options { path, differences }.to_string())
}

/// The option that names the field with the contents of a record, if it is not `--text-key`.
static CONTENT_OPTION: OnceLock<&str> = OnceLock::new();

/// States which option names the field with the contents of a record, so that messages name it. The first call counts.
pub(crate) fn name_content_option(option: &'static str) {
    CONTENT_OPTION.get_or_init(|| option);
}

fn content_option() -> &'static str {
    CONTENT_OPTION.get().copied().unwrap_or("--text-key")
}

/// The reason for which a record is rejected, with the flag that helps.
pub(crate) fn reject_reason(reason: &RejectReason) -> String {
    reject_message(&reason.into())
}

/// The message of a reject, with the flag that helps.
pub(crate) fn reject_message(message: &RejectMessage) -> String {
    message.naming(|setting| {
        Some(match setting {
            Setting::TextField => content_option(),
            Setting::IdField => "--id-key",
            Setting::Format => "--format",
            Setting::Charset => "--charset",
            Setting::Delimiter => "--delimiter",
            Setting::Exclude => "--exclude",
            Setting::MaxDocument => "--max-document",
            Setting::MaxRatio => "--max-ratio",
            Setting::EmptyTexts => "--empty remove",
            _ => return None,
        })
    })
}

/// Returns `true` if the command line was wrong; `false` if the input or the machine caused the error.
pub(crate) fn is_wrong_usage(error: &anyhow::Error) -> bool {
    error.downcast_ref::<UsageError>().is_some()
}

/// The name of the command-line option for an option of the library.
fn flag(option: &str) -> String {
    match option {
        "hamming" | "radius" => "-k".to_owned(),
        "inputs" => "<INPUT>".to_owned(),
        _ => format!("--{}", option.replace('_', "-")),
    }
}

fn dedup_error(error: &anyhow::Error) -> Option<&DedupError> {
    match error.downcast_ref() {
        Some(EvalError::Dedup(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

fn job_error(error: &anyhow::Error) -> Option<&JobError> {
    if let Some(DedupError::Job(error)) = dedup_error(error) {
        return Some(error);
    }
    match error.downcast_ref() {
        Some(StreamError::Job(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

fn sink_error(error: &anyhow::Error) -> Option<&SinkError> {
    match job_error(error) {
        Some(JobError::Sink(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

fn raw_error(error: &anyhow::Error) -> Option<&RawError> {
    match error.downcast_ref() {
        Some(JoinError::Raw(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

fn option_error(error: &anyhow::Error) -> Option<&OptionError> {
    match job_error(error) {
        Some(JobError::Option(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

/// If the error of the library is caused by wrong usage: a message that names the option.
fn wrong_usage(error: &anyhow::Error) -> Option<String> {
    if let Some(JobError::Threads(ThreadsError::TooMany { .. })) = job_error(error) {
        return Some(format!("--threads: {error}"));
    }
    if let Some(JobError::Idf(IdfError::Name(_))) = job_error(error) {
        return Some(format!("--name: {error}"));
    }
    if let Some(DedupError::Against {
        problem: AgainstProblem::AppendToIndex,
        ..
    }) = dedup_error(error)
    {
        return Some(format!(
            "--append: {error}; add fingerprints with `twinprint index add`"
        ));
    }
    match error.downcast_ref() {
        Some(StreamError::NoLabels { .. }) => return Some(format!("--labels: {error}")),
        Some(StreamError::RepeatedName { .. }) => {
            return Some(format!(
                "--docs: {error}; --id-key names a field that tells them apart"
            ));
        }
        Some(StreamError::Clusters { .. }) => return Some(format!("--clusters: {error}")),
        _ => {}
    }
    match error.downcast_ref() {
        Some(EvalError::Thresholds) => {
            Some("--at: give Jaccards above 0 and at most 1, such as 0.5,0.7,0.8,0.9".into())
        }
        Some(EvalError::Incomplete { .. }) => Some(format!("--at: {error} (--complete)")),
        _ => None,
    }
}

/// The fix for a run that needs more memory or disk than the machine has.
fn shortage_fix(shortage: Shortage) -> &'static str {
    match shortage {
        Shortage::Memory { .. } => "allow more with --memory, use fewer --threads, or split the input",
        Shortage::Output {
            includes_work: true, ..
        } => {
            "free space there, choose another --output, put temporary files elsewhere (--work-dir), or leave the records where they \
             are (--mode report)"
        }
        Shortage::Output { .. } => {
            "free space there, choose another --output, or leave the records where they are (--mode report)"
        }
        Shortage::Work { .. } => "free space there, or choose another --work-dir",
    }
}

/// The option that fixes an error; `None` if no option helps.
fn fix(error: &anyhow::Error) -> Option<&'static str> {
    if let Some(DedupError::WillNotFit(shortage)) = dedup_error(error) {
        return Some(shortage_fix(*shortage));
    }
    if let Some(StreamError::State(StateError::Foreign { .. } | StateError::InUse { .. })) =
        error.downcast_ref()
    {
        return Some("--state names another file");
    }
    match error.downcast_ref() {
        Some(EvalError::RepeatedId(_)) => return Some("--id-key names the field of another id"),
        Some(EvalError::NoJaccard { .. }) => return Some("--truth-field names another"),
        Some(EvalError::TooMany) => return Some("--limit takes a part"),
        _ => {}
    }
    if let Some(JoinError::TooManyRows { all_pairs, .. }) = error.downcast_ref() {
        return Some(if *all_pairs {
            "-k sets the radius and --max-rows the limit; without --all-pairs there are fewer rows"
        } else {
            "-k sets the radius and --max-rows the limit"
        });
    }
    if let Some(ServeError::TokensRequired(_)) = error.downcast_ref() {
        return Some("name one with --tokens");
    }
    if let Some(CollectionError::NotThere { .. }) = error.downcast_ref() {
        return Some("make one with twinprint collection create");
    }
    match job_error(error) {
        Some(JobError::Source(SourceError::NoField { role, .. })) => {
            return Some(match role {
                FieldRole::Text => match content_option() {
                    "--features-key" => "name the field with --features-key",
                    "--vector-key" => "name the field with --vector-key",
                    _ => "name the field with --text-key or --html-key",
                },
                FieldRole::Id => "name the field with --id-key",
                FieldRole::Sort => "name the field with --keep-key",
            });
        }
        Some(JobError::Source(error)) => return source_fix(error),
        Some(JobError::Work(WorkError::Spool { .. } | WorkError::File { .. })) => {
            return Some("free space there or choose another place with --work-dir");
        }
        Some(JobError::Work(WorkError::Dir { .. })) => return Some("choose another place with --work-dir"),
        _ => {}
    }
    match sink_error(error) {
        Some(SinkError::NotEmpty { .. }) => {
            return Some("--overwrite replaces a result of twinprint's own");
        }
        Some(SinkError::FieldClash { .. }) => return Some("--prefix dedup_ sets one"),
        Some(SinkError::Reorder { .. }) => {
            return Some("free space there or choose another place with --work-dir");
        }
        Some(SinkError::Damaged { .. }) => return Some("--mode report writes no records"),
        _ => {}
    }
    if let Some(RawError::Mixed { .. } | RawError::NegativeId { .. } | RawError::IdColumn { .. }) =
        raw_error(error)
    {
        return Some("--positions takes positions as ids");
    }
    match dedup_error(error)? {
        DedupError::Profile(_) => Some("see --profile and --bits"),
        DedupError::DamagedStage { .. } => Some("--fresh makes them again"),
        DedupError::OtherRun { .. } => Some("`twinprint dedup --on-disk --fresh` does so"),
        DedupError::NoSortField { .. } => Some("name the field that has one with --keep-key"),
        DedupError::TooManyPairs { .. } => {
            Some("--pairs=distinct writes one representative of equal texts and a row for each copy")
        }
        DedupError::PairsOfCrowds { .. } => Some(
            "leave out --pairs (clusters.jsonl names the kept document of each removed one), or raise --threshold",
        ),
        DedupError::TooManyMatches { .. } => Some("lower -k or leave out --no-verify"),
        DedupError::Memory { .. } => {
            Some("allow more with --memory, take fewer --threads, or split the input")
        }
        DedupError::LongRecord { .. } => Some("--max-document rejects such records"),
        DedupError::Against { problem, .. } => match problem {
            AgainstProblem::Nothing => {
                Some("make one with twinprint collection create or twinprint index build")
            }
            AgainstProblem::NeedsTexts => Some("leave out --no-verify"),
            AgainstProblem::Threshold { .. } => Some("set it with --threshold"),
            AgainstProblem::Width { .. } => Some("leave out --bits"),
            AgainstProblem::Radius { .. } => Some("-k sets it"),
            AgainstProblem::Profile { .. } => Some("take that profile with --profile"),
            _ => None,
        },
        _ => None,
    }
}

/// The option that fixes an error of the inputs; `None` if no option helps.
fn source_fix(error: &SourceError) -> Option<&'static str> {
    match error {
        SourceError::NotAFile { .. } => Some("--format names the format of stdin"),
        SourceError::StdinFormat => Some("pass --format text, html, lines, jsonl, json, csv, tsv or warc"),
        SourceError::NotText { .. } => Some("--format names the format of a file whose extension does not"),
        SourceError::UnknownExtension { .. } => {
            Some("pass --format text, html, lines, jsonl, json, csv, tsv or warc, or --any-text")
        }
        SourceError::LaterFormat { found, .. }
            if !matches!(found.as_str(), "parquet" | "arrow" | "feather") =>
        {
            Some("--any-text takes the file as it is")
        }
        SourceError::NothingFound { .. } => {
            Some("--ext adds extensions, --any-text takes every file that decodes as text")
        }
        SourceError::NothingAccepted(intake) if intake.skips_by_status() => Some(ANY_STATUS),
        SourceError::Spool { .. } => Some("free space there or choose another place with --work-dir"),
        _ => None,
    }
}

/// The number of records that are not documents, with the option that accepts more of them. `None` if there are none.
pub(crate) fn skipped_records(intake: &Intake) -> Option<String> {
    let skipped = intake.skipped_records()?;
    Some(if intake.skips_by_status() {
        format!("{skipped}; {ANY_STATUS}")
    } else {
        skipped
    })
}

/// The option for web archives with responses that were skipped because of their status.
const ANY_STATUS: &str = "--any-status reads responses of every status";
