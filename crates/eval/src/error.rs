//! Errors of an evaluation or calibration.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use twinprint_dedup::DedupError;
use twinprint_io::JobError;
use twinprint_io::source::SourceError;
use twinprint_io::threads::ThreadsError;
use twinprint_io::work::WorkError;

/// The reason why an evaluation or calibration failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The documents cannot be read, or the engine failed.
    #[error(transparent)]
    Dedup(#[from] DedupError),
    /// The list of pairs cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The path of the list of pairs.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A row of the list of pairs, or of the pairs that the engine wrote, cannot be used.
    #[error("{}:{line}: {what}", .path.display())]
    Row {
        /// The path of the file with the row.
        path: PathBuf,
        /// The line of the row, from 1.
        line: usize,
        /// The reason why the row cannot be used.
        what: String,
    },
    /// A row of the list of pairs has no number in the field with the Jaccard.
    #[error("{}:{line}: the row has no Jaccard: the field \"{field}\" is missing or is not a number", .path.display())]
    NoJaccard {
        /// The path of the list of pairs.
        path: PathBuf,
        /// The line of the row, from 1.
        line: usize,
        /// The name of the field with the Jaccard.
        field: String,
    },
    /// Two documents have the same id, so a list of pairs cannot name them.
    #[error(
        "two documents have the id {0:?}, so a list of pairs cannot name them; give each document an id of its own"
    )]
    RepeatedId(String),
    /// The input has more documents than an evaluation can compare pair by pair.
    #[error(
        "the input has more than {} documents, too many to compare every pair; take a sample",
        super::MAX_DOCUMENTS
    )]
    TooMany,
    /// The input has fewer than two documents.
    #[error("the input has {0} documents; give at least two")]
    TooFew(usize),
    /// A further profile asks for a width that fingerprints cannot have.
    #[error("a profile cannot be evaluated at {0} bits; choose 16, 32, 64 or 128")]
    Width(u32),
    /// The list of thresholds is empty, or a threshold is outside (0, 1].
    #[error("thresholds: give Jaccards above 0 and at most 1, such as 0.5,0.7,0.8,0.9")]
    Thresholds,
    /// The lowest threshold is below the Jaccard from which the list of pairs is complete.
    #[error(
        "threshold {lowest} is too low: the list of pairs is complete only from a Jaccard of {complete}; choose \
         thresholds \
         of at least {complete}"
    )]
    Incomplete {
        /// The lowest threshold of the evaluation.
        lowest: f64,
        /// The Jaccard from which the list of pairs is complete.
        complete: f64,
    },
}

impl EvalError {
    /// The error of a row that is not the JSON that it should be.
    pub(crate) fn row(path: &Path, line: usize, error: &serde_json::Error) -> Self {
        Self::Row {
            path: path.to_owned(),
            line,
            what: error.to_string(),
        }
    }
}

/// Returns an error if the work is cancelled.
pub(crate) fn check_cancelled(cancel: &AtomicBool) -> Result<(), EvalError> {
    if cancel.load(Ordering::Relaxed) {
        return Err(JobError::Cancelled.into());
    }
    Ok(())
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
