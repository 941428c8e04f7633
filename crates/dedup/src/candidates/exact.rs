//! The choice between the exact set join of all texts and the join of the fingerprints, by their estimated costs.
//!
//! The set join finds every pair at the threshold, so it is preferred where it costs no more: in small corpora, and in
//! large corpora of short texts. Its cost is proportional to the number of shingles. The cost of the join of the
//! fingerprints depends on the number of texts, however long they are.

use std::ops::{AddAssign, Mul};

use twinprint_index::planner::plan_join_uniform;
use twinprint_text::Measure;

use super::radius::sufficient;
use super::{FeatureLimits, TextCounts};
use crate::options::{Auto, DedupOptions};

/// The cost up to which the set join is chosen in any case, in nanoseconds of one core. With fingerprints, corpora just
/// above it lose no labelled pair at the default threshold, `bench/record/2026-11-26-small-corpora.md`.
const SMALL_COST: f64 = 5e8;
/// The number of shingles above which the set join is not chosen, because its index would take more than about 2 GB.
const MAX_SHINGLES: f64 = 1e9;
/// The cost of a shingle of a member in nanoseconds of one core: it is made from the text twice, and a fifth of the
/// shingles is indexed and looked up. Measured on a million texts of 60 shingles, `bench/record/2026-11-26-crowds.md`.
const MEMBER_NANOSECONDS: f64 = 500.0;
/// The cost of a shingle of a text that is only tested for shingles of the members, in nanoseconds of one core.
const TESTED_NANOSECONDS: f64 = 40.0;
/// The bytes of a member, apart from its shingles.
const MEMBER_BYTES: f64 = 36.0;
/// The bytes of an indexed shingle.
const ENTRY_BYTES: f64 = 10.0;

/// The estimated cost of a set join.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SetJoinCost {
    /// The number of shingles of the members, each in its own measure.
    shingles: f64,
    /// The time on one core.
    nanoseconds: f64,
    /// The memory of its counters and indexes.
    bytes: f64,
}

impl SetJoinCost {
    /// The time in seconds on one core.
    pub(crate) fn seconds(self) -> f64 {
        self.nanoseconds * 1e-9
    }

    /// The memory in bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.bytes as u64
    }
}

/// The estimated costs of the set joins of a corpus. Costs of parts of a corpus can be added, and multiplied to those of
/// a larger corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SetJoinCosts {
    /// The set join of all texts.
    pub(crate) of_all: SetJoinCost,
    /// The set join beside a join of fingerprints: that of short texts and of texts a little longer.
    pub(crate) of_short: SetJoinCost,
}

impl SetJoinCosts {
    /// Estimates the costs from the lengths of the texts. Their order has no influence. `limits` are those of the corpus.
    pub(crate) fn of(
        texts: impl Iterator<Item = TextCounts>,
        limits: FeatureLimits,
        options: &DedupOptions,
    ) -> Self {
        let (mut all, mut short) = (TextBytes::default(), TextBytes::default());
        for text in texts {
            all.add(text);
            if limits.includes(text) {
                short.add(text);
            }
        }
        let by_chars = all.by_chars > 0;
        Self {
            of_all: all.cost(by_chars, options),
            of_short: short.cost(by_chars, options),
        }
    }
}

/// The number of texts, and their bytes by measure.
#[derive(Clone, Copy, Default)]
struct TextBytes {
    texts: u64,
    by_words: u64,
    by_chars: u64,
}

impl TextBytes {
    fn add(&mut self, text: TextCounts) {
        self.texts += 1;
        match text.measure {
            Measure::WordGrams => self.by_words += u64::from(text.bytes),
            Measure::CharGrams => self.by_chars += u64::from(text.bytes),
        }
    }

    /// The cost of the set join of these texts. `by_chars` is true if any text of the corpus is measured by characters.
    fn cost(self, by_chars: bool, options: &DedupOptions) -> SetJoinCost {
        // A word has about six bytes with its space. A character has three bytes in Chinese, and one in a text that
        // is measured by words.
        let shingles = self.by_chars as f64 / 3.0 + self.by_words as f64 / 6.0;
        let tested = if by_chars { self.by_words as f64 } else { 0.0 };
        SetJoinCost {
            shingles,
            nanoseconds: MEMBER_NANOSECONDS * shingles + TESTED_NANOSECONDS * tested,
            bytes: MEMBER_BYTES * self.texts as f64
                + shingles
                + shingles * (1.0 - options.threshold) * ENTRY_BYTES,
        }
    }
}

