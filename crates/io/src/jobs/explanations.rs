//! Lists the features of documents with their weights and hashes, or the components of vectors, and the votes for each
//! bit.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint_fingerprint::hyperplane::VectorVotes;
use twinprint_text::FeatureVotes;

use super::each_record::{RecordJob, RecordRow};
use super::fingerprints::{Subject, Vector, Worker};
use crate::JobError;
use crate::progress::Progress;
use crate::source::{Intake, SourceOptions};

/// The votes for each bit of the fingerprint of one record.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordVotes {
    /// The votes of the features of a text, or of given features.
    Features(FeatureVotes),
    /// The votes of the components of a vector.
    Vector {
        /// The vector.
        vector: Vector,
        /// Its votes and its fingerprint.
        votes: VectorVotes,
    },
}

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
