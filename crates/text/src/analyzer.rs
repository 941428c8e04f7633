//! From a text to its fingerprint, document after document.
//!
//! One pass each: canonical text, measure, byte ranges of the features, their hashes in batches, counts,
//! weights, one vote for each distinct feature (Charikar 2002). Integer sums make the order of votes irrelevant.
//! All that follows the first step reads the canonical text alone, so texts with one canonical form have one
//! fingerprint.

use std::fmt;

use fingerprint::{HashKey, Span, hash_features, simhash};

use crate::canonical::Canonicaliser;
use crate::features::{Cutter, Features};
use crate::profile::Profile;
use crate::script::Measure;
use crate::tally::Tally;
use crate::weight::Weight;

/// The longest canonical text whose byte positions fit a [`Span`].
const MAX_CANONICAL: usize = u32::MAX as usize;

/// Features hashed at a time: their hashes stay in the first cache until they are counted.
const BATCH: usize = 512;

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
        let mut stop_words: Vec<u128> = profile
            .stop_words()
            .words()
            .iter()
            .map(|word| fingerprint::hash_one(&key, word.as_bytes()))
            .collect();
        stop_words.sort_unstable();
        Self {
            canonicaliser: Canonicaliser::default(),
            voter: Voter {
                features: profile.features(),
                weight: profile.weight(),
                bits: profile.bits(),
                key,
                stop_words,
                cutter: Cutter::default(),
                hashes: Vec::new(),
                tally: Tally::new(),
                kept: Vec::new(),
                weights: Vec::new(),
            },
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

    /// The features of a text, the heaviest first, then by their bytes.
    pub fn explain(&mut self, text: &str) -> Vec<Feature> {
        let canonical = self.canonicaliser.run(text);
        let mut features = self.voter.explain(canonical);
        features.sort_unstable_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.text.cmp(&b.text)));
        features
    }
}

/// The part of an analyzer that reads canonical text.
struct Voter {
    features: Features,
    weight: Weight,
    bits: u32,
    key: HashKey,
    /// Hashes of the stop words, sorted.
    stop_words: Vec<u128>,
    cutter: Cutter,
    hashes: Vec<u128>,
    tally: Tally,
    /// The distinct features that are no stop words.
    kept: Vec<u128>,
    weights: Vec<u16>,
}

impl Voter {
    fn analyze<'a>(&mut self, canonical: &'a str) -> Analysis<'a> {
        let end = canonical.floor_char_boundary(MAX_CANONICAL);
        let text = canonical.get(..end).unwrap_or_default();
        let measure = Measure::of(text);
        let (source, spans) = self.cutter.cut(self.features, text, measure);
        self.tally.start(spans.len());
        for batch in spans.chunks(BATCH) {
            hash_features(&self.key, source.as_bytes(), batch, &mut self.hashes);
            self.tally.add(&self.hashes);
        }
        self.weights.clear();
        let distinct = if self.stop_words.is_empty() {
            self.weights
                .extend(self.tally.counts().iter().map(|count| self.weight.of(count.tf)));
            self.tally.hashes()
        } else {
            self.kept.clear();
            for (&hash, count) in self.tally.hashes().iter().zip(self.tally.counts()) {
                if self.stop_words.binary_search(&hash).is_err() {
                    self.kept.push(hash);
                    self.weights.push(self.weight.of(count.tf));
                }
            }
            &self.kept
        };
        let fingerprint = match self.bits {
            16 => u128::from(simhash::<u16>(distinct, &self.weights)),
            32 => u128::from(simhash::<u32>(distinct, &self.weights)),
            64 => u128::from(simhash::<u64>(distinct, &self.weights)),
            _ => simhash::<u128>(distinct, &self.weights),
        };
        Analysis {
            canonical,
            measure,
            features: distinct.len() as u32,
            fingerprint,
        }
    }

    fn explain(&mut self, canonical: &str) -> Vec<Feature> {
        self.analyze(canonical);
        let end = canonical.floor_char_boundary(MAX_CANONICAL);
        let text = canonical.get(..end).unwrap_or_default();
        let (source, spans) = self.cutter.cut(self.features, text, Measure::of(text));
        let feature = |(&hash, count): (&u128, &crate::tally::Count)| {
            let span: Span = spans.get(count.first as usize).copied().unwrap_or_default();
            let text = source
                .get(span.start as usize..span.end as usize)
                .unwrap_or_default()
                .to_owned();
            Feature {
                text,
                hash,
                tf: count.tf,
                weight: self.weight.of(count.tf),
            }
        };
        let distinct = self.tally.hashes().iter().zip(self.tally.counts());
        distinct
            .filter(|(hash, _)| self.stop_words.binary_search(hash).is_err())
            .map(feature)
            .collect()
    }
}

#[cfg(test)]
mod tests;
