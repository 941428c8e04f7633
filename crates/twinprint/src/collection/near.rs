//! The fingerprints of the leaders, for lookups within a radius: a [`GrowingIndex`] of the collection's width.
//!
//! Neither insertion nor lookup waits for a merge of its tables: merges run on a thread of their own.

use twinprint_fingerprint::Width;
use twinprint_index::GrowingIndex;

/// Fingerprints by row number, of 64 or 128 bits.
pub(crate) enum LeaderIndex {
    Bits64(GrowingIndex<u64>),
    Bits128(GrowingIndex<u128>),
}

impl LeaderIndex {
    /// An empty index, planned for lookups within `k`.
    pub(crate) fn new(bits: u32, k: u32) -> Self {
        if bits == 64 {
            Self::Bits64(GrowingIndex::new(k))
        } else {
            Self::Bits128(GrowingIndex::new(k))
        }
    }

    /// Adds a row. A number that was removed may return with the same fingerprint.
    pub(crate) fn insert(&mut self, ordinal: u64, fingerprint: u128) {
        match self {
            Self::Bits64(index) => index.insert(ordinal, u64::truncate(fingerprint)),
            Self::Bits128(index) => index.insert(ordinal, fingerprint),
        }
    }

    /// Removes a row that was inserted.
    pub(crate) fn remove(&mut self, ordinal: u64) {
        match self {
            Self::Bits64(index) => index.remove(ordinal),
            Self::Bits128(index) => index.remove(ordinal),
        }
    }

    /// Appends number and distance of every row within `k`, in no particular order.
    pub(crate) fn lookup(&self, fingerprint: u128, k: u32, out: &mut Vec<(u64, u32)>) {
        let mut neighbors = Vec::new();
        match self {
            Self::Bits64(index) => index.lookup(u64::truncate(fingerprint), k, &mut neighbors),
            Self::Bits128(index) => index.lookup(fingerprint, k, &mut neighbors),
        }
        out.extend(neighbors.iter().map(|row| (row.id, row.distance)));
    }

    /// Adopts a merge that has ended, and starts one if it is due. Never waits.
    pub(crate) fn maintain_in_background(&mut self) {
        match self {
            Self::Bits64(index) => index.maintain_in_background(),
            Self::Bits128(index) => index.maintain_in_background(),
        }
    }

    /// Merges on the calling thread, after many rows have been added.
    pub(crate) fn merge(&mut self) {
        match self {
            Self::Bits64(index) => index.merge(),
            Self::Bits128(index) => index.merge(),
        }
    }
}
