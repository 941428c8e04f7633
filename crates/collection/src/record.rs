//! What is stored as JSON: documents, sources, changes.

use serde::{Deserialize, Serialize};

use super::document::{Best, Details, Verdict};

/// A document but for its row and its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DocumentRecord {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) details: Details,
    /// What it was when its text came in.
    pub(crate) verdict: Verdict,
    /// The likeness to the leader of its group; none of a leader. The id may be that of an earlier leader of the same text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) best: Option<Best>,
    /// The last change to it.
    pub(crate) seq: u64,
    /// Unix time in seconds at which it came in, and last changed.
    pub(crate) added: i64,
    pub(crate) changed: i64,
    /// Bytes of its text.
    pub(crate) bytes: u64,
}

/// What is counted of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SourceRecord {
    /// Documents there are.
    pub documents: u64,
    /// Documents that came in as new.
    pub new: u64,
    /// As equal to one there was.
    pub exact: u64,
    /// As near-duplicates.
    pub near: u64,
    /// Updates of documents.
    pub updated: u64,
    /// Documents deleted or expired.
    pub deleted: u64,
    /// Bytes of text that came in.
    pub bytes: u64,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ChangeKind {
    /// A document came in that was new.
    New,
    /// A copy came in.
    Exact,
    /// A near-duplicate came in.
    Near,
    /// A document was replaced.
    Updated,
    /// A document was deleted.
    Deleted,
    /// A document reached its time.
    Expired,
    /// The leader of a document's group has gone, and the document was placed again: it leads the group named, or was verified against its leader.
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
    /// Its number; numbers ascend and may leave gaps.
    pub seq: u64,
    /// What happened.
    pub change: ChangeKind,
    /// To which document. Collections made before 0.1 call it `doc_id`.
    #[serde(alias = "doc_id")]
    pub id: String,
    /// The group it belongs to, or belonged to.
    pub group_id: u64,
}
