//! Fingerprints by id, in a growing index of 64 or 128 bits.

use twinprint_fingerprint::Width;
use twinprint_index::GrowingIndex;
use twinprint_index::growing::{MergePolicy, Neighbor};

/// A [`GrowingIndex`] whose width is chosen at run time.
#[derive(Debug)]
pub(super) enum Fingerprints {
    Bits64(GrowingIndex<u64>),
    Bits128(GrowingIndex<u128>),
}

impl Fingerprints {
    pub(super) fn new(bits: u32, radius: u32, policy: MergePolicy) -> Self {
        if bits == 64 {
            Self::Bits64(GrowingIndex::with_policy(radius, policy))
        } else {
            Self::Bits128(GrowingIndex::with_policy(radius, policy))
        }
    }

    pub(super) fn insert(&mut self, id: u64, fingerprint: u128) {
        match self {
            Self::Bits64(index) => index.insert(id, u64::truncate(fingerprint)),
            Self::Bits128(index) => index.insert(id, fingerprint),
        }
    }

    pub(super) fn remove(&mut self, id: u64) {
        match self {
            Self::Bits64(index) => index.remove(id),
            Self::Bits128(index) => index.remove(id),
        }
    }

    pub(super) fn lookup(&self, fingerprint: u128, radius: u32, out: &mut Vec<Neighbor>) {
        match self {
            Self::Bits64(index) => index.lookup(u64::truncate(fingerprint), radius, out),
            Self::Bits128(index) => index.lookup(fingerprint, radius, out),
        }
    }

    pub(super) fn maintain(&mut self) {
        match self {
            Self::Bits64(index) => index.maintain(),
            Self::Bits128(index) => index.maintain(),
        }
    }

    pub(super) fn maintain_in_background(&mut self) {
        match self {
            Self::Bits64(index) => index.maintain_in_background(),
            Self::Bits128(index) => index.maintain_in_background(),
        }
    }

    pub(super) fn merge(&mut self) {
        match self {
            Self::Bits64(index) => index.merge(),
            Self::Bits128(index) => index.merge(),
        }
    }
}
