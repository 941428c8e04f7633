//! Errors that end a job. A record that cannot be used is not one of them: it is rejected.

use crate::sink::SinkError;
use crate::source::SourceError;
use crate::threads::ThreadsError;
use crate::work::WorkError;

/// An error that ended a job over files.
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
    /// An option is out of its range, or conflicts with another.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The caller cancelled the job.
    #[error("interrupted; the files written by this run are deleted, so the same command can be run again")]
    Cancelled,
}

/// An option that is out of its range, or conflicts with another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {problem}")]
pub struct OptionError {
    /// The name of the option's field, such as `threshold`.
    pub option: &'static str,
    /// The problem and its fix.
    pub problem: String,
}

impl OptionError {
    /// An error about the field `option`.
    pub fn new(option: &'static str, problem: impl Into<String>) -> Self {
        Self {
            option,
            problem: problem.into(),
        }
    }
}
