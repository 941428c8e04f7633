//! The head of a text: some of its tokens, more than a duplicate of the text can lack.
//!
//! Let x be a set at Jaccard ≥ t with a text y. Then x has at least t·|y| of the tokens of y. So of any h tokens of y it has at
//! least h − (|y| − t·|y|). Any tokens will do: the smallest ones, or those at the beginning of the text. A larger head
//! rejects more texts by the number of shared tokens.

use twinprint_index::set::PrefixFilter;
use twinprint_text::Measure;
use twinprint_text::overlap::{ShingleSet, Shingler};

/// The head has this share of the tokens of a text, in addition to those that a duplicate can lack.
const SURPLUS: usize = 16;

/// The head of a text.
#[derive(Clone, Copy)]
pub(super) struct Head<'t> {
    /// Distinct tokens of the text.
    pub(super) tokens: &'t [u64],
    /// The number of distinct tokens of the text, or an upper bound of it.
    size: usize,
}

impl<'t> Head<'t> {
    /// The head of a shingle set: its smallest tokens.
    pub(super) fn of_set(set: &'t ShingleSet, filter: PrefixFilter) -> Self {
        let tokens = set.shingles();
        Self {
            tokens: &tokens[..wanted(tokens.len(), filter)],
            size: tokens.len(),
        }
    }

    /// The head of a canonical text: the tokens of its beginning, or all tokens if it repeats itself. Stores the tokens in
    /// `tokens`.
    pub(super) fn of_text(
        text: &str,
        measure: Measure,
        filter: PrefixFilter,
        shingler: &mut Shingler,
        tokens: &'t mut Vec<u64>,
    ) -> Self {
        let size = most_tokens(text, measure);
        let share = (wanted(size, filter) + 4) as f64 / size.max(1) as f64;
        let cut = end_of_word(text, (share * text.len() as f64) as usize);
        *tokens = shingler.shingle(&text[..cut], measure);
        if cut == text.len() || tokens.len() < filter.prefix_len(size) {
            *tokens = shingler.shingle(text, measure);
            return Self { size: tokens.len(), tokens };
        }
        Self { tokens, size }
    }

    /// The smallest number of tokens of the head that a set at the threshold shares.
    pub(super) fn least_shared(self, filter: PrefixFilter) -> usize {
        self.tokens.len() + 1 - filter.prefix_len(self.size).min(self.tokens.len())
    }

    /// The smallest number of tokens of the head that a set of `other` tokens shares if it is at the threshold; 0 if that
    /// is not known. If `size` is an upper bound, so is the number of tokens that the other set may lack.
    pub(super) fn least_shared_with(self, other: usize, filter: PrefixFilter) -> usize {
        let lacked = self.size.saturating_sub(filter.needed(self.size, other));
        self.tokens.len().saturating_sub(lacked)
    }
}

/// The number of tokens of the head of a text of `size` tokens.
fn wanted(size: usize, filter: PrefixFilter) -> usize {
    (filter.prefix_len(size) + size / SURPLUS + 2).min(size)
}

/// An upper bound of the number of distinct shingles of a canonical text. Words are separated by spaces, and each
/// ideograph in a text that is measured by words is a word that may divide another one.
fn most_tokens(text: &str, measure: Measure) -> usize {
    let count = |is: fn(u8) -> bool| text.bytes().filter(|&byte| is(byte)).count();
    match measure {
        // The first byte of a character from U+3000 on.
        Measure::WordGrams => count(|byte| byte == b' ') + 1 + 2 * count(|byte| byte >= 0xE3),
        Measure::CharGrams => count(|byte| byte & 0xC0 != 0x80),
    }
}

/// The end of a word at byte `from` or later. A part of a word would make shingles that the text does not have.
fn end_of_word(text: &str, from: usize) -> usize {
    let from = from.min(text.len());
    let rest = &text.as_bytes()[from..];
    // A space is a character of its own.
    rest.iter().position(|&byte| byte == b' ').map_or(text.len(), |at| from + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use twinprint_fingerprint::HashKey;
    use twinprint_text::overlap::overlap;

    use super::*;

    /// A canonical text of few words or of few ideographs, so that it repeats itself.
    fn text() -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec!["a", "b", "c", "dd", "e", "ff", "图", "x书", "馆y", "g", "hh", "i"]);
        prop::collection::vec(word, 1..90).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn every_text_at_the_threshold_shares_enough_of_the_head(
            base in text(), at in 0usize..80, with in text(), threshold in 0.3f64..=1.0, chars: bool,
        ) {
            let measure = if chars { Measure::CharGrams } else { Measure::WordGrams };
            let at = end_of_word(&base, at);
            let other = format!("{} {}", &base[..at], with.get(..with.len().min(5)).unwrap_or("z"));
            let filter = PrefixFilter::new(threshold);
            let mut shingler = Shingler::new(HashKey::PUBLIC);
            let (x, y) = (shingler.shingle(&other, measure), shingler.shingle(&base, measure));
            prop_assert!(y.len() <= most_tokens(&base, measure).max(1));
            let set = ShingleSet::new(y.clone());
            let mut tokens = Vec::new();
            for head in [
                Head::of_set(&set, filter),
                Head::of_text(&base, measure, filter, &mut shingler, &mut tokens),
            ] {
                prop_assert!(head.tokens.iter().all(|token| y.contains(token)));
                prop_assert!(head.least_shared(filter) >= 1);
                let shared = head.tokens.iter().filter(|&token| x.contains(token)).count();
                if overlap(&x, &y).jaccard() >= threshold {
                    prop_assert!(shared >= head.least_shared(filter), "{shared} of {}", head.tokens.len());
                    prop_assert!(shared >= head.least_shared_with(x.len(), filter));
                }
            }
        }
    }
}
