//! The covered fingerprints: those in a passage that many texts share.

use std::sync::atomic::{AtomicU64, Ordering};

/// A set of fingerprints of texts. Each text has a list of its fingerprints, and the lists follow one another in a table.
/// A fingerprint of a text is known by its position in this table.
pub(crate) struct Covered {
    bits: Vec<AtomicU64>,
}

impl Covered {
    /// An empty set of the fingerprints of a table with `entries` entries.
    pub(crate) fn none(entries: u64) -> Self {
        let words = entries.div_ceil(64);
        Self {
            bits: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    pub(crate) fn is_set(&self, position: u64) -> bool {
        let word = &self.bits[(position / 64) as usize];
        word.load(Ordering::Relaxed) >> (position % 64) & 1 == 1
    }

    /// Marks a fingerprint of a text as covered. Bits are set and never cleared, so the result does not depend on the
    /// order of the threads.
    pub(crate) fn set(&self, position: u64) {
        self.bits[(position / 64) as usize].fetch_or(1 << (position % 64), Ordering::Relaxed);
    }

    /// The bits of all positions, 64 in each number, the first in its lowest bit.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.bits.iter().map(|word| word.load(Ordering::Relaxed))
    }
}
