//! The rows of `clusters.jsonl`, `pairs.jsonl` and `rejects.jsonl`. One type serves writing, with borrowed strings, and reading.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Ratio;

/// The row of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterRow<'r> {
    /// The document's id.
    pub id: Cow<'r, str>,
    /// The file it was read from.
    pub source: Cow<'r, str>,
    /// Its line in the file, from 1.
    pub line: u64,
    /// The number of the leader among the documents, in input order.
    pub cluster_id: u32,
    /// Documents in the cluster.
    pub cluster_size: u32,
    /// True for the document that is kept.
    pub is_leader: bool,
    /// The id of the document that this one duplicates.
    pub duplicate_of: Option<Cow<'r, str>>,
    /// Hamming distance to that document's fingerprint.
    pub hamming: u32,
    /// Jaccard with that document; `None` if nothing was verified.
    pub jaccard: Option<Ratio>,
    /// The fingerprint in hexadecimal.
    pub fingerprint: Cow<'r, str>,
    /// The number of documents that this one represents, itself included.
    pub dup_count: u32,
    /// `Some(false)` if nothing was verified, else `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
}

/// The row of a duplicate pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairRow<'r> {
    /// The id of the earlier document.
    pub a: Cow<'r, str>,
    /// The id of the later document.
    pub b: Cow<'r, str>,
    /// Hamming distance of their fingerprints.
    pub hamming: u32,
    /// Their Jaccard; `None` if nothing was verified.
    pub jaccard: Option<Ratio>,
    /// Their containment; `None` if nothing was verified.
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

/// The row of a rejected record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectRow<'r> {
    /// The file it was read from.
    pub source: Cow<'r, str>,
    /// Its line in the file, from 1.
    pub line: u64,
    /// The reason why the record is not a document, and the fix.
    pub reason: Cow<'r, str>,
}
