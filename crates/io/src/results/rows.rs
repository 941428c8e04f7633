//! The rows of `clusters.jsonl`, `pairs.jsonl` and `rejects.jsonl`. The same types serve for writing, with borrowed
//! strings, and for reading.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Ratio;

/// A row of `clusters.jsonl`: the outcome of one document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterRow<'r> {
    /// The id of the document.
    pub id: Cow<'r, str>,
    /// The file of the document.
    pub source: Cow<'r, str>,
    /// The line of the document in the file, from 1.
    pub line: u64,
    /// The number of the group's leader among all documents, in input order. It identifies the group.
    pub cluster_id: u32,
    /// The number of documents in the group.
    pub cluster_size: u32,
    /// True if the document is kept.
    pub is_leader: bool,
    /// The id of the document that this document duplicates. `None` for a kept document.
    pub duplicate_of: Option<Cow<'r, str>>,
    /// The Hamming distance between the fingerprints of this document and of the one that it duplicates.
    pub hamming: u32,
    /// The Jaccard of this document and the one that it duplicates. `None` if nothing was verified.
    pub jaccard: Option<Ratio>,
    /// The fingerprint of the document in hexadecimal.
    pub fingerprint: Cow<'r, str>,
    /// The number of documents that this document represents, including itself.
    pub dup_count: u32,
    /// `Some(false)` if the run verified nothing, otherwise `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
}

/// A row of `pairs.jsonl`: two documents that are duplicates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairRow<'r> {
    /// The id of the earlier document.
    pub a: Cow<'r, str>,
    /// The id of the later document.
    pub b: Cow<'r, str>,
    /// The Hamming distance between their fingerprints.
    pub hamming: u32,
    /// The Jaccard of the two texts. `None` if nothing was verified.
    pub jaccard: Option<Ratio>,
    /// The containment of the two texts. `None` if nothing was verified.
    pub containment: Option<Ratio>,
    /// The file of the earlier document.
    pub a_source: Cow<'r, str>,
    /// The line of the earlier document.
    pub a_line: u64,
    /// The file of the later document.
    pub b_source: Cow<'r, str>,
    /// The line of the later document.
    pub b_line: u64,
}

/// A row of `rejects.jsonl`: a rejected record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectRow<'r> {
    /// The file of the record.
    pub source: Cow<'r, str>,
    /// The line of the record in the file, from 1.
    pub line: u64,
    /// Why the record is not a document, and how to fix it.
    pub reason: Cow<'r, str>,
}
