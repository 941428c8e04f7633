//! Near misses: verified pairs just below the threshold, their number at each Jaccard, and the closest ones.
//!
//! They show the effect of a lower threshold. All threads note pairs at once. The result does not depend on their order, since the closest
//! pairs are chosen by a total order.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use twinprint_cluster::Similarity;

use crate::ids::ItemId;

/// The largest distance of a near miss from the threshold. The larger the margin, the fewer pairs are decided by the histograms of their
/// sets alone: a margin of 0.1 took 0.7 s of 24 s on a gigabyte of Chinese pages with many similar documents.
const MARGIN: f64 = 0.05;
/// The largest number of pairs that are kept.
const MAX_KEPT: usize = 64;
/// The number of bands of a Jaccard, of 2 per cent each.
const BANDS: usize = 51;

/// Two items whose Jaccard is below the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NearMiss {
    /// The item that was decided earlier.
    pub(crate) earlier: ItemId,
    pub(crate) item: ItemId,
    /// The Hamming distance.
    pub(crate) distance: u32,
    pub(crate) similarity: Similarity,
}

/// The near misses of a run.
pub(crate) struct NearMisses {
    least: f64,
    /// The number of pairs in each band.
    bands: [AtomicU64; BANDS],
    /// The largest rank of a pair that may be kept.
    worst: AtomicU64,
    kept: Mutex<BTreeSet<RankedMiss>>,
}

/// A near miss in the order of closeness: the closest pair is the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RankedMiss {
    /// The inverted bits of the Jaccard. The bits of numbers in 0..=1 have the order of the numbers.
    rank: u64,
    earlier: ItemId,
    item: ItemId,
    distance: u32,
    /// The bits of the containment.
    containment: u64,
}

/// The band of a Jaccard: its lower end in per cent, an even number.
pub(crate) fn band(jaccard: f64) -> u32 {
    (jaccard * 50.0 + 1e-9).floor() as u32 * 2
}

impl NearMisses {
    /// An empty collection for pairs below `threshold`, by [`MARGIN`] at most.
    pub(crate) fn below(threshold: f64) -> Self {
        Self {
            least: (threshold - MARGIN).max(f64::MIN_POSITIVE),
            bands: std::array::from_fn(|_| AtomicU64::new(0)),
            worst: AtomicU64::new(u64::MAX),
            kept: Mutex::default(),
        }
    }

    /// The least Jaccard of a pair to note.
    pub(crate) fn least(&self) -> f64 {
        self.least
    }

    /// Notes a verified pair below the threshold.
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

    /// The number of pairs in each band that has any, by the lower end of the band in per cent.
    pub(crate) fn bands(&self) -> BTreeMap<u32, u64> {
        let counts = (0u32..).zip(&self.bands);
        counts
            .map(|(slot, count)| (2 * slot, count.load(Ordering::Relaxed)))
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    /// The `count` closest pairs, the closest first, at most one for each earlier item.
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
