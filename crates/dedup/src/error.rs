//! What ends a run, as against a single record, which is only rejected.

use std::io;
use std::path::{Path, PathBuf};

use twinprint_io::sink::SinkError;
use twinprint_io::source::SourceError;

/// Why a run ended before its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DedupError {
    /// The inputs cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The outputs cannot be written.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// The spool of normalised texts in the work directory failed.
    #[error("{}: the work directory's spool of texts failed ({source}); free space there or choose another place with --work-dir", .path.display())]
    Spool {
        /// The spool file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A temporary file in the work directory failed.
    #[error("{}: a temporary file failed ({source}); free space there or choose another place with --work-dir", .path.display())]
    WorkFile {
        /// The work directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The work directory cannot be made.
    #[error("{}: the work directory cannot be made ({source}); choose another place with --work-dir", .path.display())]
    WorkDir {
        /// Where it was to be.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The profile cannot be.
    #[error("--profile or --bits: {0}")]
    Profile(#[from] twinprint_text::ProfileError),
    /// An option makes no sense.
    #[error("{0}")]
    Option(String),
    /// `--keep newest` finds nothing to go by.
    #[error(
        "no document has a field \"{field}\" with a number or a text, which --keep newest goes by; name the one that has with --keep-key"
    )]
    NoSortField {
        /// The field.
        field: String,
    },
    /// More documents than one run can number.
    #[error("more than {limit} documents; split the input")]
    TooManyDocuments {
        /// The most there can be.
        limit: u32,
    },
    /// `--pairs` would write too many rows.
    #[error(
        "--pairs would write {rows} rows or more (the limit is {limit}); --pairs=distinct writes one representative of equal texts and a row for each copy"
    )]
    TooManyPairs {
        /// Rows known to be needed.
        rows: u64,
        /// The limit.
        limit: u64,
    },
    /// Too many fingerprint matches to hold, and no verification to thin them out.
    #[error(
        "more than {limit} pairs of fingerprints lie within {k} bits, too many to hold without verification; lower -k or leave out --no-verify"
    )]
    TooManyMatches {
        /// The limit.
        limit: u64,
        /// The radius.
        k: u32,
    },
    /// The run does not fit into its memory.
    #[error(
        "this needs about {} MiB of memory or more, and --memory allows {} MiB; allow more, take fewer --threads, or split the input",
        .needed.div_ceil(1 << 20), .limit >> 20
    )]
    Memory {
        /// Bytes needed, as far as is known.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// A record is longer than the memory allowed is enough for.
    #[error(
        "{label}:{line}: the record is too long for the memory allowed; --max-document rejects such records"
    )]
    LongRecord {
        /// The file.
        label: String,
        /// Its line.
        line: u64,
        /// The memory needed and allowed.
        source: Box<DedupError>,
    },
    /// What is known from before cannot be asked.
    #[error("--against {}: {message}", path.display())]
    Against {
        /// The directory.
        path: PathBuf,
        /// Why, and the way out.
        message: String,
    },
    /// The collection refused a document that was to be added.
    #[error("{place}: it cannot be added to {} ({message}); nothing was added, leave the record out", path.display())]
    Append {
        /// The directory of the collection.
        path: PathBuf,
        /// The file and the line of the document.
        place: String,
        /// The objection.
        message: String,
    },
    /// A forecast tells that the run will not fit.
    #[error("{0}")]
    WillNotFit(String),
    /// The worker threads could not be started.
    #[error("the worker threads cannot be started: {0}")]
    Threads(String),
    /// The state of a stream cannot be read or written.
    #[error(transparent)]
    State(#[from] twinprint_stream::StateError),
    /// Ctrl-C.
    #[error("interrupted; what was written is deleted again, so that the same command can be run anew")]
    Cancelled,
}

impl DedupError {
    pub(crate) fn work_file(path: &Path, source: io::Error) -> Self {
        Self::WorkFile {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn spool(path: &Path, source: io::Error) -> Self {
        Self::Spool {
            path: path.to_owned(),
            source,
        }
    }
}
