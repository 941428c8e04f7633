//! The leaders of a stream's groups: their texts, packed, and the ways to find them.
//!
//! A leader is found by its fingerprint, or by its group's centre; one of few features by its shingles as well, since so few votes
//! leave a fingerprint to chance. It is then compared by its shingle set, cut anew from its text unless it was of use lately. The
//! key of the shingles is drawn anew with every process and decides nothing that is written.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Serialize, Serializer};
use twinprint_cluster::Similarity;
use twinprint_cluster::groups::{Near, Space};
use twinprint_fingerprint::{HashKey, Width};
use twinprint_index::PrefixIndex;
use twinprint_index::growing::{GrowingIndex, Neighbor};
use twinprint_text::Measure;
use twinprint_text::overlap::{ShingleSet, Shingler, overlap};

use super::packed::{Packed, Packer};
use super::prepare::Content;
use super::search::{MERGE_POLICY, split_crowd};
use crate::options::MIN_FEATURES;

/// Texts of fewer features are found by their shingles as well: so few that duplicates on either side of [`MIN_FEATURES`] meet.
const FEW_FEATURES: u32 = 2 * MIN_FEATURES;
/// Bytes of shingle sets kept for further use.
const SETS: usize = 64 << 20;
/// Rows looked at for each leader that may be compared, the nearest: in a crowd, where there are more, they are not even put in order.
const CROWD: usize = 4;
/// What makes a relative: a share of all shingles, or of those of the smaller text.
const RELATED: (f64, f64) = (0.3, 0.8);

/// A leader as it is stored: with its text as it is, since a state is packed as a whole.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredLeader {
    fingerprint: u128,
    few: bool,
    by_characters: bool,
    #[serde(rename = "bare")]
    is_empty: bool,
    text: String,
}

/// Leaders on their way into a state; texts are unpacked one by one.
#[derive(Debug)]
pub(super) struct ToStore<'l>(&'l BTreeMap<u32, Leader>);

impl Serialize for ToStore<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut packer = Packer::new();
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (number, leader) in self.0 {
            let text = packer.unpack(&leader.text);
            let stored = StoredLeader {
                fingerprint: leader.fingerprint,
                few: leader.few,
                by_characters: leader.by_characters,
                is_empty: leader.is_empty,
                text: text.ok_or_else(|| S::Error::custom("a text does not unpack"))?,
            };
            map.serialize_entry(number, &stored)?;
        }
        map.end()
    }
}

/// A leader.
#[derive(Clone, Debug)]
struct Leader {
    fingerprint: u128,
    /// Whether its features are few.
    few: bool,
    by_characters: bool,
    is_empty: bool,
    text: Packed,
}

impl Leader {
    fn measure(&self) -> Measure {
        if self.by_characters {
            Measure::CharGrams
        } else {
            Measure::WordGrams
        }
    }
}

/// Shingle sets of leaders by measure, in two generations: when the young are half of [`SETS`], they are the old.
#[derive(Debug, Default)]
struct Sets {
    young: HashMap<(u32, bool), Arc<ShingleSet>>,
    old: HashMap<(u32, bool), Arc<ShingleSet>>,
    bytes: usize,
}

impl Sets {
    fn get(&mut self, key: (u32, bool)) -> Option<Arc<ShingleSet>> {
        if let Some(set) = self.young.get(&key) {
            return Some(Arc::clone(set));
        }
        let set = self.old.remove(&key)?;
        self.put(key, Arc::clone(&set));
        Some(set)
    }

    fn put(&mut self, key: (u32, bool), set: Arc<ShingleSet>) {
        self.bytes += set.bytes();
        self.young.insert(key, set);
        if self.bytes > SETS / 2 {
            self.bytes = 0;
            self.old = std::mem::take(&mut self.young);
        }
    }
}

/// All leaders.
pub(super) struct Leaders {
    held: BTreeMap<u32, Leader>,
    centres: BTreeMap<u64, u128>,
    threshold: f64,
    radius: u32,
    index: GrowingIndex<u128>,
    /// The number of the next row of the index.
    next_row: u64,
    /// The leader or centre of each row of the index, and the row of each leader and centre.
    rows: HashMap<u64, Near>,
    row_of_leader: HashMap<u32, u64>,
    row_of_centre: HashMap<u64, u64>,
    /// Leaders of few features, by words and by characters.
    few: [PrefixIndex; 2],
    /// Retired leaders that are still in `few`.
    stale: usize,
    sets: Sets,
    shingler: Shingler,
    packer: Packer,
}

