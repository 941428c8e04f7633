//! Errors of an evaluation or calibration.

use std::io;
use std::path::PathBuf;

use twinprint_dedup::DedupError;
use twinprint_io::JobError;
use twinprint_io::source::SourceError;
use twinprint_io::threads::ThreadsError;
use twinprint_io::work::WorkError;

/// The reason why an evaluation or calibration failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// An error of reading the documents, or of the engine.
    #[error(transparent)]
    Dedup(#[from] DedupError),
    /// The list of pairs cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A row of the list cannot be used.
    #[error("{}:{line}: {what}", .path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem with the row.
        what: String,
    },
    /// A row of the list has no number in the field of the Jaccard.
    #[error("{}:{line}: no number in the field \"{field}\"", .path.display())]
    NoJaccard {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The field.
        field: String,
    },
    /// Two documents have the same id, so the list cannot name them.
    #[error("two documents have the id {0:?}; labelled pairs need ids that are unique")]
    RepeatedId(String),
    /// More documents than can be compared pair by pair.
    #[error(
        "more than {} documents; every pair of them would be compared, so take a sample",
        super::MAX_DOCUMENTS
    )]
    TooMany,
    /// Fewer than two documents.
    #[error("{0} documents are too few; give at least two")]
    TooFew(usize),
    /// A further profile has an invalid width.
    #[error("fingerprints have 16, 32, 64 or 128 bits, not {0}")]
    Width(u32),
    /// No thresholds, or one outside (0, 1].
    #[error("thresholds: give Jaccards above 0 and at most 1, such as 0.5,0.7,0.8,0.9")]
    Thresholds,
    /// The list of pairs is not complete at the lowest threshold.
    #[error("threshold {lowest}: the list of pairs is complete only for a Jaccard of at least {complete}")]
    Incomplete {
        /// The lowest threshold asked for.
        lowest: f64,
        /// The list is complete for pairs of at least this Jaccard.
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
