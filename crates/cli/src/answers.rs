//! Writes the verdicts for the documents of an input, one line each, and counts them. They come from a local collection
//! or from a service.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use twinprint::JobError;
use twinprint::collection::{FeedOptions, InputRecord, NewDocument, feed};
use twinprint::source::{Intake, RecordPosition};

use crate::fields::FieldArgs;
use crate::input::InputArgs;
use crate::intake::{IntakeArgs, PrintedRejects};
use crate::progress::Bars;
use crate::usage::reject_reason;
use crate::{number, terminal};

#[derive(clap::Args)]
pub(crate) struct AnswerArgs {
    /// Write only the counts, not a line for each document
    #[arg(long)]
    summary: bool,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    intake: IntakeArgs,
}

/// Options of commands that store documents.
#[derive(clap::Args)]
pub(crate) struct StoreArgs {
    /// Add only new documents
    #[arg(long)]
    pub(crate) only_new: bool,

    #[command(flatten)]
    fields: FieldArgs,
}

/// The purpose of a command: to store documents or to look them up.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'a> {
    /// The command stores the documents with their time, title, URL and score. It continues if the reader of its output closes
    /// the pipe.
    Store(&'a StoreArgs),
    /// The command only looks documents up. It ends if the reader of its output closes the pipe, because the output is
    /// its only result.
    LookUp,
}

/// Collects the verdicts for some documents as output lines, and counts the verdicts of the whole run.
#[derive(Default)]
pub(crate) struct Answers {
    counts: BTreeMap<String, u64>,
    /// The documents that the collection or the service refused.
    refused: Intake,
    /// For each kind of field that was ignored: the number of documents, and the position of the first.
    left_out: BTreeMap<&'static str, (u64, String)>,
    lines: String,
    /// True if no line is printed for a rejected record. The end of the run then prints one line for each file.
    quiet: bool,
}

impl Answers {
    /// Counts the verdict for a document, and appends it to the output as a line.
    pub(crate) fn add(&mut self, answer: &Value) {
        let verdict = answer["verdict"].as_str().unwrap_or("the service gave no answer");
        self.count(verdict);
        self.lines.push_str(&answer.to_string());
        self.lines.push('\n');
    }

    /// Counts a document that the collection or the service refused, and prints the reason.
    pub(crate) fn refuse(&mut self, place: &RecordPosition, reason: &str) {
        self.refused.refuse(place, "refused", &reason.to_owned().into());
        self.reject(place, reason);
    }

    fn reject(&mut self, place: &RecordPosition, reason: &str) {
        self.count("rejected");
        if !self.quiet {
            terminal::note(&format!("rejected {place}: {reason}"));
        }
    }

    /// Returns the document of a record, with its position. If the record is not a document, prints the reason, counts
    /// it as rejected, and returns `None`.
    pub(crate) fn document(&mut self, record: InputRecord) -> Option<(RecordPosition, NewDocument)> {
        let place = record.position;
        for what in record.left_out {
            let first = || (0, place.to_string());
            let (count, _) = self.left_out.entry(what).or_insert_with(first);
            *count += 1;
        }
        match record.document {
            Ok(document) => Some((place, document)),
            Err(reason) => {
                self.reject(&place, &reject_reason(&reason));
                None
            }
        }
    }

    fn count(&mut self, verdict: &str) {
        *self.counts.entry(verdict.to_owned()).or_default() += 1;
    }
}

impl AnswerArgs {
    /// Reads the inputs and passes their documents to `take` in batches. Writes the verdicts after each batch, and the
    /// counts at the end.
    pub(crate) fn feed(
        &self,
        input: &InputArgs,
        purpose: Purpose<'_>,
        cancel: &Arc<AtomicBool>,
        mut take: impl FnMut(Vec<InputRecord>, &mut Answers) -> anyhow::Result<()>,
    ) -> anyhow::Result<ExitCode> {
        let keys = match purpose {
            Purpose::Store(options) => Some(options.fields.keys()),
            Purpose::LookUp => None,
        };
        let bars = Bars::new(self.quiet);
        let mut answers = Answers {
            quiet: self.quiet,
            ..Answers::default()
        };
        let mut read = !self.summary;
        let take = |records: Vec<InputRecord>| -> anyhow::Result<()> {
            take(records, &mut answers)?;
            let lines = std::mem::take(&mut answers.lines);
            if !read {
                return Ok(());
            }
            match terminal::out(&lines) {
                Err(closed) if keys.is_some() && terminal::is_closed_pipe(&closed) => {
                    read = false;
                    Ok(())
                }
                written => written,
            }
        };
        let options = FeedOptions {
            source: &input.options(),
            keys: keys.as_ref(),
            progress: &bars,
        };
        let intake = feed(&input.inputs, options, cancel, take);
        bars.finish();
        let Answers {
            counts,
            refused,
            left_out,
            ..
        } = answers;
        let summary = serde_json::to_string(&counts)?;
        if intake.is_err() && keys.is_some() && !counts.is_empty() {
            terminal::note(&format!(
                "before this run ended: {summary}; what it added is stored, and the same command adds the rest"
            ));
        }
        let mut intake = intake?;
        intake.add_refused(refused);
        if self.summary {
            terminal::out(&format!("{summary}\n"))?;
        } else if !self.quiet {
            terminal::note(&summary);
        }
        for (what, (count, first)) in &left_out {
            terminal::note(&format!(
                "{what}: ignored in {}, because the value is invalid or too long; the first is {first}",
                number::counted(*count, "document")
            ));
        }
        let intake = intake.checked().map_err(JobError::from)?;
        Ok(self.intake.end_counting(&intake, self.quiet, PrintedRejects::All))
    }
}
