//! Lists the features of documents with their weights, hashes and votes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint_text::FeatureVotes;

use super::each_record::RecordJob;
use super::fingerprints::{Subject, Worker};
use crate::JobError;
use crate::progress::Progress;
use crate::source::{Intake, RejectReason, SourceOptions};

/// The features of one record.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplanationRow {
    /// The id of the record, as in the rows of [`fingerprints`](super::fingerprints::fingerprints).
    pub id: String,
    /// The name of the input file, as in all output.
    pub source: String,
    /// The line of the record in the file, from 1.
    pub line: u64,
    /// The features of the record with their votes, or the reason why it has none.
    pub votes: Result<FeatureVotes, RejectReason>,
}

/// Calls `row` for every record in input order, and returns the intake. Linear, but slower than
/// [`fingerprints`](super::fingerprints::fingerprints). A vector has no features.
///
/// # Errors
/// As for [`fingerprints`](super::fingerprints::fingerprints).
pub fn explanations<E: From<JobError>>(
    inputs: &[String],
    source_options: &SourceOptions,
    subject: &Subject,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    mut row: impl FnMut(ExplanationRow) -> Result<(), E>,
) -> Result<Intake, E> {
    let job = RecordJob {
        inputs,
        options: subject.source_options(source_options),
        progress,
        cancel,
    };
    let new_worker = || Worker::new(subject).map_err(JobError::from);
    job.run(new_worker, Worker::votes, |made| {
        row(ExplanationRow {
            id: made.id,
            source: made.source,
            line: made.line,
            votes: made.result,
        })
    })
}
