//! `report.json`: counts, choices and examples of a dedup run.
//!
//! Everything but the `run` object depends on input, options and version alone; times, memory, the machine and the plan made for it are
//! in that object.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Choice, PartsReport};
use crate::runs::Appended;
use crate::source::{Damage, Intake, Loss, RejectExample};

/// The report of a dedup run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Version of twinprint.
    pub version: String,
    /// Id of the profile of the fingerprints.
    pub profile: String,
    /// Its checksum, in hexadecimal.
    pub profile_checksum: String,
    /// Records read, and what became of them: documents = kept + removed + rejected.
    pub records: RecordCounts,
    /// The first few rejected records of each kind.
    pub rejects: Vec<RejectExample>,
    /// Input that is no record.
    pub input: InputCounts,
    /// The account of the input; `records`, `rejects` and `input` have what of it is written.
    #[serde(skip)]
    pub intake: Intake,
    /// Width and radius.
    pub radius: RadiusReport,
    /// Least Jaccard of a duplicate; absent where nothing was verified.
    pub threshold: Option<f64>,
    /// What the search and the verification did.
    pub search: SearchCounts,
    /// Duplicate groups of two documents or more.
    pub clusters: ClusterCounts,
    /// Removed documents by Hamming distance to what they duplicate; those of equal text count at 0.
    pub distances: BTreeMap<u32, u64>,
    /// Removed documents by Jaccard with what they duplicate, in bands of 0.02 from the band's lower end, in per cent.
    pub jaccards: BTreeMap<u32, u64>,
    /// Verified pairs of texts that are no duplicates, by Jaccard, in the bands of `jaccards`: those that miss the threshold by a
    /// twentieth at most, as far as they were looked at: a document that has a duplicate is not compared further without `--pairs`.
    pub near_misses: BTreeMap<u32, u64>,
    /// What another order than that of the input is worth; absent where records stand in that.
    pub order: Option<OrderReport>,
    /// What the search for partial copies found; absent where none was asked for.
    pub parts: Option<PartsReport>,
    /// The ten largest groups.
    pub largest: Vec<LargeCluster>,
    /// Removed documents least like what they duplicate, one a group: where a mistake would be first.
    pub doubtful: Vec<PairReport>,
    /// Pairs closest to the threshold from below: what a lower one would find first.
    pub closest_misses: Vec<PairReport>,
    /// Fingerprints crowded with different texts or with near fingerprints.
    pub hot_rows: Vec<HotRowReport>,
    /// Times and the machine.
    pub run: RunReport,
    /// The documents added to a collection; not part of `report.json`, which is written before.
    #[serde(skip)]
    pub appended: Option<Appended>,
}

/// See [`Report::records`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecordCounts {
    /// All of them.
    pub read: u64,
    /// Kept.
    pub kept: u64,
    /// Removed as duplicates.
    pub removed: u64,
    /// No documents; see `rejects.jsonl`.
    pub rejected: u64,
    /// Rejected by kind of reason.
    pub rejected_by: BTreeMap<String, u64>,
    /// Documents whose canonical text an earlier one has; texts without features do not count. 0 without verification.
    pub equal_texts: u64,
    /// Removed documents whose text is that of the document kept; without verification, whose fingerprint is.
    pub removed_equal: u64,
    /// Removed documents that were known from before (`--against`).
    pub removed_known: u64,
    /// Removed documents whose text has no features (`--empty remove`).
    pub removed_empty: u64,
    /// Documents whose text has no features, kept or removed.
    pub empty: u64,
    /// Documents whose own id some earlier one had.
    pub repeated_ids: u64,
}

impl RecordCounts {
    /// Removed documents that duplicate another of the same run without being equal to it.
    pub fn removed_near(&self) -> u64 {
        self.removed - (self.removed_equal + self.removed_known + self.removed_empty).min(self.removed)
    }
}

/// See [`Report::input`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct InputCounts {
    /// What was asked for: files, folders, globs.
    pub given: Vec<String>,
    /// Files read.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes of text in the documents.
    pub text_bytes: u64,
    /// Lines of white space alone.
    pub blank_lines: u64,
    /// Records that are no documents by their kind, such as requests in a web archive, by kind; they stay in `kept/`.
    pub other_records: BTreeMap<String, u64>,
    /// Files that are unreadable, cut off or damaged, or of which no record is a document, in input order.
    pub damaged_files: Vec<DamagedFile>,
    /// The number of these files, and what was not taken of them in all.
    pub not_taken: NotTaken,
    /// Files by charset, as far as they could be decoded.
    pub charsets: BTreeMap<String, u64>,
    /// Files left out, by extension.
    pub skipped: BTreeMap<String, u64>,
    /// Files read as text although their extension names no format, since it was spelled, or another one, since every text is taken, by
    /// extension.
    pub read_as_text: BTreeMap<String, u64>,
    /// Inputs that are folders without a file to read.
    pub empty_inputs: Vec<String>,
    /// The limit of records was reached, and records or files that follow were not read.
    pub limit_reached: bool,
    /// Files that were not begun because of the limit.
    pub files_not_begun: u64,
    /// Files named again by a later input, and not read again.
    pub repeated_files: u64,
}

/// The parts of files that were not taken.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct NotTaken {
    /// Files.
    pub files: u64,
    /// Their parts, in all.
    #[serde(flatten)]
    pub loss: Loss,
}

