//! The size of the folder of a run on disk, and the memory of its tasks, for forecasts.

use super::part_tables::{
    PartPlaceRow, PartRow, SharedRow, SharedTextRow, TextRow, TextSizeRow, WinnowedRow,
};
use super::tables::{
    ClassLink, DecisionRow, DocumentRow, EdgeRow, FingerprintRow, FollowerRow, GlobalClass, ItemRow, JoinRow,
    LocalClass, RowPair, VerifiedRow,
};
use crate::rows::{Number, Row};

/// The share of the fingerprints of partial copies that several texts have, and of those that make a row and a place of
/// a partial copy. Both vary from corpus to corpus.
const SHARED: f64 = 0.5;
const IN_ROWS: f64 = 0.08;

/// The numbers of rows of a run on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCounts {
    pub(crate) documents: u64,
    pub(crate) texts: u64,
    /// The texts whose fingerprints are joined.
    pub(crate) joined: u64,
    /// The pairs of fingerprints within the radius.
    pub(crate) row_pairs: u64,
    pub(crate) candidates: u64,
}

/// The numbers of rows of the stages that search partial copies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartCounts {
    pub(crate) texts: u64,
    pub(crate) fingerprints: u64,
}

/// The part of a task's memory that the estimates of its tables leave free, one of this number.
const RESERVE: u64 = 32;

/// The bytes that the parts of a task may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskBytes {
    memory: u64,
    /// A slice of a part, or a block of rows or texts.
    pub(crate) slice: u64,
    /// An external sort.
    pub(crate) sort: u64,
}

impl TaskBytes {
    /// The bytes of the parts of a task of `memory` bytes.
    pub(crate) fn of(memory: u64) -> Self {
        Self {
            memory,
            slice: memory / 2,
            sort: memory / 4,
        }
    }

    /// The candidates of the set join, which are sorted while they are found.
    pub(crate) fn candidates(self) -> u64 {
        self.memory / 8
    }

    /// The index of the set join, beside `tables` bytes of its members and counters. A smaller index would have more chunks,
    /// and all later members are read again for each chunk. So it has a quarter of the memory at least, even if the tables
    /// leave less.
    pub(crate) fn index(self, tables: u64) -> u64 {
        let left = self
            .memory
            .saturating_sub(tables + self.candidates() + self.memory / RESERVE);
        left.max(self.memory / 4)
    }
}

/// Estimates the bytes of the rows in the folder, without texts and ids. `memory` is that of a task: if the decisions do not
/// fit into it, they are sorted in temporary files.
pub(crate) fn bytes_of_rows(counts: RowCounts, memory: u64) -> u64 {
    let text = LocalClass::<()>::BYTES
        + ClassLink::BYTES
        + GlobalClass::<()>::BYTES
        + ItemRow::BYTES
        + DecisionRow::BYTES;
    let decisions = counts.texts * DecisionRow::BYTES as u64;
    let sorted = if decisions > TaskBytes::of(memory).sort / 2 {
        decisions
    } else {
        0
    };
    let joined = FingerprintRow::BYTES + JoinRow::BYTES + 2 * Number::BYTES;
    let verified = VerifiedRow::BYTES + FollowerRow::BYTES;
    counts.documents * DocumentRow::BYTES as u64
        + counts.texts * text as u64
        + sorted
        + counts.joined * joined as u64
        + counts.row_pairs * RowPair::BYTES as u64
        + counts.candidates * EdgeRow::BYTES as u64
        + counts.candidates.min(counts.texts) * verified as u64
}

/// Estimates the bytes of the rows of the stages that search partial copies.
pub(crate) fn bytes_of_parts(counts: PartCounts) -> u64 {
    let text = TextRow::BYTES + TextSizeRow::BYTES + SharedTextRow::BYTES;
    let of_all = WinnowedRow::BYTES as f64
        + SharedRow::BYTES as f64 * SHARED
        + (PartRow::BYTES + PartPlaceRow::BYTES) as f64 * IN_ROWS;
    counts.texts * text as u64 + (counts.fingerprints as f64 * of_all) as u64
}
