//! Where the centres of live stories lie: fingerprints by random hyperplanes (Charikar 2002), compared all at once.
//!
//! Two vectors of cosine c differ in a share arccos(c)/π of the bits. Stories are loose (cosines of .2 to .6), too far apart for any table to
//! tell near from far; but a scan takes a fraction of a nanosecond a bit row, and 256 bits tell well enough whose cosine is worth
//! computing. The first 128 bits choose whose other 128 are looked at.
//!
//! Invariant: what is answered depends on what is held, not on the order in which it came.

use fingerprint::{Width, hyperplane, kernel};

use super::vector::Weighted;
use super::vocabulary::Vocabulary;

/// Bits of a fingerprint.
const BITS: f64 = 256.0;

/// A fingerprint in two halves.
pub(super) type Fingerprint = [u128; 2];

/// The fingerprint of a vector; zeros where it has no direction.
pub(super) fn fingerprint(vector: impl Iterator<Item = Weighted>, vocabulary: &Vocabulary) -> Fingerprint {
    let mut rows = [Vec::new(), Vec::new()];
    let mut weights = Vec::new();
    for Weighted { term, weight } in vector {
        let [first, second] = vocabulary.rows(term);
        rows[0].push(first);
        rows[1].push(second);
        weights.push(weight);
    }
    rows.map(|rows| hyperplane::fingerprint_rows(&rows, &weights).unwrap_or_default())
}

/// Fingerprints of the live stories.
#[derive(Clone, Debug, Default)]
pub(super) struct Centres {
    ids: Vec<u64>,
    halves: [Vec<u128>; 2],
    places: std::collections::HashMap<u64, usize>,
}

impl Centres {
    /// A story is there, or elsewhere than before.
    pub(super) fn put(&mut self, id: u64, fingerprint: Fingerprint) {
        if let Some(&place) = self.places.get(&id) {
            for (half, bits) in self.halves.iter_mut().zip(fingerprint) {
                half[place] = bits;
            }
            return;
        }
        self.places.insert(id, self.ids.len());
        self.ids.push(id);
        for (half, bits) in self.halves.iter_mut().zip(fingerprint) {
            half.push(bits);
        }
    }

    /// A story is no more.
    pub(super) fn remove(&mut self, id: u64) {
        let Some(place) = self.places.remove(&id) else {
            return;
        };
        self.ids.swap_remove(place);
        for half in &mut self.halves {
            half.swap_remove(place);
        }
        if let Some(&moved) = self.ids.get(place) {
            self.places.insert(moved, place);
        }
    }

    /// The at most `most` stories nearest to a fingerprint, the nearest first (ties: the older); where there are more, among those whose
    /// first half is no farther than that of nearly any vector of cosine `least`. O(stories).
    pub(super) fn nearest(&self, [first, second]: Fingerprint, least: f64, most: usize) -> Vec<u64> {
        let mut near = Vec::new();
        let all = self.ids.len() <= most;
        let radius = if all { u128::BITS } else { radius(least) };
        kernel::hamming_one_to_many(first, &self.halves[0], radius, &mut near);
        let mut nearest: Vec<(u32, u64)> = near
            .iter()
            .filter_map(|&(place, distance)| {
                let place = place as usize;
                let other = self.halves[1].get(place)?.distance(second);
                Some((u32::from(distance) + other, *self.ids.get(place)?))
            })
            .collect();
        if nearest.len() > most {
            if most > 0 {
                nearest.select_nth_unstable(most - 1);
            }
            nearest.truncate(most);
        }
        nearest.sort_unstable();
        nearest.into_iter().map(|(_, id)| id).collect()
    }
}

/// The distance in half of the bits that 98 of 100 vectors of a cosine stay within.
fn radius(cosine: f64) -> u32 {
    let half = BITS / 2.0;
    let differ = cosine.clamp(0.0, 1.0).acos() / std::f64::consts::PI;
    let deviation = (half * differ * (1.0 - differ)).sqrt();
    (half * differ + 2.0 * deviation).ceil() as u32
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
                    centres.put(id, [u128::from(bits), u128::from(bits) << 64]);
                    held.insert(id, bits);
                }
            }
            let mut expected: Vec<(u32, u64)> =
                held.iter().map(|(&id, bits)| (2 * (bits ^ query).count_ones(), id)).collect();
            expected.sort_unstable();
            expected.truncate(most);
            let query = [u128::from(query), u128::from(query) << 64];
            let expected: Vec<u64> = expected.into_iter().map(|(_, id)| id).collect();
            prop_assert_eq!(centres.nearest(query, 0.0, most), expected);
        }
    }

    #[test]
    fn loose_thresholds_reach_farther() {
        assert!(radius(0.2) > radius(0.5) && radius(0.5) > radius(0.9));
        assert_eq!(radius(1.0), 0);
    }
}
