//! The choice between the exact set join of all texts and the join of the fingerprints, by their estimated costs.
//!
//! The set join finds every pair at the threshold, so it is preferred where it costs no more: in small corpora, and in
//! large corpora of short texts. Its cost is proportional to the number of shingles. The cost of the join of the
//! fingerprints depends on the number of texts, however long they are.

use std::ops::Mul;

use twinprint_index::planner::plan_join_uniform;
use twinprint_index::set::{TokenOrder, TokenPresence};
use twinprint_text::Measure;

use super::radius::sufficient;
use super::{FeatureLimits, JoinBytes, TextCounts};
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
/// The bytes of an indexed member, apart from its shingles: its item, its size and its bitmap.
const MEMBER_BYTES: f64 = 30.0;
/// The bytes of an indexed shingle.
const ENTRY_BYTES: f64 = 9.0;
/// The share of the time of a member's shingles that runs took in which few texts were in crowds,
/// bench/record/2026-11-28-on-disk.md.
const MEASURED_SHARE: f64 = 0.32;
/// The time that one core takes for a shingle in each further chunk of the index, in nanoseconds.
const CHUNK_NANOSECONDS: f64 = 10.0;
/// The shingles as the counters number them, in shingles as they are estimated here.
const COUNTED_SHINGLES: f64 = 1.125;

/// The estimated cost of a set join.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SetJoinCost {
    /// The number of shingles of the members, each in its own measure.
    shingles: f64,
    /// The number of members.
    members: f64,
    /// The time on one core, by which the set join is compared with the join of fingerprints.
    nanoseconds: f64,
    /// The number of members that are indexed, the core members.
    indexed: f64,
    /// The number of their shingles.
    indexed_shingles: f64,
    /// The share of the shingles that is indexed.
    prefix: f64,
}

impl SetJoinCost {
    /// The time in seconds on one core, with an index of at most `most` bytes.
    pub(crate) fn seconds(self, most: u64) -> f64 {
        let further = (self.bytes().indexes as f64 / most.max(1) as f64 - 1.0).max(0.0);
        (self.nanoseconds * MEASURED_SHARE + self.shingles * CHUNK_NANOSECONDS * further) * 1e-9
    }

    /// The number of members.
    pub(crate) fn members(self) -> f64 {
        self.members
    }

    /// The memory of the counters, of the shingles by which fringe members are chosen, and of the index.
    pub(crate) fn bytes(self) -> JoinBytes {
        let counted = (self.indexed_shingles * COUNTED_SHINGLES) as u64;
        let choosing = if self.members > self.indexed {
            TokenPresence::bytes_for(counted)
        } else {
            0
        };
        // A prefix has at least one shingle.
        let entries = self.indexed_shingles * self.prefix + self.indexed;
        JoinBytes {
            counters: (TokenOrder::bytes_for(counted) + choosing) as u64,
            indexes: (self.indexed * MEMBER_BYTES + entries * ENTRY_BYTES) as u64,
        }
    }
}

/// The estimated costs of the set joins of a corpus. Costs of a part of a corpus can be multiplied to
/// those of the corpus.
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
            all.add(text, true);
            if limits.includes(text) {
                short.add(text, text.is_short(options));
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
    indexed: u64,
    indexed_by_words: u64,
    indexed_by_chars: u64,
}

impl TextBytes {
    fn add(&mut self, text: TextCounts, is_indexed: bool) {
        let (all, indexed) = match text.measure {
            Measure::WordGrams => (&mut self.by_words, &mut self.indexed_by_words),
            Measure::CharGrams => (&mut self.by_chars, &mut self.indexed_by_chars),
        };
        self.texts += 1;
        *all += u64::from(text.bytes);
        if is_indexed {
            *indexed += u64::from(text.bytes);
            self.indexed += 1;
        }
    }

    /// The number of shingles of texts. A word has about six bytes with its space. A character has three bytes in Chinese,
    /// and one in a text that is measured by words.
    fn shingles(by_words: u64, by_chars: u64) -> f64 {
        by_chars as f64 / 3.0 + by_words as f64 / 6.0
    }

    /// The cost of the set join of these texts. `by_chars` is true if any text of the corpus is measured by characters.
    fn cost(self, by_chars: bool, options: &DedupOptions) -> SetJoinCost {
        let shingles = Self::shingles(self.by_words, self.by_chars);
        let tested = if by_chars { self.by_words as f64 } else { 0.0 };
        SetJoinCost {
            shingles,
            members: self.texts as f64,
            nanoseconds: MEMBER_NANOSECONDS * shingles + TESTED_NANOSECONDS * tested,
            indexed: self.indexed as f64,
            indexed_shingles: Self::shingles(self.indexed_by_words, self.indexed_by_chars),
            prefix: 1.0 - options.threshold,
        }
    }
}

impl Mul<f64> for SetJoinCost {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self {
            shingles: self.shingles * factor,
            members: self.members * factor,
            nanoseconds: self.nanoseconds * factor,
            indexed: self.indexed * factor,
            indexed_shingles: self.indexed_shingles * factor,
            prefix: self.prefix,
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
    let join = sufficient(bits, options.threshold).and_then(|k| join_nanoseconds(rows, bits, k));
    join.is_some_and(|join| costs.of_all.nanoseconds <= join + costs.of_short.nanoseconds)
}

/// The time of the join of uniform fingerprints, in nanoseconds of one core; `None` if there is no plan.
pub(crate) fn join_nanoseconds(rows: usize, bits: u32, k: u32) -> Option<f64> {
    let choice = plan_join_uniform(rows, bits, k).ok()?;
    choice.alternatives.first().map(|chosen| chosen.cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The costs of `texts` texts of `shingles` shingles each, of which `short` are short.
    fn costs(texts: f64, shingles: f64, short: f64) -> SetJoinCosts {
        let of_one = SetJoinCost {
            shingles,
            nanoseconds: MEMBER_NANOSECONDS * shingles,
            ..SetJoinCost::default()
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
