//! A shingle set with its sketch, which rejects most pairs that are not duplicates without reading the shingles.

use std::sync::Arc;

use super::merge::{Overlap, overlap_at_least};
use super::sketch::ShingleSketch;

/// The distinct shingles of a text, sorted, with their sketch.
///
/// ```
/// use twinprint_text::overlap::ShingleSet;
///
/// let (a, b) = (ShingleSet::new(vec![1, 2, 3, 4]), ShingleSet::new(vec![2, 3, 4, 5]));
/// assert!(a.overlap_at_least(&b, 0.5).is_some_and(|shared| shared.common == 3));
/// assert!(a.overlap_at_least(&b, 0.8).is_none());
/// ```
#[derive(Debug)]
pub struct ShingleSet {
    shingles: Vec<u64>,
    sketch: Arc<ShingleSketch>,
}

impl ShingleSet {
    /// Makes a set from `shingles`, which must be sorted and distinct. Linear.
    pub fn new(mut shingles: Vec<u64>) -> Self {
        shingles.shrink_to_fit();
        Self::in_buffer(shingles)
    }

    /// Like [`new`](Self::new), but keeps the whole capacity of `shingles`, so that
    /// [`into_buffer`](Self::into_buffer) returns it for another set.
    ///
    /// ```
    /// use twinprint_text::overlap::ShingleSet;
    ///
    /// let mut buffer = Vec::with_capacity(100);
    /// buffer.extend([1, 2, 3]);
    /// let set = ShingleSet::in_buffer(buffer);
    /// assert_eq!(set.shingles(), [1, 2, 3]);
    /// assert!(set.into_buffer().capacity() >= 100);
    /// ```
    pub fn in_buffer(shingles: Vec<u64>) -> Self {
        Self {
            sketch: Arc::new(ShingleSketch::of(&shingles)),
            shingles,
        }
    }

    /// The buffer of the shingles, which are still in it.
    pub fn into_buffer(self) -> Vec<u64> {
        self.shingles
    }

    /// The shingles, sorted.
    pub fn shingles(&self) -> &[u64] {
        &self.shingles
    }

    /// The sketch of the set. It can be kept for longer than the set.
    pub fn sketch(&self) -> &Arc<ShingleSketch> {
        &self.sketch
    }

    /// Heap memory of the set, in bytes.
    pub fn bytes(&self) -> usize {
        self.shingles.capacity() * size_of::<u64>() + self.sketch.bytes()
    }

    /// Computes the overlap with `other`, which was made under the same key; `None` if the Jaccard is below
    /// `threshold`. Stops as soon as the threshold cannot be reached.
    pub fn overlap_at_least(&self, other: &Self, threshold: f64) -> Option<Overlap> {
        if !self.sketch.may_reach(&other.sketch, threshold) {
            return None;
        }
        overlap_at_least(&self.shingles, &other.shingles, threshold)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::overlap::overlap;

    /// Two sets that share many, few or no hashes, from the whole hash space or a small interval.
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
        fn the_sketch_excludes_no_pair_at_the_threshold((a, b) in sets(), threshold in 0.01..1.0f64) {
            let (x, y) = (ShingleSet::new(a.clone()), ShingleSet::new(b.clone()));
            let jaccard = overlap(&a, &b).jaccard();
            prop_assert!(x.sketch().may_reach(y.sketch(), jaccard) && y.sketch().may_reach(x.sketch(), jaccard));
            prop_assert_eq!(x.overlap_at_least(&y, threshold), overlap_at_least(&a, &b, threshold));
            prop_assert_eq!(y.overlap_at_least(&x, threshold), overlap_at_least(&b, &a, threshold));
        }
    }

    #[test]
    fn sets_below_the_threshold_are_excluded_by_their_sketches() {
        let hash = |i: u64| {
            let mixed = (i ^ i >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
        };
        let set = |from: u64| {
            let mut set: Vec<u64> = (from..from + 3000).map(hash).collect();
            set.sort_unstable();
            ShingleSet::new(set)
        };
        let base = set(1);
        assert!(base.sketch().bytes() * 15 < base.bytes());
        for shift in [500, 1000, 3000] {
            let other = set(1 + shift);
            assert!(!base.sketch().may_reach(other.sketch(), 0.8), "{shift}");
        }
    }
}
