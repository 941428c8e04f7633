//! Options and reading of texts that `index query` looks up.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::ValueHint;
use twinprint::source::{Format, SourceOptions};
use twinprint::{RowFingerprint, Silent, Subject, Width};

use crate::intake::{IntakeArgs, PrintedRejects};
use crate::own_input::refuse_own_documents;
use crate::subject::KeyArgs;
use crate::usage::reject_reason;
use crate::{number, terminal};

#[derive(clap::Args)]
pub(super) struct TextArgs {
    /// Files, folders or quoted globs of documents to look up, or - for JSON lines on stdin, instead of --queries. Their fingerprints are made with
    /// the profile of the index, or with --profile if the index has none. The column query has the document's id
    #[arg(long, num_args = 1.., conflicts_with_all = ["queries", "ids", "positions"], value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    text: Vec<String>,

    /// Field of a JSON record, or column of a table, that holds the text
    #[arg(long, default_value = "text", value_name = "FIELD")]
    text_key: String,

    /// Field with the document's id. The id of a document without this field is its file and line
    #[arg(long, default_value = "id", value_name = "FIELD")]
    id_key: String,

    #[command(flatten)]
    keys: KeyArgs,

    #[command(flatten)]
    intake: IntakeArgs,
}

impl TextArgs {
    pub(super) fn are_given(&self) -> bool {
        !self.text.is_empty()
    }

    pub(super) fn keys(&self) -> &KeyArgs {
        &self.keys
    }

    /// Refuses `output` if it is a file of the documents.
    pub(super) fn refuse_replaced_by(&self, output: &Path) -> anyhow::Result<()> {
        refuse_own_documents(output, &self.text, &self.source())
    }

    fn source(&self) -> SourceOptions {
        // stdin has no extension that names a format.
        let is_stdin = self.text.iter().all(|input| input == "-");
        SourceOptions {
            format: is_stdin.then_some(Format::Jsonl),
            text_key: self.text_key.clone(),
            id_key: Some(self.id_key.clone()),
            ..SourceOptions::default()
        }
    }

    /// Makes the fingerprints of the documents, and calls `each` with those of up to `at_once` documents and with their
    /// names. Documents without features and records that are not documents are skipped, and reported on stderr.
    pub(super) fn read<W: Width>(
        &self,
        subject: &Subject,
        quiet: bool,
        at_once: usize,
        cancel: &Arc<AtomicBool>,
        mut each: impl FnMut(&[W], &[String]) -> anyhow::Result<()>,
    ) -> anyhow::Result<ExitCode> {
        let source = self.source();
        let (mut fingerprints, mut names) = (Vec::new(), Vec::new());
        let mut empty = 0u64;
        let intake = twinprint::fingerprints(&self.text, &source, subject, &Silent, cancel, |row| {
            match row.result {
                Err(reason) => {
                    if !quiet {
                        let reason = reject_reason(&reason);
                        terminal::note(&format!("rejected {}:{}: {reason}", row.source, row.line));
                    }
                    return anyhow::Ok(());
                }
                Ok(RowFingerprint { empty: true, .. }) => {
                    empty += 1;
                    return Ok(());
                }
                Ok(RowFingerprint { hex, .. }) => {
                    let fingerprint = W::from_hex(&hex);
                    fingerprints.push(fingerprint.context("the index has fingerprints of another width")?);
                    names.push(row.id);
                }
            }
            if fingerprints.len() >= at_once {
                each(&fingerprints, &names)?;
                fingerprints.clear();
                names.clear();
            }
            Ok(())
        })?;
        each(&fingerprints, &names)?;
        if empty > 0 {
            terminal::note(&format!(
                "{} skipped: a text without features cannot be looked up",
                number::counted(empty, "text")
            ));
        }
        Ok(self.intake.end_counting(&intake, quiet, PrintedRejects::All))
    }
}
