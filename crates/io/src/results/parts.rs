//! The counts of a search for partial copies: texts that share a passage without being duplicates.

use serde::{Deserialize, Serialize};
use twinprint_text::Measure;
use twinprint_text::passages::{MIN_PASSAGE_CHARS, MIN_PASSAGE_WORDS, guaranteed_run};

/// The counts of a search for partial copies.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct PartsReport {
    /// The smallest containment of a reported pair.
    pub least: f64,
    /// Number of fingerprints that winnowing selects from all texts.
    pub fingerprints: u64,
    /// Number of distinct fingerprints that occur in more than [`PartsReport::MAX_PAIRED_TEXTS`] texts.
    pub common: u64,
    /// Number of pairs of texts whose containment was measured.
    pub candidates: u64,
    /// Rows of `parts.jsonl`. Each row is a pair of texts.
    pub rows: u64,
    /// Number of passages in `passages.jsonl`.
    pub passages: u64,
    /// Rows of `passages.jsonl`. Each row is one holder of a passage.
    pub holders: u64,
    /// The number of holders of the passage that occurs in the most texts.
    pub most_holders: u64,
    /// Number of passages that occur in more than [`PartsReport::MAX_PAIRED_TEXTS`] texts and are not reported, because
    /// in every holder their share is below `least`.
    pub small_passages: u64,
    /// Number of distinct fingerprints that occur in more than [`PartsReport::MAX_PAIRED_TEXTS`] texts but in no
    /// passage, because the common phrase is too short.
    pub phrases: u64,
    /// Number of further fingerprints that occur in more than [`PartsReport::MAX_PAIRED_TEXTS`] texts but in no
    /// passage. The search reached its limit of comparisons for their texts, so passages with these fingerprints may be
    /// missing.
    pub limited: u64,
    /// Number of occurrences of passages whose position in the original text could not be found.
    pub unplaced: u64,
}

impl PartsReport {
    /// Two texts are compared if they share at least this number of fingerprints.
    pub const LEAST_SHARED: u32 = 2;
    /// A fingerprint that occurs in at most this number of texts makes each two of them a candidate pair. Fingerprints
    /// of more texts are searched for common passages instead.
    pub const MAX_PAIRED_TEXTS: usize = 64;
    /// The number of words of the shortest common run that is found in every case.
    pub const NOTICED_WORDS: usize = guaranteed_run(Measure::WordGrams, Self::LEAST_SHARED as usize);
    /// The number of letters and digits of the shortest common run that is found in every case, if the measure is
    /// characters.
    pub const NOTICED_CHARS: usize = guaranteed_run(Measure::CharGrams, Self::LEAST_SHARED as usize);
    /// The number of words of the shortest passage that is reported.
    pub const SHORTEST_WORDS: usize = MIN_PASSAGE_WORDS;
    /// The number of letters and digits of the shortest passage that is reported, if the measure is characters.
    pub const SHORTEST_CHARS: usize = MIN_PASSAGE_CHARS;
}
