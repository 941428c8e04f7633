//! Errors of joins of stored fingerprints.

use twinprint_index::segment::SegmentError;
use twinprint_index::store::StoreError;

use crate::raw::RawError;
use crate::work::WorkError;

/// A failed join.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// A file of fingerprints cannot be read.
    #[error(transparent)]
    Raw(#[from] RawError),
    /// An index cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A segment of an index or of the work directory cannot be read or written.
    #[error(transparent)]
    Segment(SegmentError),
    /// The work directory cannot be created.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// The join has more rows than the limit.
    #[error(
        "the join has {rows} rows or more (the limit is {limit}): ask for a smaller radius, or allow more rows{}",
        if *.all_pairs { "; rows of distinct fingerprints are fewer than rows of all pairs of ids" } else { "" }
    )]
    TooManyRows {
        /// The number of rows found before the join stopped.
        rows: u64,
        /// The limit.
        limit: u64,
        /// True if each pair of ids is a row.
        all_pairs: bool,
    },
    /// The caller cancelled the join.
    #[error("interrupted")]
    Interrupted,
}

impl From<SegmentError> for JoinError {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Stopped => Self::Interrupted,
            error => Self::Segment(error),
        }
    }
}
