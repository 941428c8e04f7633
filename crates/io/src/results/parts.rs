//! The counts of a search for partial copies.

use serde::{Deserialize, Serialize};
use twinprint_text::Measure;
use twinprint_text::passages::{MIN_PASSAGE_CHARS, MIN_PASSAGE_WORDS, guaranteed_run};

/// The counts of a search for partial copies.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct PartsReport {
    /// Least containment reported.
    pub least: f64,
    /// Fingerprints selected from all texts by winnowing.
    pub fingerprints: u64,
    /// Distinct fingerprints in more than [`PartsReport::MAX_PAIRED_TEXTS`] texts.
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
    /// Passages of more than [`PartsReport::MAX_PAIRED_TEXTS`] texts that are left out because they are less than the share `least` of every holder.
    pub small_passages: u64,
    /// Distinct fingerprints in more than [`PartsReport::MAX_PAIRED_TEXTS`] texts outside of the passages found: phrases that are too short.
    pub phrases: u64,
    /// Further such fingerprints, whose texts were compared with the largest number of other texts that the search allows.
    pub limited: u64,
    /// Occurrences of passages that could not be located in the original text.
    pub unplaced: u64,
}

impl PartsReport {
    /// The smallest number of common fingerprints of two texts that are compared.
    pub const LEAST_SHARED: u32 = 2;
    /// The largest number of texts with a common fingerprint that are compared in pairs.
    pub const MAX_PAIRED_TEXTS: usize = 64;
    /// Words in the shortest common run that is always found.
    pub const NOTICED_WORDS: usize = guaranteed_run(Measure::WordGrams, Self::LEAST_SHARED as usize);
    /// Letters and numbers in the shortest common run that is always found, if the measure is characters.
    pub const NOTICED_CHARS: usize = guaranteed_run(Measure::CharGrams, Self::LEAST_SHARED as usize);
    /// Words in the shortest passage that is reported.
    pub const SHORTEST_WORDS: usize = MIN_PASSAGE_WORDS;
    /// Letters and numbers in the shortest passage that is reported, if the measure is characters.
    pub const SHORTEST_CHARS: usize = MIN_PASSAGE_CHARS;
}
