//! The contradictions in a result.

use std::fmt;

use serde::Serialize;

/// A contradiction in a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultProblem {
    /// The counts of the report do not add up.
    Counts {
        /// Records read.
        read: u64,
        /// Records kept.
        kept: u64,
        /// Records removed.
        removed: u64,
        /// Records rejected.
        rejected: u64,
    },
    /// A file or a folder has another number of records than the report states.
    Files {
        /// The records that were counted.
        place: &'static str,
        /// Their number.
        found: u64,
        /// The number in the report.
        expected: u64,
    },
    /// A document duplicates one that is not kept.
    LeaderNotKept {
        /// The id of the document.
        id: String,
        /// The id of the document that it duplicates.
        leader: String,
    },
    /// A document was removed as a duplicate below the threshold.
    BelowThreshold {
        /// The id of the document.
        id: String,
        /// The id of the document that it duplicates.
        leader: String,
        /// The Jaccard that was written.
        jaccard: f64,
    },
    /// The texts of a document and its leader have another Jaccard than the one that was written.
    OtherJaccard {
        /// The id of the document.
        id: String,
        /// The id of the document that it duplicates.
        leader: String,
        /// The Jaccard that was written.
        written: f64,
        /// The Jaccard of the texts.
        exact: f64,
    },
}

impl fmt::Display for ResultProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counts {
                read,
                kept,
                removed,
                rejected,
            } => write!(
                f,
                "the report counts {read} records read, but {kept} kept, {removed} removed and {rejected} rejected ones"
            ),
            Self::Files {
                place,
                found,
                expected,
            } => write!(f, "{place}: {found}; the report counts {expected}"),
            Self::LeaderNotKept { id, leader } => {
                write!(
                    f,
                    "{id:?} was removed as a duplicate of {leader:?}, which is not kept"
                )
            }
            Self::BelowThreshold { id, leader, jaccard } => write!(
                f,
                "{id:?} was removed as a duplicate of {leader:?} at Jaccard {jaccard}, which is below the threshold"
            ),
            Self::OtherJaccard {
                id,
                leader,
                written,
                exact,
            } => write!(
                f,
                "{id:?} has Jaccard {exact:.6} to {leader:?}, of which it was removed as a duplicate at {written}"
            ),
        }
    }
}
