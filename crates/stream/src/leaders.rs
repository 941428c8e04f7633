//! The leaders of a stream's groups: their compressed texts, and the index that finds the leaders and the centres of
//! the groups.
//!
//! A leader that was found is compared by its shingle set. Unless the set is cached, it is made again from the text.
//! The key of the shingle hash is random in every process and affects nothing that is written.
//!
//! The index identifies leaders and centres by *rows*. A row is a number that is never used again: the centre of a
//! group changes, but a row of the index must keep its fingerprint.

mod nearest;
mod packed_text;
mod space;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Serialize, Serializer};
use twinprint_cluster::groups::GroupPoint;
use twinprint_fingerprint::HashKey;
use twinprint_index::growing::MergePolicy;
use twinprint_text::overlap::{ShingleSet, Shingler};
use twinprint_text::{Measure, PreparedText};

use self::packed_text::{PackedText, TextPacker};
use self::space::LeaderSpace;
use super::leader_index::{
    LeaderIndex, LeaderIndexOptions, SHORT_TEXT_FEATURES, ShinglePrefix, ShingleSetCache,
};

/// The policy by which the rows of a stream's leaders are merged into larger tables. The stream waits for each merge,
/// so small merges are better.
const MERGE_POLICY: MergePolicy = MergePolicy {
    tail_rows: 4096,
    size_ratio: 1,
};
/// The width of the index in bits. Narrower fingerprints are padded with zeros.
const INDEX_BITS: u32 = 128;
/// The size of the cache of shingle sets, in bytes.
const MAX_CACHE_BYTES: usize = 64 << 20;

/// A leader in a state file. Its text is not compressed separately, since the whole state is compressed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredLeader {
    fingerprint: u128,
    #[serde(rename = "few")]
    is_short: bool,
    by_characters: bool,
    #[serde(rename = "bare")]
    is_empty: bool,
    text: String,
}

/// Serialises the leaders as [`StoredLeader`]s, in the order of their numbers. Texts are decompressed one at a time.
#[derive(Debug)]
pub(super) struct SerializeLeaders<'l>(&'l BTreeMap<u32, Leader>);

impl Serialize for SerializeLeaders<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut packer = TextPacker::new();
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (number, leader) in self.0 {
            let text = packer.unpack(&leader.text);
            let stored = StoredLeader {
                fingerprint: leader.fingerprint,
                is_short: leader.is_short,
                by_characters: leader.measure == Measure::CharGrams,
                is_empty: leader.is_empty,
                text: text.ok_or_else(|| S::Error::custom("a text does not unpack"))?,
            };
            map.serialize_entry(number, &stored)?;
        }
        map.end()
    }
}

/// A leader in memory.
#[derive(Clone, Debug)]
struct Leader {
    fingerprint: u128,
    /// True if the text has fewer than [`SHORT_TEXT_FEATURES`] features.
    is_short: bool,
    measure: Measure,
    /// True if the text has no features. Lookups never find such a leader.
    is_empty: bool,
    text: PackedText,
}

/// All leaders of the live groups, and the centres of these groups.
pub(super) struct Leaders {
    by_number: BTreeMap<u32, Leader>,
    centres: BTreeMap<u64, u128>,
    threshold: f64,
    radius: u32,
    index: LeaderIndex,
    /// The number of the row that is inserted next.
    next_row: u64,
    /// The leader or centre of each row of the index. The two maps below lead back from a leader or a group to its row.
    points: HashMap<u64, GroupPoint>,
    row_of_leader: HashMap<u32, u64>,
    row_of_centre: HashMap<u64, u64>,
    sets: ShingleSetCache<u32>,
    shingler: Shingler,
    packer: TextPacker,
}

impl fmt::Debug for Leaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaders")
            .field("leaders", &self.by_number.len())
            .finish_non_exhaustive()
    }
}

impl Leaders {
    /// Creates an instance without leaders. `key` is the key of the shingle hash.
    pub(super) fn new(threshold: f64, radius: u32, key: HashKey) -> Self {
        Self {
            by_number: BTreeMap::new(),
            centres: BTreeMap::new(),
            threshold,
            radius,
            index: LeaderIndex::new(LeaderIndexOptions {
                bits: INDEX_BITS,
                radius,
                threshold,
                merge_policy: MERGE_POLICY,
            }),
            next_row: 0,
            points: HashMap::new(),
            row_of_leader: HashMap::new(),
            row_of_centre: HashMap::new(),
            sets: ShingleSetCache::new(MAX_CACHE_BYTES),
            shingler: Shingler::new(key),
            packer: TextPacker::new(),
        }
    }

    /// The leaders and centres in the form in which a state stores them.
    pub(super) fn stored(&self) -> (SerializeLeaders<'_>, &BTreeMap<u64, u128>) {
        (SerializeLeaders(&self.by_number), &self.centres)
    }

