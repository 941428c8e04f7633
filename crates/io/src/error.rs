//! Errors that end a job, as opposed to a record that cannot be used, which is only rejected.

use crate::sink::SinkError;
use crate::source::SourceError;
use crate::threads::ThreadsError;
use crate::work::WorkError;

/// The reason why a job over files ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The inputs cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The outputs cannot be written.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// Temporary files cannot be written or read.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// The worker threads cannot be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// An argument is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The caller cancelled the job.
    #[error("interrupted; the files written by this run are deleted, so the same command can be run again")]
    Cancelled,
}
