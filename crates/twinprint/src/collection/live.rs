//! The documents of a collection in memory: rows, and the ways to find them.
//!
//! One [`Live`] holds what is committed; a second one, small, what the group of writes at hand has added so far. What is looked up
//! holds at the time it is asked for: rows that have expired are left out.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use twinprint_index::PrefixIndex;
use twinprint_text::Measure;

use super::near::LeaderIndex;
use super::row::Row;

/// Sets arranged anew when more of them are gone than this, and than are left.
const GONE_SETS: usize = 4096;

/// Rows by number, id, text, fingerprint and shingle set.
pub(crate) struct Live {
    rows: FxHashMap<u64, Row>,
    ids: FxHashMap<u128, u64>,
    texts: FxHashMap<u128, Same>,
    near: LeaderIndex,
    sets: [Sets; 2],
    expiring: BTreeSet<(i64, u64)>,
    /// Stories that are now part of others, and of which.
    redirects: FxHashMap<u64, u64>,
    threshold: f64,
}

/// The documents of one text: nearly always one.
enum Same {
    One(u64),
    Many(BTreeSet<u64>),
}

/// The short leaders of one measure by their prefixes.
struct Sets {
    index: PrefixIndex,
    /// The row of each number in the index.
    ordinals: Vec<u64>,
    gone: usize,
}

