//! The errors of writing. Every variant names the file.

use std::io;
use std::path::{Path, PathBuf};

use twinprint_text::charset::Charset;

use crate::source::SourceError;

/// An output that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The output directory is not empty.
    #[error("{}: the output directory is not empty; choose another, or empty it first", .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// Another run writes to the directory.
    #[error("{}: another run is writing to this directory; wait for it, or choose another", .path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The contents of the directory should be replaced, but are not a result.
    #[error("{}: not written by twinprint, so it is not overwritten; choose another directory, or empty this one first", .path.display())]
    NotAResult {
        /// The directory.
        path: PathBuf,
    },
    /// An earlier run in the directory should be replaced, but the directory has foreign files.
    #[error("{}: contains an earlier run, which would be replaced, but also {}, which is not part of it; move that away, or choose another directory", .path.display(), .entry.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// A file that the run did not write.
        entry: PathBuf,
    },
    /// An input is in the directory of the earlier run that would be deleted.
    #[error("{}: the input {} is in this directory and would be deleted; choose another output directory", .path.display(), .input.display())]
    InputInside {
        /// The output directory.
        path: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// The directory has the whole output of a run that was killed while it changed a store.
    #[error("{}: contains the output of a run that was killed while it changed {}; run its command again to finish it, or delete the directory", .path.display(), .store.display())]
    Undecided {
        /// The directory.
        path: PathBuf,
        /// The path of the collection or the state, as that run was given it.
        store: PathBuf,
    },
    /// The output path is a file.
    #[error("{}: not a directory; choose another place for the output", .path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A path outside the output directory.
    #[error("{}: not a path inside the output directory", .path.display())]
    Outside {
        /// The path.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("{}: no space left while writing it; {written} bytes were written{}; free space on that disk or choose another place for the output", .path.display(), needed_text(*.expected))]
    NoSpace {
        /// The file being written, by its final name.
        path: PathBuf,
        /// Bytes written to the output directory so far.
        written: u64,
        /// The largest number of bytes that the whole output was expected to need, if it is known.
        expected: Option<u64>,
    },
    /// The system refused an operation.
    #[error("{}: cannot {action} ({source})", .path.display())]
    Io {
        /// The file or directory, by its final name.
        path: PathBuf,
        /// The operation.
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// Records cannot be put in order in the work directory. The usual cause is a full disk.
    #[error("{}: cannot put records in order in this directory ({source})", .path.display())]
    Reorder {
        /// The work directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// An earlier write to the file failed, so it cannot be finished.
    #[error("{}: an earlier write failed, so nothing more is written to the file", .path.display())]
    GivenUp {
        /// The file, by its final name.
        path: PathBuf,
    },
    /// An input has changed since the first reading.
    #[error("{label}: changed during the run ({what}); run again when nothing writes to it")]
    Changed {
        /// The name of the input.
        label: String,
        /// The difference.
        what: String,
    },
    /// A record already has a field of the name of an annotation.
    #[error("{place}: the record already has a field \"{name}\"; let the new fields begin with a prefix")]
    FieldClash {
        /// The record's file and line.
        place: String,
        /// The name of the field.
        name: String,
    },
    /// A text that the charset of its file cannot encode.
    #[error(
        "{place}: {text:?} cannot be written in {charset}; convert the file to UTF-8 first (iconv -f {charset} -t UTF-8)"
    )]
    Unencodable {
        /// The file, or the record's file and line.
        place: String,
        /// The charset of the file.
        charset: Charset,
        /// The text.
        text: String,
    },
    /// A table whose texts could be read, but not all of its columns.
    #[error("{label}: its rows cannot be copied ({what}); repair the file or leave it out")]
    Damaged {
        /// The name of the input.
        label: String,
        /// The damage.
        what: String,
    },
    /// The input could not be read again.
    #[error(transparent)]
    Source(SourceError),
    /// The caller cancelled the run.
    #[error("cancelled")]
    Cancelled,
}

impl From<SourceError> for SinkError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Cancelled => Self::Cancelled,
            other => Self::Source(other),
        }
    }
}

/// Wraps the error so that it passes through `io::Write`; [`SinkError::from_io`] unwraps it.
impl From<SinkError> for io::Error {
    fn from(error: SinkError) -> Self {
        io::Error::other(error)
    }
}

impl SinkError {
    /// Unwraps an error that passed through `io::Write`. Any other error becomes [`SinkError::Io`] with this path and operation.
    pub fn from_io(error: io::Error, path: &Path, action: &'static str) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(source) => Self::Io {
                path: path.to_owned(),
                action,
                source,
            },
        }
    }
}

fn needed_text(expected: Option<u64>) -> String {
    expected.map_or_else(String::new, |bytes| format!(" of at most {bytes} needed"))
}
