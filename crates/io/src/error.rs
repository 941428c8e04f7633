//! Errors that end a job. An unusable record does not end a job: it is rejected.

use twinprint_text::IdfError;

use crate::sink::SinkError;
use crate::source::SourceError;
use crate::threads::ThreadsError;
use crate::work::WorkError;

/// An error that ended a job that reads or writes files.
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
    /// An option is out of its range, or conflicts with another option.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A table of idf weights cannot be made.
    #[error(transparent)]
    Idf(#[from] IdfError),
    /// The caller cancelled the job.
    #[error("interrupted; the files written by this run are deleted, so the same command can be run again")]
    Cancelled,
}

/// An option that is out of its range, or that conflicts with another option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {problem}")]
pub struct OptionError {
    /// The name of the option's field, such as `threshold`.
    pub option: &'static str,
    /// The fault of the option's value, and how to fix it.
    pub problem: String,
}

impl OptionError {
    /// Creates an error about the option whose field is named `option`.
    pub fn new(option: &'static str, problem: impl Into<String>) -> Self {
        Self {
            option,
            problem: problem.into(),
        }
    }
}