impl Live {
    pub(crate) fn new(bits: u32, k: u32, threshold: f64) -> Self {
        Self {
            rows: FxHashMap::default(),
            ids: FxHashMap::default(),
            texts: FxHashMap::default(),
            near: LeaderIndex::new(bits, k),
            sets: [Sets::new(threshold), Sets::new(threshold)],
            expiring: BTreeSet::new(),
            redirects: FxHashMap::default(),
            threshold,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn row(&self, ordinal: u64) -> Option<&Row> {
        self.rows.get(&ordinal)
    }

    /// Stories have become part of others.
    pub(crate) fn redirect(&mut self, merged: impl IntoIterator<Item = (u64, u64)>) {
        self.redirects.extend(merged);
    }

    /// What has become of a story; none of 0.
    pub(crate) fn story(&self, mut story: u64) -> Option<u64> {
        while let Some(&into) = self.redirects.get(&story) {
            story = into;
        }
        (story != 0).then_some(story)
    }

    pub(crate) fn into_rows(self) -> impl Iterator<Item = Row> {
        self.rows.into_values()
    }

    /// The document of an id.
    pub(crate) fn by_id(&self, id: u128) -> Option<&Row> {
        self.rows.get(self.ids.get(&id)?)
    }

    /// The documents of a text, the first that came first.
    pub(crate) fn by_text(&self, text: u128) -> impl DoubleEndedIterator<Item = &Row> {
        let (one, many) = match self.texts.get(&text) {
            None => (None, None),
            Some(Same::One(ordinal)) => (Some(ordinal), None),
            Some(Same::Many(ordinals)) => (None, Some(ordinals)),
        };
        let ordinals = one.into_iter().chain(many.into_iter().flatten());
        ordinals.filter_map(|ordinal| self.rows.get(ordinal))
    }

    /// Appends the numbers of the leaders that may be duplicates of a row, with Hamming distances: all within `k` where its fingerprint is
    /// sound, all that may share enough shingles where it is short. Each once, in no order.
    pub(crate) fn candidates(&self, row: &Row, k: u32, out: &mut Vec<(u64, u32)>) {
        let from = out.len();
        if row.by_fingerprint {
            self.near.lookup(row.fingerprint, k, out);
        }
        if row.set_size > 0 {
            let sets = &self.sets[place(row.measure)];
            let mut found = Vec::new();
            sets.index.probe(row.set_size, &row.prefix, &mut found);
            out.extend(found.iter().filter_map(|&at| {
                let other = self.rows.get(sets.ordinals.get(at as usize)?)?;
                let distance = (row.fingerprint ^ other.fingerprint).count_ones();
                Some((other.ordinal, distance))
            }));
        }
        let mut mine = out.split_off(from);
        mine.retain(|(ordinal, _)| self.rows.get(ordinal).is_some_and(|row| row.leads));
        mine.sort_unstable();
        mine.dedup();
        out.append(&mut mine);
    }

    /// Adds a row; one of the same number must have been removed before.
    pub(crate) fn insert(&mut self, row: Row) {
        let ordinal = row.ordinal;
        self.ids.insert(row.id, ordinal);
        // A text without features duplicates nothing, not even its copy.
        if row.features > 0 {
            self.insert_text(row.text, ordinal);
        }
        if row.expires != i64::MAX {
            self.expiring.insert((row.expires, ordinal));
        }
        if row.leads {
            if row.by_fingerprint {
                self.near.insert(ordinal, row.fingerprint);
            }
            if row.set_size > 0 {
                self.sets[place(row.measure)].insert(&row);
            }
        }
        self.rows.insert(ordinal, row);
    }

    fn insert_text(&mut self, text: u128, ordinal: u64) {
        match self.texts.get_mut(&text) {
            None => {
                self.texts.insert(text, Same::One(ordinal));
            }
            Some(Same::Many(ordinals)) => {
                ordinals.insert(ordinal);
            }
            Some(same) => {
                if let Same::One(other) = *same
                    && other != ordinal
                {
                    *same = Same::Many(BTreeSet::from([other, ordinal]));
                }
            }
        }
    }

    /// Takes a row out.
    pub(crate) fn remove(&mut self, ordinal: u64) -> Option<Row> {
        let row = self.rows.remove(&ordinal)?;
        if self.ids.get(&row.id) == Some(&ordinal) {
            self.ids.remove(&row.id);
        }
        let empty = match self.texts.get_mut(&row.text) {
            Some(Same::Many(ordinals)) => {
                ordinals.remove(&ordinal);
                ordinals.is_empty()
            }
            Some(Same::One(only)) => *only == ordinal,
            None => false,
        };
        if empty {
            self.texts.remove(&row.text);
        }
        self.expiring.remove(&(row.expires, ordinal));
        if row.leads {
            if row.by_fingerprint {
                self.near.remove(ordinal);
            }
            if row.set_size > 0 {
                self.sets[place(row.measure)].gone += 1;
            }
        }
        Some(row)
    }

    /// Numbers of documents that have expired by `now`, at most so many.
    pub(crate) fn expired(&self, now: i64, most: usize) -> Vec<u64> {
        let due = self.expiring.range(..=(now, u64::MAX));
        due.take(most).map(|&(_, ordinal)| ordinal).collect()
    }

    /// Arranges what has grown.
    pub(crate) fn tidy(&mut self) {
        self.near.maintain_in_background();
        for measure in [Measure::WordGrams, Measure::CharGrams] {
            let sets = &mut self.sets[place(measure)];
            sets.index.seal();
            if sets.gone > GONE_SETS && sets.gone * 2 > sets.ordinals.len() {
                let mut anew = Sets::new(self.threshold);
                let rows = self.rows.values();
                for row in rows.filter(|row| row.leads && row.set_size > 0 && row.measure == measure) {
                    anew.insert(row);
                }
                anew.index.seal();
                self.sets[place(measure)] = anew;
            }
        }
    }

    /// Arranges everything, after many rows have been added.
    pub(crate) fn arrange(&mut self) {
        self.near.merge();
        self.tidy();
    }
}

impl Sets {
    fn new(threshold: f64) -> Self {
        Self {
            index: PrefixIndex::new(threshold),
            ordinals: Vec::new(),
            gone: 0,
        }
    }

    fn insert(&mut self, row: &Row) {
        // Beyond 2^32 - 1 sets memory would have ended long before.
        let id = self.ordinals.len() as u32;
        self.index.insert(id, row.set_size, &row.prefix);
        self.ordinals.push(row.ordinal);
    }
}

fn place(measure: Measure) -> usize {
    usize::from(measure == Measure::CharGrams)
}
