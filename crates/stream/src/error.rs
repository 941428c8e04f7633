//! Errors of a stream: those of a state file, and those that end a run over files.

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
    /// The state file cannot be read.
    #[error("{}: the state cannot be read ({source})", .path.display())]
    Read {
        /// The path of the state file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a state of a stream.
    #[error("{}: the file is not a state of a stream; name the state file of an earlier run, or a file that does not exist yet", .path.display())]
    Foreign {
        /// The path of the file.
        path: PathBuf,
    },
    /// The state file has a version that this crate does not read.
    #[error(
        "{}: the state has version {got}, but this twinprint reads only version {STATE_VERSION}; begin a new state, \
         or use \
         the twinprint that wrote this one",
        .path.display()
    )]
    Version {
        /// The path of the state file.
        path: PathBuf,
        /// The version of the state file.
        got: u32,
    },
    /// The content of the state file is damaged.
    #[error("{}: the state is damaged ({what}); restore a copy of the file, or begin a new state", .path.display())]
    Damaged {
        /// The path of the state file.
        path: PathBuf,
        /// The kind of damage.
        what: &'static str,
    },
    /// The stream of the state was made with other options than those given.
    #[error(
        "{}: the state was made with other options; use the options of the state, or begin a new state: {}",
        .path.display(), sentence(.differences)
    )]
    Options {
        /// The path of the state file.
        path: PathBuf,
        /// The options that differ, each with its value in the state and its value now.
        differences: Vec<StateDifference>,
    },
    /// Another run uses the state file.
    #[error("{}: another run uses this state; wait until it ends", .path.display())]
    InUse {
        /// The path of the state file.
        path: PathBuf,
    },
    /// The state file cannot be written.
    #[error("{}: the state cannot be written ({source}); the file is unchanged", .path.display())]
    Write {
        /// The path of the state file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The state cannot be serialised or compressed.
    #[error("{}: the state cannot be compressed ({what}); the file is unchanged", .path.display())]
    Pack {
        /// The path of the state file.
        path: PathBuf,
        /// The error of the serialiser or of the compressor.
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
    /// The inputs, outputs, temporary files or threads failed, or the run was cancelled.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The state cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// No document has a label.
    #[error("no document has a field \"{field}\" with a text or a number")]
    NoLabels {
        /// The name of the field that should have the labels.
        field: String,
    },
    /// Two documents have the same name, so clusters cannot be assigned to them.
    #[error("two documents are named \"{name}\", so a cluster cannot be assigned to either")]
    RepeatedName {
        /// The name that both documents have.
        name: String,
    },
    /// The file of clusters cannot be read, or one of its rows cannot be used.
    #[error("{}{}: {problem}", .path.display(), .line.map_or_else(String::new, |line| format!(":{line}")))]
    Clusters {
        /// The path of the file of clusters.
        path: PathBuf,
        /// The line of the row, from 1; `None` if the problem concerns the whole file.
        line: Option<u64>,
        /// The reason why the file or the row cannot be used.
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
