//! What stops writing; every variant names the file.

use std::io;
use std::path::{Path, PathBuf};

use twinprint_text::charset::Charset;

use crate::source::SourceError;

/// Why output could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The output directory has files in it already.
    #[error("{}: the output directory is not empty; choose another, or empty it first (--overwrite replaces a result of twinprint's own)", .path.display())]
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
    /// The directory is to be replaced, and is not empty, but holds no result.
    #[error("{}: not a result of twinprint's, so it is not overwritten; choose another directory, or empty this one first", .path.display())]
    NotAResult {
        /// The directory.
        path: PathBuf,
    },
    /// An earlier run in the directory is to be replaced, and something else is there too.
    #[error("{}: holds an earlier run, which would be replaced, but also {}, which is not part of it; move that away, or choose another directory", .path.display(), .entry.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// Something that the run did not write.
        entry: PathBuf,
    },
    /// An input is part of the earlier run that would be deleted.
    #[error("{}: the input {} is in it, which would be deleted; choose another output directory", .path.display(), .input.display())]
    InputInside {
        /// The output directory.
        path: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// The directory holds the whole output of a run that was killed while it changed a store.
    #[error("{}: holds the output of a run that was killed while it changed {}; run its command again, which finishes it, or delete the directory", .path.display(), .store.display())]
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
    /// A place that would lie outside the output directory.
    #[error("{}: not a place inside the output directory", .path.display())]
    Outside {
        /// The place asked for.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("{}: no space left while writing it; {written} bytes were written{}; free space on that disk or choose another place for the output", .path.display(), needed_text(*.expected))]
    NoSpace {
        /// The file being written, by its final name.
        path: PathBuf,
        /// Bytes written to the output directory before.
        written: u64,
        /// Bytes that the whole output was expected to need at most, if that is known.
        expected: Option<u64>,
    },
    /// The system refused an operation.
    #[error("{}: cannot {action} ({source})", .path.display())]
    Io {
        /// The file or directory, by its final name.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// An earlier write to the file failed, so that it cannot be finished.
    #[error("{}: an earlier write failed; the file was given up", .path.display())]
    GivenUp {
        /// The file, by its final name.
        path: PathBuf,
    },
    /// An input is not what it was when it was read first.
    #[error("{label}: changed while the work was going on ({what}); run again when nothing writes to it")]
    Changed {
        /// The input as users see it.
        label: String,
        /// What differs.
        what: String,
    },
    /// A record has a field that an annotation is to be written to.
    #[error(
        "{place}: the record has a field \"{name}\" already; let the new fields begin otherwise with --prefix, such as --prefix dedup_"
    )]
    FieldClash {
        /// The record's file and line.
        place: String,
        /// The name.
        name: String,
    },
    /// What is to be written to a file cannot be written in its charset.
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
    #[error(
        "{label}: its rows cannot be copied ({what}); mend the file, leave it out, or run with --mode report"
    )]
    Damaged {
        /// The input as users see it.
        label: String,
        /// What is wrong.
        what: String,
    },
    /// The input could not be read again.
    #[error(transparent)]
    Source(SourceError),
    /// The work was cancelled.
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

/// A `SinkError` travels through `io::Write` inside an `io::Error`.
impl From<SinkError> for io::Error {
    fn from(error: SinkError) -> Self {
        io::Error::other(error)
    }
}

impl SinkError {
    /// Takes back an error that came through `io::Write`; one of another kind is given the path.
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
