//! A shingle set with its outline: how many shingles lie in each of equal stretches of the hash space.
//!
//! Two sets share in a stretch at most the smaller of their two counts, so the sum of these over all stretches bounds what they share.
//! It is read sixteen stretches at a time, without a branch and without touching the shingles, and settles most pairs that are no
//! duplicates: of sets with a stretch for each one or two shingles, strangers are bounded by about half their size, and sets that share
//! two thirds by about five sixths. The bound is exact, so nothing is lost by asking it first.

use super::merge::{Overlap, needed, overlap_at_least};

/// Stretches of the smallest outline: what is summed at a time. Smaller sets have none, since merging them is as quick.
const LEAST: usize = 128;
/// Stretches summed side by side.
const LANES: usize = 16;
/// The largest count, such that a lane's sum over [`LEAST`] stretches fits a byte. Keyed hashes do not come near it.
const MOST: u8 = 31;

/// The distinct shingles of a text, sorted.
#[derive(Debug)]
pub struct ShingleSet {
    shingles: Box<[u64]>,
    /// Counts by stretch, a power of two of them, not less than half and not more than all the shingles; none where the set is small
    /// or a count would be too large.
    outline: Box<[u8]>,
}

impl ShingleSet {
    /// The set of `shingles`, sorted and distinct. Linear.
    pub fn new(shingles: Vec<u64>) -> Self {
        Self {
            outline: outline(&shingles),
            shingles: shingles.into_boxed_slice(),
        }
    }

    /// The shingles, sorted.
    pub fn shingles(&self) -> &[u64] {
        &self.shingles
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.shingles) + self.outline.len()
    }

    /// The overlap of two sets made under one key if its Jaccard is at least `threshold`; gives up as soon as it cannot be.
    pub fn overlap_at_least(&self, other: &Self, threshold: f64) -> Option<Overlap> {
        let (a, b) = (self, other);
        let most = most_common(&a.outline, &b.outline).unwrap_or(usize::MAX);
        if most < needed(a.shingles.len(), b.shingles.len(), threshold) {
            return None;
        }
        overlap_at_least(&a.shingles, &b.shingles, threshold)
    }
}

fn outline(shingles: &[u64]) -> Box<[u8]> {
    if shingles.len() < LEAST {
        return Box::default();
    }
    let stretches = 1usize << shingles.len().ilog2();
    let shift = 64 - stretches.ilog2();
    let mut counts = vec![0u8; stretches];
    let mut fits = true;
    let mut count = |shingle: u64| {
        // The leading bits, less than the number of stretches.
        let count = &mut counts[(shingle >> shift) as usize];
        fits &= *count < MOST;
        *count = count.wrapping_add(1);
    };
    // Neighbours often meet one count; four places at a time do not wait for one another.
    let (quarters, rest) = shingles.split_at(shingles.len() / 4 * 4);
    let mut parts = quarters.chunks_exact((quarters.len() / 4).max(1));
    if let (Some(a), Some(b), Some(c), Some(d)) = (parts.next(), parts.next(), parts.next(), parts.next()) {
        for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
            count(a);
            count(b);
            count(c);
            count(d);
        }
    }
    for &shingle in rest {
        count(shingle);
    }
    if fits { counts.into() } else { Box::default() }
}

/// The most members that two sets with these outlines can share; nothing where that is not known.
fn most_common(a: &[u8], b: &[u8]) -> Option<usize> {
    let (fine, coarse) = if a.len() < b.len() { (b, a) } else { (a, b) };
    if coarse.is_empty() {
        return None;
    }
    if fine.len() == coarse.len() {
        return Some(shared(fine, coarse));
    }
    // Stretches of the finer outline that make up one of the coarser. Sets so unlike in size are told apart before they come here,
    // but for a factor of two.
    let folded = fine.chunks_exact(fine.len() / coarse.len());
    let sum = |counts: &[u8]| counts.iter().map(|&count| usize::from(count)).sum::<usize>();
    Some(
        folded
            .zip(coarse)
            .map(|(fine, &coarse)| sum(fine).min(coarse.into()))
            .sum(),
    )
}

/// The sum of the smaller counts of two outlines of one length, a multiple of [`LEAST`].
fn shared(a: &[u8], b: &[u8]) -> usize {
    let mut total = 0;
    for (a, b) in a.chunks_exact(LEAST).zip(b.chunks_exact(LEAST)) {
        let mut sums = [0u8; LANES];
        let (a, _) = a.as_chunks::<LANES>();
        let (b, _) = b.as_chunks::<LANES>();
        for (a, b) in a.iter().zip(b) {
            for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
                *sum += a.min(b);
            }
        }
        total += sums.iter().map(|&sum| usize::from(sum)).sum::<usize>();
    }
    total
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::overlap::overlap;

    /// Two sets that share much, little or nothing, of hashes anywhere or in a corner.
    fn sets() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
        let size = prop_oneof![0usize..40, 100usize..700];
        (size, 0u32..40, any::<u64>(), 0.0..1.0f64, 0.5..1.0f64).prop_map(
            |(size, corner, seed, share, ratio)| {
                let mut state = seed;
                let mut next = || {
                    state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                    let mixed = (state ^ state >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
                    (mixed ^ mixed >> 32) >> corner
                };
                let mut a = BTreeSet::new();
                let mut b = BTreeSet::new();
                for i in 0..size {
                    let common = (i as f64) < share * size as f64;
                    let shingle = next();
                    a.insert(shingle);
                    if (i as f64) < ratio * size as f64 {
                        b.insert(if common { shingle } else { next() });
                    }
                }
                (a.into_iter().collect(), b.into_iter().collect())
            },
        )
    }

    proptest! {
        #[test]
        fn an_outline_bounds_what_is_shared((a, b) in sets(), threshold in 0.01..1.0f64) {
            let (x, y) = (ShingleSet::new(a.clone()), ShingleSet::new(b.clone()));
            let common = overlap(&a, &b).common as usize;
            if let Some(most) = most_common(&x.outline, &y.outline) {
                prop_assert!(most >= common && most <= a.len().min(b.len()));
            }
            prop_assert_eq!(x.overlap_at_least(&y, threshold), overlap_at_least(&a, &b, threshold));
            prop_assert_eq!(y.overlap_at_least(&x, threshold), overlap_at_least(&b, &a, threshold));
        }
    }

    #[test]
    fn strangers_are_told_apart_without_their_shingles() {
        let spread = |odd: u64| -> Vec<u64> {
            let mut set: Vec<u64> = (1..=3000u64)
                .map(|i| i.wrapping_mul(odd).rotate_left(17).wrapping_mul(odd))
                .collect();
            set.sort_unstable();
            set.dedup();
            set
        };
        let (a, b) = (spread(0x9E37_79B9_7F4A_7C15), spread(0xD6E8_FEB8_6659_FD93));
        let (a, b) = (ShingleSet::new(a), ShingleSet::new(b));
        let most = most_common(&a.outline, &b.outline).expect("outlines of large sets");
        assert!(most < 2400, "{most}");
    }
}
