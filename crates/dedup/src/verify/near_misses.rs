//! Near misses: verified pairs just below the threshold, their number at each Jaccard, and the closest ones.
//!
//! They show the effect of a lower threshold. All threads record pairs concurrently. The result does not depend on the
//! order of the threads, since the closest pairs are chosen by a total order.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use twinprint_cluster::Similarity;

use crate::ids::ItemId;

/// The largest difference between the threshold and the Jaccard of a near miss. With a larger margin, fewer pairs are
/// decided by the histograms of their sets alone: a margin of 0.1 took 0.7 s of 24 s on a gigabyte of Chinese pages
/// with many similar documents.
const MARGIN: f64 = 0.05;
/// The largest number of near misses that are kept with their items; the others are only counted.
const MAX_KEPT: usize = 64;
/// The number of bands that Jaccards are counted in, of 2 per cent each.
const BANDS: usize = 51;

/// Two items whose Jaccard is just below the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NearMiss {
    /// The item that was decided earlier.
    pub(crate) earlier: ItemId,
    pub(crate) item: ItemId,
    /// The Hamming distance of the two items.
    pub(crate) distance: u32,
    pub(crate) similarity: Similarity,
}

/// The near misses of a run, collected by all threads.
pub(crate) struct NearMisses {
    least: f64,
    /// The number of near misses in each band of Jaccards.
    bands: [AtomicU64; BANDS],
    /// The largest rank with which a pair may still be kept.
    worst: AtomicU64,
    kept: Mutex<BTreeSet<RankedMiss>>,
}

/// A near miss, ordered by closeness: the pair with the highest Jaccard sorts first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RankedMiss {
    /// The inverted bit pattern of the Jaccard. In 0..=1 the bit patterns of floats sort like the numbers, so the
    /// highest Jaccard has the lowest rank.
    rank: u64,
    earlier: ItemId,
    item: ItemId,
    distance: u32,
    /// The bit pattern of the containment.
    containment: u64,
}

/// The band of a Jaccard, named by its lower end in per cent, an even number.
pub(crate) fn band(jaccard: f64) -> u32 {
    (jaccard * 50.0 + 1e-9).floor() as u32 * 2
}

impl NearMisses {
    /// An empty collection of near misses below `threshold`, by at most [`MARGIN`].
    pub(crate) fn below(threshold: f64) -> Self {
        Self {
            least: (threshold - MARGIN).max(f64::MIN_POSITIVE),
            bands: std::array::from_fn(|_| AtomicU64::new(0)),
            worst: AtomicU64::new(u64::MAX),
            kept: Mutex::default(),
        }
    }

    /// The lowest Jaccard of a near miss.
    pub(crate) fn least(&self) -> f64 {
        self.least
    }

    /// Records a verified pair below the threshold.
    pub(crate) fn note(&self, miss: NearMiss) {
        let NearMiss { similarity, .. } = miss;
        let slot = band(similarity.jaccard) as usize / 2;
        if let Some(count) = self.bands.get(slot) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let rank = !similarity.jaccard.to_bits();
        if rank > self.worst.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut kept) = self.kept.lock() else { return };
        kept.insert(RankedMiss {
            rank,
            earlier: miss.earlier,
            item: miss.item,
            distance: miss.distance,
            containment: similarity.containment.to_bits(),
        });
        if kept.len() > MAX_KEPT {
            kept.pop_last();
            if let Some(last) = kept.last() {
                self.worst.store(last.rank, Ordering::Relaxed);
            }
        }
    }

    /// The number of pairs in each band that has pairs. A band is named by its lower end in per cent.
    pub(crate) fn bands(&self) -> BTreeMap<u32, u64> {
        let counts = (0u32..).zip(&self.bands);
        counts
            .map(|(slot, count)| (2 * slot, count.load(Ordering::Relaxed)))
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    /// The `count` closest pairs, the closest first. Each earlier item is in at most one of them.
    pub(crate) fn closest(&self, count: usize) -> Vec<NearMiss> {
        let Ok(kept) = self.kept.lock() else {
            return Vec::new();
        };
        let mut seen = BTreeSet::new();
        let first = kept.iter().filter(|entry| seen.insert(entry.earlier));
        let miss = |entry: &RankedMiss| NearMiss {
            earlier: entry.earlier,
            item: entry.item,
            distance: entry.distance,
            similarity: Similarity {
                jaccard: f64::from_bits(!entry.rank),
                containment: f64::from_bits(entry.containment),
            },
        };
        first.take(count).map(miss).collect()
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;
    use crate::ids::Id;

    #[test]
    fn the_closest_pairs_do_not_depend_on_the_order_of_notes() {
        let pairs: Vec<(u32, u32, f64)> = (0..5000u32)
            .map(|i| {
                (
                    i % 700,
                    1000 + i,
                    0.7 + f64::from(i.wrapping_mul(2_654_435_761) % 997) / 10_000.0,
                )
            })
            .collect();
        let noted = NearMisses::below(0.8);
        pairs.par_iter().for_each(|&(earlier, item, jaccard)| {
            noted.note(NearMiss {
                earlier: ItemId::new(earlier),
                item: ItemId::new(item),
                distance: 3,
                similarity: Similarity {
                    jaccard,
                    containment: 0.9,
                },
            });
        });
        let mut plain = pairs.clone();
        plain.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
        plain.truncate(MAX_KEPT);
        let mut seen = BTreeSet::new();
        plain.retain(|pair| seen.insert(pair.0));
        let closest = noted.closest(10);
        let found: Vec<_> = closest
            .iter()
            .map(|m| (m.earlier.get(), m.item.get(), m.similarity.jaccard))
            .collect();
        assert_eq!(found, plain[..10]);
        assert_eq!(noted.bands().values().sum::<u64>(), 5000);
        assert_eq!(
            noted.bands().keys().copied().collect::<Vec<_>>(),
            [70, 72, 74, 76, 78]
        );
    }
}
