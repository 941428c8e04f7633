//! The structure of `report.json`: counts, choices and examples of a dedup run.
//!
//! The object `run` contains times, memory, the machine, and the plan that was chosen for it. All other fields depend
//! only on the input, the options and the version.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{PartsReport, RadiusChoice};
use crate::runs::Appended;
use crate::source::{Damage, Intake, Loss, RejectExample};

/// The report of a dedup run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The version of twinprint that wrote the report.
    pub version: String,
    /// The id of the profile that made the fingerprints.
    pub profile: String,
    /// The checksum of that profile, in hexadecimal.
    pub profile_checksum: String,
    /// The numbers of records: read = kept + removed + rejected.
    pub records: RecordCounts,
    /// The first few rejected records for each kind of reason.
    pub rejects: Vec<RejectExample>,
    /// The numbers of files, and of parts of the input that are not records.
    pub input: InputCounts,
    /// The intake of the input. `records`, `rejects` and `input` are derived from it. It is not written to
    /// `report.json`.
    #[serde(skip)]
    pub intake: Intake,
    /// The width of the fingerprints, the radius, and the reason for the radius.
    pub radius: RadiusReport,
    /// The minimum Jaccard of a duplicate. Absent if nothing was verified.
    pub threshold: Option<f64>,
    /// The measured recall at the threshold. Absent if nothing was verified.
    pub recall: Option<RecallReport>,
    /// Counts of the search and the verification.
    pub search: SearchCounts,
    /// The groups of at least two duplicates.
    pub clusters: ClusterCounts,
    /// The number of removed documents by Hamming distance to the document that they duplicate. Documents with equal
    /// texts count at distance 0.
    pub distances: BTreeMap<u32, u64>,
    /// The number of removed documents by Jaccard with the document that they duplicate, in bands of 0.02. The key is
    /// the lower end of a band, in per cent.
    pub jaccards: BTreeMap<u32, u64>,
    /// The number of near misses by Jaccard, in bands of 0.02: candidate pairs of two texts that both lead their groups,
    /// and that are below the threshold by at most 0.05.
    pub near_misses: BTreeMap<u32, u64>,
    /// The effect of reordering the kept records. Absent if they are in the order of the input.
    pub order: Option<OrderReport>,
    /// The counts of the search for partial copies. Absent if there was no such search.
    pub parts: Option<PartsReport>,
    /// The ten groups with the most documents.
    pub largest: Vec<LargeCluster>,
    /// The removed documents that are least similar to the document that they duplicate, one for each group. Wrong
    /// removals are most likely among them.
    pub doubtful: Vec<PairReport>,
    /// The verified pairs just below the threshold. A slightly lower threshold would make them duplicates.
    pub closest_misses: Vec<PairReport>,
    /// Hot rows: fingerprints that very many different texts have, or that have very many neighbours.
    pub hot_rows: Vec<HotRowReport>,
    /// Times, memory, the machine and the plan.
    pub run: RunReport,
    /// Counts of the documents that the run added to a collection. They are not written to `report.json`, because the
    /// documents are added after it.
    #[serde(skip)]
    pub appended: Option<Appended>,
}

/// The numbers of records of an input, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordCounts {
    /// Number of records read: documents and rejects.
    pub read: u64,
    /// Number of documents kept.
    pub kept: u64,
    /// Number of documents removed as duplicates.
    pub removed: u64,
    /// Number of rejected records. `rejects.jsonl` lists them.
    pub rejected: u64,
    /// Number of rejected records, by kind of reason.
    pub rejected_by: BTreeMap<String, u64>,
    /// Number of documents with the same canonical text as an earlier document. Texts without features are not counted.
    /// 0 if nothing was verified.
    pub equal_texts: u64,
    /// Number of removed documents whose text is equal to that of the kept document. If nothing was verified, equal
    /// fingerprints count instead.
    pub removed_equal: u64,
    /// Number of removed documents that duplicate a document of a given index or collection.
    pub removed_known: u64,
    /// Number of removed documents whose text has no features.
    pub removed_empty: u64,
    /// Number of documents, kept or removed, whose text has no features.
    pub empty: u64,
    /// Number of documents with the id of an earlier document.
    pub repeated_ids: u64,
}

impl RecordCounts {
    /// The number of removed documents that duplicate a document of the same run with a different text.
    pub fn removed_near(&self) -> u64 {
        self.removed - (self.removed_equal + self.removed_known + self.removed_empty).min(self.removed)
    }
}

