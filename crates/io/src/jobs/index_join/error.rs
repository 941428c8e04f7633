//! Errors of joins of stored fingerprints.

use twinprint_index::segment::SegmentError;
use twinprint_index::store::StoreError;

use crate::raw::RawError;
use crate::work::WorkError;

/// A join of stored fingerprints failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// A file of fingerprints cannot be read.
    #[error(transparent)]
    Raw(#[from] RawError),
    /// An index cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A segment, of an index or in the work directory, cannot be read or written.
    #[error(transparent)]
    Segment(SegmentError),
    /// The work directory cannot be created.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// The join has more rows than the limit allows.
    #[error(
        "the join has at least {rows} rows, more than the limit of {limit}; choose a smaller radius or a higher limit{}",
        if *.all_pairs { ", or request one row for each pair of fingerprints instead of each pair of ids" } else { "" }
    )]
    TooManyRows {
        /// The number of rows found before the join stopped.
        rows: u64,
        /// The largest number of rows allowed.
        limit: u64,
        /// True if each pair of ids is a row of its own.
        all_pairs: bool,
    },
    /// The caller cancelled the join.
    #[error("the join was interrupted")]
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
