//! The MinHash baseline: signatures of 128 slots (Broder 1997) and banding (Indyk and Motwani 1998), as in datasketch.
//! A test compares the bands with those of datasketch.
//!
//! ```
//! use twinprint_eval::minhash::{SLOTS, Signatures};
//! use twinprint_text::overlap::ShingleSet;
//!
//! // Two sets of uniform hashes, of which half of the union is common.
//! let hash = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i << 40;
//! let set = |range: std::ops::Range<u64>| {
//!     let mut shingles: Vec<u64> = range.map(hash).collect();
//!     shingles.sort_unstable();
//!     ShingleSet::new(shingles)
//! };
//! let signatures = Signatures::of(&[set(0..900), set(300..1200)]);
//! let jaccard = signatures.equal_slots(0, 1) as f64 / SLOTS as f64;
//! assert!((jaccard - 0.5).abs() < 0.2);
//! ```

use std::collections::HashMap;

use rayon::prelude::*;
use twinprint_text::overlap::ShingleSet;

use super::pair::DocumentPair;

/// The number of slots of a signature.
pub const SLOTS: usize = 128;

/// A division of the slots of a signature into bands of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Banding {
    pub(super) bands: usize,
    /// The number of slots in each band.
    pub(super) rows: usize,
}

/// The MinHash signatures of all documents.
#[derive(Debug)]
pub struct Signatures(Vec<[u64; SLOTS]>);

impl Signatures {
    /// The size of a signature in bytes.
    pub const BYTES: usize = SLOTS * 8;

    /// Makes the signatures of shingle sets. Slot i is the least shingle of the set under permutation i of [`SLOTS`]
    /// permutations x → a x + b, with a odd. The shingles are uniform hashes already.
    pub fn of(sets: &[ShingleSet]) -> Self {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ mixed >> 31
        };
        let permutations: Vec<(u64, u64)> = (0..SLOTS).map(|_| (next() | 1, next())).collect();
        let sign = |set: &ShingleSet| {
            let mut slots = [u64::MAX; SLOTS];
            for &member in set.shingles() {
                for (slot, &(a, b)) in slots.iter_mut().zip(&permutations) {
                    *slot = (*slot).min(member.wrapping_mul(a).wrapping_add(b));
                }
            }
            slots
        };
        Self(sets.par_iter().map(sign).collect())
    }

    /// The number of slots in which two signatures agree. Divided by [`SLOTS`], it estimates the Jaccard.
    pub fn equal_slots(&self, a: usize, b: usize) -> usize {
        self.0[a].iter().zip(&self.0[b]).filter(|(a, b)| a == b).count()
    }

    /// Estimates the Jaccard from the low `bits` bits (1 to 64) of the first `slots` slots, which are a signature of
    /// `slots · bits` bits: b-bit minwise hashing (Li and König 2010). Two unequal slots agree in their low bits by
    /// chance, and the estimate allows for that.
    pub fn estimate(&self, a: usize, b: usize, slots: usize, bits: u32) -> f64 {
        let bits = bits.clamp(1, u64::BITS);
        let mask = u64::MAX >> (u64::BITS - bits);
        let slots = slots.clamp(1, SLOTS);
        let pairs = self.0[a][..slots].iter().zip(&self.0[b][..slots]);
        let equal = pairs.filter(|(a, b)| (*a ^ *b) & mask == 0).count() as f64 / slots as f64;
        let chance = 0.5f64.powi(bits as i32);
        ((equal - chance) / (1.0 - chance)).max(0.0)
    }

    /// Returns the pairs whose signatures agree in all slots of at least one band. Each pair is returned once.
    pub(super) fn candidates(&self, Banding { bands, rows }: Banding) -> Vec<DocumentPair> {
        let band = |document: usize, band: usize| &self.0[document][band * rows..(band + 1) * rows];
        let in_band = |number: usize| {
            let mut buckets: HashMap<&[u64], Vec<u32>> = HashMap::new();
            for document in 0..self.0.len() {
                buckets
                    .entry(band(document, number))
                    .or_default()
                    .push(document as u32);
            }
            let mut pairs = Vec::new();
            for bucket in buckets.into_values() {
                for (i, &b) in bucket.iter().enumerate() {
                    let before = |&&a: &&u32| (0..number).any(|n| band(a as usize, n) == band(b as usize, n));
                    pairs.extend(
                        bucket[..i]
                            .iter()
                            .filter(|a| !before(a))
                            .map(|&a| DocumentPair { a, b }),
                    );
                }
            }
            pairs
        };
        (0..bands).into_par_iter().flat_map_iter(in_band).collect()
    }
}

/// The smallest number of equal slots for which the estimated Jaccard reaches the threshold.
pub(super) fn least_slots(threshold: f64) -> usize {
    (threshold * SLOTS as f64 - 1e-9).ceil() as usize
}

/// Returns the bands and rows whose curve 1 − (1 − sʳ)ᵇ has the least error at a threshold. The error is the area of
/// the false positives below the threshold plus that of the false negatives above it, summed in steps of 0.001, as in
/// datasketch.
pub(super) fn banding(threshold: f64) -> Banding {
    const STEP: f64 = 0.001;
    let area = |from: f64, to: f64, f: &dyn Fn(f64) -> f64| {
        let steps = ((to - from) / STEP).ceil() as usize;
        (0..steps)
            .map(|i| f(from + (i as f64 + 0.5) * STEP) * STEP)
            .sum::<f64>()
    };
    let mut least_error = f64::INFINITY;
    let mut best = Banding { bands: 1, rows: 1 };
    for bands in 1..=SLOTS {
        for rows in 1..=SLOTS / bands {
            let miss = |s: f64| (1.0 - s.powi(rows as i32)).powi(bands as i32);
            let error = f64::midpoint(
                area(0.0, threshold, &|s| 1.0 - miss(s)),
                area(threshold, 1.0, &miss),
            );
            if error < least_error {
                least_error = error;
                best = Banding { bands, rows };
            }
        }
    }
    best
}
