//! The summary of a run over files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twinprint_io::source::Intake;

use super::agreement::AgreementReport;

/// The counts of a finished run over files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterSummary {
    /// The number of documents placed. Rejected records are not counted.
    pub documents: u64,
    /// The documents and rejects of the input.
    pub intake: Intake,
    /// The number of files in folders that were not read, by kind.
    pub skipped: BTreeMap<String, u64>,
    /// The number of documents that are duplicates of an earlier one.
    pub duplicates: u64,
    /// The number of groups of at least two documents.
    pub groups: u64,
    /// The number of stories, and the number of stories with at least two documents.
    pub stories: [u64; 2],
    /// The thresholds of stories at the end of the run; `None` if no thresholds are used.
    #[serde(default)]
    pub thresholds: Option<StoryThresholds>,
    /// The number of stories that have ended.
    pub ended: u64,
    /// The number of documents without a readable time. Such a document gets the latest time of the documents before
    /// it.
    pub untimed: u64,
    /// The number of documents with a time more than a day in the future. The time is ignored, so `untimed` counts them
    /// too.
    #[serde(rename = "ahead")]
    pub future: u64,
    /// Documents in the stream before this run. Groups and stories that were still live are counted in this summary as
    /// well.
    pub before: u64,
    /// The agreement of groups and of stories with the labels of documents, if
    /// [`FieldKeys::label`](crate::FieldKeys::label) is set and some document has a label.
    pub agreement: Option<[AgreementReport; 2]>,
}

/// The thresholds of stories at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoryThresholds {
    /// The minimum cosine between a document and the centre of the story that it joins.
    pub join: f64,
    /// True if `join` was given.
    pub is_join_given: bool,
    /// The minimum cosine of the centres of two stories that merge; `None` if stories never merge.
    pub merge: Option<f64>,
    /// The number of documents that the latest estimate was made from; `None` if no threshold is estimated, 0 if there
    /// are too few documents yet.
    pub estimated_from: Option<u64>,
}
