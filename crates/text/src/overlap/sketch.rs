//! Sketches of shingle sets, by which most pairs below a threshold are excluded without the sets.
//!
//! Every shingle has one bit of the sketch, and the bit is set if the set has an odd number of its shingles. A shingle
//! that both sets have adds the same bit to both sketches. So the bits in which two sketches differ are at most as many
//! as the shingles that only one of the sets has (Mitzenmacher, Pagh and Pham 2014). The bound is never too large, so
//! no pair at the threshold is excluded, and it is close while these shingles are fewer than the bits. With two bits for
//! a shingle, sets of equal size are excluded at a threshold of .8 if their Jaccard is below about .77.

use twinprint_fingerprint::kernel::differ_in_at_most;

use super::merge::needed;

/// The smallest number of bits for a shingle. The number of bits is a power of two, so there may be twice as many.
const BITS_PER_SHINGLE: usize = 2;
/// The number of bits of a word of the sketch.
const WORD_BITS: usize = u64::BITS as usize;

/// The sketch of a shingle set. Sets that are compared must be made under the same key.
///
/// ```
/// use twinprint_text::overlap::ShingleSketch;
///
/// // The shingles of a text are hashes, so they are distributed evenly.
/// let hash = |i: u64| (i ^ i >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
/// let set = |seed: u64| -> Vec<u64> { (1..=2000).map(|i| hash(hash(hash(i) ^ seed))).collect() };
/// let (a, b) = (ShingleSketch::of(&set(1 << 40)), ShingleSketch::of(&set(7)));
/// assert!(a.may_reach(&a, 1.0));
/// assert!(!a.may_reach(&b, 0.5));
/// ```
#[derive(Clone, Debug)]
pub struct ShingleSketch {
    /// The number of shingles of the set.
    size: u32,
    /// The bits. Their number is a power of two. So a shingle has its bit in a smaller sketch at the same place as in one
    /// of the parts of this sketch that have that size.
    words: Box<[u64]>,
}

impl ShingleSketch {
    /// Makes the sketch of a set of fewer than 2³¹ distinct shingles, in any order. Linear.
    pub fn of(shingles: &[u64]) -> Self {
        let count = (shingles.len() * BITS_PER_SHINGLE / WORD_BITS + 1).next_power_of_two();
        let mut words = vec![0u64; count];
        for shingle in shingles {
            let place = *shingle as usize / WORD_BITS;
            // In bounds: the number of words is a power of two.
            words[place & (count - 1)] ^= 1 << (shingle % u64::BITS as u64);
        }
        Self {
            size: shingles.len() as u32,
            words: words.into(),
        }
    }

    /// True if the sketches differ in at most `limit` bits. Stops as soon as they differ in more.
    fn differ_in_at_most(&self, other: &Self, limit: usize) -> bool {
        let (long, short) = if self.words.len() < other.words.len() {
            (&other.words, &self.words)
        } else {
            (&self.words, &other.words)
        };
        if long.len() == short.len() {
            return differ_in_at_most(long, short, limit);
        }
        let mut folded = vec![0; short.len()];
        for part in long.chunks_exact(short.len()) {
            for (word, part) in folded.iter_mut().zip(part) {
                *word ^= part;
            }
        }
        differ_in_at_most(&folded, short, limit)
    }

    /// False if the Jaccard of the two sets is below `threshold`. If it is true, the Jaccard may be below it, too.
    pub fn may_reach(&self, other: &Self, threshold: f64) -> bool {
        let (a, b) = (self.size as usize, other.size as usize);
        let needed = needed(a, b, threshold);
        // Sets that differ in d shingles share (a + b - d) / 2.
        a.min(b) >= needed && self.differ_in_at_most(other, a + b - 2 * needed)
    }

    /// Heap memory of the sketch, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}
