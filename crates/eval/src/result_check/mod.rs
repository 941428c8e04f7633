//! Checks the result of `dedup` without the engine that made it: counts, leaders, and the texts of a sample.
//!
//! * The counts of the report add up, and they are those of the files, in every mode.
//! * Every removed document has a leader that is kept. A sample of removed documents is compared with their leaders: the exact
//!   Jaccard of the texts must be the one that was written, and at least the threshold.
//! * A sample of kept texts is joined exactly with all kept texts, by an inverted index of the sample's shingles. A kept text
//!   that reaches the threshold is a duplicate that the search has missed.
//!
//! Takes about 16 bytes of memory for each kept document, and reads the groups and the kept records twice.

mod groups;
mod problem;
mod records;
mod search;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use twinprint_dedup::{DedupOptions, Mode};
use twinprint_io::progress::Progress;
use twinprint_io::source::SourceOptions;

use self::groups::Groups;
use self::records::{Reading, TextSample};
use self::search::SampleSearch;
use crate::error::EvalError;

pub use self::groups::GroupCounts;
pub use self::problem::ResultProblem;
pub use self::search::MissedPair;

/// A result to check.
#[derive(Clone, Copy, Debug)]
pub struct CheckJob<'j> {
    /// The output directory of the run.
    pub out: &'j Path,
    /// The formats and fields of the records, as in the run.
    pub source: &'j SourceOptions,
    /// The options of the run.
    pub options: &'j DedupOptions,
    /// The number of removed documents that are compared with their leaders, and of kept ones that are searched for duplicates.
    pub sample: usize,
}

impl CheckJob<'_> {
    /// True if texts are compared: the run verified them, and wrote the kept and the removed records to folders of their own.
    pub fn compares_texts(&self) -> bool {
        self.options.mode == Mode::Remove && self.options.verify
    }
}

/// The counts of records of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordCounts {
    /// Records read.
    pub read: u64,
    /// Records kept.
    pub kept: u64,
    /// Records removed.
    pub removed: u64,
    /// Records rejected.
    pub rejected: u64,
    /// Removed records whose texts have no features.
    pub removed_empty: u64,
}

/// The findings of a check.
#[derive(Clone, Debug, Serialize)]
pub struct ResultCheck {
    /// The counts of the report.
    pub records: RecordCounts,
    /// The counts of the file of groups.
    pub groups: GroupCounts,
    /// The number of removed documents that were compared with their leaders.
    pub compared: usize,
    /// The number of kept texts that were searched for duplicates among all kept texts. 0 if the run wrote no records, or did not
    /// compare texts.
    pub searched: usize,
    /// The number of these texts that have a duplicate among the kept ones.
    pub missed: usize,
    /// Some of them, the most similar first.
    pub examples: Vec<MissedPair>,
    /// The contradictions in the result. A missed duplicate is none, because a search by fingerprints may miss some.
    pub problems: Vec<ResultProblem>,
}

#[derive(Deserialize)]
struct ReportRecords {
    records: RecordCounts,
}

/// Checks a result.
///
/// # Errors
/// A file of the result cannot be read. A contradiction in the result is no error but one of [`ResultCheck::problems`].
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use twinprint_dedup::{DedupJob, DedupOptions, dedup};
/// use twinprint_eval::{CheckJob, check_result};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::SourceOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let (notes, out) = (dir.path().join("notes.jsonl"), dir.path().join("out"));
/// std::fs::write(&notes, "{\"id\": \"ferry\", \"text\": \"The ferry runs until May.\"}\n".repeat(3))?;
/// let (source, options) = (SourceOptions::default(), DedupOptions::new()?);
/// let inputs = [notes.display().to_string()];
/// let job = DedupJob { inputs: &inputs, source: &source, options: &options, out: &out };
/// dedup(&job, &Silent, &Arc::default())?;
///
/// let job = CheckJob { out: &out, source: &source, options: &options, sample: 100 };
/// let check = check_result(&job, &Silent, &Arc::default())?;
/// assert_eq!((check.records.removed, check.searched, check.missed), (2, 1, 0));
/// assert!(check.problems.is_empty());
/// # Ok(())
/// # }
/// ```
pub fn check_result(
    job: &CheckJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<ResultCheck, EvalError> {
    let path = job.out.join("report.json");
    let read = |source| EvalError::Read {
        path: path.clone(),
        source,
    };
    let report: ReportRecords = serde_json::from_slice(&fs::read(&path).map_err(read)?)
        .map_err(|error| EvalError::row(&path, error.line(), &error))?;
    let records = report.records;
    let mut problems = Vec::new();
    if records.read != records.kept + records.removed + records.rejected {
        problems.push(ResultProblem::Counts {
            read: records.read,
            kept: records.kept,
            removed: records.removed,
            rejected: records.rejected,
        });
    }
    let groups = Groups::read(job, &mut problems, cancel)?;
    let in_groups = groups.counts;
    let mut expect = |place, found, expected| {
        if found != expected {
            problems.push(ResultProblem::Files {
                place,
                found,
                expected,
            });
        }
    };
    expect(
        "rows of kept documents in the groups",
        in_groups.kept,
        records.kept,
    );
    expect(
        "rows of removed documents in the groups",
        in_groups.removed,
        records.removed,
    );
    let mut check = ResultCheck {
        records,
        groups: in_groups,
        compared: 0,
        searched: 0,
        missed: 0,
        examples: Vec::new(),
        problems: Vec::new(),
    };
    let reading = Reading {
        source: job.source,
        profile: &job.options.profile,
        progress,
        cancel,
    };
    if job.compares_texts() {
        let wanted = groups.wanted_texts();
        let mut kept = TextSample::new(job.sample, job.options.seed, wanted);
        let found = reading.each(&job.out.join("kept"), |record| kept.take(record))?;
        expect("records in kept/", found, records.kept);
        let mut removed = TextSample::new(0, job.options.seed, groups.wanted_removed());
        let found = reading.each(&job.out.join("removed"), |record| removed.take(record))?;
        expect("records in removed/", found, records.removed);
        check.compared = groups.compare(&kept, &removed, job.options.threshold, &mut problems);
        let mut search = SampleSearch::new(kept.into_sampled());
        search.read(&reading, &job.out.join("kept"), job.options.threshold)?;
        check.searched = search.len();
        (check.missed, check.examples) = search.finish();
    } else {
        let written = records.kept + records.removed;
        let folders: &[_] = match job.options.mode {
            Mode::Report => &[],
            Mode::Annotate => &[("annotated", "records in annotated/", written)],
            Mode::Remove => &[
                ("kept", "records in kept/", records.kept),
                ("removed", "records in removed/", records.removed),
            ],
        };
        for &(folder, place, expected) in folders {
            expect(place, reading.each(&job.out.join(folder), drop)?, expected);
        }
    }
    check.problems = problems;
    Ok(check)
}