impl AddAssign for SetJoinCost {
    fn add_assign(&mut self, other: Self) {
        self.shingles += other.shingles;
        self.nanoseconds += other.nanoseconds;
        self.bytes += other.bytes;
    }
}

impl AddAssign for SetJoinCosts {
    fn add_assign(&mut self, other: Self) {
        self.of_all += other.of_all;
        self.of_short += other.of_short;
    }
}

impl Mul<f64> for SetJoinCost {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self {
            shingles: self.shingles * factor,
            nanoseconds: self.nanoseconds * factor,
            bytes: self.bytes * factor,
        }
    }
}

impl Mul<f64> for SetJoinCosts {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self {
            of_all: self.of_all * factor,
            of_short: self.of_short * factor,
        }
    }
}

/// True if the candidates are found by the set join of all texts: in a small corpus, and in one where that costs no more
/// than the join of `rows` fingerprints at a sufficient radius. Never if the options give a radius.
///
/// The choice depends on the corpus alone, not on the memory limit or the number of threads. The cost of the fingerprints
/// is that of uniform ones, which is a lower bound.
pub(crate) fn is_exact(costs: SetJoinCosts, rows: usize, options: &DedupOptions) -> bool {
    if !options.verify || options.hamming != Auto::Auto {
        return false;
    }
    if costs.of_all.nanoseconds <= SMALL_COST {
        return true;
    }
    if costs.of_all.shingles > MAX_SHINGLES {
        return false;
    }
    let bits = match options.bits {
        Auto::Fixed(bits) => bits,
        Auto::Auto => 128,
    };
    let join = sufficient(bits, options.threshold)
        .and_then(|k| plan_join_uniform(rows, bits, k).ok())
        .and_then(|choice| choice.alternatives.first().map(|chosen| chosen.cost));
    join.is_some_and(|join| costs.of_all.nanoseconds <= join + costs.of_short.nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The costs of `texts` texts of `shingles` shingles each, of which `short` are short.
    fn costs(texts: f64, shingles: f64, short: f64) -> SetJoinCosts {
        let of_one = SetJoinCost {
            shingles,
            nanoseconds: MEMBER_NANOSECONDS * shingles,
            bytes: 0.0,
        };
        SetJoinCosts {
            of_all: of_one * texts,
            of_short: of_one * short,
        }
    }

    #[test]
    fn the_cheaper_join_is_chosen() {
        let options = DedupOptions::new().unwrap();
        let is_exact =
            |texts: usize, shingles, short| is_exact(costs(texts as f64, shingles, short), texts, &options);
        // Small corpora.
        assert!(is_exact(10, 300.0, 0.0) && is_exact(3_000, 300.0, 0.0) && is_exact(3, 3e5, 0.0));
        // A million pages cost less with fingerprints, and texts of a line do not, even if none of them is short.
        assert!(!is_exact(1_000_000, 400.0, 0.0));
        assert!(is_exact(10_000_000, 5.0, 0.0));
        // Short texts take part in the set join in any case.
        assert!(!is_exact(10_000_000, 60.0, 0.0) && is_exact(10_000_000, 60.0, 9_000_000.0));
        // The memory is bounded.
        assert!(!is_exact(100_000_000, 60.0, 100_000_000.0));
    }

    #[test]
    fn a_given_radius_is_used() {
        let options = DedupOptions {
            hamming: Auto::Fixed(3),
            ..DedupOptions::new().unwrap()
        };
        assert!(!is_exact(costs(10.0, 10.0, 10.0), 10, &options));
        let options = DedupOptions {
            verify: false,
            ..DedupOptions::new().unwrap()
        };
        assert!(!is_exact(costs(10.0, 10.0, 10.0), 10, &options));
    }
}
