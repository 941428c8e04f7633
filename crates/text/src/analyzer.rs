//! From a text to its fingerprint, one document after another.
//!
//! Invariant: the fingerprint depends on the canonical text alone, so texts with one canonical form have one
//! fingerprint.

use std::fmt;

use twinprint_fingerprint::HashKey;

use crate::analysis::{Analysis, Feature};
use crate::canonical::Canonicaliser;
use crate::fingerprinter::Fingerprinter;
use crate::profile::Profile;

/// Turns texts into fingerprints under one profile. Use one analyzer for each thread: it keeps its buffers and
/// allocates nothing once they have grown to the size of the documents, except in segmenting ideographs.
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
    /// Leaves out the feature hashes in the buffers: they depend on the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fingerprinter {
            features, bits, key, ..
        } = &self.fingerprinter;
        let mut analyzer = f.debug_struct("Analyzer");
        analyzer
            .field("features", features)
            .field("weight", &self.fingerprinter.weight())
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
            fingerprinter: Fingerprinter::new(profile, key),
        }
    }

    /// Analyses a text. Linear in its length. Only the first 4 GiB of the canonical text are used.
    pub fn analyze(&mut self, text: &str) -> Analysis<'_> {
        let canonical = self.canonicaliser.run(text);
        self.fingerprinter.analyze(canonical)
    }

    /// Analyses a text that is already canonical: made by [`canonical`](crate::canonical()) or [`analyze`](Self::analyze).
    /// Faster than `analyze`. For any other text the result is deterministic, but it is not the text's fingerprint.
    pub fn analyze_canonical<'a>(&'a mut self, canonical: &'a str) -> Analysis<'a> {
        self.fingerprinter.analyze(canonical)
    }

    /// The fingerprint that [`analyze`](Self::analyze) gives. Faster if every occurrence of a feature has the same weight:
    /// for shingles of up to seven characters weighed by their frequency (tf), at up to 64 bits.
    pub fn fingerprint(&mut self, text: &str) -> u128 {
        let canonical = self.canonicaliser.run(text);
        self.fingerprinter.fingerprint(canonical)
    }

    /// The features of a text, the heaviest first, then by their bytes.
    pub fn explain(&mut self, text: &str) -> Vec<Feature> {
        let canonical = self.canonicaliser.run(text);
        let mut features = self.fingerprinter.explain(canonical);
        features.sort_unstable_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.text.cmp(&b.text)));
        features
    }
}

#[cfg(test)]
mod tests;
