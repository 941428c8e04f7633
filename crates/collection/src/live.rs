//! The rows of a collection's documents in memory: searchable by number, id and text, with a similarity index of the
//! leaders.
//!
//! One [`Live`] contains the committed documents. A second, small one contains the documents that the current
//! transaction has added. Expired documents stay until they are deleted, so callers must check the expiry of every row
//! that they find.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use twinprint_index::growing::{MergePolicy, Neighbor};
use twinprint_stream::leader_index::{LeaderIndex, LeaderIndexOptions, ShinglePrefix};
use twinprint_text::Measure;

use super::row::Row;

/// The rows of documents in memory, searchable by number, id and text, with a similarity index of the group leaders.
pub(crate) struct Live {
    rows: FxHashMap<u64, Row>,
    ids: FxHashMap<u128, u64>,
    texts: FxHashMap<u128, EqualTexts>,
    /// The similarity index. It contains only the leaders of groups, by number.
    leaders: LeaderIndex,
    /// The documents that expire at some time, ordered by that time, then by number.
    expiring: BTreeSet<(i64, u64)>,
    /// For each merged story, the story that it was merged into.
    redirects: FxHashMap<u64, u64>,
}

/// Records that one story was merged into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoryMerge {
    /// The story that was merged and no longer exists.
    pub(crate) from: u64,
    /// The story that contains the documents of both.
    pub(crate) into: u64,
}

/// The numbers of the documents that have the same text. Nearly always it is one document.
enum EqualTexts {
    One(u64),
    Many(BTreeSet<u64>),
}

impl Live {
    /// Creates an empty set of rows for fingerprints of `bits` bits, which are searched within the radius `k`. Short
    /// texts are searched for a Jaccard of at least `threshold`.
    pub(crate) fn new(bits: u32, k: u32, threshold: f64) -> Self {
        Self {
            rows: FxHashMap::default(),
            ids: FxHashMap::default(),
            texts: FxHashMap::default(),
            leaders: LeaderIndex::new(LeaderIndexOptions {
                bits,
                radius: k,
                threshold,
                merge_policy: MergePolicy::default(),
            }),
            expiring: BTreeSet::new(),
            redirects: FxHashMap::default(),
        }
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of the document with this number.
    pub(crate) fn row(&self, ordinal: u64) -> Option<&Row> {
        self.rows.get(&ordinal)
    }

    /// Records that stories were merged, so that [`story`](Self::story) follows the merges.
    pub(crate) fn redirect(&mut self, merged: impl IntoIterator<Item = StoryMerge>) {
        let redirects = merged.into_iter().map(|merge| (merge.from, merge.into));
        self.redirects.extend(redirects);
    }

    /// The story that now contains the documents of `story`: the one it was merged into, or `story` itself. `None` if
    /// `story` is 0, which means that the document has no story.
    pub(crate) fn story(&self, mut story: u64) -> Option<u64> {
        while let Some(&into) = self.redirects.get(&story) {
            story = into;
        }
        (story != 0).then_some(story)
    }

    /// All rows, in no particular order.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = Row> {
        self.rows.into_values()
    }

    /// The row of the document whose id has this hash.
    pub(crate) fn by_id(&self, id: u128) -> Option<&Row> {
        self.rows.get(self.ids.get(&id)?)
    }

    /// The rows of the documents whose text has this hash, ascending by number.
    pub(crate) fn by_text(&self, text: u128) -> impl DoubleEndedIterator<Item = &Row> {
        let (one, many) = match self.texts.get(&text) {
            None => (None, None),
            Some(EqualTexts::One(ordinal)) => (Some(ordinal), None),
            Some(EqualTexts::Many(ordinals)) => (None, Some(ordinals)),
        };
        let ordinals = one.into_iter().chain(many.into_iter().flatten());
        ordinals.filter_map(|ordinal| self.rows.get(ordinal))
    }