    /// The number of leaders.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Restores the leaders and centres of a state. The instance must be empty.
    pub(super) fn restore(&mut self, stored: BTreeMap<u32, StoredLeader>, centres: BTreeMap<u64, u128>) {
        for (number, stored) in stored {
            let leader = Leader {
                fingerprint: stored.fingerprint,
                is_short: stored.is_short,
                measure: if stored.by_characters {
                    Measure::CharGrams
                } else {
                    Measure::WordGrams
                },
                is_empty: stored.is_empty,
                text: self.packer.pack(&stored.text),
            };
            let (is_found, is_short) = (!leader.is_empty, leader.is_short);
            let fingerprint = leader.fingerprint;
            self.by_number.insert(number, leader);
            if is_found {
                self.insert_point(GroupPoint::Leader(number), fingerprint);
                if is_short {
                    self.insert_short_text(number);
                }
            }
        }
        for (&group, &fingerprint) in &centres {
            self.insert_point(GroupPoint::Centre(group), fingerprint);
        }
        self.centres = centres;
    }

    /// Returns the leaders and centres as the group policy searches them for `item`.
    pub(super) fn space_for<'l>(&'l mut self, item: &'l PreparedText) -> LeaderSpace<'l> {
        LeaderSpace::new(self, item)
    }

    /// Inserts the document `item` as leader `number`.
    fn insert(&mut self, number: u32, item: &PreparedText) {
        let is_short = item.features() < SHORT_TEXT_FEATURES;
        let leader = Leader {
            fingerprint: item.fingerprint(),
            is_short,
            measure: item.measure(),
            is_empty: item.is_empty(),
            text: self.packer.pack(item.canonical()),
        };
        self.by_number.insert(number, leader);
        if !item.is_empty() {
            let row = self.insert_point(GroupPoint::Leader(number), item.fingerprint());
            if is_short {
                self.index
                    .insert_short_text(row, &shingle_prefix(item, self.threshold));
                self.index.maintain();
            }
        }
    }

    /// Removes the leader `number`.
    fn remove(&mut self, number: u32) {
        let row = self.row_of_leader.remove(&number);
        self.remove_row(row);
        let Some(leader) = self.by_number.remove(&number) else {
            return;
        };
        if leader.is_short && !leader.is_empty {
            self.index.remove_short_text(leader.measure);
            if self.index.is_rebuild_due(leader.measure) {
                self.rebuild_short_texts(leader.measure);
            }
        }
    }

    /// Sets the fingerprint of a group's centre; `None` removes the centre.
    fn set_centre(&mut self, group: u64, fingerprint: Option<u128>) {
        let before = match fingerprint {
            Some(fingerprint) => self.centres.insert(group, fingerprint),
            None => self.centres.remove(&group),
        };
        if before != fingerprint {
            let row = self.row_of_centre.remove(&group);
            self.remove_row(row);
            if let Some(fingerprint) = fingerprint {
                self.insert_point(GroupPoint::Centre(group), fingerprint);
            }
        }
    }

    /// Inserts the fingerprint of a leader or centre into the index, and returns its row.
    fn insert_point(&mut self, point: GroupPoint, fingerprint: u128) -> u64 {
        let row = self.next_row;
        self.next_row += 1;
        self.index.insert_fingerprint(row, fingerprint);
        self.index.maintain();
        self.points.insert(row, point);
        match point {
            GroupPoint::Leader(leader) => self.row_of_leader.insert(leader, row),
            GroupPoint::Centre(group) => self.row_of_centre.insert(group, row),
        };
        row
    }

    fn remove_row(&mut self, row: Option<u64>) {
        if let Some(row) = row {
            self.points.remove(&row);
            self.index.remove_fingerprint(row);
            self.index.maintain();
        }
    }

    /// Makes the shingles of a short leader from its text, and inserts them into the index.
    fn insert_short_text(&mut self, number: u32) {
        let Some(measure) = self.by_number.get(&number).map(|leader| leader.measure) else {
            return;
        };
        let row = self.row_of_leader.get(&number).copied();
        if let (Some(row), Some(set)) = (row, self.shingle_set(number, measure)) {
            let prefix = ShinglePrefix::new(set.shingles(), measure, self.threshold);
            self.index.insert_short_text(row, &prefix);
            self.index.maintain();
        }
    }

    /// Rebuilds the index of the short leaders of a measure, without the removed ones.
    fn rebuild_short_texts(&mut self, measure: Measure) {
        self.index.clear_short_texts(measure);
        let short: Vec<u32> = self
            .by_number
            .iter()
            .filter(|(_, leader)| leader.is_short && !leader.is_empty && leader.measure == measure)
            .map(|(&number, _)| number)
            .collect();
        for number in short {
            self.insert_short_text(number);
        }
    }

    /// Returns the shingle set of a leader in a measure, cached or made from the text; `None` if the leader does not
    /// exist.
    fn shingle_set(&mut self, number: u32, measure: Measure) -> Option<Arc<ShingleSet>> {
        if let Some(set) = self.sets.get(number, measure) {
            return Some(set);
        }
        let text = self.packer.unpack(&self.by_number.get(&number)?.text)?;
        let set = Arc::new(ShingleSet::new(self.shingler.shingle(&text, measure)));
        self.sets.insert(number, measure, Arc::clone(&set));
        Some(set)
    }
}

/// The prefix of an item's shingles by its own measure.
fn shingle_prefix(item: &PreparedText, threshold: f64) -> ShinglePrefix<'_> {
    let measure = item.measure();
    ShinglePrefix::new(item.shingle_set(measure).shingles(), measure, threshold)
}
