//! A cache of shingle sets in two generations.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use twinprint_text::Measure;
use twinprint_text::overlap::ShingleSet;

/// The bytes that an entry of the cache takes in addition to its shingle set.
const ENTRY_BYTES: usize = 100;

/// A cache of shingle sets by document and measure. It has an approximate limit in bytes, and drops sets that were not
/// used lately.
///
/// Sets are in a young and an old generation, each with half of the bytes. When the young generation is full, it
/// replaces the old one. A set that is used moves to the young generation. So eviction takes no time per set.
///
/// The set of a document must never change, because the cache would return the earlier set.
///
/// ```
/// use std::sync::Arc;
/// use twinprint_stream::leader_index::ShingleSetCache;
/// use twinprint_text::Measure;
/// use twinprint_text::overlap::ShingleSet;
///
/// let mut cache = ShingleSetCache::new(1 << 20);
/// cache.insert(7u32, Measure::WordGrams, Arc::new(ShingleSet::new(vec![1, 2, 3])));
/// assert!(cache.get(7, Measure::WordGrams).is_some_and(|set| set.shingles() == [1, 2, 3]));
/// assert!(cache.get(7, Measure::CharGrams).is_none());
/// ```
pub struct ShingleSetCache<D> {
    young: FxHashMap<(D, Measure), Arc<ShingleSet>>,
    old: FxHashMap<(D, Measure), Arc<ShingleSet>>,
    young_bytes: usize,
    generation_bytes: usize,
}

impl<D> fmt::Debug for ShingleSetCache<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShingleSetCache")
            .field("young", &self.young.len())
            .field("old", &self.old.len())
            .field("young_bytes", &self.young_bytes)
            .finish_non_exhaustive()
    }
}

impl<D: Copy + Eq + Hash> ShingleSetCache<D> {
    /// Makes an empty cache with a limit of `max_bytes`. The newest set is cached even if it exceeds the limit.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            young: FxHashMap::default(),
            old: FxHashMap::default(),
            young_bytes: 0,
            generation_bytes: max_bytes / 2,
        }
    }

    /// Returns the shingle set of a document in a measure, if it is cached. O(1).
    pub fn get(&mut self, document: D, measure: Measure) -> Option<Arc<ShingleSet>> {
        if let Some(set) = self.young.get(&(document, measure)) {
            return Some(Arc::clone(set));
        }
        let set = self.old.remove(&(document, measure))?;
        self.insert(document, measure, Arc::clone(&set));
        Some(set)
    }

    /// Caches the shingle set of a document in a measure. Amortised O(1).
    pub fn insert(&mut self, document: D, measure: Measure, set: Arc<ShingleSet>) {
        let bytes = set.bytes() + ENTRY_BYTES;
        if self.young_bytes + bytes > self.generation_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        self.young.insert((document, measure), set);
    }

    /// The bytes of the cached shingle sets.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let sets = self.young.values().chain(self.old.values());
        sets.map(|set| set.bytes() + ENTRY_BYTES).sum()
    }
}
