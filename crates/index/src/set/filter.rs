//! The arithmetic of the prefix filter: sizes, overlaps and lengths of prefixes at a Jaccard threshold.

use super::place::class;

/// The range of the sizes of sets that can reach the threshold with a set of a given size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) low: u32,
    pub(super) high: u32,
}

/// The prefix filter of a Jaccard threshold; see the module [`set`](crate::set).
///
/// ```
/// use twinprint_index::PrefixFilter;
///
/// // Of five tokens, a set at Jaccard ≥ 0.6 shares at least three, so one of any three.
/// assert_eq!(PrefixFilter::new(0.6).prefix_len(5), 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PrefixFilter {
    threshold: f64,
}

impl PrefixFilter {
    /// Creates the filter of a Jaccard threshold. Values outside (0, 1] are clamped: with a threshold at or below 0 (or
    /// NaN) every set that shares a token is a candidate, and above 1 only sets of equal size are.
    pub fn new(threshold: f64) -> Self {
        Self {
            threshold: if threshold > 0.0 { threshold.min(1.0) } else { 0.0 },
        }
    }

    /// Returns the smallest overlap that a set of `size` tokens needs to reach the threshold t: ⌈t·size⌉, rounded down
    /// where rounding errors could matter.
    ///
    /// ```
    /// use twinprint_index::PrefixFilter;
    ///
    /// // If a set of five tokens shares two with another, their Jaccard is at most 2 of 5.
    /// assert_eq!(PrefixFilter::new(0.6).least_overlap(5), 3);
    /// ```
    pub fn least_overlap(self, size: usize) -> usize {
        // The threshold and the product are each wrong by at most one part in 2⁵². A margin of one part in 10¹² more
        // than covers that, and the rounding in a caller's own division.
        (self.threshold * size as f64 * (1.0 - 1e-12)).ceil() as usize
    }

    /// Returns the smallest number of shared tokens with which sets of `a` and `b` tokens can reach the threshold:
    /// ⌈t/(1 + t)·(a + b)⌉ for the threshold t, rounded down where rounding errors could matter.
    ///
    /// ```
    /// use twinprint_index::PrefixFilter;
    ///
    /// // Two sets of five tokens reach Jaccard 0.6 if they share four: 4 of 6.
    /// assert_eq!(PrefixFilter::new(0.6).needed(5, 5), 4);
    /// ```
    pub fn needed(self, a: usize, b: usize) -> usize {
        let share = self.threshold / (1.0 + self.threshold);
        (share * (a as f64 + b as f64) * (1.0 - 1e-12)).ceil() as usize
    }

    /// Returns the largest number of tokens that only one of two sets of `a` and `b` tokens has if they reach the
    /// threshold, or more where rounding errors could matter.
    ///
    /// ```
    /// use twinprint_index::PrefixFilter;
    ///
    /// // Two sets of five tokens that share four differ in two tokens.
    /// assert_eq!(PrefixFilter::new(0.6).most_different(5, 5), 2);
    /// ```
    pub fn most_different(self, a: usize, b: usize) -> usize {
        (a + b).saturating_sub(2 * self.needed(a, b))
    }

    /// Returns the length of the prefix of a set of `size` tokens: size − ⌈t·size⌉ + 1 for the threshold t, at most
    /// `size`. It is 0 for the empty set, which cannot be found by a token, so callers must match empty sets with one
    /// another themselves.
    pub fn prefix_len(self, size: usize) -> usize {
        (size + 1).saturating_sub(self.least_overlap(size)).min(size)
    }

    /// Returns the sizes that can reach the threshold with a set of `size` tokens: the smaller set must have at least
    /// the overlap that the larger one needs.
    pub(super) fn sizes(self, size: u32) -> Sizes {
        let fits = |other: u32| self.least_overlap(other as usize) <= size as usize;
        let mut high = if self.threshold > 0.0 {
            (f64::from(size) / self.threshold) as u32
        } else {
            u32::MAX
        };
        // The quotient is wrong by far less than one, so each loop takes at most two steps.
        while high < u32::MAX && fits(high + 1) {
            high += 1;
        }
        while high > size && !fits(high) {
            high -= 1;
        }
        Sizes {
            low: self.least_overlap(size as usize) as u32,
            high,
        }
    }

    /// Returns the largest size that a set can have if the first token that it shares with a probe of `size` tokens, in
    /// the global order, is the probe's token number `at`. All shared tokens are then among the last `size` − `at` of
    /// the probe, and Jaccard ≥ t needs t/(1 + t) of the sum of both sizes as shared tokens.
    pub(super) fn reach(self, size: u32, at: usize) -> u32 {
        if self.threshold <= 0.0 {
            return u32::MAX;
        }
        let left = f64::from(size) - at as f64;
        // The result is rounded up a little, because rounding errors must not exclude a set. The conversion saturates
        // at 0 and at the largest number.
        (left * (1.0 + self.threshold) / self.threshold * (1.0 + 1e-12) - f64::from(size)) as u32
    }

    /// Returns `true` if a set of `other` tokens may have the probe's token number `at` as its first shared token, to
    /// the precision of size classes.
    pub fn admits(self, size: u32, at: usize, other: u32) -> bool {
        let most = self.reach(size, at);
        most >= self.sizes(size).low && class(other) <= class(most)
    }
}
