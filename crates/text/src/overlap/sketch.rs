//! Small sketches of shingle sets, which exclude most pairs below a threshold without the sets.
//!
//! A sketch is the histogram of a set with a quarter of its intervals, so it has about a quarter of a byte for a shingle,
//! where the set has nine. The sum of the smaller counts of two sketches is an upper bound of the intersection, as with
//! the histograms themselves: about .8 of the size for unrelated sets. It is never below the true intersection, so no
//! pair at the threshold is excluded.

use super::merge::needed;
use super::shingle_set::{ShingleSet, max_common};

/// The number of intervals of the histogram that are one interval of the sketch. A count of an interval is at most 31, so
/// their sum fits into a byte.
const FOLD: usize = 4;

/// The sketch of a [`ShingleSet`]. Sets that are compared must be made under the same key.
///
/// ```
/// use twinprint_text::overlap::ShingleSet;
///
/// // The shingles of a text are hashes, so they are distributed evenly.
/// let hash = |i: u64| (i ^ i >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
/// let set = |seed: u64| {
///     let mut shingles: Vec<u64> = (1..=2000).map(|i| hash(hash(hash(i) ^ seed))).collect();
///     shingles.sort_unstable();
///     ShingleSet::new(shingles)
/// };
/// let (a, b) = (set(1 << 40), set(7));
/// assert!(a.sketch().may_reach(&a.sketch(), 1.0));
/// assert!(!a.sketch().may_reach(&b.sketch(), 0.8));
/// ```
#[derive(Clone, Debug)]
pub struct ShingleSketch {
    size: usize,
    /// The number of shingles in each interval; empty if the set has no histogram.
    counts: Box<[u8]>,
}

impl ShingleSet {
    /// Makes the sketch of the set. Linear, without reading the shingles.
    pub fn sketch(&self) -> ShingleSketch {
        let folded = self.histogram().chunks(FOLD);
        ShingleSketch {
            size: self.shingles().len(),
            counts: folded.map(|counts| counts.iter().sum()).collect(),
        }
    }
}

impl ShingleSketch {
    /// False if the Jaccard of the two sets is below `threshold`. If it is true, the Jaccard may be below it, too. Linear
    /// in the size of the sketches.
    pub fn may_reach(&self, other: &Self, threshold: f64) -> bool {
        let needed = needed(self.size, other.size, threshold);
        // The counts are too large for the sums of bytes that the histograms use.
        let most = max_common(&self.counts, &other.counts, |a, b| {
            a.iter().zip(b).map(|(&a, &b)| usize::from(a.min(b))).sum()
        });
        most.unwrap_or(self.size.min(other.size)) >= needed
    }

    /// True if the sketch has no counts. Such a sketch excludes only sets of a far different size.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Heap memory of the sketch, in bytes.
    pub fn bytes(&self) -> usize {
        self.counts.len()
    }
}
