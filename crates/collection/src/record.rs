//! Records that are stored as JSON: documents, sources, changes.

use serde::{Deserialize, Serialize};

use super::document::{BestMatch, Details, Verdict};
use super::error::CollectionError;

/// The stored record of a document: everything except its row and its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DocumentRecord {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) details: Details,
    /// The verdict when its text was added.
    pub(crate) verdict: Verdict,
    /// The leader of its group and the similarity to it; `None` for a leader. The id may be that of an earlier leader of the same text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) best: Option<BestMatch>,
    /// The number of its last change.
    pub(crate) seq: u64,
    /// Unix time in seconds at which it was added.
    pub(crate) added: i64,
    /// Unix time in seconds at which it last changed.
    pub(crate) changed: i64,
    /// The size of its text in bytes.
    pub(crate) bytes: u64,
}

/// The counts of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SourceRecord))]
pub struct SourceCounts {
    /// The number of stored documents.
    pub documents: u64,
    /// Documents that were new when they were added.
    pub new: u64,
    /// Documents that were copies.
    pub exact: u64,
    /// Documents that were near-duplicates.
    pub near: u64,
    /// Updates of documents.
    pub updated: u64,
    /// Documents deleted or expired.
    pub deleted: u64,
    /// The total size of the added texts in bytes.
    pub bytes: u64,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ChangeKind {
    /// A new document was added.
    New,
    /// A copy was added.
    Exact,
    /// A near-duplicate was added.
    Near,
    /// A document was replaced.
    Updated,
    /// A document was deleted.
    Deleted,
    /// A document expired.
    Expired,
    /// A document was placed again because the leader of its group is gone: it leads the group of the change, or was verified against that
    /// group's leader.
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
    /// Its number. Numbers ascend and may have gaps.
    pub seq: u64,
    /// The kind of the change.
    pub change: ChangeKind,
    /// The id of the document. Collections created before 0.1 call the field `doc_id`.
    #[serde(alias = "doc_id")]
    pub id: String,
    /// The group that the document belongs to, or belonged to.
    pub group_id: u64,
}

/// Encodes a record as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<Vec<u8>, CollectionError> {
    serde_json::to_vec(value).map_err(|error| CollectionError::Invalid(error.to_string()))
}
