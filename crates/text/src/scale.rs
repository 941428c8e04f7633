//! What a feature of a document weighs under a profile: by its frequency there, by how rare it is, or nothing at all.

use std::collections::HashMap;

use twinprint_fingerprint::{HashKey, Width, hash_one};

use crate::profile::Profile;
use crate::weight::Weight;

/// A profile's weights, by the low halves of the feature hashes under one key.
pub(crate) struct Scale {
    pub(crate) weight: Weight,
    /// Sorted.
    stop_words: Vec<u64>,
    rarity: Option<Rarity>,
}

/// What weights are multiplied by, in sixteenths.
struct Rarity {
    factors: HashMap<u64, u16>,
    others: u16,
}

impl Scale {
    /// The scale of a profile. O(stop words + words of its table).
    pub(crate) fn new(profile: &Profile, key: &HashKey) -> Self {
        let hash = |word: &str| hash_one(key, word.as_bytes()).low_u64();
        let words = profile.stop_words().words().iter();
        let mut stop_words: Vec<u64> = words.map(|word| hash(word)).collect();
        stop_words.sort_unstable();
        let rarity = profile.idf().map(|(table, power)| Rarity {
            factors: table
                .words()
                .map(|(word, value)| (hash(word), power.factor(value)))
                .collect(),
            others: power.factor(table.others()),
        });
        Self {
            weight: profile.weight(),
            stop_words,
            rarity,
        }
    }

    /// Whether a weight depends on the frequency alone.
    pub(crate) fn is_plain(&self) -> bool {
        self.stop_words.is_empty() && self.rarity.is_none()
    }

    /// The weight of a feature that occurs `tf` times, at most 65,535; nothing for a stop word.
    pub(crate) fn weigh(&self, feature: u64, tf: u32) -> Option<u16> {
        if self.stop_words.binary_search(&feature).is_ok() {
            return None;
        }
        let weight = self.weight.of(tf);
        let Some(rarity) = &self.rarity else {
            return Some(weight);
        };
        let factor = rarity.factors.get(&feature).unwrap_or(&rarity.others);
        Some(weight.saturating_mul(*factor))
    }
}