impl fmt::Debug for Leaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaders")
            .field("held", &self.held.len())
            .finish_non_exhaustive()
    }
}

impl Leaders {
    /// No leaders.
    pub(super) fn new(threshold: f64, radius: u32, key: HashKey) -> Self {
        Self {
            held: BTreeMap::new(),
            centres: BTreeMap::new(),
            threshold,
            radius,
            index: GrowingIndex::with_policy(radius, MERGE_POLICY),
            next_row: 0,
            rows: HashMap::new(),
            row_of_leader: HashMap::new(),
            row_of_centre: HashMap::new(),
            few: [PrefixIndex::new(threshold), PrefixIndex::new(threshold)],
            stale: 0,
            sets: Sets::default(),
            shingler: Shingler::new(key),
            packer: Packer::new(),
        }
    }

    /// What is stored of them.
    pub(super) fn stored(&self) -> (ToStore<'_>, &BTreeMap<u64, u128>) {
        (ToStore(&self.held), &self.centres)
    }

    /// Leaders held.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Takes what was stored; there must be none yet.
    pub(super) fn restore(&mut self, stored: BTreeMap<u32, StoredLeader>, centres: BTreeMap<u64, u128>) {
        for (number, leader) in stored {
            if !leader.is_empty {
                self.put(Near::Leader(number), leader.fingerprint);
            }
            let leader = Leader {
                fingerprint: leader.fingerprint,
                few: leader.few,
                by_characters: leader.by_characters,
                is_empty: leader.is_empty,
                text: self.packer.pack(&leader.text),
            };
            self.held.insert(number, leader);
        }
        for (&group, &at) in &centres {
            self.put(Near::Centre(group), at);
        }
        self.centres = centres;
        self.index_few();
    }

    fn put(&mut self, what: Near, fingerprint: u128) {
        let row = self.next_row;
        self.next_row += 1;
        self.index.insert(row, fingerprint);
        self.index.maintain();
        self.rows.insert(row, what);
        match what {
            Near::Leader(leader) => self.row_of_leader.insert(leader, row),
            Near::Centre(group) => self.row_of_centre.insert(group, row),
        };
    }

    fn take(&mut self, row: Option<u64>) {
        if let Some(row) = row {
            self.rows.remove(&row);
            self.index.remove(row);
            self.index.maintain();
        }
    }

    /// The shingle set of a leader by a measure; nothing for a leader that is not held.
    fn set(&mut self, leader: u32, measure: Measure) -> Option<Arc<ShingleSet>> {
        let key = (leader, measure == Measure::CharGrams);
        if let Some(set) = self.sets.get(key) {
            return Some(set);
        }
        let text = self.text(leader)?;
        let set = Arc::new(ShingleSet::new(self.shingler.shingle(&text, measure)));
        self.sets.put(key, Arc::clone(&set));
        Some(set)
    }

    fn text(&mut self, leader: u32) -> Option<String> {
        self.packer.unpack(&self.held.get(&leader)?.text)
    }

    fn insert_few(&mut self, leader: u32, measure: Measure, set: &ShingleSet) {
        let index = &mut self.few[usize::from(measure == Measure::CharGrams)];
        let shingles = set.shingles();
        // Hashes are as good an order as any; counts would change it as the stream goes on.
        let prefix = index.prefix_len(shingles.len());
        index.insert(leader, shingles.len() as u32, &shingles[..prefix]);
        index.seal();
    }

    /// Makes the index of leaders with few features anew.
    fn index_few(&mut self) {
        self.few = [PrefixIndex::new(self.threshold), PrefixIndex::new(self.threshold)];
        self.stale = 0;
        let few: Vec<(u32, Measure)> = self
            .held
            .iter()
            .filter(|(_, leader)| leader.few && !leader.is_empty)
            .map(|(&number, leader)| (number, leader.measure()))
            .collect();
        for (number, measure) in few {
            if let Some(set) = self.set(number, measure) {
                self.insert_few(number, measure, &set);
            }
        }
    }

    /// The space around an item.
    pub(super) fn around<'l>(&'l mut self, item: &'l Content) -> Around<'l> {
        Around {
            leaders: self,
            item,
            other: None,
        }
    }

    /// Forgets a leader.
    fn retire(&mut self, leader: u32) {
        let row = self.row_of_leader.remove(&leader);
        self.take(row);
        if self.held.remove(&leader).is_some_and(|leader| leader.few) {
            self.stale += 1;
            if self.stale > 1000 + self.held.len() {
                self.index_few();
            }
        }
    }
}

