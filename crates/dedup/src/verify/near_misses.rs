//! Near misses: candidate pairs of two leaders just below the threshold, their number at each Jaccard, and the closest.
//!
//! They show the effect of a lower threshold. Both texts of a near miss lead a group, so the pair does not depend on
//! the order in which items are verified and decided. All threads note pairs concurrently. A pair waits until its later
//! item is decided, and is dropped if that item follows a leader.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use twinprint_cluster::Similarity;

use crate::options::least_near_miss;

/// The largest number of near misses that are kept with their items; the others are only counted.
const MAX_KEPT: usize = 64;
/// The number of parts that the waiting pairs are divided into, so that threads rarely wait for one another.
const SHARDS: usize = 64;

/// Two items whose Jaccard is just below the threshold. Items are numbered by their positions in keep order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NearMiss {
    pub(crate) earlier: u64,
    pub(crate) item: u64,
    /// The Hamming distance of the two items.
    pub(crate) distance: u32,
    pub(crate) similarity: Similarity,
}

/// The near misses of a run, in the end, or of an item.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct NearMisses {
    /// The number of near misses in each band of Jaccards. A band is named by its lower end in per cent.
    bands: BTreeMap<u32, u64>,
    /// The closest near misses.
    kept: BTreeSet<RankedMiss>,
}

/// A near miss, ordered by closeness: the pair with the highest Jaccard sorts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct RankedMiss {
    /// The inverted bit pattern of the Jaccard. In 0..=1 the bit patterns of floats sort like the numbers, so the
    /// highest Jaccard has the lowest rank.
    rank: u64,
    earlier: u64,
    item: u64,
    distance: u32,
    /// The bit pattern of the containment.
    containment: u64,
}

impl RankedMiss {
    fn miss(self) -> NearMiss {
        NearMiss {
            earlier: self.earlier,
            item: self.item,
            distance: self.distance,
            similarity: Similarity {
                jaccard: f64::from_bits(!self.rank),
                containment: f64::from_bits(self.containment),
            },
        }
    }
}

/// The band of a Jaccard of 2 per cent, named by its lower end in per cent, an even number.
pub(crate) fn band(jaccard: f64) -> u32 {
    (jaccard * 50.0 + 1e-9).floor() as u32 * 2
}

impl NearMisses {
    /// Adds a pair of two leaders.
    pub(crate) fn add(&mut self, miss: NearMiss) {
        let NearMiss { similarity, .. } = miss;
        *self.bands.entry(band(similarity.jaccard)).or_default() += 1;
        self.keep(RankedMiss {
            rank: !similarity.jaccard.to_bits(),
            earlier: miss.earlier,
            item: miss.item,
            distance: miss.distance,
            containment: similarity.containment.to_bits(),
        });
    }

    /// Adds the near misses of an item.
    fn add_all(&mut self, other: &Self) {
        for (&band, count) in &other.bands {
            *self.bands.entry(band).or_default() += count;
        }
        for &miss in &other.kept {
            self.keep(miss);
        }
    }

    fn keep(&mut self, miss: RankedMiss) {
        if self.kept.len() < MAX_KEPT || self.kept.last().is_some_and(|last| miss < *last) {
            self.kept.insert(miss);
        }
        if self.kept.len() > MAX_KEPT {
            self.kept.pop_last();
        }
    }

    /// The near misses with other numbers of their items. `number` must keep their order.
    pub(crate) fn renumbered(self, number: impl Fn(u64) -> u64) -> Self {
        let renumber = |miss: RankedMiss| RankedMiss {
            earlier: number(miss.earlier),
            item: number(miss.item),
            ..miss
        };
        Self {
            bands: self.bands,
            kept: self.kept.into_iter().map(renumber).collect(),
        }
    }

    /// The number of pairs in each band that has pairs. A band is named by its lower end in per cent.
    pub(crate) fn bands(&self) -> &BTreeMap<u32, u64> {
        &self.bands
    }

    /// The `count` closest pairs, the closest first. Each earlier item is in at most one of them.
    pub(crate) fn closest(&self, count: usize) -> Vec<NearMiss> {
        let mut seen = BTreeSet::new();
        let first = self.kept.iter().filter(|entry| seen.insert(entry.earlier));
        first.take(count).map(|entry| entry.miss()).collect()
    }
}

