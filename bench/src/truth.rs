//! Computes the exact Jaccard of two texts, as the engine measures it: by word 3-grams, or by character 5-grams if at
//! least one of the texts is Chinese.

use twinprint_fingerprint::HashKey;
use twinprint_text::overlap::{Shingler, overlap};
use twinprint_text::{Measure, canonical};

/// The two shingle sets of a text, by words and by characters, each sorted.
#[derive(Clone, Debug)]
pub struct Shingles {
    measure: Measure,
    words: Vec<u64>,
    characters: Vec<u64>,
}

/// Makes shingle sets.
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
    /// Returns the shingle sets of a text. If the text is itself measured by characters, so are all its pairs; then the
    /// set by words is empty.
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
