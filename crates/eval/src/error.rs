//! What stops an evaluation.

use std::io;
use std::path::PathBuf;

use twinprint_dedup::DedupError;
use twinprint_io::JobError;
use twinprint_io::source::SourceError;
use twinprint_io::threads::ThreadsError;
use twinprint_io::work::WorkError;

/// Why an evaluation could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// Reading, or the engine.
    #[error(transparent)]
    Dedup(#[from] DedupError),
    /// The list of pairs cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The list.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A row of the list is not what it should be.
    #[error("{}:{line}: {what}", .path.display())]
    Row {
        /// The list.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        what: String,
    },
    /// Two documents have one id, so that the list cannot name them.
    #[error("two documents have the id {0:?}; labelled pairs need ids that tell documents apart")]
    RepeatedId(String),
    /// More documents than can be compared pair by pair.
    #[error(
        "more than {} documents, and every pair of them is compared; take a part of them",
        super::MAX_DOCUMENTS
    )]
    TooMany,
    /// Nothing to judge.
    #[error("{0} documents are too few; give at least two")]
    TooFew(usize),
    /// A width that no fingerprint has.
    #[error("fingerprints have 16, 32, 64 or 128 bits, not {0}")]
    Width(u32),
    /// Thresholds that cannot be.
    #[error("thresholds: give Jaccards above 0 and at most 1, such as 0.5,0.7,0.8,0.9")]
    Thresholds,
    /// The truth says nothing about the lowest threshold.
    #[error("threshold {lowest}: the list of pairs is complete only from {complete}")]
    Incomplete {
        /// The lowest threshold asked for.
        lowest: f64,
        /// Where the list begins to be complete.
        complete: f64,
    },
}

impl From<JobError> for EvalError {
    fn from(error: JobError) -> Self {
        Self::Dedup(error.into())
    }
}

impl From<WorkError> for EvalError {
    fn from(error: WorkError) -> Self {
        Self::Dedup(error.into())
    }
}

impl From<ThreadsError> for EvalError {
    fn from(error: ThreadsError) -> Self {
        Self::Dedup(error.into())
    }
}

impl From<SourceError> for EvalError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Cancelled => DedupError::from(JobError::Cancelled).into(),
            error => DedupError::from(error).into(),
        }
    }
}
