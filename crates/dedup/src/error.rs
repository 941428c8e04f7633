//! Errors that end a run. A single unusable record does not end a run: it is rejected.

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
    /// No document has the field by which the newest document is kept.
    #[error(
        "no document has a field \"{field}\" with a number or a text, so none can be chosen as the newest"
    )]
    NoSortField {
        /// The name of the field.
        field: String,
    },
    /// The input has more documents than one run can number.
    #[error("the input has more than {limit} documents, the most that one run can number; split the input")]
    TooManyDocuments {
        /// The largest number of documents in one run.
        limit: u32,
    },
    /// `pairs.jsonl` would have more rows than the limit.
    #[error(
        "there are too many duplicate pairs to list: at least {rows} rows (the limit is {limit}); raise the threshold, or do not list pairs"
    )]
    TooManyPairs {
        /// The number of rows that the file would have at least.
        rows: u64,
        /// The largest number of rows that `pairs.jsonl` may have.
        limit: u64,
    },
    /// `pairs.jsonl` would have far more rows than the limit, because many texts are similar to one another. Estimated
    /// from a sample before the pairs are verified.
    #[error(
        "the pairs of duplicates would be about {rows} rows (the limit is {limit}): {texts} texts are in crowds of \
         similar texts; raise the threshold, or do not list pairs"
    )]
    PairsOfCrowds {
        /// The estimated number of rows.
        rows: u64,
        /// The largest number of rows that `pairs.jsonl` may have.
        limit: u64,
        /// The number of texts in the set join.
        texts: u64,
    },
    /// More pairs of fingerprints are within the radius than fit into memory, in a run without verification. A
    /// verifying run leaves the surplus to the set join.
    #[error(
        "more than {limit} pairs of fingerprints are within the radius of {k} bits, too many for a run without \
         verification"
    )]
    TooManyMatches {
        /// The largest number of pairs of fingerprints in memory.
        limit: u64,
        /// The radius of the run.
        k: u32,
    },
    /// The run needs more memory than its limit.
    #[error(
        "the run needs about {} MiB of memory or more, but the limit is {} MiB",
        .needed.div_ceil(1 << 20), .limit >> 20
    )]
    Memory {
        /// The bytes of memory that the run needs at least.
        needed: u64,
        /// The memory limit in bytes.
        limit: u64,
    },
    /// A record is too long for the memory limit.
    #[error(
        "{label}:{line}: the record is too long for the memory limit ({source}); leave the record out, or raise the \
         limit"
    )]
    LongRecord {
        /// The file of the record.
        label: String,
        /// The line of the record in its file.
        line: u64,
        /// The [`DedupError::Memory`] with the memory that the record needs and the limit.
        source: Box<DedupError>,
    },
    /// The index or the store that the run is compared with cannot be used.
    #[error("{}: {problem}", path.display())]
    Against {
        /// The directory of the index or store.
        path: PathBuf,
        /// The reason why the index or store cannot be used.
        problem: AgainstProblem,
    },
    /// The store refused a document that was to be added.
    #[error(
        "{place}: the document cannot be added to {} ({message}); no document was added: leave this record out and \
         run again",
        path.display()
    )]
    Append {
        /// The directory of the store.
        path: PathBuf,
        /// The file and the line of the document.
        place: String,
        /// The reason for which the store refused the document.
        message: String,
    },
    /// A stage of a run on disk cannot begin, because an earlier one is not whole.
    #[error(
        "the stage \"{stage}\" is not complete: {whole} of {} tasks have ended; run the others first",
        .tasks.map_or_else(|| "an unknown number of".to_owned(), |tasks| tasks.to_string())
    )]
    StageMissing {
        /// The name of the earlier stage.
        stage: &'static str,
        /// The number of its tasks that are whole.
        whole: u32,
        /// The number of its tasks; `None` if it is not known yet.
        tasks: Option<u32>,
    },
    /// The folder of a run on disk belongs to a run with other options or other files.
    #[error(
        "{}: the folder has the stages of a run with other options, other files or another version; \
         delete it to start over",
        .folder.display()
    )]
    OtherRun {
        /// The folder.
        folder: PathBuf,
    },
    /// A file of an ended stage of a run on disk was changed, cut or deleted.
    #[error(
        "{}: {problem}, so the stages of this run cannot be used; delete their folder, or start over",
        .path.display()
    )]
    DamagedStage {
        /// The file.
        path: PathBuf,
        /// The damage.
        problem: StageDamage,
    },
    /// The forecast shows that the run needs more memory or disk space than is available.
    #[error(transparent)]
    WillNotFit(#[from] Shortage),
}

