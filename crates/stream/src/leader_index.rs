//! An index of leaders: finds the leaders that may be duplicates of a document. Streams and collections search it.
//!
//! A leader is found in two ways. [`LeaderIndex::lookup_fingerprint`] finds leaders within a Hamming radius, in a
//! [`GrowingIndex`](twinprint_index::GrowingIndex). A text with fewer than [`SHORT_TEXT_FEATURES`] features gives so
//! few votes that its fingerprint is partly chance. So leaders with such texts are also found by their shingles, with a
//! prefix filter ([`PrefixIndex`](twinprint_index::PrefixIndex)): [`LeaderIndex::lookup_shingles`].
//!
//! The caller compares the candidates by their shingle sets. A [`ShingleSetCache`] keeps the sets that were used last.
//!
//! Invariants:
//! * Both lookups are exact: no leader within the radius, and no short leader at the threshold, is missed.
//! * Results do not depend on when [`maintain`](LeaderIndex::maintain) and its variants are called.

mod fingerprints;
mod shingle_set_cache;
mod short_texts;
#[cfg(test)]
mod tests;

use twinprint_index::growing::{MergePolicy, Neighbor};
use twinprint_text::{MIN_FEATURES, Measure};

pub use shingle_set_cache::ShingleSetCache;
pub use short_texts::ShinglePrefix;

use fingerprints::Fingerprints;
use short_texts::ShortTexts;

/// The number of features below which a text is also found by its shingles. It is twice [`MIN_FEATURES`], so that a
/// text with fewer than [`MIN_FEATURES`] features finds every text that can be its duplicate.
pub const SHORT_TEXT_FEATURES: u32 = 2 * MIN_FEATURES;

/// The options of a [`LeaderIndex`].
#[derive(Clone, Copy, Debug)]
pub struct LeaderIndexOptions {
    /// The width of the fingerprints in bits. For any width other than 64, tables for 128 bits are used.
    pub bits: u32,
    /// The radius for which tables are planned. A lookup within a larger radius compares every row.
    pub radius: u32,
    /// The minimum Jaccard at which short texts are duplicates.
    pub threshold: f64,
    /// The policy for merging rows into larger tables.
    pub merge_policy: MergePolicy,
}

/// The leaders by fingerprint and, if their texts are short, by shingles. The caller chooses the ids of leaders.
///
/// ```
/// use twinprint_index::growing::MergePolicy;
/// use twinprint_stream::leader_index::{LeaderIndex, LeaderIndexOptions, ShinglePrefix};
/// use twinprint_text::Measure;
///
/// let mut index = LeaderIndex::new(LeaderIndexOptions {
///     bits: 64,
///     radius: 3,
///     threshold: 0.5,
///     merge_policy: MergePolicy::default(),
/// });
/// index.insert_fingerprint(7, 0b0111);
/// let shingles = [10, 20, 30, 40]; // sorted hashes
/// index.insert_short_text(7, &ShinglePrefix::new(&shingles, Measure::WordGrams, 0.5));
/// index.maintain();
///
/// let mut neighbors = Vec::new();
/// index.lookup_fingerprint(0b0001, 3, &mut neighbors);
/// assert_eq!((neighbors[0].id, neighbors[0].distance), (7, 2));
///
/// let similar = ShinglePrefix::new(&[10, 20, 30, 50], Measure::WordGrams, 0.5);
/// assert_eq!(index.lookup_shingles(&similar), [7]);
/// ```
#[derive(Debug)]
pub struct LeaderIndex {
    threshold: f64,
    fingerprints: Fingerprints,
    /// The short texts that are measured by words, and those measured by characters.
    short_texts: [ShortTexts; 2],
}