/// A file of which a part was not taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DamagedFile {
    /// Its name in all output.
    pub source: String,
    /// The line on which the damage begins, the number of rejected records that stand for it, and the size of the part not taken.
    #[serde(flatten)]
    pub damage: Damage,
}

/// See [`Report::radius`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RadiusReport {
    /// Width of the fingerprints compared.
    pub bits: u32,
    /// Largest Hamming distance of a candidate.
    pub k: u32,
    /// What decided.
    pub choice: Choice,
    /// The same in a sentence.
    pub reason: String,
    /// Fingerprints sampled for the choice, each compared with all of them.
    pub sampled: Option<u64>,
    /// Expected candidates a document.
    pub expected_candidates: Option<f64>,
    /// Expected share of the pairs just at the threshold that lie within the radius; pairs above it are closer. Absent where
    /// nothing was verified.
    pub expected_recall: Option<f64>,
}

/// See [`Report::search`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchCounts {
    /// Different texts.
    pub texts: u64,
    /// Of these, texts of so few features that their fingerprint is not to be trusted. With verification the exact join of their shingles finds
    /// their duplicates; without it their fingerprints decide.
    pub short_texts: u64,
    /// Different fingerprints joined.
    pub fingerprints: u64,
    /// Pairs of them within the radius.
    pub matches: u64,
    /// Candidate pairs of texts from the join of the fingerprints.
    pub fingerprint_candidates: u64,
    /// Candidate pairs of texts from the join of shingle sets.
    pub shingle_candidates: u64,
    /// Both of these, a document.
    pub candidates_a_document: f64,
    /// Pairs verified on the text.
    pub verified: u64,
    /// Of these, duplicates.
    pub duplicates: u64,
    /// Rows of `pairs.jsonl`.
    pub pair_rows: Option<u64>,
}

/// See [`Report::clusters`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClusterCounts {
    /// How many.
    pub count: u64,
    /// How many there are of each size.
    pub sizes: BTreeMap<u32, u64>,
}

/// See [`Report::order`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OrderReport {
    /// Bytes of all records not removed in the files put in order, packed with zstd (level 3, its own window), in the order of the input.
    pub zstd_before: u64,
    /// The same in the order written.
    pub zstd_after: u64,
    /// Files left in the order of the input, since they are not of a record a line.
    pub files_left: u64,
}

/// One of the largest groups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LargeCluster {
    /// Its number in `clusters.jsonl`.
    pub cluster_id: u32,
    /// Documents.
    pub size: u32,
    /// The id of the one kept.
    pub leader: String,
    /// Where it stands.
    pub source: String,
    /// Its line.
    pub line: u64,
    /// Ids of a few that were removed.
    pub members: Vec<String>,
    /// How the kept text begins (normalised).
    pub text: String,
    /// The member least like the one kept; absent where all texts are equal.
    pub farthest: Option<PairReport>,
}

/// Two documents of different texts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PairReport {
    /// The one kept, or the one before the other in the order of `--keep`.
    pub a: DocumentReport,
    /// The other.
    pub b: DocumentReport,
    /// Hamming distance of their fingerprints.
    pub hamming: u32,
    /// Their Jaccard; absent where nothing was verified.
    pub jaccard: Option<f64>,
    /// Their containment; absent where nothing was verified.
    pub containment: Option<f64>,
}

/// A document by name and place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DocumentReport {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub source: String,
    /// Its line.
    pub line: u64,
}

/// A crowded fingerprint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HotRowReport {
    /// The fingerprint.
    pub fingerprint: String,
    /// Different texts on it.
    pub texts: u64,
    /// Different texts on other fingerprints within the radius.
    pub neighbors: u64,
    /// The id of the first document on it.
    pub example: String,
}

/// See [`Report::run`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunReport {
    /// Worker threads.
    pub threads: usize,
    /// Level of the kernels, such as avx512.
    pub kernels: String,
    /// The plan of the join.
    pub plan: String,
    /// The plans weighed for it, the chosen one first; the few best of them.
    pub plans: Vec<PlanReport>,
    /// All of it, in seconds.
    pub seconds: f64,
    /// Stages in order.
    pub stages: Vec<StageReport>,
    /// Most memory held, where the system tells.
    pub peak_memory_bytes: Option<u64>,
    /// Bytes the spool took on disk.
    pub spool_bytes: u64,
    /// Bytes written to the output directory, reports apart.
    pub written_bytes: u64,
}

/// A stage and what it took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageReport {
    /// Its name.
    pub name: String,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Processor time of all threads in seconds, where the system tells.
    pub cpu_seconds: Option<f64>,
    /// Bytes read by calls of the system, where it tells.
    pub read_bytes: Option<u64>,
    /// Bytes written likewise.
    pub written_bytes: Option<u64>,
    /// Most memory held from the start of the process to the end of the stage, where the system tells.
    pub peak_memory_bytes: Option<u64>,
}

/// A way to join the fingerprints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanReport {
    /// Its name.
    pub name: String,
    /// Orderings of all fingerprints that it needs.
    pub tables: usize,
    /// Estimated seconds of one core.
    pub seconds: f64,
    /// Estimated bytes of memory.
    pub bytes: f64,
    /// `chosen`, or why not.
    pub verdict: String,
}
