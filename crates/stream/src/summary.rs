//! The summary of a run over files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twinprint_io::source::Intake;

use super::agreement::AgreementReport;

/// The counts of a finished run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterSummary {
    /// Documents placed. Rejected records are not among them.
    pub documents: u64,
    /// The documents and rejects of the input.
    pub intake: Intake,
    /// Files found in folders and not read, by kind.
    pub skipped: BTreeMap<String, u64>,
    /// Documents that are duplicates of an earlier one.
    pub duplicates: u64,
    /// Groups of two documents or more.
    pub groups: u64,
    /// The number of stories, and of those with two documents or more.
    pub stories: [u64; 2],
    /// Stories that have ended.
    pub ended: u64,
    /// Documents without a readable time. They get the latest time before them.
    pub untimed: u64,
    /// Of the untimed documents, those with a time more than a day in the future, which is ignored.
    #[serde(rename = "ahead")]
    pub future: u64,
    /// Documents in the stream before this run. Groups and stories that were still live are counted in this summary as well.
    pub before: u64,
    /// The agreement of groups and of stories with the labels of documents, if [`FieldKeys::label`](crate::FieldKeys::label) is set and
    /// some document has a label.
    pub agreement: Option<[AgreementReport; 2]>,
}