/// The damage of a file of an ended stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StageDamage {
    /// There is no such file.
    #[error("the file is missing")]
    Missing,
    /// The file is shorter or longer than when its stage ended.
    #[error("the file has {found} bytes instead of {written}")]
    Size {
        /// The bytes that the file has.
        found: u64,
        /// The bytes that were written.
        written: u64,
    },
    /// The content differs from what was written.
    #[error("the content of the file is damaged")]
    Content,
}

/// A shortage of memory or disk space, found before a run begins. Amounts are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    /// The run needs more memory than is available.
    #[error("the run will need about {} MiB of memory, but only {} MiB are available", mib(*.needed), mib(*.free))]
    Memory {
        /// The bytes that the run needs.
        needed: u64,
        /// The bytes that are available.
        free: u64,
    },
    /// The run would write more to the disk of the output directory than is free there.
    #[error(
        "the run will write about {} MiB to the disk of the output directory, which has only {} MiB free",
        mib(*.needed), mib(*.free)
    )]
    Output {
        /// The bytes that the run would write.
        needed: u64,
        /// The bytes that are free on the disk.
        free: u64,
        /// True if the temporary files go to the same disk. `needed` then includes them.
        includes_work: bool,
    },
    /// The run would write more temporary files than fit on their disk, which is not the disk of the output directory.
    #[error(
        "the run will write about {} MiB of temporary files to a disk that has only {} MiB free",
        mib(*.needed), mib(*.free)
    )]
    Work {
        /// The bytes of temporary files that the run would write.
        needed: u64,
        /// The bytes that are free on the disk.
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
    /// The path names a file, but must name the directory of an index or a store.
    #[error("the path is a file; name the directory of a collection or an index")]
    IsFile,
    /// The path is neither an index nor a store.
    #[error("the path is neither a collection nor an index")]
    Nothing,
    /// A store compares texts, but a run without verification keeps none.
    #[error(
        "a collection compares texts, but a run without verification keeps none; verify, or compare with an index"
    )]
    NeedsTexts,
    /// The threshold of the run is below the Jaccard at which the store verifies.
    #[error(
        "the collection finds only duplicates with a Jaccard of at least {least}, but the threshold of this run is \
         {given}; \
         choose a threshold of at least {least}"
    )]
    Threshold {
        /// The lowest Jaccard at which the store finds duplicates.
        least: f64,
        /// The threshold of the run, which is lower.
        given: f64,
    },
    /// The tables of the index miss fingerprints, such as those with random keys.
    #[error("the index is not exact, so duplicates would be missed; build it again with other tables")]
    Inexact,
    /// The index has wider fingerprints than the run computes.
    #[error(
        "the index has fingerprints of {stored} bits, but this run makes only {made} bits; choose a width of {stored} \
         bits"
    )]
    Width {
        /// The width of the index's fingerprints in bits.
        stored: u32,
        /// The width of the run's fingerprints in bits.
        made: u32,
    },
    /// The radius is larger than the width of the index's fingerprints.
    #[error(
        "two fingerprints of the index differ in at most {stored} bits, but the radius is {radius}; choose a radius of at \
         most {stored}"
    )]
    Radius {
        /// The width of the index's fingerprints in bits.
        stored: u32,
        /// The radius of the run.
        radius: u32,
    },
    /// The index has fingerprints of another profile.
    #[error(
        "the fingerprints of the index have the profile {stored}, but those of this run have {made}; choose the \
         profile of the index"
    )]
    Profile {
        /// The profile of the index.
        stored: Box<ProfileLabel>,
        /// The profile of the run.
        made: Box<ProfileLabel>,
    },
    /// The run would add documents to an index, which stores fingerprints only.
    #[error("the path is an index, which stores no texts; documents can be added only to a collection")]
    AppendToIndex,
    /// The index or store cannot be read or written.
    #[error("{0}")]
    Failed(String),
}

impl DedupError {
    /// Returns the error that reports `error` for the index or store at `path`.
    pub fn against_failed(path: &Path, error: &dyn Display) -> Self {
        Self::Against {
            path: path.to_owned(),
            problem: AgainstProblem::Failed(error.to_string()),
        }
    }

    /// Returns the error that a file of an ended stage is damaged.
    pub(crate) fn damaged_stage(path: &Path, problem: StageDamage) -> Self {
        Self::DamagedStage {
            path: path.to_owned(),
            problem,
        }
    }

    /// True if the caller cancelled the run.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Job(JobError::Cancelled))
    }

    /// The error with which a cancelled run ends.
    pub(crate) fn cancelled() -> Self {
        Self::Job(JobError::Cancelled)
    }

    /// Returns the error that the option named `option` has the problem `problem`.
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
