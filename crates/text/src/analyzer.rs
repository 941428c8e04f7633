//! The analyzer: computes the fingerprints of texts, one document after another.
//!
//! Invariant: the fingerprint depends on the canonical text alone, so texts with the same canonical text have the same
//! fingerprint.

use std::fmt;

use twinprint_fingerprint::HashKey;

use crate::analysis::{Analysis, Feature};
use crate::canonical::Canonicaliser;
use crate::feature_votes::{FeatureVotes, VotingFeature, WeightedFeature};
use crate::fingerprinter::Fingerprinter;
use crate::given_features::{GivenFeaturesError, profile_votes};
use crate::profile::Profile;

/// Turns texts into fingerprints under one profile. Use one analyzer for each thread. It reuses its buffers: once they
/// have the size of the largest document, only the segmentation of ideographs allocates memory.
///
/// ```
/// use twinprint_fingerprint::{HashKey, Width};
/// use twinprint_text::{Analyzer, Profile};
///
/// let profile = Profile::default_for(64)?;
/// let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
/// let analysis = analyzer.analyze("The cat, the mat");
/// assert_eq!(analysis.canonical, "the cat the mat");
/// assert_eq!(analysis.features, 3);
/// let fingerprint = analysis.fingerprint;
///
/// let similar = analyzer.fingerprint("the cat; THE MAT!");
/// assert_eq!(fingerprint.distance(similar), 0);
/// # Ok::<(), twinprint_text::ProfileError>(())
/// ```
pub struct Analyzer {
    canonicaliser: Canonicaliser,
    fingerprinter: Fingerprinter,
}

impl fmt::Debug for Analyzer {
    /// Does not print the buffers: they contain feature hashes, which depend on the secret key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fingerprinter {
            features,
            bits,
            hasher,
            ..
        } = &self.fingerprinter;
        let mut analyzer = f.debug_struct("Analyzer");
        analyzer
            .field("features", features)
            .field("weight", &self.fingerprinter.weight())
            .field("bits", bits)
            .field("hash", hasher);
        analyzer.finish_non_exhaustive()
    }
}

impl Analyzer {
    /// Creates an analyzer for `profile`. `key` is the key of the feature hashes, whose id is in the profile.
    pub fn new(profile: &Profile, key: HashKey) -> Self {
        Self {
            canonicaliser: Canonicaliser::default(),
            fingerprinter: Fingerprinter::new(profile, key),
        }
    }

    /// Analyses a text. Linear in its length. Only the first 4 GiB of the canonical text are used.
    pub fn analyze(&mut self, text: &str) -> Analysis<'_> {
        let canonical = self.canonicaliser.run(text);
        self.fingerprinter.analyze(canonical)
    }

    /// Analyses a text that is already canonical, as returned by [`canonical`](crate::canonical()) or
    /// [`analyze`](Self::analyze). Faster than `analyze`. If the text is not canonical, the result is deterministic but
    /// differs from that of `analyze`.
    pub fn analyze_canonical<'a>(&'a mut self, canonical: &'a str) -> Analysis<'a> {
        self.fingerprinter.analyze(canonical)
    }

    /// Computes the same fingerprint as [`analyze`](Self::analyze). Faster than `analyze` for profiles of shingles of
    /// up to seven characters with the weight `tf` and at most 64 bits, because the features then need not be counted.
    pub fn fingerprint(&mut self, text: &str) -> u128 {
        let canonical = self.canonicaliser.run(text);
        self.fingerprinter.fingerprint(canonical)
    }

    /// Lists the features of a text, the heaviest first. Features of equal weight are in the order of their bytes.
    pub fn explain(&mut self, text: &str) -> Vec<Feature> {
        let canonical = self.canonicaliser.run(text);
        let mut features = self.fingerprinter.explain(canonical);
        features.sort_unstable_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.text.cmp(&b.text)));
        features
    }

    /// Lists the features of a text, in the order of [`explain`](Self::explain), with their votes.
    ///
    /// ```
    /// use twinprint_fingerprint::HashKey;
    /// use twinprint_text::{Analyzer, Profile};
    ///
    /// let mut analyzer = Analyzer::new(&Profile::default_for(64)?, HashKey::PUBLIC);
    /// let votes = analyzer.votes("the cat, the mat")?;
    /// assert_eq!((votes.features[0].feature.name.as_str(), votes.features[0].feature.weight), ("the", 27.0));
    /// assert_eq!(votes.fingerprint, analyzer.fingerprint("the cat, the mat"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`GivenFeaturesError::Total`] if the text has so many features that the sums of the votes are not exact.
    pub fn votes(&mut self, text: &str) -> Result<FeatureVotes, GivenFeaturesError> {
        let features = self.explain(text).into_iter().map(|feature| VotingFeature {
            feature: WeightedFeature {
                name: feature.text,
                weight: feature.weight.into(),
            },
            hash: feature.hash,
        });
        profile_votes(features.collect(), self.fingerprinter.bits)
    }
}

#[cfg(test)]
mod tests;
