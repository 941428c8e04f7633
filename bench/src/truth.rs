//! Exact Jaccard of two texts, in the engine's own measure: word 3-grams, or character 5-grams if either text is Chinese.

use twinprint_fingerprint::HashKey;
use twinprint_text::overlap::{Shingler, overlap};
use twinprint_text::{Measure, canonical};

/// The shingle sets of a text, each sorted: by words and by characters.
#[derive(Clone, Debug)]
pub struct Shingles {
    measure: Measure,
    words: Vec<u64>,
    characters: Vec<u64>,
}

/// A generator of shingle sets.
#[derive(Debug)]
pub struct Truth {
    shingler: Shingler,
}

impl Default for Truth {
    fn default() -> Self {
        Self {
            shingler: Shingler::new(HashKey::PUBLIC),
        }
    }
}

impl Truth {
    /// Returns the shingle sets of a text. The set by words stays empty for a text that is always measured by characters.
    pub fn shingles(&mut self, text: &str) -> Shingles {
        let canonical = canonical(text);
        let measure = Measure::of(&canonical);
        let by_words = measure == Measure::WordGrams;
        Shingles {
            measure,
            words: if by_words {
                self.shingler.shingle(&canonical, Measure::WordGrams)
            } else {
                Vec::new()
            },
            characters: self.shingler.shingle(&canonical, Measure::CharGrams),
        }
    }
}

impl Shingles {
    /// Returns the exact Jaccard of two texts.
    pub fn jaccard(&self, other: &Self) -> f64 {
        match self.measure.with(other.measure) {
            Measure::WordGrams => overlap(&self.words, &other.words),
            Measure::CharGrams => overlap(&self.characters, &other.characters),
        }
        .jaccard()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_is_measured_by_words_and_chinese_by_characters() {
        let mut truth = Truth::default();
        let mut jaccard = |a: &str, b: &str| truth.shingles(a).jaccard(&truth.shingles(b));
        assert_eq!(jaccard("a b c d", "A, b c e"), 1.0 / 3.0);
        assert_eq!(jaccard("一二三四五六", "一二三四五七"), 1.0 / 3.0);
        assert_eq!(jaccard("a b c d", "一二三四五七"), 0.0);
    }
}
