//! Lists the features of documents with their weights and hashes, or the components of vectors, and the votes for each
//! bit.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::each_record::{RecordJob, RecordRow};
use super::fingerprints::{RecordVotes, Subject, Worker};
use crate::JobError;
use crate::progress::Progress;
use crate::source::{Intake, SourceOptions};

/// Calls `row` for every record in input order, and returns the intake. Linear, but slower than
/// [`fingerprints`](super::fingerprints::fingerprints).
///
/// # Errors
/// As for [`fingerprints`](super::fingerprints::fingerprints).
pub fn explanations<E: From<JobError>>(
    inputs: &[String],
    source_options: &SourceOptions,
    subject: &Subject,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    row: impl FnMut(RecordRow<RecordVotes>) -> Result<(), E>,
) -> Result<Intake, E> {
    let job = RecordJob {
        inputs,
        options: subject.source_options(source_options),
        progress,
        cancel,
    };
    let new_worker = || Worker::new(subject).map_err(JobError::from);
    job.run(new_worker, Worker::votes, row)
}
