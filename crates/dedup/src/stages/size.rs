//! The size of the folder of a run on disk, for forecasts.

use super::tables::{
    ClassLink, DecisionRow, DocumentRow, EdgeRow, FingerprintRow, FollowerRow, GlobalClass, ItemRow, JoinRow,
    LocalClass, RowPair, VerifiedRow,
};
use crate::rows::{Number, Row};

/// The numbers of rows of a run on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCounts {
    pub(crate) documents: u64,
    pub(crate) texts: u64,
    pub(crate) candidates: u64,
}

/// Estimates the bytes of the rows in the folder, without texts and ids. The temporary files of the sorts of the last stage
/// are included; they are the largest.
pub(crate) fn bytes_of_rows(counts: RowCounts) -> u64 {
    let text = LocalClass::<()>::BYTES
        + ClassLink::BYTES
        + GlobalClass::<()>::BYTES
        + ItemRow::BYTES
        + FingerprintRow::BYTES
        + JoinRow::BYTES
        + 2 * Number::BYTES
        + 2 * DecisionRow::BYTES;
    let candidate = RowPair::BYTES + EdgeRow::BYTES;
    let verified = VerifiedRow::BYTES + FollowerRow::BYTES;
    counts.documents * DocumentRow::BYTES as u64
        + counts.texts * text as u64
        + counts.candidates * candidate as u64
        + counts.candidates.min(counts.texts) * verified as u64
}
