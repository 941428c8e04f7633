//! Documents fed to a collection, here or at a service: what is written of the answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use twinprint::collection::{Fed, NewDocument, feed};

use crate::fields::FieldArgs;
use crate::input::InputArgs;
use crate::progress::Bars;
use crate::terminal;

#[derive(clap::Args)]
pub(crate) struct AnswerArgs {
    /// Keep only what is new
    #[arg(long)]
    pub(crate) only_new: bool,

    #[command(flatten)]
    fields: FieldArgs,

    /// No line for each document, only the counts
    #[arg(long)]
    summary: bool,

    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

/// The answers to some documents, and counts of all verdicts so far.
#[derive(Default)]
pub(crate) struct Answers {
    counts: BTreeMap<String, u64>,
    lines: String,
}

impl Answers {
    /// Counts the answer to a document, and writes it as a line.
    pub(crate) fn add(&mut self, answer: &Value) {
        let verdict = answer["verdict"].as_str().unwrap_or("the service does not say");
        self.count(verdict);
        self.lines.push_str(&answer.to_string());
        self.lines.push('\n');
    }

    /// Counts and tells what was not taken in.
    pub(crate) fn reject(&mut self, why: &str) {
        self.count("rejected");
        terminal::note(&format!("rejected {why}"));
    }

    /// The document of a record; tells where there is none.
    pub(crate) fn document(&mut self, record: Fed) -> Option<NewDocument> {
        let tell = |reason| self.reject(&format!("{}:{}: {reason}", record.source, record.line));
        record.document.map_err(tell).ok()
    }

    fn count(&mut self, verdict: &str) {
        *self.counts.entry(verdict.to_owned()).or_default() += 1;
    }
}

impl AnswerArgs {
    /// Feeds the documents of the inputs to `take`, with what stands beside their texts where that is wanted, writes the answers as they come, and the counts at the end.
    pub(crate) fn feed(
        &self,
        input: &InputArgs,
        beside: bool,
        cancel: &Arc<AtomicBool>,
        mut take: impl FnMut(Vec<Fed>, &mut Answers) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let keys = beside.then(|| self.fields.keys());
        let bars = Bars::new(self.quiet);
        let mut answers = Answers::default();
        let take = |fed: Vec<Fed>| -> anyhow::Result<()> {
            take(fed, &mut answers)?;
            let lines = std::mem::take(&mut answers.lines);
            if self.summary {
                Ok(())
            } else {
                terminal::out(&lines)
            }
        };
        let fed = feed(
            &input.inputs,
            &input.options(),
            keys.as_ref(),
            &bars,
            cancel,
            take,
        );
        bars.finish();
        fed?;
        let summary = serde_json::to_string(&answers.counts)?;
        if self.summary {
            terminal::out(&format!("{summary}\n"))?;
        } else if !self.quiet {
            terminal::note(&summary);
        }
        Ok(())
    }
}
