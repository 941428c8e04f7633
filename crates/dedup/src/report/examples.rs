//! The choice of the groups and pairs that the report shows as examples.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use twinprint_cluster::Similarity;

use crate::verify::near_misses::{NearMiss, NearMisses};

/// The largest number of groups that the report shows.
const MAX_GROUPS: usize = 10;
/// The largest number of pairs in the list of doubtful pairs, and in the list of near misses.
const MAX_PAIRS: usize = 6;

/// A pair of items that the report may show. Items are numbered by their positions in keep order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemPair {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) hamming: u32,
    pub(crate) similarity: Similarity,
}

impl ItemPair {
    /// A sort key of the pairs of leaders and followers. The least similar pair comes first.
    pub(crate) fn doubt(&self) -> Doubt {
        // Jaccards are in 0..=1, where the bit patterns of floats sort like the numbers. Without verification all
        // Jaccards are the same NaN.
        let jaccard = self.similarity.jaccard.to_bits();
        (jaccard, Reverse(self.hamming), self.b)
    }

    fn missed(miss: &NearMiss) -> Self {
        Self {
            a: miss.earlier,
            b: miss.item,
            hamming: miss.distance,
            similarity: miss.similarity,
        }
    }
}

/// The Jaccard, the distance and the follower of a pair, see [`ItemPair::doubt`].
pub(crate) type Doubt = (u64, Reverse<u32>, u64);

/// A group that the report may show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExampleGroup {
    pub(crate) leader: u64,
    /// The number of documents; 0 for a group of known texts, which is not counted.
    pub(crate) size: u32,
    /// The leader and its least similar follower; `None` if all texts of the group are equal.
    pub(crate) farthest: Option<ItemPair>,
}

/// The groups and pairs that the report shows. They do not depend on the order in which groups are added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Examples {
    largest: BTreeMap<(Reverse<u32>, u64), ExampleGroup>,
    doubtful: BTreeMap<Doubt, ItemPair>,
    misses: Vec<ItemPair>,
}

impl Examples {
    /// The closest near misses, to which groups are added.
    pub(crate) fn new(near_misses: &NearMisses) -> Self {
        Self {
            misses: near_misses
                .closest(MAX_PAIRS)
                .iter()
                .map(ItemPair::missed)
                .collect(),
            ..Self::default()
        }
    }

    /// Adds a group.
    pub(crate) fn add(&mut self, group: ExampleGroup) {
        if group.size > 1 {
            self.largest.insert((Reverse(group.size), group.leader), group);
            if self.largest.len() > MAX_GROUPS {
                self.largest.pop_last();
            }
        }
        if let Some(pair) = group.farthest {
            self.doubtful.insert(pair.doubt(), pair);
            if self.doubtful.len() > MAX_PAIRS {
                self.doubtful.pop_last();
            }
        }
    }

    /// The largest groups, the largest first.
    pub(crate) fn largest(&self) -> impl Iterator<Item = &ExampleGroup> {
        self.largest.values()
    }

    /// For each group, the pair of a leader and its least similar follower; the least similar pairs of all groups.
    pub(super) fn doubtful(&self) -> impl Iterator<Item = &ItemPair> {
        self.doubtful.values()
    }

    /// The closest near misses, the closest first.
    pub(super) fn misses(&self) -> &[ItemPair] {
        &self.misses
    }

    /// All items that are shown.
    pub(super) fn items(&self) -> impl Iterator<Item = u64> {
        let farthest = self.largest().filter_map(|group| group.farthest.as_ref());
        let pairs = farthest.chain(self.doubtful()).chain(&self.misses);
        let of_pairs = pairs.flat_map(|pair| [pair.a, pair.b]);
        self.largest().map(|group| group.leader).chain(of_pairs)
    }
}
