//! `report.json`: counts, choices and examples of a dedup run.
//!
//! All fields except for the `run` object depend only on input, options and version. The `run` object has times, memory, the machine and the
//! plan for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{PartsReport, RadiusChoice};
use crate::runs::Appended;
use crate::source::{Damage, Intake, Loss, RejectExample};

/// The report of a dedup run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Version of twinprint.
    pub version: String,
    /// The id of the profile of the fingerprints.
    pub profile: String,
    /// The checksum of the profile, in hexadecimal.
    pub profile_checksum: String,
    /// Counts of the records: read = kept + removed + rejected.
    pub records: RecordCounts,
    /// The first few rejected records of each kind.
    pub rejects: Vec<RejectExample>,
    /// Counts of the files and of input that is not a record.
    pub input: InputCounts,
    /// The intake of the input, from which `records`, `rejects` and `input` are written.
    #[serde(skip)]
    pub intake: Intake,
    /// Width and radius.
    pub radius: RadiusReport,
    /// The minimum Jaccard of a duplicate; absent if nothing was verified.
    pub threshold: Option<f64>,
    /// Counts of the search and the verification.
    pub search: SearchCounts,
    /// Duplicate groups of two documents or more.
    pub clusters: ClusterCounts,
    /// Removed documents by Hamming distance to the document they duplicate. Those of equal text count at 0.
    pub distances: BTreeMap<u32, u64>,
    /// Removed documents by Jaccard with the document they duplicate, in bands of 0.02. The key is the lower end of the band, in per cent.
    pub jaccards: BTreeMap<u32, u64>,
    /// Near misses: verified pairs of texts below the threshold by at most 0.05, by Jaccard, in the bands of `jaccards`. The list is not
    /// complete unless all pairs were asked for, because a document with a duplicate is otherwise not compared further.
    pub near_misses: BTreeMap<u32, u64>,
    /// The effect of another order than that of the input; absent if records are in the order of the input.
    pub order: Option<OrderReport>,
    /// Counts of the search for partial copies; absent if there was none.
    pub parts: Option<PartsReport>,
    /// The ten largest groups.
    pub largest: Vec<LargeCluster>,
    /// The removed documents that are least similar to the document they duplicate, one for each group. Mistakes are most likely there.
    pub doubtful: Vec<PairReport>,
    /// The pairs closest to the threshold from below, which a lower threshold would find first.
    pub closest_misses: Vec<PairReport>,
    /// Hot rows: fingerprints with very many different texts or near fingerprints.
    pub hot_rows: Vec<HotRowReport>,
    /// Times and the machine.
    pub run: RunReport,
    /// Counts of the documents added to a collection. They are not part of `report.json`, which is written before.
    #[serde(skip)]
    pub appended: Option<Appended>,
}

/// See [`Report::records`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecordCounts {
    /// Records read.
    pub read: u64,
    /// Records kept.
    pub kept: u64,
    /// Records removed as duplicates.
    pub removed: u64,
    /// Records rejected; see `rejects.jsonl`.
    pub rejected: u64,
    /// Records rejected, by kind of reason.
    pub rejected_by: BTreeMap<String, u64>,
    /// Documents with the canonical text of an earlier one. Texts without features are not counted. 0 without verification.
    pub equal_texts: u64,
    /// Removed documents with the text of the document kept; without verification, with its fingerprint.
    pub removed_equal: u64,
    /// Removed documents that duplicate a document of an index or collection.
    pub removed_known: u64,
    /// Removed documents whose text has no features.
    pub removed_empty: u64,
    /// Documents whose text has no features, kept or removed.
    pub empty: u64,
    /// Documents with the id of an earlier one.
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
    /// The given files, folders and globs.
    pub given: Vec<String>,
    /// The number of files read.
    pub files: u64,
    /// The size of these files in bytes.
    pub bytes: u64,
    /// Bytes of text in the documents.
    pub text_bytes: u64,
    /// Blank lines.
    pub blank_lines: u64,
    /// Records whose kind is not that of a document, such as requests in a web archive, by kind. They stay in `kept/`.
    pub other_records: BTreeMap<String, u64>,
    /// Files that are unreadable, cut off or damaged, or have no document, in input order.
    pub damaged_files: Vec<DamagedFile>,
    /// The number of these files, and the total size of the parts that were not read.
    pub not_taken: UnreadParts,
    /// Decoded files, by charset.
    pub charsets: BTreeMap<String, u64>,
    /// Skipped files, by extension.
    pub skipped: BTreeMap<String, u64>,
    /// Files read as text although their extension is not that of a text file, by extension: the extension was given, or every text file was
    /// accepted.
    pub read_as_text: BTreeMap<String, u64>,
    /// Given folders without a file to read.
    pub empty_inputs: Vec<String>,
    /// True if the limit of records was reached and later records or files were not read.
    pub limit_reached: bool,
    /// Files that were not opened because of the limit.
    pub files_not_begun: u64,
    /// Files that a later input names again. They are read once.
    pub repeated_files: u64,
}

/// The parts of files that were not read.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct UnreadParts {
    /// The number of files.
    pub files: u64,
    /// The total size of the parts.
    #[serde(flatten)]
    pub loss: Loss,
}

/// A file of which a part was not read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DamagedFile {
    /// The name of the file, as in all output.
    pub source: String,
    /// The line on which the damage begins, the number of rejected records for it, and the size of the part that was not read.
    #[serde(flatten)]
    pub damage: Damage,
}

