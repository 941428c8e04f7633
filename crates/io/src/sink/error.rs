//! The errors of writing. Every variant names the file or directory.

use std::io;
use std::path::{Path, PathBuf};

use twinprint_text::charset::Charset;

use crate::source::SourceError;

/// The output cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The output directory is not empty.
    #[error("{}: the output directory is not empty; choose another directory, or empty this one first", .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// Another run writes to the directory.
    #[error("{}: another run is writing to this directory; wait until it has ended, or choose another directory", .path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory contains files that are not a result of twinprint, so they are not replaced.
    #[error("{}: the directory contains files that twinprint did not write, so it is not overwritten; choose another directory, or empty this one first", .path.display())]
    NotAResult {
        /// The directory.
        path: PathBuf,
    },
    /// The directory contains an earlier run that would be replaced, and also files that the earlier run did not write.
    #[error("{}: the directory contains an earlier run, which would be replaced, and also {}, which that run did not write; move it to another place, or choose another directory", .path.display(), .entry.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// A file or directory that the earlier run did not write.
        entry: PathBuf,
    },
    /// An input is in the output directory and would be deleted together with the earlier run there.
    #[error("{}: the input {} is in this directory and would be deleted; choose another output directory", .path.display(), .input.display())]
    InputInside {
        /// The output directory.
        path: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// The directory contains the complete output of a run that was killed while it changed a collection or the state
    /// of a stream. It is unknown whether that run ended.
    #[error("{}: the directory contains the output of a run that was killed while it changed {}; repeat the command of that run to finish it, or delete the directory", .path.display(), .store.display())]
    Undecided {
        /// The directory.
        path: PathBuf,
        /// The path of the collection or of the stream's state, as the user gave it to that run.
        store: PathBuf,
    },
    /// The path of the output directory belongs to a file.
    #[error("{}: the output path is not a directory; choose another path", .path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The path of a new file is not inside the output directory.
    #[error("{}: the path of an output file is not inside the output directory; use a relative path without \"..\"", .path.display())]
    Outside {
        /// The path of the new file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("{}: the disk is full; {written}{} bytes of the output were written; free space on this disk, or choose another disk for the output", .path.display(), needed_text(*.expected))]
    NoSpace {
        /// The file that was being written, by its final name.
        path: PathBuf,
        /// The number of bytes written to the output directory so far.
        written: u64,
        /// The number of bytes that the whole output was expected to need at most, if it is known.
        expected: Option<u64>,
    },
    /// The system reported an error.
    #[error("{}: cannot {action} ({source})", .path.display())]
    Io {
        /// The file or directory, by its final name.
        path: PathBuf,
        /// The operation that failed, as a verb phrase.
        action: &'static str,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The URL of a result names no folder of a bucket.
    #[error(
        "{url}: a result is written to a directory, or to a folder of a bucket (s3://BUCKET/FOLDER, gs://BUCKET/FOLDER)"
    )]
    NoFolder {
        /// The URL.
        url: String,
    },
    /// Object storage failed.
    #[error("{url}: the result cannot be copied to object storage; the same command begins again")]
    Remote {
        /// The URL of the object or of the folder.
        url: String,
        /// The error of the client.
        source: io::Error,
    },
    /// The records of an output cannot be reordered in the work directory. The usual cause is a full disk.
    #[error("{}: the records cannot be sorted, because temporary files in this directory cannot be written or read ({source})", .path.display())]
    Reorder {
        /// The work directory.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The file cannot be finished, because an earlier write to it failed.
    #[error("{}: an earlier write to this file failed, so the file cannot be finished", .path.display())]
    GivenUp {
        /// The file, by its final name.
        path: PathBuf,
    },
    /// An input has changed since the first reading.
    #[error(
        "{label}: the input changed during the run ({what}); repeat the run when no other program writes to the input"
    )]
    Changed {
        /// The name of the input.
        label: String,
        /// The kind of change.
        what: String,
    },
    /// A record already has a field with the name of a field that would be added.
    #[error(
        "{place}: the record already has a field \"{name}\"; choose a prefix for the names of the added fields"
    )]
    FieldClash {
        /// The file and line of the record, or the file if it is a table.
        place: String,
        /// The name of the field.
        name: String,
    },
    /// A text cannot be encoded in the charset of the file that it is added to.
    #[error(
        "{place}: the text {text:?} cannot be encoded in {charset}, the charset of the file; convert the file to UTF-8 first (iconv -f {charset} -t UTF-8)"
    )]
    Unencodable {
        /// The file, or the record's file and line.
        place: String,
        /// The charset of the file.
        charset: Charset,
        /// The text that cannot be encoded.
        text: String,
    },
    /// The texts of a table could be read, but another of its columns is damaged, so its rows cannot be copied.
    #[error("{label}: the rows of this table cannot be copied ({what}); repair the file or leave it out")]
    Damaged {
        /// The name of the input.
        label: String,
        /// The damage.
        what: String,
    },
    /// An input could not be read again for the copy.
    #[error(transparent)]
    Source(SourceError),
    /// The caller cancelled the run.
    #[error("the run was cancelled")]
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

/// Wraps a [`SinkError`] so that it can pass through `io::Write`. [`SinkError::from_io`] unwraps it.
impl From<SinkError> for io::Error {
    fn from(error: SinkError) -> Self {
        io::Error::other(error)
    }
}

impl SinkError {
    /// Unwraps a [`SinkError`] that passed through `io::Write`. Any other error becomes [`SinkError::Io`] with the
    /// given path and operation.
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
    expected.map_or_else(String::new, |bytes| format!(" of at most {bytes}"))
}
