//! From a text to its fingerprint, document after document.
//!
//! All that follows the canonical text reads nothing else, so texts with one canonical form have one
//! fingerprint.

use std::fmt;

use twinprint_fingerprint::HashKey;

use crate::canonical::Canonicaliser;
use crate::profile::Profile;
use crate::script::Measure;
use crate::voter::Voter;

/// What one text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Analysis<'a> {
    /// Canonical text: the words of the normalised text, joined by single spaces.
    pub canonical: &'a str,
    /// How overlap with another text is to be measured.
    pub measure: Measure,
    /// Distinct features, stop words left out.
    pub features: u32,
    /// The fingerprint, in the low bits the profile asks for; a narrower fingerprint is the low part of a wider
    /// one. 0 when there are no features.
    pub fingerprint: u128,
}

impl Analysis<'_> {
    /// Whether the text has no feature: it is empty, or holds punctuation or stop words alone. Such a text duplicates nothing, not even its copy.
    pub fn is_empty(&self) -> bool {
        self.features == 0
    }
}

/// A feature of one document, for people to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The stretch of canonical text.
    pub text: String,
    /// Its hash under the analyzer's key.
    pub hash: u128,
    /// How often it occurs.
    pub tf: u32,
    /// What it weighs in the vote.
    pub weight: u16,
}

/// Turns texts into fingerprints under one profile. Keeps its buffers: one for each thread, and nothing is
/// allocated once they have grown to the documents (segmenting ideographs apart).
pub struct Analyzer {
    canonicaliser: Canonicaliser,
    voter: Voter,
}

impl fmt::Debug for Analyzer {
    /// Leaves out the feature hashes it holds, which come from the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Voter {
            features,
            weight,
            bits,
            key,
            ..
        } = &self.voter;
        let mut analyzer = f.debug_struct("Analyzer");
        analyzer
            .field("features", features)
            .field("weight", weight)
            .field("bits", bits)
            .field("key", key);
        analyzer.finish_non_exhaustive()
    }
}

impl Analyzer {
    /// An analyzer for a profile, under the key that the profile's key id stands for.
    pub fn new(profile: &Profile, key: HashKey) -> Self {
        Self {
            canonicaliser: Canonicaliser::default(),
            voter: Voter::new(profile, key),
        }
    }

    /// Analyses a text. Linear. Only the first 4 GiB of the canonical text count.
    pub fn analyze(&mut self, text: &str) -> Analysis<'_> {
        let canonical = self.canonicaliser.run(text);
        self.voter.analyze(canonical)
    }

    /// Analyses a text that is known to be canonical, made by [`canonical`](crate::canonical()) or
    /// [`analyze`](Self::analyze), for less work. Of any other text the result is deterministic but not its
    /// fingerprint.
    pub fn analyze_canonical<'a>(&'a mut self, canonical: &'a str) -> Analysis<'a> {
        self.voter.analyze(canonical)
    }

    /// The fingerprint that [`analyze`](Self::analyze) gives, for less work where every occurrence of a feature counts alike: by windows of up
    /// to seven characters weighed by frequency, at up to 64 bits.
    pub fn fingerprint(&mut self, text: &str) -> u128 {
        let canonical = self.canonicaliser.run(text);
        self.voter.fingerprint(canonical)
    }

    /// The features of a text, the heaviest first, then by their bytes.
    pub fn explain(&mut self, text: &str) -> Vec<Feature> {
        let canonical = self.canonicaliser.run(text);
        let mut features = self.voter.explain(canonical);
        features.sort_unstable_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.text.cmp(&b.text)));
        features
    }
}

#[cfg(test)]
mod tests;