/// See [`Report::radius`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RadiusReport {
    /// The width of the fingerprints compared.
    pub bits: u32,
    /// Largest Hamming distance of a candidate.
    pub k: u32,
    /// The kind of reason for the radius.
    pub choice: RadiusChoice,
    /// The reason in a sentence.
    pub reason: String,
    /// The number of fingerprints sampled for the choice. Each was compared with all fingerprints.
    pub sampled: Option<u64>,
    /// Expected candidates per document.
    pub expected_candidates: Option<f64>,
    /// The expected recall: the share of the pairs just at the threshold that are within the radius. Pairs above the threshold are closer.
    /// Absent if nothing was verified.
    pub expected_recall: Option<f64>,
}

/// See [`Report::search`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchCounts {
    /// Different texts.
    pub texts: u64,
    /// Short texts among them, whose fingerprints are not reliable. With verification the set join finds their duplicates. Without it their
    /// fingerprints decide.
    pub short_texts: u64,
    /// Different fingerprints joined.
    pub fingerprints: u64,
    /// Pairs of them within the radius.
    pub matches: u64,
    /// Candidate pairs of texts from the join of the fingerprints.
    pub fingerprint_candidates: u64,
    /// Candidate pairs of texts from the join of shingle sets.
    pub shingle_candidates: u64,
    /// The sum of the two, per document.
    pub candidates_a_document: f64,
    /// Pairs verified on the text.
    pub verified: u64,
    /// Verified pairs that are duplicates.
    pub duplicates: u64,
    /// Rows of `pairs.jsonl`.
    pub pair_rows: Option<u64>,
}

/// See [`Report::clusters`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClusterCounts {
    /// The number of groups.
    pub count: u64,
    /// The number of groups of each size.
    pub sizes: BTreeMap<u32, u64>,
}

/// See [`Report::order`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OrderReport {
    /// The size of the kept records of the files put in order, packed with zstd (level 3, default window) in the order of the input.
    pub zstd_before: u64,
    /// The packed size of the same records in the order written.
    pub zstd_after: u64,
    /// Files left in the order of the input, because they do not have one record a line.
    pub files_left: u64,
}

/// One of the largest groups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LargeCluster {
    /// The `cluster_id` in `clusters.jsonl`.
    pub cluster_id: u32,
    /// The number of documents.
    pub size: u32,
    /// The id of the document kept.
    pub leader: String,
    /// The file of the document kept.
    pub source: String,
    /// The line of the document kept.
    pub line: u64,
    /// The ids of some removed documents.
    pub members: Vec<String>,
    /// The beginning of the kept text, in canonical form.
    pub text: String,
    /// The member that is least similar to the one kept; absent if all texts are equal.
    pub farthest: Option<PairReport>,
}

/// Two documents of different texts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PairReport {
    /// The document kept, or the earlier one in keep order.
    pub a: DocumentReport,
    /// The other document.
    pub b: DocumentReport,
    /// Hamming distance of their fingerprints.
    pub hamming: u32,
    /// Their Jaccard; absent if nothing was verified.
    pub jaccard: Option<f64>,
    /// Their containment; absent if nothing was verified.
    pub containment: Option<f64>,
}

/// A document by name and place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DocumentReport {
    /// The id.
    pub id: String,
    /// The file.
    pub source: String,
    /// The line.
    pub line: u64,
}

/// A hot row: a fingerprint with very many texts or neighbours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HotRowReport {
    /// The fingerprint.
    pub fingerprint: String,
    /// The number of different texts with the fingerprint.
    pub texts: u64,
    /// The number of different texts with other fingerprints within the radius.
    pub neighbors: u64,
    /// The id of the first document with the fingerprint.
    pub example: String,
}

/// See [`Report::run`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunReport {
    /// Worker threads.
    pub threads: usize,
    /// The instruction set of the kernels, such as avx512.
    pub kernels: String,
    /// The plan of the join.
    pub plan: String,
    /// The best plans that were considered, the chosen one first.
    pub plans: Vec<PlanReport>,
    /// The time of the whole run, in seconds.
    pub seconds: f64,
    /// Stages in order.
    pub stages: Vec<StageReport>,
    /// The peak memory; absent if the system does not report it.
    pub peak_memory_bytes: Option<u64>,
    /// The size of the spool on disk, in bytes.
    pub spool_bytes: u64,
    /// Bytes written to the output directory, except for the reports.
    pub written_bytes: u64,
}

/// The time and the resources of a stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageReport {
    /// Its name.
    pub name: String,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Processor time of all threads in seconds; absent if the system does not report it.
    pub cpu_seconds: Option<f64>,
    /// Bytes read by system calls; absent if the system does not report them.
    pub read_bytes: Option<u64>,
    /// Bytes written by system calls, likewise.
    pub written_bytes: Option<u64>,
    /// The peak memory from the start of the process to the end of the stage; absent if the system does not report it.
    pub peak_memory_bytes: Option<u64>,
}

/// A way to join the fingerprints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanReport {
    /// Its name.
    pub name: String,
    /// The number of permuted tables.
    pub tables: usize,
    /// The estimated time on one core, in seconds.
    pub seconds: f64,
    /// The estimated memory, in bytes.
    pub bytes: f64,
    /// `chosen`, or the reason against the plan.
    pub verdict: String,
}
