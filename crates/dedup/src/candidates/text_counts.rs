//! The counts of a text that decide how its candidates are found, and the limits on them.

use serde::{Deserialize, Serialize};
use twinprint_cluster::JoinRole;
use twinprint_text::Measure;

use crate::corpus::Classes;
use crate::ids::ClassId;
use crate::options::DedupOptions;

/// The maximum number of bytes of a short canonical text. A longer text with few features repeats itself and also takes
/// part in the join of the fingerprints, because the bound that makes the set join complete (see [`FeatureLimits`])
/// holds only for short texts.
const MAX_SHORT_TEXT_BYTES: u32 = 600;

/// The counts of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextCounts {
    /// The number of distinct features; 0 for a text without features.
    pub(crate) features: u32,
    /// An upper bound of the number of shingles, see [`TextValues`](crate::corpus::TextValues).
    pub(crate) shingles: u32,
    pub(crate) measure: Measure,
    /// The length of the canonical text in bytes.
    pub(crate) bytes: u32,
}

impl Classes {
    /// The counts of the text of a class.
    pub(crate) fn counts(&self, class: ClassId) -> TextCounts {
        let values = self.values(class);
        TextCounts {
            features: values.features,
            shingles: values.shingles,
            measure: values.measure,
            bytes: values.text.len() as u32,
        }
    }
}

impl TextCounts {
    /// True if the text has features, but fewer than the options ask for.
    pub(crate) fn is_short(self, options: &DedupOptions) -> bool {
        (1..options.min_features).contains(&self.features)
    }

    /// True if the text takes part in the join of the fingerprints. Without verification every text with features does.
    /// With verification short texts are left to the set join.
    pub(crate) fn is_joined(self, options: &DedupOptions) -> bool {
        let repeats = self.bytes > MAX_SHORT_TEXT_BYTES;
        self.features >= options.min_features || self.features > 0 && (repeats || !options.verify)
    }

    /// The role of the text if the set join finds all pairs.
    pub(crate) fn role_in_exact_run(self) -> JoinRole {
        if self.features > 0 {
            JoinRole::Core
        } else {
            JoinRole::None
        }
    }

    /// The role of the text in the set join beside a join of fingerprints. `limits` are those of its corpus.
    pub(crate) fn role(self, limits: FeatureLimits, options: &DedupOptions) -> JoinRole {
        if !options.verify || self.features == 0 {
            JoinRole::None
        } else if self.features < options.min_features {
            JoinRole::Core
        } else if limits.includes(self) {
            JoinRole::Fringe
        } else {
            JoinRole::None
        }
    }
}

/// The numbers of features below which a text takes part in the set join, because it may be a duplicate of a short
/// text.
///
/// Let A be a text with fewer than F features and at most S shingles, and let B be a text with J(A, B) ≥ t. Then |A ∪
/// B| ≤ S/t, so B has at most (1 − t)·S/t shingles that A lacks. Each feature of B that A lacks is in such a shingle,
/// so B has fewer than F + (1 − t)·S/t features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FeatureLimits {
    /// The limit for texts that are measured by words.
    words: u32,
    /// The limit for texts that are measured by characters.
    chars: u32,
}

impl FeatureLimits {
    /// Computes the limits for a corpus. S is the largest number of shingles of its short texts, by the measure in
    /// which a pair is compared. The order of the texts has no influence.
    pub(crate) fn new(texts: impl Iterator<Item = TextCounts>, options: &DedupOptions) -> Self {
        let (mut by_words, mut by_chars, mut words_by_chars) = (0, 0, 0);
        for text in texts {
            if text.features >= options.min_features || text.bytes > MAX_SHORT_TEXT_BYTES {
                continue;
            }
            match text.measure {
                Measure::WordGrams => {
                    by_words = by_words.max(text.shingles);
                    words_by_chars = words_by_chars.max(text.bytes);
                }
                Measure::CharGrams => by_chars = by_chars.max(text.shingles),
            }
        }
        let features = |shingles: u32| {
            let extra = f64::from(shingles) * (1.0 - options.threshold) / options.threshold;
            options.min_features + extra.ceil() as u32
        };
        Self {
            words: features(by_words.max(by_chars)),
            chars: features(by_chars.max(words_by_chars)),
        }
    }

    /// True if a text may be a duplicate of a short text.
    pub(crate) fn includes(self, text: TextCounts) -> bool {
        let limit = match text.measure {
            Measure::WordGrams => self.words,
            Measure::CharGrams => self.chars,
        };
        text.features < limit
    }
}