impl LeaderIndex {
    /// Makes an index without leaders.
    pub fn new(options: LeaderIndexOptions) -> Self {
        let LeaderIndexOptions {
            bits,
            radius,
            threshold,
            merge_policy,
        } = options;
        Self {
            threshold,
            fingerprints: Fingerprints::new(bits, radius, merge_policy),
            short_texts: [ShortTexts::new(threshold), ShortTexts::new(threshold)],
        }
    }

    /// Inserts the fingerprint of an id that has none. If a fingerprint of the id was removed before, the new one must
    /// be equal to it. O(1); call [`maintain`](Self::maintain) or
    /// [`maintain_in_background`](Self::maintain_in_background) afterwards.
    pub fn insert_fingerprint(&mut self, id: u64, fingerprint: u128) {
        self.fingerprints.insert(id, fingerprint);
    }

    /// Removes the fingerprint of an id, which must have one. O(1).
    pub fn remove_fingerprint(&mut self, id: u64) {
        self.fingerprints.remove(id);
    }

    /// Inserts a short text by the prefix of its shingle set. Amortised O(prefix).
    pub fn insert_short_text(&mut self, id: u64, prefix: &ShinglePrefix<'_>) {
        self.short_texts_mut(prefix.measure).insert(id, prefix);
    }

    /// Counts one short text of a measure as removed. Its postings stay, and lookups may return its id, until the
    /// caller rebuilds the short texts of that measure (see [`is_rebuild_due`](Self::is_rebuild_due)). O(1).
    pub fn remove_short_text(&mut self, measure: Measure) {
        self.short_texts_mut(measure).remove();
    }

    /// Appends the fingerprints within `radius` of `fingerprint` to `out`, each once, in no particular order.
    pub fn lookup_fingerprint(&self, fingerprint: u128, radius: u32, out: &mut Vec<Neighbor>) {
        self.fingerprints.lookup(fingerprint, radius, out);
    }

    /// The ids of the short texts that may reach the threshold with the query, distinct and ascending. They are
    /// measured like the query, share a token of its prefix, and have a shingle set of a fitting size. Ids of removed
    /// texts may be among them.
    pub fn lookup_shingles(&self, query: &ShinglePrefix<'_>) -> Vec<u64> {
        let [by_words, by_characters] = &self.short_texts;
        match query.measure {
            Measure::WordGrams => by_words.lookup(query),
            Measure::CharGrams => by_characters.lookup(query),
        }
    }

    /// Returns `true` if most short texts of a measure are removed, so that a rebuild saves memory and time. To
    /// rebuild, call [`clear_short_texts`](Self::clear_short_texts) and insert the texts that remain.
    pub fn is_rebuild_due(&self, measure: Measure) -> bool {
        let [by_words, by_characters] = &self.short_texts;
        match measure {
            Measure::WordGrams => by_words.is_rebuild_due(),
            Measure::CharGrams => by_characters.is_rebuild_due(),
        }
    }

    /// Removes all short texts of a measure with their postings.
    pub fn clear_short_texts(&mut self, measure: Measure) {
        *self.short_texts_mut(measure) = ShortTexts::new(self.threshold);
    }

    /// Merges tables on the calling thread if a merge is due.
    pub fn maintain(&mut self) {
        self.fingerprints.maintain();
        self.seal();
    }

    /// Starts a merge of tables in the background if one is due, and adopts the result of a merge that has ended. Never
    /// waits for a merge.
    pub fn maintain_in_background(&mut self) {
        self.fingerprints.maintain_in_background();
        self.seal();
    }

    /// Merges tables on the calling thread even if no merge is due. Useful after many insertions.
    pub fn merge(&mut self) {
        self.fingerprints.merge();
        self.seal();
    }

    fn seal(&mut self) {
        self.short_texts.iter_mut().for_each(ShortTexts::seal);
    }

    fn short_texts_mut(&mut self, measure: Measure) -> &mut ShortTexts {
        let [by_words, by_characters] = &mut self.short_texts;
        match measure {
            Measure::WordGrams => by_words,
            Measure::CharGrams => by_characters,
        }
    }
}
