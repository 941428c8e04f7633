//! The short leaders that are measured by one measure, indexed by the prefixes of their shingle sets.

use twinprint_index::{PrefixFilter, PrefixIndex};
use twinprint_text::Measure;

/// The number of removed texts below which no rebuild is due, so that small indexes are not rebuilt.
const MIN_REMOVED: usize = 4096;

/// The prefix of a shingle set, by which the prefix filter finds the set, and the size of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShinglePrefix<'s> {
    /// The measure of the shingles. Sets of different measures have no shingle in common.
    pub measure: Measure,
    /// The number of shingles in the whole set.
    pub set_size: u32,
    /// The prefix: the first shingles of the sorted set.
    pub tokens: &'s [u64],
}

impl<'s> ShinglePrefix<'s> {
    /// Takes the prefix of a sorted shingle set for a Jaccard threshold. Shingles are ordered by their hashes. This
    /// order is the same for all sets, while an order of rarity would change as documents arrive.
    pub fn new(shingles: &'s [u64], measure: Measure, threshold: f64) -> Self {
        let length = PrefixFilter::new(threshold).prefix_len(shingles.len());
        Self {
            measure,
            set_size: shingles.len() as u32,
            tokens: shingles.get(..length).unwrap_or_default(),
        }
    }
}

/// A prefix index whose texts have ids of 64 bits, and the number of texts that were removed.
#[derive(Debug)]
pub(super) struct ShortTexts {
    index: PrefixIndex,
    /// The id of the text with each number in the index. A removed text keeps its entry until the index is rebuilt.
    ids: Vec<u64>,
    removed: usize,
}

impl ShortTexts {
    pub(super) fn new(threshold: f64) -> Self {
        Self {
            index: PrefixIndex::new(threshold),
            ids: Vec::new(),
            removed: 0,
        }
    }

    pub(super) fn insert(&mut self, id: u64, prefix: &ShinglePrefix<'_>) {
        // The cast does not overflow, because the index refuses more sets than 32 bits can number.
        let number = self.ids.len() as u32;
        self.index.insert(number, prefix.set_size, prefix.tokens);
        self.ids.push(id);
    }

    pub(super) fn remove(&mut self) {
        self.removed += 1;
    }

    pub(super) fn lookup(&self, query: &ShinglePrefix<'_>) -> Vec<u64> {
        let mut numbers = Vec::new();
        self.index
            .probe(query.set_size, query.tokens, false, &mut numbers);
        let mut ids: Vec<u64> = numbers
            .iter()
            .filter_map(|&number| self.ids.get(number as usize).copied())
            .collect();
        // A text that was removed and inserted again has two numbers in the index, but its id is returned once.
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    pub(super) fn is_rebuild_due(&self) -> bool {
        self.removed > MIN_REMOVED && self.removed * 2 > self.ids.len()
    }

    pub(super) fn seal(&mut self) {
        self.index.seal();
    }
}
