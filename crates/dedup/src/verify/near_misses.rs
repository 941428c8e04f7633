//! Pairs that were verified and just missed the threshold: how many at each Jaccard, and the closest.
//!
//! They say what a lower threshold would have found. Pairs are noted from all threads at once; what is kept does not depend on
//! the order, since the closest are chosen by a total order.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use twinprint_cluster::{Candidate, Similarity};

/// How far below the threshold a pair is still noted. The further, the fewer pairs are settled by a glance: a tenth took 0.7 s of 24 on
/// a gigabyte of Chinese pages full of relatives.
const MARGIN: f64 = 0.05;
/// Pairs kept.
const KEPT: usize = 64;
/// Bands of a Jaccard: 2 per cent each.
const BANDS: usize = 51;

/// Two items whose Jaccard is below the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NearMiss {
    /// The one decided earlier.
    pub(crate) earlier: u32,
    pub(crate) item: u32,
    pub(crate) distance: u32,
    pub(crate) similarity: Similarity,
}

/// What sorts the closest pairs first: the bits of a Jaccard, inverted (those of numbers in 0..=1 order as they do), and the items.
type Key = (u64, u32, u32);

/// See the module.
pub(crate) struct NearMisses {
    least: f64,
    bands: [AtomicU64; BANDS],
    /// The inverted bits that a pair must be below to be kept.
    worst: AtomicU64,
    kept: Mutex<BTreeSet<Entry>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: Key,
    distance: u32,
    containment: u64,
}

/// The band of a Jaccard: its lower end in per cent, an even number.
pub(crate) fn band(jaccard: f64) -> u32 {
    (jaccard * 50.0 + 1e-9).floor() as u32 * 2
}

impl NearMisses {
    /// Those below `threshold`, by a twentieth at most.
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
    pub(crate) fn note(&self, earlier: Candidate, item: u32, similarity: Similarity) {
        let slot = band(similarity.jaccard) as usize / 2;
        if let Some(count) = self.bands.get(slot) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let closeness = !similarity.jaccard.to_bits();
        if closeness > self.worst.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut kept) = self.kept.lock() else { return };
        kept.insert(Entry {
            key: (closeness, earlier.id, item),
            distance: earlier.distance,
            containment: similarity.containment.to_bits(),
        });
        if kept.len() > KEPT {
            kept.pop_last();
            if let Some(last) = kept.last() {
                self.worst.store(last.key.0, Ordering::Relaxed);
            }
        }
    }

    /// How many pairs there are in each band, from its lower end in per cent.
    pub(crate) fn bands(&self) -> BTreeMap<u32, u64> {
        let counts = (0u32..).zip(&self.bands);
        counts
            .map(|(slot, count)| (2 * slot, count.load(Ordering::Relaxed)))
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    /// The closest pairs, the closest first, one at most for each earlier item.
    pub(crate) fn closest(&self, most: usize) -> Vec<NearMiss> {
        let Ok(kept) = self.kept.lock() else {
            return Vec::new();
        };
        let mut seen = BTreeSet::new();
        let first = kept.iter().filter(|entry| seen.insert(entry.key.1));
        let miss = |entry: &Entry| NearMiss {
            earlier: entry.key.1,
            item: entry.key.2,
            distance: entry.distance,
            similarity: Similarity {
                jaccard: f64::from_bits(!entry.key.0),
                containment: f64::from_bits(entry.containment),
            },
        };
        first.take(most).map(miss).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn the_closest_are_kept_whatever_the_order() {
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
            let candidate = Candidate {
                id: earlier,
                rank: 0,
                distance: 3,
            };
            noted.note(
                candidate,
                item,
                Similarity {
                    jaccard,
                    containment: 0.9,
                },
            );
        });
        let mut plain = pairs.clone();
        plain.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
        plain.truncate(KEPT);
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
