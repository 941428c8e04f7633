//! An estimate from a sample of how clumped the rows are.
//!
//! H₂ = −log₂ Σ p² over the addresses is the collision entropy of an address; for uniform bits it equals the width. The
//! share of sampled pairs of rows with equal addresses estimates Σ p². The pairs whose addresses differ by a given flip
//! are at most as many as the pairs with equal addresses (Cauchy–Schwarz), so the estimate bounds the work of every
//! radius.

use twinprint_fingerprint::Width;

use crate::address::Address;
use crate::plan::MAX_ADDRESS_BITS;

/// The maximum number of sampled rows: enough to see collisions among 2^18 addresses, and few enough to sort quickly.
const SAMPLE_ROWS: usize = 1 << 14;

/// The number of sampled pairs: enough to see what holds for one pair in ten thousand.
const SAMPLE_PAIRS: usize = 1 << 15;

/// The bits in which sampled pairs of rows differ.
#[derive(Clone, Debug, Default)]
pub(super) struct Differences(Vec<u128>);

impl Differences {
    /// Samples 2¹⁵ pairs of rows at different positions, and returns their differences; none if there are fewer than
    /// two rows.
    pub(super) fn of<W: Width>(rows: &[W]) -> Self {
        let n = rows.len() as u64;
        if n < 2 {
            return Self::default();
        }
        let mut state = 0u64;
        // The high half of a 128-bit product of a uniform number and `bound` is uniform below `bound`.
        let mut below = |bound: u64| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ state >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            ((u128::from(mixed ^ mixed >> 32) * u128::from(bound)) >> 64) as u64
        };
        let pairs = (0..SAMPLE_PAIRS).map(|_| {
            let first = below(n);
            let second = (first + 1 + below(n - 1)) % n;
            rows[first as usize].widen() ^ rows[second as usize].widen()
        });
        Self(pairs.collect())
    }

    /// Returns the share of the sampled pairs that differ in at most `radius` of the bits of `mask`.
    pub(super) fn share(&self, mask: u128, radius: u32) -> f64 {
        let near = self
            .0
            .iter()
            .filter(|&&bits| (bits & mask).count_ones() <= radius);
        near.count() as f64 / self.0.len().max(1) as f64
    }
}

/// A sample of the rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    rows: Vec<u128>,
}

impl Sample {
    /// Samples at most 2¹⁴ rows at regular intervals.
    pub(super) fn of<W: Width>(rows: &[W]) -> Self {
        let step = rows.len().div_ceil(SAMPLE_ROWS).max(1);
        Self {
            rows: rows.iter().step_by(step).map(|r| r.widen()).collect(),
        }
    }

    /// Estimates the skew 2^(u − H₂) of the addresses formed by the u highest bits of `mask`, for each u from 0 to the
    /// width of the mask. The skew is at least 1, and 1 without a sample.
    pub(super) fn skew(&self, mask: u128) -> Vec<f64> {
        let address = Address::new(mask);
        let width = address.bits().min(MAX_ADDRESS_BITS);
        let mut addresses: Vec<u32> = self.rows.iter().map(|&row| address.of(row)).collect();
        addresses.sort_unstable();
        let pairs = (addresses.len() as f64) * (addresses.len() as f64 - 1.0) / 2.0;
        let colliding = colliding_pairs(&addresses, width);
        (0..=width)
            .zip(colliding)
            .map(|(u, colliding)| {
                if pairs > 0.0 {
                    (colliding as f64 / pairs * 2f64.powi(u as i32)).max(1.0)
                } else {
                    1.0
                }
            })
            .collect()
    }
}

/// For each u from 0 to `width`, the number of pairs of addresses that are equal in their u highest bits. The addresses are
/// sorted, and have `width` bits. O(addresses + width).
fn colliding_pairs(addresses: &[u32], width: u32) -> Vec<u64> {
    // A pair is equal in as many bits as the least equal neighbours between its two addresses. Each pair is counted at the last
    // such place.
    let mut pairs = vec![0u64; width as usize + 1];
    // The places whose ranges have not ended. Their equal bits increase.
    let mut open: Vec<Place> = Vec::new();
    let places = addresses.windows(2).zip(0u64..);
    for (two, at) in places {
        let equal = (two[0] ^ two[1]).leading_zeros() + width - u32::BITS;
        let mut first = at;
        while let Some(place) = open.pop_if(|place| place.equal >= equal) {
            pairs[place.equal as usize] += place.pairs_until(at);
            first = place.first;
        }
        open.push(Place { equal, at, first });
    }
    for place in open {
        pairs[place.equal as usize] += place.pairs_until(addresses.len() as u64 - 1);
    }
    let mut sum = 0;
    for pairs in pairs.iter_mut().rev() {
        sum += *pairs;
        *pairs = sum;
    }
    pairs
}

/// A place between two neighbours in a sorted list of addresses.
struct Place {
    /// The number of highest bits in which the two are equal.
    equal: u32,
    /// The number of the place.
    at: u64,
    /// The first place of the range before this one in which no two neighbours are equal in fewer bits.
    first: u64,
}

impl Place {
    /// The number of ranges of places from `first` on and before `end` that contain this place.
    fn pairs_until(&self, end: u64) -> u64 {
        (self.at + 1 - self.first) * (end - self.at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn colliding_pairs_are_those_of_all_pairs(
            mut addresses in prop::collection::vec(prop_oneof![0u32..16, 0u32..1 << 9], 0..60),
        ) {
            addresses.sort_unstable();
            let found = colliding_pairs(&addresses, 9);
            for u in 0..=9 {
                let is_equal = |a: u32, b: u32| (a ^ b) >> (9 - u) == 0;
                let equal = |i: usize| addresses[..i].iter().filter(|&&other| is_equal(other, addresses[i])).count();
                let expected: usize = (0..addresses.len()).map(equal).sum();
                prop_assert_eq!(found[u as usize], expected as u64, "{} bits", u);
            }
        }
    }
}
