//! The values that are stored as JSON: documents, counts of sources, and changes.

use serde::{Deserialize, Serialize};

use super::document::{BestMatch, Details, Verdict};
use super::error::CollectionError;

/// A document's entry in the table of documents: everything about it except its row and its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DocumentRecord {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) details: Details,
    /// The verdict that the document got when its current text was added.
    pub(crate) verdict: Verdict,
    /// The leader of the document's group, and the similarity to it; `None` if the document is the leader. The id may
    /// be that of an earlier leader with the same text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) best: Option<BestMatch>,
    /// The number of the document's last change.
    pub(crate) seq: u64,
    /// The Unix time in seconds when the document's current text was added.
    pub(crate) added: i64,
    /// The Unix time in seconds when the document last changed.
    pub(crate) changed: i64,
    /// The size of the document's text in bytes.
    pub(crate) bytes: u64,
}

/// The counts of one source: the documents stored now, and the documents added so far by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SourceRecord))]
pub struct SourceCounts {
    /// The number of documents of the source that are stored now.
    pub documents: u64,
    /// The number of documents that were new when they were added.
    pub new: u64,
    /// The number of documents that were exact copies of a stored document when they were added.
    pub exact: u64,
    /// The number of documents that were near-duplicates of a stored document when they were added.
    pub near: u64,
    /// The number of updates of documents of the source.
    pub updated: u64,
    /// The number of documents that were deleted or have expired.
    pub deleted: u64,
    /// The total size of all texts that were ever added, in bytes.
    pub bytes: u64,
}

/// The kind of a change of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ChangeKind {
    /// A new document was added.
    New,
    /// An exact copy of a stored document was added.
    Exact,
    /// A near-duplicate was added.
    Near,
    /// A document was updated.
    Updated,
    /// A document was deleted.
    Deleted,
    /// A document expired and was deleted.
    Expired,
    /// A document was placed again, because the leader of its group was deleted or changed its text. The document now
    /// leads the group `group_id`, or is a verified duplicate of that group's leader.
    Regrouped,
}

impl From<Verdict> for ChangeKind {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::New => Self::New,
            Verdict::Exact => Self::Exact,
            Verdict::Near => Self::Near,
            Verdict::Updated => Self::Updated,
        }
    }
}

/// One change of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Change {
    /// The number of the change. Later changes have higher numbers. Some numbers are not used.
    pub seq: u64,
    /// The kind of the change.
    pub change: ChangeKind,
    /// The id of the document that changed. Collections created before version 0.1 call this field `doc_id`.
    #[serde(alias = "doc_id")]
    pub id: String,
    /// The group that the document belongs to after the change; for a deletion, the group that it belonged to.
    pub group_id: u64,
}

/// Encodes a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<Vec<u8>, CollectionError> {
    serde_json::to_vec(value).map_err(|error| CollectionError::Invalid(error.to_string()))
}
