//! Where the centres of live stories lie: fingerprints by random hyperplanes (Charikar 2002), compared all at once.
//!
//! Two vectors of cosine c differ in a share arccos(c)/π of the bits. Stories are loose (cosines of .2 to .6), too far apart for any table to
//! tell near from far; but a scan takes a few nanoseconds a story, and 512 bits tell well enough whose cosine is worth computing: with 7,000
//! stories, of which the 64 nearest are looked at, a vector of cosine 0.3 is missed once in fifty times, with 256 bits once in five.
//!
//! Invariant: what is answered depends on what is held, not on the order in which it came.

use twinprint_fingerprint::{hyperplane, kernel};

use super::vector::TermWeight;
use super::vocabulary::{ROWS, Vocabulary};

/// Bits of a fingerprint.
const BITS: f64 = 128.0 * ROWS as f64;

/// Stories compared between two looks at how far the nearest can still be.
const BLOCK: usize = 1024;

/// A fingerprint in words.
pub(super) type Fingerprint = [u64; 2 * ROWS];

/// The fingerprint of a vector; zeros where it has no direction.
pub(super) fn fingerprint(vector: impl Iterator<Item = TermWeight>, vocabulary: &Vocabulary) -> Fingerprint {
    let mut rows = [const { Vec::new() }; ROWS];
    let mut weights = Vec::new();
    for TermWeight { term, weight } in vector {
        for (rows, row) in rows.iter_mut().zip(vocabulary.rows(term)) {
            rows.push(row);
        }
        weights.push(weight);
    }
    let mut words = [0; 2 * ROWS];
    for (words, rows) in words.as_chunks_mut().0.iter_mut().zip(&rows) {
        let bits: u128 = hyperplane::fingerprint_rows(rows, &weights).unwrap_or_default();
        *words = [bits as u64, (bits >> 64) as u64];
    }
    words
}

/// Fingerprints of the live stories.
#[derive(Clone, Debug, Default)]
pub(super) struct Centres {
    ids: Vec<u64>,
    /// The fingerprints' words, a column each.
    words: [Vec<u64>; 2 * ROWS],
    places: std::collections::HashMap<u64, usize>,
}

impl Centres {
    /// A story is there, or elsewhere than before.
    pub(super) fn put(&mut self, id: u64, fingerprint: Fingerprint) {
        if let Some(&place) = self.places.get(&id) {
            for (column, word) in self.words.iter_mut().zip(fingerprint) {
                column[place] = word;
            }
            return;
        }
        self.places.insert(id, self.ids.len());
        self.ids.push(id);
        for (column, word) in self.words.iter_mut().zip(fingerprint) {
            column.push(word);
        }
    }

    /// A story is no more.
    pub(super) fn remove(&mut self, id: u64) {
        let Some(place) = self.places.remove(&id) else {
            return;
        };
        self.ids.swap_remove(place);
        for column in &mut self.words {
            column.swap_remove(place);
        }
        if let Some(&moved) = self.ids.get(place) {
            self.places.insert(moved, place);
        }
    }

    /// The at most `most` stories nearest to a fingerprint, the nearest first (ties: the older); where there are more, only those
    /// that are no farther than nearly any vector of cosine `least`. O(stories).
    pub(super) fn nearest(&self, fingerprint: Fingerprint, least: f64, most: usize) -> Vec<u64> {
        let all = self.ids.len() <= most;
        let mut radius = if all { u32::MAX } else { radius(least) };
        let mut nearest: Vec<(u32, u64)> = Vec::new();
        for (ids, start) in self.ids.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let columns = self
                .words
                .each_ref()
                .map(|column| &column[start..start + ids.len()]);
            kernel::hamming_columns(fingerprint, columns, radius, &mut |place, distance| {
                nearest.push((distance, ids[place as usize]));
            });
            // What is farther than the last of so many is none of the nearest, and need not be met again.
            if nearest.len() > most && most > 0 {
                let (_, &mut (last, _), _) = nearest.select_nth_unstable(most - 1);
                radius = last;
            }
            nearest.truncate(most);
        }
        nearest.sort_unstable();
        nearest.into_iter().map(|(_, id)| id).collect()
    }
}

/// The distance that 98 of 100 vectors of a cosine stay within.
fn radius(cosine: f64) -> u32 {
    let differ = cosine.clamp(0.0, 1.0).acos() / std::f64::consts::PI;
    let deviation = (BITS * differ * (1.0 - differ)).sqrt();
    (BITS * differ + 2.0 * deviation).ceil() as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_nearest_are_those_of_a_scan(
            puts in proptest::collection::vec((0u64..30, any::<u8>(), any::<bool>()), 1..60),
            query in any::<u8>(),
            most in 0usize..10,
        ) {
            let mut centres = Centres::default();
            let mut held = std::collections::BTreeMap::new();
            for (id, bits, removed) in puts {
                if removed {
                    centres.remove(id);
                    held.remove(&id);
                } else {
                    centres.put(id, [0, u64::from(bits), 0, 0, u64::from(bits) << 9, 0, 0, 0]);
                    held.insert(id, bits);
                }
            }
            let mut expected: Vec<(u32, u64)> =
                held.iter().map(|(&id, bits)| (2 * (bits ^ query).count_ones(), id)).collect();
            expected.sort_unstable();
            expected.truncate(most);
            let query = [0, u64::from(query), 0, 0, u64::from(query) << 9, 0, 0, 0];
            let expected: Vec<u64> = expected.into_iter().map(|(_, id)| id).collect();
            prop_assert_eq!(centres.nearest(query, 0.0, most), expected);
        }
    }

    #[test]
    fn of_many_the_nearest_are_found_block_by_block() {
        let mut state = 7u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        let mut centres = Centres::default();
        let mut held: Vec<(u64, Fingerprint)> = Vec::new();
        for id in 0..5 * BLOCK as u64 + 3 {
            let fingerprint = [0; 2 * ROWS].map(|_: u64| draw());
            centres.put(id, fingerprint);
            held.push((id, fingerprint));
        }
        for least in [0.1, 0.3] {
            let query = [0; 2 * ROWS].map(|_: u64| draw());
            let distance = |to: &Fingerprint| to.iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum();
            let mut expected: Vec<(u32, u64)> = held.iter().map(|(id, to)| (distance(to), *id)).collect();
            expected.retain(|&(distance, _)| distance <= radius(least));
            expected.sort_unstable();
            expected.truncate(64);
            assert!(expected.len() > 10);
            let expected: Vec<u64> = expected.into_iter().map(|(_, id)| id).collect();
            assert_eq!(centres.nearest(query, least, 64), expected);
        }
    }

    #[test]
    fn loose_thresholds_reach_farther() {
        assert!(radius(0.2) > radius(0.5) && radius(0.5) > radius(0.9));
        assert_eq!(radius(1.0), 0);
    }
}