/// The near misses of a run while its items are decided.
pub(crate) struct NotedMisses {
    least: f64,
    decided: NearMisses,
    /// For each item that is not decided, the pairs with earlier leaders.
    waiting: [Mutex<HashMap<u64, NearMisses>>; SHARDS],
}

impl NotedMisses {
    /// An empty collection of near misses just below `threshold`; see [`least_near_miss`].
    pub(crate) fn below(threshold: f64) -> Self {
        Self {
            least: least_near_miss(threshold),
            decided: NearMisses::default(),
            waiting: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// The lowest Jaccard of a near miss.
    pub(crate) fn least(&self) -> f64 {
        self.least
    }

    /// Notes a verified pair below the threshold whose earlier item leads.
    pub(crate) fn note(&self, miss: NearMiss) {
        if let Ok(mut waiting) = self.waiting[miss.item as usize % SHARDS].lock() {
            waiting.entry(miss.item).or_default().add(miss);
        }
    }

    /// Adds the pairs of an item that leads, or drops those of an item that follows.
    pub(crate) fn decide(&mut self, item: u64, leads: bool) {
        let Ok(waiting) = self.waiting[item as usize % SHARDS].get_mut() else {
            return;
        };
        if let Some(misses) = waiting.remove(&item).filter(|_| leads) {
            self.decided.add_all(&misses);
        }
    }

    /// Drops the pairs of the items that are not decided, which are verified again.
    pub(crate) fn drop_undecided(&mut self) {
        for waiting in &mut self.waiting {
            if let Ok(waiting) = waiting.get_mut() {
                waiting.clear();
            }
        }
    }

    /// The near misses of the decided items.
    pub(crate) fn finish(self) -> NearMisses {
        self.decided
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn pairs_of_followers_are_no_near_misses() {
        let mut noted = NotedMisses::below(0.8);
        let miss = |earlier, item| NearMiss {
            earlier,
            item,
            distance: 3,
            similarity: Similarity {
                jaccard: 0.79,
                containment: 0.9,
            },
        };
        noted.note(miss(0, 1));
        noted.note(miss(0, 2));
        noted.note(miss(1, 3));
        noted.decide(1, true);
        noted.decide(2, false);
        // The pair of an item that is verified again counts once.
        noted.drop_undecided();
        noted.note(miss(1, 3));
        noted.decide(3, true);
        let found = noted.finish();
        assert_eq!(found.closest(9), [miss(0, 1), miss(1, 3)]);
        assert_eq!(found.bands(), &BTreeMap::from([(78, 2)]));
    }

    #[test]
    fn the_closest_pairs_do_not_depend_on_the_order_of_notes() {
        let pairs: Vec<(u64, u64, f64)> = (0..5000u32)
            .map(|i| {
                (
                    u64::from(i % 700),
                    u64::from(1000 + i),
                    0.7 + f64::from(i.wrapping_mul(2_654_435_761) % 997) / 10_000.0,
                )
            })
            .collect();
        let mut noted = NotedMisses::below(0.8);
        pairs.par_iter().for_each(|&(earlier, item, jaccard)| {
            noted.note(NearMiss {
                earlier,
                item,
                distance: 3,
                similarity: Similarity {
                    jaccard,
                    containment: 0.9,
                },
            });
        });
        for item in 1000..6000 {
            noted.decide(item, true);
        }
        let noted = noted.finish();
        let mut plain = pairs.clone();
        plain.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
        plain.truncate(MAX_KEPT);
        let mut seen = BTreeSet::new();
        plain.retain(|pair| seen.insert(pair.0));
        let closest = noted.closest(10);
        let found: Vec<_> = closest
            .iter()
            .map(|m| (m.earlier, m.item, m.similarity.jaccard))
            .collect();
        assert_eq!(found, plain[..10]);
        assert_eq!(noted.bands().values().sum::<u64>(), 5000);
        assert_eq!(
            noted.bands().keys().copied().collect::<Vec<_>>(),
            [70, 72, 74, 76, 78]
        );
    }
}