/// The numbers of files and bytes of an input, and the parts of it that are not documents.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct InputCounts {
    /// The files, folders and globs that were given as inputs.
    pub given: Vec<String>,
    /// The number of files read.
    pub files: u64,
    /// The total size of these files on disk, in bytes.
    pub bytes: u64,
    /// The total size of the texts of the documents, in bytes.
    pub text_bytes: u64,
    /// Number of blank lines.
    pub blank_lines: u64,
    /// Number of records that cannot be documents because of their kind, such as requests in a web archive, by kind.
    /// They are copied to `kept/`.
    pub other_records: BTreeMap<String, u64>,
    /// The files that are unreadable, truncated or damaged, or in which no record is a document, in input order.
    pub damaged_files: Vec<DamagedFile>,
    /// The number of damaged files, and the total size of the parts of them that were not read.
    pub not_taken: UnreadParts,
    /// Number of files, by charset.
    pub charsets: BTreeMap<String, u64>,
    /// Number of skipped files, by extension.
    pub skipped: BTreeMap<String, u64>,
    /// Number of files that were read as text although their extension is not that of a text file, by extension. Either
    /// the user named the extension, or asked to read every text file.
    pub read_as_text: BTreeMap<String, u64>,
    /// The given folders that contain no file to read.
    pub empty_inputs: Vec<String>,
    /// True if reading stopped at the limit of records while records or files were left.
    pub limit_reached: bool,
    /// Number of files that were not opened because the limit of records was reached.
    pub files_not_begun: u64,
    /// Number of times that a file was named again by a later input. Each file is read once.
    pub repeated_files: u64,
}

/// The number and the size of parts of files that were not read.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct UnreadParts {
    /// Number of files with such a part.
    pub files: u64,
    /// The total size of these parts.
    #[serde(flatten)]
    pub loss: Loss,
}

/// A file that could not be read completely.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DamagedFile {
    /// The name of the file, as in all output.
    pub source: String,
    /// The line on which the damage begins, the number of rejects that stand for it, and the size of the part that was
    /// not read.
    #[serde(flatten)]
    pub damage: Damage,
}

/// The width, the radius and the reason for the radius of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RadiusReport {
    /// The width of the fingerprints, in bits.
    pub bits: u32,
    /// The radius: the largest Hamming distance of a candidate.
    pub k: u32,
    /// The kind of reason for which the radius was chosen.
    pub choice: RadiusChoice,
    /// The reason for the radius, as a sentence.
    pub reason: String,
    /// The number of fingerprints that were sampled to choose the radius. Each was compared with all fingerprints.
    pub sampled: Option<u64>,
    /// The expected number of candidates per document.
    pub expected_candidates: Option<f64>,
    /// The expected recall: the share of the pairs exactly at the threshold that are within the radius. More similar
    /// pairs have a higher recall. Absent if nothing was verified.
    pub expected_recall: Option<f64>,
}

/// The recall at the threshold: the share of a text's duplicates that the search finds, averaged over the texts that have
/// duplicates. It is measured on a sample of texts that is joined exactly with all texts.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct RecallReport {
    /// True if the search finds every pair at the threshold. Then nothing is measured.
    pub exact: bool,
    /// The number of sampled texts.
    pub sampled: u64,
    /// The number of sampled texts that have duplicates. One duplicate was drawn for each of them.
    pub trials: u64,
    /// The number of drawn pairs that the search finds.
    pub found: u64,
    /// The measured recall: `found` divided by `trials`. Absent without trials.
    pub recall: Option<f64>,
    /// The lower bound of the 95 % interval of the recall (Clopper and Pearson).
    pub low: f64,
    /// The upper bound of that interval.
    pub high: f64,
}

impl RecallReport {
    /// The recall that a run should have.
    pub const WANTED: f64 = 0.99;

    /// True if the search misses pairs, and the recall may be below [`RecallReport::WANTED`].
    pub fn may_be_low(&self) -> bool {
        self.found < self.trials && self.low < Self::WANTED
    }

    /// True if the search missed no drawn pair, but there were too few for a lower bound of [`RecallReport::WANTED`].
    pub fn has_few_trials(&self) -> bool {
        !self.exact && self.found == self.trials && self.low < Self::WANTED
    }
}

/// Counts of the search and of the verification.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchCounts {
    /// Number of distinct texts.
    pub texts: u64,
    /// The number of short texts among the distinct texts. Fingerprints of short texts are unreliable. With
    /// verification the set join finds the duplicates of short texts. Without verification their fingerprints decide.
    pub short_texts: u64,
    /// Number of distinct fingerprints that were joined.
    pub fingerprints: u64,
    /// Number of pairs of distinct fingerprints within the radius.
    pub matches: u64,
    /// Number of candidate pairs of texts that the join of fingerprints found.
    pub fingerprint_candidates: u64,
    /// Number of candidate pairs of texts that the join of shingle sets found.
    pub shingle_candidates: u64,
    /// The number of candidate pairs from both joins, per document.
    pub candidates_a_document: f64,
    /// Number of pairs of texts that were verified.
    pub verified: u64,
    /// Number of verified pairs that are duplicates.
    pub duplicates: u64,
    /// Number of rows of `pairs.jsonl`.
    pub pair_rows: Option<u64>,
}