    /// The leaders that may be duplicates of a document: their numbers, ascending, with their Hamming distances. If the
    /// document has a reliable fingerprint, the result contains all leaders within `k`. If its text is short, the
    /// result contains all leaders that may share enough shingles with it.
    pub(crate) fn candidates(&self, row: &Row, k: u32) -> Vec<Neighbor> {
        let mut candidates = Vec::new();
        if row.by_fingerprint {
            self.leaders
                .lookup_fingerprint(row.fingerprint, k, &mut candidates);
        }
        if row.set_size > 0 {
            let by_shingles = self.leaders.lookup_shingles(&prefix(row));
            candidates.extend(by_shingles.into_iter().filter_map(|ordinal| {
                let other = self.rows.get(&ordinal)?;
                let distance = (row.fingerprint ^ other.fingerprint).count_ones();
                Some(Neighbor {
                    id: ordinal,
                    distance,
                })
            }));
        }
        candidates.retain(|found| self.rows.get(&found.id).is_some_and(|row| row.leads));
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }

    /// Adds a row. A row with the same number must have been removed before.
    pub(crate) fn insert(&mut self, row: Row) {
        let ordinal = row.ordinal;
        self.ids.insert(row.id, ordinal);
        // A text without features is a duplicate of no text, not even of an equal one, so it is not found by its text.
        if row.features > 0 {
            self.insert_text(row.text, ordinal);
        }
        if row.expires != i64::MAX {
            self.expiring.insert((row.expires, ordinal));
        }
        if row.leads {
            if row.by_fingerprint {
                self.leaders.insert_fingerprint(ordinal, row.fingerprint);
            }
            if row.set_size > 0 {
                self.leaders.insert_short_text(ordinal, &prefix(&row));
            }
        }
        self.rows.insert(ordinal, row);
    }

    fn insert_text(&mut self, text: u128, ordinal: u64) {
        match self.texts.get_mut(&text) {
            None => {
                self.texts.insert(text, EqualTexts::One(ordinal));
            }
            Some(EqualTexts::Many(ordinals)) => {
                ordinals.insert(ordinal);
            }
            Some(same) => {
                if let EqualTexts::One(other) = *same
                    && other != ordinal
                {
                    *same = EqualTexts::Many(BTreeSet::from([other, ordinal]));
                }
            }
        }
    }

    /// Removes the row of the document with this number and returns it.
    pub(crate) fn remove(&mut self, ordinal: u64) -> Option<Row> {
        let row = self.rows.remove(&ordinal)?;
        if self.ids.get(&row.id) == Some(&ordinal) {
            self.ids.remove(&row.id);
        }
        let empty = match self.texts.get_mut(&row.text) {
            Some(EqualTexts::Many(ordinals)) => {
                ordinals.remove(&ordinal);
                ordinals.is_empty()
            }
            Some(EqualTexts::One(only)) => *only == ordinal,
            None => false,
        };
        if empty {
            self.texts.remove(&row.text);
        }
        self.expiring.remove(&(row.expires, ordinal));
        if row.leads {
            if row.by_fingerprint {
                self.leaders.remove_fingerprint(ordinal);
            }
            if row.set_size > 0 {
                self.leaders.remove_short_text(row.measure);
            }
        }
        Some(row)
    }

    /// The numbers of at most `limit` documents that have expired at the time `now`. Those that expired first come
    /// first.
    pub(crate) fn expired(&self, now: i64, limit: usize) -> Vec<u64> {
        let due = self.expiring.range(..=(now, u64::MAX));
        due.take(limit).map(|&(_, ordinal)| ordinal).collect()
    }

    /// Maintains the similarity index: rebuilds the search of short texts if it contains too many removed texts, and
    /// starts due merges in the background. Does not wait for merges.
    pub(crate) fn tidy(&mut self) {
        for measure in [Measure::WordGrams, Measure::CharGrams] {
            if self.leaders.is_rebuild_due(measure) {
                self.leaders.clear_short_texts(measure);
                let rows = self.rows.values();
                for row in rows.filter(|row| row.leads && row.set_size > 0 && row.measure == measure) {
                    self.leaders.insert_short_text(row.ordinal, &prefix(row));
                }
            }
        }
        self.leaders.maintain_in_background();
    }

    /// Merges all tables of the similarity index, after many rows have been added.
    pub(crate) fn arrange(&mut self) {
        self.leaders.merge();
        self.tidy();
    }
}

/// The shingles by which a document is found in the search of short texts.
fn prefix(row: &Row) -> ShinglePrefix<'_> {
    ShinglePrefix {
        measure: row.measure,
        set_size: row.set_size,
        tokens: &row.prefix,
    }
}
