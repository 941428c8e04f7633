//! The answers of a collection, here or at a service, to the documents of an input: lines and counts.

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
use crate::intake::IntakeArgs;
use crate::progress::Bars;
use crate::usage::reject_reason;
use crate::{number, terminal};

#[derive(clap::Args)]
pub(crate) struct AnswerArgs {
    /// Add only new documents
    #[arg(long)]
    pub(crate) only_new: bool,

    #[command(flatten)]
    fields: FieldArgs,

    /// Write only the counts, not a line for each document
    #[arg(long)]
    summary: bool,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    intake: IntakeArgs,
}

/// The purpose of a command: to store documents or to look them up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Stores them. The command continues if the reader of the answers closes the pipe.
    Store,
    /// Only looks them up. The answers are the only result.
    LookUp,
}

/// The answers to some documents, and counts of all verdicts so far.
#[derive(Default)]
pub(crate) struct Answers {
    counts: BTreeMap<String, u64>,
    /// The documents that were refused.
    refused: Intake,
    /// Fields that were left out: their number and the place of the first, by kind.
    left_out: BTreeMap<&'static str, (u64, String)>,
    lines: String,
    /// Write no line for each rejected record. The end of the run reports each file.
    quiet: bool,
}

impl Answers {
    /// Counts the answer to a document, and writes it as a line.
    pub(crate) fn add(&mut self, answer: &Value) {
        let verdict = answer["verdict"].as_str().unwrap_or("the service gave no answer");
        self.count(verdict);
        self.lines.push_str(&answer.to_string());
        self.lines.push('\n');
    }

    /// Counts a rejected document and prints the reason.
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

    /// The document of a record and its place. Prints the reason if the record has none.
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
    /// Passes the documents of the inputs to `take`, writes the answers as they come, and the counts at the end. `with_fields` reads the
    /// fields of the records other than the text.
    pub(crate) fn feed(
        &self,
        input: &InputArgs,
        with_fields: bool,
        purpose: Purpose,
        cancel: &Arc<AtomicBool>,
        mut take: impl FnMut(Vec<InputRecord>, &mut Answers) -> anyhow::Result<()>,
    ) -> anyhow::Result<ExitCode> {
        let keys = with_fields.then(|| self.fields.keys());
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
                Err(closed) if purpose == Purpose::Store && terminal::is_closed_pipe(&closed) => {
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
        let mut intake = intake?;
        let Answers {
            counts,
            refused,
            left_out,
            ..
        } = answers;
        intake.add_refused(refused);
        let summary = serde_json::to_string(&counts)?;
        if self.summary {
            terminal::out(&format!("{summary}\n"))?;
        } else if !self.quiet {
            terminal::note(&summary);
        }
        for (what, (count, first)) in &left_out {
            terminal::note(&format!(
                "{what}: left out of {}, because it is invalid or too long; the first is {first}",
                number::counted(*count, "document")
            ));
        }
        let intake = intake.checked().map_err(JobError::from)?;
        Ok(self.intake.end_counting(&intake, self.quiet))
    }
}
