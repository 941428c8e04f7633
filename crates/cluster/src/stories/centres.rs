//! Finds the live stories whose centres are near a vector. Each centre has a random-hyperplane fingerprint (Charikar
//! 2002), and a scan compares all of them.
//!
//! The fingerprints of two vectors with cosine c differ in a share of arccos(c)/π of their bits. Stories are loose
//! (cosines of 0.2 to 0.6), so no permuted table separates near stories from far ones. A scan takes a few nanoseconds
//! per story, and 512 bits are enough to select the stories whose cosine is computed. With 7,000 stories, of which the
//! nearest 64 are selected, a vector of cosine 0.3 misses its story in 1 of 50 cases; with 256 bits it would be 1 of 5.
//!
//! Invariant: a result depends only on the fingerprints of the live stories, not on the order in which they were
//! inserted.

use twinprint_fingerprint::{hyperplane, kernel};

use super::vector::TermWeight;
use super::vocabulary::{ROWS, Vocabulary};

/// The number of bits of a fingerprint.
const BITS: f64 = 128.0 * ROWS as f64;

/// The scan compares this number of stories before it reduces the radius to the nearest stories found so far.
const BLOCK: usize = 1024;

/// The fingerprint of a vector, as 64-bit words.
pub(super) type Fingerprint = [u64; 2 * ROWS];

/// The fingerprint of a vector. All bits are 0 if the vector is zero.
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

/// The fingerprints of the live stories' centres.
#[derive(Clone, Debug, Default)]
pub(super) struct Centres {
    ids: Vec<u64>,
    /// The fingerprints by columns: column i has word i of each fingerprint.
    words: [Vec<u64>; 2 * ROWS],
    /// For each story: the position of its fingerprint in the columns.
    rows: std::collections::HashMap<u64, usize>,
}

impl Centres {
    /// Stores the fingerprint of a story's centre, or replaces it.
    pub(super) fn put(&mut self, id: u64, fingerprint: Fingerprint) {
        if let Some(&row) = self.rows.get(&id) {
            for (column, word) in self.words.iter_mut().zip(fingerprint) {
                column[row] = word;
            }
            return;
        }
        self.rows.insert(id, self.ids.len());
        self.ids.push(id);
        for (column, word) in self.words.iter_mut().zip(fingerprint) {
            column.push(word);
        }
    }

    /// Removes the fingerprint of a story.
    pub(super) fn remove(&mut self, id: u64) {
        let Some(row) = self.rows.remove(&id) else {
            return;
        };
        self.ids.swap_remove(row);
        for column in &mut self.words {
            column.swap_remove(row);
        }
        if let Some(&moved) = self.ids.get(row) {
            self.rows.insert(moved, row);
        }
    }

    /// Finds at most `limit` stories nearest to a fingerprint, the nearest first (ties: the older). If there are more
    /// than `limit` stories, those farther away than nearly all vectors of cosine `min_cosine` are left out.
    /// O(stories).
    pub(super) fn nearest(&self, fingerprint: Fingerprint, min_cosine: f64, limit: usize) -> Vec<u64> {
        let all = self.ids.len() <= limit;
        let mut radius = if all { u32::MAX } else { radius(min_cosine) };
        let mut nearest: Vec<(u32, u64)> = Vec::new();
        for (ids, start) in self.ids.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let columns = self
                .words
                .each_ref()
                .map(|column| &column[start..start + ids.len()]);
            kernel::hamming_columns(fingerprint, columns, radius, &mut |row, distance| {
                nearest.push((distance, ids[row as usize]));
            });
            // The radius can shrink: a story farther away than the `limit`-th nearest is not part of the result.
            if nearest.len() > limit && limit > 0 {
                let (_, &mut (last, _), _) = nearest.select_nth_unstable(limit - 1);
                radius = last;
            }
            nearest.truncate(limit);
        }
        nearest.sort_unstable();
        nearest.into_iter().map(|(_, id)| id).collect()
    }
}

/// The Hamming distance that the fingerprints of 98 of 100 pairs of vectors with this cosine do not exceed.
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
        fn the_nearest_centres_equal_those_of_a_scan(
            puts in proptest::collection::vec((0u64..30, any::<u8>(), any::<bool>()), 1..60),
            query in any::<u8>(),
            most in 0usize..10,
        ) {
            let mut centres = Centres::default();
            let mut stored = std::collections::BTreeMap::new();
            for (id, bits, removed) in puts {
                if removed {
                    centres.remove(id);
                    stored.remove(&id);
                } else {
                    centres.put(id, [0, u64::from(bits), 0, 0, u64::from(bits) << 9, 0, 0, 0]);
                    stored.insert(id, bits);
                }
            }
            let mut expected: Vec<(u32, u64)> =
                stored.iter().map(|(&id, bits)| (2 * (bits ^ query).count_ones(), id)).collect();
            expected.sort_unstable();
            expected.truncate(most);
            let query = [0, u64::from(query), 0, 0, u64::from(query) << 9, 0, 0, 0];
            let expected: Vec<u64> = expected.into_iter().map(|(_, id)| id).collect();
            prop_assert_eq!(centres.nearest(query, 0.0, most), expected);
        }
    }

    #[test]
    fn the_nearest_of_several_blocks_are_found() {
        let mut state = 7u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        let mut centres = Centres::default();
        let mut stored: Vec<(u64, Fingerprint)> = Vec::new();
        for id in 0..5 * BLOCK as u64 + 3 {
            let fingerprint = [0; 2 * ROWS].map(|_: u64| draw());
            centres.put(id, fingerprint);
            stored.push((id, fingerprint));
        }
        for least in [0.1, 0.3] {
            let query = [0; 2 * ROWS].map(|_: u64| draw());
            let distance = |to: &Fingerprint| to.iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum();
            let mut expected: Vec<(u32, u64)> = stored.iter().map(|(id, to)| (distance(to), *id)).collect();
            expected.retain(|&(distance, _)| distance <= radius(least));
            expected.sort_unstable();
            expected.truncate(64);
            assert!(expected.len() > 10);
            let expected: Vec<u64> = expected.into_iter().map(|(_, id)| id).collect();
            assert_eq!(centres.nearest(query, least, 64), expected);
        }
    }

    #[test]
    fn lower_thresholds_have_a_larger_radius() {
        assert!(radius(0.2) > radius(0.5) && radius(0.5) > radius(0.9));
        assert_eq!(radius(1.0), 0);
    }
}
