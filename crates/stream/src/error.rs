//! Errors that end a run over a stream.

use std::path::PathBuf;

use twinprint_io::sink::SinkError;
use twinprint_io::source::SourceError;
use twinprint_io::threads::ThreadsError;
use twinprint_io::work::WorkError;
use twinprint_io::{JobError, OptionError};

use crate::StateError;

/// The reason why a run over a stream ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// Inputs, outputs, temporary files or threads; a cancelled run.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The state cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// No document has a label.
    #[error("no document has a field \"{field}\" with a text or a number")]
    NoLabels {
        /// The field of labels.
        field: String,
    },
    /// Two documents have one name, so clusters cannot be assigned to them.
    #[error("two documents are named \"{name}\"")]
    RepeatedName {
        /// Their name.
        name: String,
    },
    /// A row of the file of clusters cannot be used.
    #[error("{}:{line}: {problem}", .path.display())]
    Clusters {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 for the file as a whole.
        line: u64,
        /// What is wrong.
        problem: String,
    },
}

impl From<SourceError> for StreamError {
    fn from(error: SourceError) -> Self {
        Self::Job(error.into())
    }
}

impl From<SinkError> for StreamError {
    fn from(error: SinkError) -> Self {
        Self::Job(error.into())
    }
}

impl From<WorkError> for StreamError {
    fn from(error: WorkError) -> Self {
        Self::Job(error.into())
    }
}

impl From<ThreadsError> for StreamError {
    fn from(error: ThreadsError) -> Self {
        Self::Job(error.into())
    }
}

impl From<OptionError> for StreamError {
    fn from(error: OptionError) -> Self {
        Self::Job(error.into())
    }
}
