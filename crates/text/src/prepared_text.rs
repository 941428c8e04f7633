//! Texts prepared for a search for duplicates, in an owned form that can be passed between threads.
//!
//! An [`Analysis`] borrows the buffers of its analyzer, so it needs no allocation, and batch runs copy what they need
//! from it. Streams and collections, which keep a document in memory for longer, use [`PreparedText`]: it owns its
//! canonical text and caches its shingle sets.

use std::fmt;
use std::sync::{Arc, OnceLock};

use twinprint_fingerprint::HashKey;

use crate::analysis::Analysis;
use crate::analyzer::Analyzer;
use crate::overlap::{ShingleSet, Shingler};
use crate::profile::Profile;
use crate::script::Measure;

/// The two keys for preparing texts.
#[derive(Clone, Copy, Debug)]
pub struct PreparationKeys {
    /// The key of the feature hashes. The profile contains the id of this key.
    pub features: HashKey,
    /// The key of the shingle hashes. Only shingle sets made under the same key can be compared.
    pub shingles: HashKey,
}

/// Prepares texts under one profile. Reuses its buffers; use one for each thread.
///
/// ```
/// use twinprint_fingerprint::HashKey;
/// use twinprint_text::{PreparationKeys, Profile, TextPreparer};
///
/// let keys = PreparationKeys { features: HashKey::PUBLIC, shingles: HashKey::new(1, 2) };
/// let mut preparer = TextPreparer::new(&Profile::default_for(64)?, keys);
/// let a = preparer.prepare("The quick brown fox jumps.");
/// let b = preparer.prepare("the QUICK brown fox jumps!");
/// assert_eq!(a.canonical(), b.canonical());
///
/// let measure = a.measure().with(b.measure());
/// let overlap = a.shingle_set(measure).overlap_at_least(b.shingle_set(measure), 0.8);
/// assert!(overlap.is_some_and(|overlap| overlap.jaccard() == 1.0));
/// # Ok::<(), twinprint_text::ProfileError>(())
/// ```
pub struct TextPreparer {
    analyzer: Analyzer,
    shingler: Shingler,
    shingle_key: HashKey,
}

impl fmt::Debug for TextPreparer {
    /// Prints no field: the buffers contain hashes, which depend on the secret keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextPreparer").finish_non_exhaustive()
    }
}

impl TextPreparer {
    /// A preparer for a profile.
    pub fn new(profile: &Profile, keys: PreparationKeys) -> Self {
        Self {
            analyzer: Analyzer::new(profile, keys.features),
            shingler: Shingler::new(keys.shingles),
            shingle_key: keys.shingles,
        }
    }

    /// Analyses a text. The result borrows the buffers of the preparer. Linear.
    pub fn analyze(&mut self, text: &str) -> Analysis<'_> {
        self.analyzer.analyze(text)
    }

    /// Prepares a text; its shingle sets are made on first use. Linear.
    pub fn prepare(&mut self, text: &str) -> PreparedText {
        let analysis = self.analyzer.analyze(text);
        PreparedText {
            canonical: analysis.canonical.into(),
            fingerprint: analysis.fingerprint,
            features: analysis.features,
            measure: analysis.measure,
            shingle_key: self.shingle_key,
            sets: [const { OnceLock::new() }; 2],
        }
    }

    /// Makes the shingle set of a text, by the measure of the text, unless it exists already. Uses the buffers of this
    /// preparer, so it is faster than [`PreparedText::shingle_set`].
    pub fn shingle<'t>(&mut self, text: &'t PreparedText) -> &'t Arc<ShingleSet> {
        let measure = text.measure;
        text.set_or_make(measure, || self.shingle_set(&text.canonical, measure))
    }

    /// Makes the shingle set of a canonical text by the given measure. Linear.
    pub fn shingle_set(&mut self, canonical: &str, measure: Measure) -> ShingleSet {
        ShingleSet::new(self.shingler.shingle(canonical, measure))
    }
}

/// A text prepared by [`TextPreparer`]: canonical text, fingerprint, feature count, measure and shingle sets.
pub struct PreparedText {
    canonical: Box<str>,
    fingerprint: u128,
    features: u32,
    measure: Measure,
    shingle_key: HashKey,
    /// The shingle sets by words and by characters, each made on first use.
    sets: [OnceLock<Arc<ShingleSet>>; 2],
}

impl fmt::Debug for PreparedText {
    /// Does not print the shingle hashes, because they depend on the secret key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedText")
            .field("canonical", &self.canonical)
            .field("fingerprint", &self.fingerprint)
            .field("features", &self.features)
            .field("measure", &self.measure)
            .finish_non_exhaustive()
    }
}

impl PreparedText {
    /// The canonical text.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The fingerprint, in the low bits; see [`Analysis::fingerprint`].
    pub fn fingerprint(&self) -> u128 {
        self.fingerprint
    }

    /// Number of distinct features that are not stop words; see [`Analysis::features`].
    pub fn features(&self) -> u32 {
        self.features
    }

    /// The unit of the text's shingles, words or characters; see [`Analysis::measure`].
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Returns `true` if the text has no features, so that it cannot be a duplicate; see [`Analysis::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.features == 0
    }

    /// The shingle set by the given measure. The first call makes the set in linear time; later calls take constant
    /// time.
    pub fn shingle_set(&self, measure: Measure) -> &Arc<ShingleSet> {
        self.set_or_make(measure, || {
            ShingleSet::new(Shingler::new(self.shingle_key).shingle(&self.canonical, measure))
        })
    }

    fn set_or_make(&self, measure: Measure, make: impl FnOnce() -> ShingleSet) -> &Arc<ShingleSet> {
        let [by_words, by_characters] = &self.sets;
        let set = match measure {
            Measure::WordGrams => by_words,
            Measure::CharGrams => by_characters,
        };
        set.get_or_init(|| Arc::new(make()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prepared_text_agrees_with_the_analysis_and_the_shingler() {
        let profile = Profile::default_for(128).expect("a profile");
        let keys = PreparationKeys {
            features: HashKey::PUBLIC,
            shingles: HashKey::new(3, 4),
        };
        let mut preparer = TextPreparer::new(&profile, keys);
        let mut shingler = Shingler::new(keys.shingles);
        for text in [
            "",
            "…",
            "The cat sat on the mat.",
            "湖人赢球，湖人队",
            "猫 and a dog",
        ] {
            let prepared = preparer.prepare(text);
            let analysis = preparer.analyze(text);
            assert_eq!(prepared.canonical(), analysis.canonical);
            assert_eq!(prepared.fingerprint(), analysis.fingerprint);
            assert_eq!(prepared.features(), analysis.features);
            assert_eq!(prepared.measure(), analysis.measure);
            assert_eq!(prepared.is_empty(), analysis.is_empty());
            preparer.shingle(&prepared);
            for measure in [Measure::WordGrams, Measure::CharGrams] {
                let shingles = shingler.shingle(prepared.canonical(), measure);
                assert_eq!(prepared.shingle_set(measure).shingles(), shingles);
            }
        }
    }
}