/// The leaders, as an item sees them.
pub(super) struct Around<'l> {
    leaders: &'l mut Leaders,
    item: &'l Content,
    /// The item's set by the measure that is not its own.
    other: Option<ShingleSet>,
}

impl Around<'_> {
    /// Calls `f` with both shingle sets; `None` for a leader that is not held.
    fn compare<T>(&mut self, leader: u32, f: impl FnOnce(&ShingleSet, &ShingleSet) -> T) -> Option<T> {
        let held = self.leaders.held.get(&leader)?;
        let measure = held.measure().with(self.item.measure);
        let theirs = self.leaders.set(leader, measure)?;
        let own = if measure == self.item.measure {
            &self.item.set
        } else {
            let (shingler, text) = (&mut self.leaders.shingler, &self.item.text);
            self.other
                .get_or_insert_with(|| ShingleSet::new(shingler.shingle(text, measure)))
        };
        Some(f(own, &theirs))
    }
}

impl Space for Around<'_> {
    fn near(&mut self, most: usize, out: &mut Vec<(Near, u32)>) -> usize {
        if self.item.is_empty {
            return 0;
        }
        let mut rows = Vec::new();
        let (index, radius) = (&self.leaders.index, self.leaders.radius);
        index.lookup(self.item.fingerprint, radius, &mut rows);
        let what = |row: &Neighbor| Some((*self.leaders.rows.get(&row.id)?, row.distance));
        let (near, far) = split_crowd(&mut rows, CROWD.saturating_mul(most));
        out.extend(near.iter().filter_map(what));
        let leaders = out.iter().filter(|(near, _)| matches!(near, Near::Leader(_)));
        let mut left_out = far.len();
        if leaders.count() < most {
            out.extend(far.iter().filter_map(what));
            left_out = 0;
        }
        if self.item.features < FEW_FEATURES {
            let index = &self.leaders.few[usize::from(self.item.measure == Measure::CharGrams)];
            let shingles = self.item.set.shingles();
            let prefix = index.prefix_len(shingles.len());
            let mut few = Vec::new();
            index.probe(shingles.len() as u32, &shingles[..prefix], &mut few);
            let by_rows: BTreeSet<u32> = out
                .iter()
                .filter_map(|(near, _)| match near {
                    Near::Leader(leader) => Some(*leader),
                    Near::Centre(_) => None,
                })
                .collect();
            out.extend(few.into_iter().filter_map(|leader| {
                let held = self.leaders.held.get(&leader)?;
                let distance = held.fingerprint.distance(self.item.fingerprint);
                (!by_rows.contains(&leader)).then_some((Near::Leader(leader), distance))
            }));
        }
        // By what they are, not by their rows, which a stored state does not keep.
        out.sort_unstable_by_key(|&(near, distance)| match near {
            Near::Leader(leader) => (distance, false, u64::from(leader)),
            Near::Centre(group) => (distance, true, group),
        });
        left_out
    }

    fn verify(&mut self, leader: u32) -> Option<Similarity> {
        let threshold = self.leaders.threshold;
        let overlap = self.compare(leader, |a, b| a.overlap_at_least(b, threshold))??;
        Some(Similarity {
            jaccard: overlap.jaccard(),
            containment: overlap.containment(),
        })
    }

    fn related(&mut self, leader: u32) -> bool {
        let (jaccard, containment) = RELATED;
        let overlap = self.compare(leader, |a, b| overlap(a.shingles(), b.shingles()));
        overlap.is_some_and(|o| o.jaccard() >= jaccard || o.containment() >= containment)
    }

    fn lead(&mut self, leader: u32) {
        let item = self.item;
        let few = item.features < FEW_FEATURES;
        let text = self.leaders.packer.pack(&item.text);
        if !item.is_empty {
            self.leaders.put(Near::Leader(leader), item.fingerprint);
            if few {
                self.leaders.insert_few(leader, item.measure, &item.set);
            }
        }
        self.leaders.held.insert(
            leader,
            Leader {
                fingerprint: item.fingerprint,
                few,
                by_characters: item.measure == Measure::CharGrams,
                is_empty: item.is_empty,
                text,
            },
        );
    }

    fn retire(&mut self, leader: u32) {
        self.leaders.retire(leader);
    }

    fn centre(&mut self, group: u64, at: Option<u128>) {
        let before = match at {
            Some(at) => self.leaders.centres.insert(group, at),
            None => self.leaders.centres.remove(&group),
        };
        if before != at {
            let row = self.leaders.row_of_centre.remove(&group);
            self.leaders.take(row);
            if let Some(at) = at {
                self.leaders.put(Near::Centre(group), at);
            }
        }
    }
}
