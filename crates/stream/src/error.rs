//! Errors of a stream: those of its state file, and those that end a run over files.

use std::io;
use std::path::PathBuf;

use twinprint_io::sink::SinkError;
use twinprint_io::source::SourceError;
use twinprint_io::threads::ThreadsError;
use twinprint_io::work::WorkError;
use twinprint_io::{JobError, OptionError};

use crate::state_difference::StateDifference;

/// The version of the state files that this crate reads and writes.
pub(super) const STATE_VERSION: u32 = 2;

/// The reason why a state file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The file cannot be read.
    #[error("{}: the state cannot be read ({source})", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a state.
    #[error("{}: not a state of a stream", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another version wrote the file.
    #[error("{}: a state of version {got}, but this twinprint reads version {STATE_VERSION}; begin a new one", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        got: u32,
    },
    /// The content of the file is damaged.
    #[error("{}: the state is damaged ({what}); restore a copy of it, or begin a new one", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        what: &'static str,
    },
    /// The state was made with other options.
    #[error("{}: the state was made with other options; give those again, or begin a new one: {}", .path.display(), sentence(.differences))]
    Options {
        /// The file.
        path: PathBuf,
        /// The differences.
        differences: Vec<StateDifference>,
    },
    /// Another run uses the state.
    #[error("{}: another run uses this state; wait until it ends", .path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("{}: the state cannot be written ({source}); the file is unchanged", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The state cannot be serialised or compressed.
    #[error("{}: the state cannot be packed ({what})", .path.display())]
    Pack {
        /// The file.
        path: PathBuf,
        /// The error of the serialiser or compressor.
        what: String,
    },
}

fn sentence(differences: &[StateDifference]) -> String {
    let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
    differences.join("; ")
}

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
        /// The name.
        name: String,
    },
    /// A row of the file of clusters cannot be used.
    #[error("{}:{line}: {problem}", .path.display())]
    Clusters {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 for the file as a whole.
        line: u64,
        /// The problem with the row.
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
