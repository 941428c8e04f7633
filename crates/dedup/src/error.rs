//! Errors that end a run, as opposed to a record that cannot be used, which is only rejected.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use twinprint_io::results::ResultError;
use twinprint_io::sink::SinkError;
use twinprint_io::source::SourceError;
use twinprint_io::threads::ThreadsError;
use twinprint_io::work::WorkError;
use twinprint_io::{JobError, OptionError, ProfileLabel};
use twinprint_text::ProfileError;

/// The reason why a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DedupError {
    /// The inputs, outputs, temporary files, threads or options failed, or the run was cancelled.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The report of an earlier run cannot be read.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// The profile is invalid.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// No document has the field by which the newest are kept.
    #[error("no document has a field \"{field}\" with a number or a text, by which the newest would be kept")]
    NoSortField {
        /// The field.
        field: String,
    },
    /// More documents than one run can number.
    #[error("more than {limit} documents; split the input")]
    TooManyDocuments {
        /// The limit.
        limit: u32,
    },
    /// There would be too many rows in `pairs.jsonl`.
    #[error("the pairs would take {rows} rows or more (the limit is {limit})")]
    TooManyPairs {
        /// The minimum number of rows that would be written.
        rows: u64,
        /// The limit.
        limit: u64,
    },
    /// Too many fingerprint matches to hold, and no verification to reduce them.
    #[error(
        "more than {limit} pairs of fingerprints are within {k} bits, too many to hold without verification"
    )]
    TooManyMatches {
        /// The limit.
        limit: u64,
        /// The radius.
        k: u32,
    },
    /// The run does not fit into its memory.
    #[error(
        "this needs about {} MiB of memory or more, and the limit is {} MiB",
        .needed.div_ceil(1 << 20), .limit >> 20
    )]
    Memory {
        /// Bytes needed, as far as is known.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// A record is too long for the memory allowed.
    #[error("{label}:{line}: the record is too long for the memory allowed")]
    LongRecord {
        /// The file.
        label: String,
        /// Its line.
        line: u64,
        /// The error with the needed and the allowed memory.
        source: Box<DedupError>,
    },
    /// The index or the store that the run is compared with cannot be used.
    #[error("{}: {problem}", path.display())]
    Against {
        /// Its directory.
        path: PathBuf,
        /// The problem.
        problem: AgainstProblem,
    },
    /// The store refused a document that was to be added.
    #[error("{place}: it cannot be added to {} ({message}); nothing was added, leave the record out", path.display())]
    Append {
        /// The directory of the store.
        path: PathBuf,
        /// The file and the line of the document.
        place: String,
        /// The objection.
        message: String,
    },
    /// The forecast finds too little memory or disk.
    #[error(transparent)]
    WillNotFit(#[from] Shortage),
}

/// A resource of which a run needs more than there is. Amounts are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    /// Main memory.
    #[error("the run will take about {} MiB of memory, of which {} MiB are free", mib(*.needed), mib(*.free))]
    Memory {
        /// Needed by the run.
        needed: u64,
        /// Available to it.
        free: u64,
    },
    /// The disk of the output directory.
    #[error("the run will write about {} MiB to the disk of the output, which has {} MiB free", mib(*.needed), mib(*.free))]
    Output {
        /// Needed by the run.
        needed: u64,
        /// Free on the disk.
        free: u64,
        /// True if the temporary files are on the same disk and included.
        includes_work: bool,
    },
    /// The disk of the temporary files, if it is another one.
    #[error("the run will write about {} MiB of temporary files to a disk that has {} MiB free", mib(*.needed), mib(*.free))]
    Work {
        /// Needed by the run.
        needed: u64,
        /// Free on the disk.
        free: u64,
    },
}

fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

/// The reason why an index or a store cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AgainstProblem {
    /// The path is a file.
    #[error("it is a file; name the directory of a collection or an index")]
    IsFile,
    /// The path is neither an index nor a store.
    #[error("there is neither a collection nor an index")]
    Nothing,
    /// A store is queried with texts, but the run keeps none.
    #[error("a collection needs the texts, which a run without verification does not keep")]
    NeedsTexts,
    /// The store verifies at a higher threshold.
    #[error(
        "the collection verifies at a Jaccard of {least}, so it finds no duplicates between {given} and that; choose a threshold of at least {least}"
    )]
    Threshold {
        /// The store's threshold.
        least: f64,
        /// The run's threshold.
        given: f64,
    },
    /// The index has wider fingerprints than the run.
    #[error("it has fingerprints of {stored} bits, but those of this run have {made}")]
    Width {
        /// Bits of the index.
        stored: u32,
        /// Bits of the run.
        made: u32,
    },
    /// The index has fingerprints of another profile.
    #[error("its fingerprints have the profile {stored}, those of this run {made}")]
    Profile {
        /// The profile of the index.
        stored: Box<ProfileLabel>,
        /// The profile of the run.
        made: Box<ProfileLabel>,
    },
    /// An index has no texts, so kept documents cannot be added to it.
    #[error("it is an index, which has no texts; kept documents can be added to a collection")]
    AppendToIndex,
    /// It cannot be read or written.
    #[error("{0}")]
    Failed(String),
}

impl DedupError {
    /// The error of an index or a store in `path` that cannot be read or written.
    pub fn against_failed(path: &Path, error: &dyn Display) -> Self {
        Self::Against {
            path: path.to_owned(),
            problem: AgainstProblem::Failed(error.to_string()),
        }
    }

    /// True if the caller cancelled the run.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Job(JobError::Cancelled))
    }

    /// The error of a cancelled run.
    pub(crate) fn cancelled() -> Self {
        Self::Job(JobError::Cancelled)
    }

    /// An error about the option `option`.
    pub(crate) fn option(option: &'static str, problem: impl Into<String>) -> Self {
        Self::Job(OptionError::new(option, problem).into())
    }
}

impl From<SourceError> for DedupError {
    fn from(error: SourceError) -> Self {
        Self::Job(error.into())
    }
}

impl From<SinkError> for DedupError {
    fn from(error: SinkError) -> Self {
        Self::Job(error.into())
    }
}

impl From<WorkError> for DedupError {
    fn from(error: WorkError) -> Self {
        Self::Job(error.into())
    }
}

impl From<ThreadsError> for DedupError {
    fn from(error: ThreadsError) -> Self {
        Self::Job(error.into())
    }
}
