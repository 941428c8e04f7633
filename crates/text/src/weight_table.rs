//! Weights of the features of a document under a profile, from frequency, idf and stop words.

use std::collections::HashMap;

use twinprint_fingerprint::Width;

use crate::feature_hash::FeatureHasher;
use crate::profile::Profile;
use crate::weight::Weight;

/// The weights of a profile under one key. Features are looked up by the low halves of their hashes.
pub(crate) struct WeightTable {
    weight: Weight,
    /// Hashes of the stop words, sorted.
    stop_words: Vec<u64>,
    idf: Option<IdfFactors>,
}

/// The factors by which idf multiplies the weights of words, in sixteenths.
struct IdfFactors {
    factors: HashMap<u64, u16>,
    /// Factor of the words that are not in the idf table.
    default: u16,
}

impl WeightTable {
    /// Makes the table for a profile. O(stop words + words of the idf table).
    pub(crate) fn new(profile: &Profile, hasher: &FeatureHasher) -> Self {
        let hash = |word: &str| hasher.hash_one(word.as_bytes()).low_u64();
        let words = profile.stop_words().words().iter();
        let mut stop_words: Vec<u64> = words.map(|word| hash(word)).collect();
        stop_words.sort_unstable();
        let idf = profile.idf().map(|(table, power)| IdfFactors {
            factors: table
                .words()
                .map(|(word, value)| (hash(word), power.factor(value)))
                .collect(),
            default: power.factor(table.default_value()),
        });
        Self {
            weight: profile.weight(),
            stop_words,
            idf,
        }
    }

    /// The weight function, which maps the frequency of a feature to its weight. Idf is not included.
    pub(crate) fn weight(&self) -> Weight {
        self.weight
    }

    /// Returns `true` if the profile has neither stop words nor idf, so that a weight depends only on the frequency.
    pub(crate) fn is_frequency_only(&self) -> bool {
        self.stop_words.is_empty() && self.idf.is_none()
    }

    /// The weight of a feature that occurs `tf` times, at most 65,535; `None` if the feature is a stop word. `feature`
    /// is the low half of its hash.
    pub(crate) fn weigh(&self, feature: u64, tf: u32) -> Option<u16> {
        if self.stop_words.binary_search(&feature).is_ok() {
            return None;
        }
        let weight = self.weight.of(tf);
        let Some(idf) = &self.idf else {
            return Some(weight);
        };
        let factor = idf.factors.get(&feature).unwrap_or(&idf.default);
        Some(weight.saturating_mul(*factor))
    }
}
