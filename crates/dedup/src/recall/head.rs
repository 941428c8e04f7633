//! The head of a text: its smallest tokens, by which it is joined with the sample.
//!
//! Tokens are keyed hashes, so the smallest tokens of a set y are a random choice among all of them (a bottom-k sketch;
//! Cohen and Kaplan 2007). A set x at Jaccard ≥ t has at least the share t of the tokens of y. So the number of tokens of the head that
//! x has is at least as large as the number of successes in as many trials with probability t (Hoeffding 1963: choosing
//! without replacement varies less). [`HeadRule`] asks for so few of them that a pair at the threshold is missed with a
//! probability below [`MISSED`].

use twinprint_text::Measure;
use twinprint_text::overlap::{ShingleSet, Shingler};

use super::interval::at_most;

/// The largest probability with which a pair at the threshold is missed.
const MISSED: f64 = 1e-12;
/// The smallest number of tokens of a head.
const MIN_TOKENS: usize = 32;
/// The largest number of tokens of a head, at thresholds near 0.
const MAX_TOKENS: usize = 4096;
/// The smallest tokens of a sampled text that are indexed, relative to those that a duplicate's head is expected to reach.
const INDEXED: f64 = 3.0;
/// The tokens of a text that are sorted to find its head, relative to the length of the head.
const SORTED: usize = 3;

/// The lengths of heads at one threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadRule {
    threshold: f64,
    /// The number of tokens of a head. A shorter text is its own head.
    tokens: usize,
    /// The smallest number of tokens of a head that a sampled text at the threshold has.
    least: usize,
    /// The number of tokens of a sampled text that are indexed, the smallest ones. A set at the threshold has at most 1/t times
    /// as many tokens, so the head reaches about as many times further into it.
    pub(super) indexed: usize,
}

impl HeadRule {
    pub(super) fn new(threshold: f64) -> Self {
        let lacked: f64 = (1.0 - threshold).max(0.0);
        // So many tokens that not all of them are lacked, and some more, so that several must be shared.
        let enough = (MISSED.ln() / lacked.ln()).ceil();
        let tokens = (enough as usize).clamp(MIN_TOKENS, MAX_TOKENS);
        let is_certain = |&shared: &usize| at_most(shared as u64 - 1, tokens as u64, threshold) <= MISSED;
        Self {
            threshold,
            tokens,
            least: (1..=tokens).take_while(is_certain).last().unwrap_or(1),
            indexed: (INDEXED * tokens as f64 / threshold.max(0.01)).ceil() as usize,
        }
    }

    /// The head of a shingle set.
    pub(super) fn of_set(self, set: &ShingleSet) -> &[u64] {
        &set.shingles()[..self.tokens.min(set.shingles().len())]
    }

    /// Stores the head of a canonical text in `head`, without sorting all its shingles.
    pub(super) fn of_text(self, text: &str, measure: Measure, shingler: &mut Shingler, head: &mut Vec<u64>) {
        let grams = shingler.grams(text, measure);
        let sorted = SORTED * self.tokens;
        head.clear();
        if grams.len() > sorted {
            let below = u64::MAX / grams.len() as u64 * sorted as u64;
            head.extend(grams.iter().filter(|&&gram| gram <= below));
            head.sort_unstable();
            head.dedup();
        }
        // A text that repeats itself has fewer distinct shingles.
        if head.len() < self.tokens {
            *head = shingler.shingle(text, measure);
        }
        head.truncate(self.tokens);
    }

    /// The smallest number of tokens of a head that a sampled text at the threshold has.
    pub(super) fn least_shared(self, head: &[u64]) -> usize {
        if head.len() < self.tokens {
            // The head is the whole text. The margin covers rounding errors.
            let least = (self.threshold * head.len() as f64 * (1.0 - 1e-12)).ceil() as usize;
            return least.max(1);
        }
        self.least
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use twinprint_fingerprint::HashKey;
    use twinprint_text::overlap::overlap;

    use super::*;

    #[test]
    fn a_head_has_few_tokens_and_several_of_them_must_be_shared() {
        let rule = HeadRule::new(0.8);
        assert_eq!(rule.tokens, MIN_TOKENS);
        assert!((5..10).contains(&rule.least), "{rule:?}");
        assert!(HeadRule::new(0.3).tokens > MIN_TOKENS && HeadRule::new(0.3).least == 1);
        assert_eq!(HeadRule::new(1.0).least, MIN_TOKENS);
        assert_eq!(HeadRule::new(1e-9).tokens, MAX_TOKENS);
    }

    proptest! {
        #[test]
        fn a_text_at_the_threshold_has_enough_of_the_head(
            words in prop::collection::vec(0u32..400, 3..600),
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0u32..400), 0..60),
            threshold in 0.2f64..=1.0,
            chars: bool,
        ) {
            let measure = if chars { Measure::CharGrams } else { Measure::WordGrams };
            let text = |words: &[u32]| words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
            let mut edited = words.clone();
            for (at, word) in &edits {
                let at = at.index(edited.len());
                edited[at] = *word;
            }
            let rule = HeadRule::new(threshold);
            let mut shingler = Shingler::for_one_run(HashKey::PUBLIC);
            let (base, other) = (text(&words), text(&edited));
            let set = ShingleSet::new(shingler.shingle(&base, measure));
            let sampled = shingler.shingle(&other, measure);
            let mut head = Vec::new();
            rule.of_text(&base, measure, &mut shingler, &mut head);
            prop_assert_eq!(&head[..], rule.of_set(&set));
            let indexed = &sampled[..rule.indexed.min(sampled.len())];
            let shared = head.iter().filter(|&token| indexed.binary_search(token).is_ok()).count();
            if overlap(set.shingles(), &sampled).jaccard() >= threshold {
                prop_assert!(shared >= rule.least_shared(&head), "{shared} of {}", head.len());
            }
        }
    }
}
