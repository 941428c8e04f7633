//! Results of analysing a text: its fingerprint, and a list of its features for display.

use crate::script::Measure;

/// The canonical text, fingerprint and feature count of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Analysis<'a> {
    /// Canonical text: the words of the normalised text, joined by single spaces.
    pub canonical: &'a str,
    /// The unit of the text's shingles, words or characters, in which it is compared with other texts.
    pub measure: Measure,
    /// Number of distinct features that are not stop words.
    pub features: u32,
    /// The fingerprint, in the low bits; the profile states the number of bits. At a smaller width, the fingerprint of
    /// the same text is the low part of this number. It is 0 if the text has no features.
    pub fingerprint: u128,
}

impl Analysis<'_> {
    /// Returns `true` if the text has no features: it is empty, or consists of punctuation and stop words. Such a text
    /// is never a duplicate, not even of an equal text.
    pub fn is_empty(&self) -> bool {
        self.features == 0
    }

    /// Returns an upper bound of the size of the text's shingle set: the number of its words, or of its characters.
    /// Linear in the text, and cheaper than making the set.
    pub fn max_shingles(&self) -> u32 {
        match self.measure {
            Measure::WordGrams => 1 + self.canonical.bytes().filter(|&byte| byte == b' ').count() as u32,
            Measure::CharGrams => self.canonical.chars().count() as u32,
        }
    }
}

/// A feature of one text, as [`Analyzer::explain`](crate::Analyzer::explain) lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The feature as a string: a part of the canonical text.
    pub text: String,
    /// The hash of the feature under the analyzer's key.
    pub hash: u128,
    /// Number of occurrences in the text.
    pub tf: u32,
    /// The weight of the feature in the vote for each bit.
    pub weight: u16,
}
