//! Results of an analysis: the fingerprint of one text, and its features for people.

use crate::script::Measure;

/// The canonical text, fingerprint and feature count of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Analysis<'a> {
    /// Canonical text: the words of the normalised text, joined by single spaces.
    pub canonical: &'a str,
    /// The measure of overlap with another text.
    pub measure: Measure,
    /// Distinct features, stop words left out.
    pub features: u32,
    /// The fingerprint, in as many low bits as the profile has. A narrower fingerprint is the low part of a wider
    /// one. 0 if the text has no features.
    pub fingerprint: u128,
}

impl Analysis<'_> {
    /// Returns `true` if the text has no features: it is empty or has only punctuation and stop words. Such a text is a duplicate
    /// of nothing, not even of its copy.
    pub fn is_empty(&self) -> bool {
        self.features == 0
    }

    /// An upper bound of the size of the text's shingle set: the number of its words, or of its characters. Linear, without the cost
    /// of shingling.
    pub fn max_shingles(&self) -> u32 {
        match self.measure {
            Measure::WordGrams => self.canonical.split(' ').count() as u32,
            Measure::CharGrams => self.canonical.chars().count() as u32,
        }
    }
}

/// A feature of one text, as [`Analyzer::explain`](crate::Analyzer::explain) lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The part of the canonical text that is the feature.
    pub text: String,
    /// Its hash under the analyzer's key.
    pub hash: u128,
    /// Number of occurrences in the text.
    pub tf: u32,
    /// Weight of its vote.
    pub weight: u16,
}
