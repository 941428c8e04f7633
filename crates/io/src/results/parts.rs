//! The counts of a search for partial copies.

use serde::{Deserialize, Serialize};
use twinprint_text::Measure;
use twinprint_text::passages::{MIN_PASSAGE_CHARS, MIN_PASSAGE_WORDS, guaranteed_run};

/// What the search found, for the report.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct PartsReport {
    /// Least containment reported.
    pub least: f64,
    /// Fingerprints picked out of all texts.
    pub fingerprints: u64,
    /// Different fingerprints that more than [`PartsReport::MANY`] texts have.
    pub common: u64,
    /// Pairs measured.
    pub candidates: u64,
    /// Rows of `parts.jsonl`: pairs.
    pub rows: u64,
    /// Passages in `passages.jsonl`.
    pub passages: u64,
    /// Rows of `passages.jsonl`: one for each text that holds a passage.
    pub holders: u64,
    /// Holders of the passage that most texts share.
    pub most_holders: u64,
    /// Passages of more than [`PartsReport::MANY`] texts that are left out because they make up less than `least` of every text that holds them.
    pub small_passages: u64,
    /// Different fingerprints that more than [`PartsReport::MANY`] texts have outside of the passages that were found: phrases that are too short.
    pub phrases: u64,
    /// More such fingerprints, whose texts were compared with as many others as the search allows.
    pub limited: u64,
    /// Places of passages that cannot be cut out of the original text.
    pub unplaced: u64,
}

impl PartsReport {
    /// Fingerprints that texts must have in common to be compared.
    pub const LEAST_SHARED: u32 = 2;
    /// Texts that share a passage beyond which they are not compared in pairs.
    pub const MANY: usize = 64;
    /// Words in the shortest run that is noticed wherever it stands.
    pub const NOTICED_WORDS: usize = guaranteed_run(Measure::WordGrams, Self::LEAST_SHARED as usize);
    /// Letters and numbers in the shortest run that is noticed wherever it stands, where characters measure.
    pub const NOTICED_CHARS: usize = guaranteed_run(Measure::CharGrams, Self::LEAST_SHARED as usize);
    /// Words in the shortest passage that is reported.
    pub const SHORTEST_WORDS: usize = MIN_PASSAGE_WORDS;
    /// Letters and numbers in the shortest passage that is reported, where characters measure.
    pub const SHORTEST_CHARS: usize = MIN_PASSAGE_CHARS;
}