/// The number and the sizes of the groups.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClusterCounts {
    /// The number of groups.
    pub count: u64,
    /// The number of groups of each size.
    pub sizes: BTreeMap<u32, u64>,
}

/// The effect of reordering the kept records.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OrderReport {
    /// The size of the kept records compressed in the order of the input, in bytes (zstd at level 3 with the default
    /// window). Only reordered files count.
    pub zstd_before: u64,
    /// The size of the same records compressed in the new order, in bytes.
    pub zstd_after: u64,
    /// Number of files that were not reordered, because they do not have one record per line.
    pub files_left: u64,
}

/// One of the largest groups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LargeCluster {
    /// The `cluster_id` of the group in `clusters.jsonl`.
    pub cluster_id: u32,
    /// The number of documents in the group.
    pub size: u32,
    /// The id of the document that was kept.
    pub leader: String,
    /// The file of the document that was kept.
    pub source: String,
    /// The line of the document that was kept.
    pub line: u64,
    /// The ids of some documents of the group that were removed.
    pub members: Vec<String>,
    /// The beginning of the canonical text of the kept document.
    pub text: String,
    /// The removed document that is least similar to the kept one. Absent if all texts of the group are equal.
    pub farthest: Option<PairReport>,
}

/// A pair of documents with different texts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PairReport {
    /// The kept document of a pair of duplicates, or the document of a near miss that is earlier in keep order.
    pub a: DocumentReport,
    /// The other document of the pair.
    pub b: DocumentReport,
    /// The Hamming distance between their fingerprints.
    pub hamming: u32,
    /// The Jaccard of the two texts. Absent if nothing was verified.
    pub jaccard: Option<f64>,
    /// The containment of the two texts. Absent if nothing was verified.
    pub containment: Option<f64>,
}

/// A document by id, file and line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DocumentReport {
    /// The id of the document.
    pub id: String,
    /// The file of the document.
    pub source: String,
    /// The line of the document in the file.
    pub line: u64,
}

/// A hot row: a fingerprint that very many texts have, or that has very many neighbours within the radius.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HotRowReport {
    /// The fingerprint in hexadecimal.
    pub fingerprint: String,
    /// The number of different texts that have this fingerprint.
    pub texts: u64,
    /// The number of different texts whose fingerprint is another one within the radius.
    pub neighbors: u64,
    /// The id of the first document that has this fingerprint.
    pub example: String,
}

/// Times, memory, the machine and the plan of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunReport {
    /// Number of worker threads.
    pub threads: usize,
    /// The instruction set of the SIMD kernels, such as avx512.
    pub kernels: String,
    /// The name of the plan of the join.
    pub plan: String,
    /// The best plans that the planner considered. The chosen plan is first.
    pub plans: Vec<PlanReport>,
    /// The wall time of the whole run, in seconds.
    pub seconds: f64,
    /// The stages of the run, in order.
    pub stages: Vec<StageReport>,
    /// The peak memory of the process, in bytes. Absent if the system does not report it.
    pub peak_memory_bytes: Option<u64>,
    /// The size of the spool on disk, in bytes; in a run on disk, that of all its tables.
    pub spool_bytes: u64,
    /// The number of bytes written to the output directory, without the reports.
    pub written_bytes: u64,
}

/// The time and the resources that a stage of a run used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageReport {
    /// The name of the stage.
    pub name: String,
    /// The wall time of the stage, in seconds.
    pub seconds: f64,
    /// Processor time of all threads in seconds; absent if the system does not report it.
    pub cpu_seconds: Option<f64>,
    /// Bytes read by system calls; absent if the system does not report them.
    pub read_bytes: Option<u64>,
    /// Bytes written by system calls; absent if the system does not report them.
    pub written_bytes: Option<u64>,
    /// The peak memory from the start of the process to the end of the stage, in bytes. Absent if the system does not
    /// report it.
    pub peak_memory_bytes: Option<u64>,
}

/// A plan for joining the fingerprints, with its estimated cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanReport {
    /// The name of the plan.
    pub name: String,
    /// The number of permuted tables of the plan.
    pub tables: usize,
    /// The estimated time on one core, in seconds.
    pub seconds: f64,
    /// The estimated memory of the plan, in bytes.
    pub bytes: f64,
    /// `chosen`, or the reason why the plan was not chosen.
    pub verdict: String,
}
