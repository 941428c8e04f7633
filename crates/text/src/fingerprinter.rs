//! From canonical text to a fingerprint: features, their hashes, counts, weights, and one vote for each distinct
//! feature (Charikar 2002). Integer sums make the order of votes irrelevant.
//!
//! Fingerprints of up to 64 bits need only the low half of the feature hashes, which also identifies features,
//! so hashes are computed, counted and voted with at the width needed. Windows of a few characters in long ASCII runs
//! are hashed directly from the text, eight or four at a time; the hashes are those that the ranges of the characters
//! would give.
//!
//! If every occurrence of a feature has the same weight, each occurrence can vote by itself. Then nothing is counted,
//! unless the number of distinct features is asked for.

use twinprint_fingerprint::{HashKey, Span, Votes, Width, hash_features_at, hash_windows_64, kernel};

use crate::analysis::{Analysis, Feature};
use crate::features::{FeatureCutter, FeatureSpans, Features, WindowRuns};
use crate::profile::Profile;
use crate::script::Measure;
use crate::tally::{Count, Tally};
use crate::weight::Weight;
use crate::weight_table::WeightTable;

/// The longest canonical text whose byte positions fit a [`Span`].
const MAX_CANONICAL_BYTES: usize = u32::MAX as usize;

/// Spans hashed at a time. Their hashes stay in the first-level cache until they are counted.
const SPANS_PER_BATCH: usize = 512;

/// Windows hashed at a time. The last few windows of a batch are hashed one by one, so batches are longer than those of spans.
const WINDOWS_PER_BATCH: usize = 2048;

/// The highest frequency with a weight of its own under [`Weight::Tf`]: higher frequencies weigh the same.
const MAX_TF: usize = u16::MAX as usize;

/// The widest window, in bytes, that is one block of the feature hash.
const MAX_WINDOW: u8 = 7;

/// Computes fingerprints of canonical texts under one profile and key. Keeps its buffers.
pub(crate) struct Fingerprinter {
    pub(crate) features: Features,
    pub(crate) bits: u32,
    pub(crate) key: HashKey,
    weights: WeightTable,
    cutter: FeatureCutter,
    narrow: FeatureCounter<u64>,
    wide: FeatureCounter<u128>,
}

impl Fingerprinter {
    pub(crate) fn new(profile: &Profile, key: HashKey) -> Self {
        Self {
            features: profile.features(),
            bits: profile.bits(),
            key,
            weights: WeightTable::new(profile, &key),
            cutter: FeatureCutter::default(),
            narrow: FeatureCounter::new(),
            wide: FeatureCounter::new(),
        }
    }

    /// The weight of features by their frequency.
    pub(crate) fn weight(&self) -> Weight {
        self.weights.weight()
    }

    pub(crate) fn analyze<'a>(&mut self, canonical: &'a str) -> Analysis<'a> {
        let text = addressable(canonical);
        let measure = Measure::of(text);
        let (features, fingerprint) = if self.bits > 64 {
            let cut = self.cutter.cut(self.features, text, measure);
            self.wide.count(&self.key, cut);
            let (hashes, weights) = self.wide.weighted(&self.weights);
            let mut votes = Votes::<u128>::new();
            votes.add(hashes, weights);
            (hashes.len(), votes.finish())
        } else {
            match self.features {
                Features::CharShingles(n @ 1..=MAX_WINDOW) => {
                    let (runs, others) = self.cutter.cut_runs(n, text, measure);
                    self.narrow.count_runs(&self.key, runs, others);
                }
                features => {
                    let cut = self.cutter.cut(features, text, measure);
                    self.narrow.count(&self.key, cut);
                }
            }
            let (hashes, weights) = self.narrow.weighted(&self.weights);
            let mut votes = Votes::<u64>::new();
            votes.add_64(hashes, weights);
            // A narrower fingerprint is the low part of a wider one.
            let mask = u64::MAX >> (64 - self.bits);
            (hashes.len(), u128::from(votes.finish() & mask))
        };
        Analysis {
            canonical,
            measure,
            features: features as u32,
            fingerprint,
        }
    }

    /// The fingerprint that [`analyze`](Self::analyze) gives.
    pub(crate) fn fingerprint(&mut self, canonical: &str) -> u128 {
        let text = addressable(canonical);
        // A feature occurs at most once per byte, so no frequency exceeds MAX_TF and every occurrence weighs 1.
        let occurrences_weigh_1 =
            self.weight() == Weight::Tf && self.weights.is_frequency_only() && text.len() <= MAX_TF;
        let (Features::CharShingles(n @ 1..=MAX_WINDOW), ..=64, true) =
            (self.features, self.bits, occurrences_weigh_1)
        else {
            return self.analyze(canonical).fingerprint;
        };
        let (runs, others) = self.cutter.cut_runs(n, text, Measure::of(text));
        let mut votes = Votes::<u64>::new();
        let hashes = &mut self.narrow.hashes;
        hash_windows(&self.key, runs, hashes, |hashes| votes.add_unit_64(hashes));
        hash_spans(&self.key, others, hashes, |hashes| votes.add_unit_64(hashes));
        u128::from(votes.finish() & u64::MAX >> (64 - self.bits))
    }

    /// The features of a canonical text in order of first occurrence, without stop words.
    pub(crate) fn explain(&mut self, canonical: &str) -> Vec<Feature> {
        let text = addressable(canonical);
        let cut = self.cutter.cut(self.features, text, Measure::of(text));
        self.wide.count(&self.key, cut);
        let feature = |(&hash, count): (&u128, Count)| {
            let weight = self.weights.weigh(hash.low_u64(), count.tf)?;
            let span: Span = cut.spans.get(count.first as usize).copied().unwrap_or_default();
            let text = cut.text.get(span.start as usize..span.end as usize);
            Some(Feature {
                text: text.unwrap_or_default().to_owned(),
                hash,
                tf: count.tf,
                weight,
            })
        };
        let tally = &self.wide.tally;
        let distinct = tally.hashes().iter().zip(tally.counts());
        distinct.filter_map(feature).collect()
    }
}

/// The first [`MAX_CANONICAL_BYTES`] of a text, which are all that is analysed.
fn addressable(canonical: &str) -> &str {
    let end = canonical.floor_char_boundary(MAX_CANONICAL_BYTES);
    canonical.get(..end).unwrap_or_default()
}

/// Counts the features of one document after another and gives the weight of each distinct one, by hashes of one width.
struct FeatureCounter<W> {
    /// A batch of hashes.
    hashes: Vec<W>,
    tally: Tally<W>,
    /// The distinct features that are not stop words.
    kept: Vec<W>,
    /// Parallel to the distinct features.
    weights: Vec<u16>,
}

impl<W: Width> FeatureCounter<W> {
    fn new() -> Self {
        Self {
            hashes: Vec::new(),
            tally: Tally::new(),
            kept: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Starts a document and counts its features.
    fn count(&mut self, key: &HashKey, features: FeatureSpans<'_>) {
        self.tally.start(features.spans.len());
        self.add(key, features);
    }

    fn add(&mut self, key: &HashKey, features: FeatureSpans<'_>) {
        let Self { hashes, tally, .. } = self;
        hash_spans(key, features, hashes, |hashes| tally.add(hashes));
    }

    /// The distinct features that are not stop words, and their weights.
    fn weighted(&mut self, table: &WeightTable) -> (&[W], &[u16]) {
        self.weights.clear();
        if table.is_frequency_only() {
            let (weight, counts) = (table.weight(), self.tally.counts());
            self.weights.extend(counts.map(|count| weight.of(count.tf)));
            return (self.tally.hashes(), &self.weights);
        }
        self.kept.clear();
        for (&hash, count) in self.tally.hashes().iter().zip(self.tally.counts()) {
            if let Some(weight) = table.weigh(hash.low_u64(), count.tf) {
                self.kept.push(hash);
                self.weights.push(weight);
            }
        }
        (&self.kept, &self.weights)
    }
}

impl FeatureCounter<u64> {
    /// Starts a document and counts its features: the windows of `runs`, and `others`.
    fn count_runs(&mut self, key: &HashKey, runs: WindowRuns<'_>, others: FeatureSpans<'_>) {
        self.tally.start(runs.windows() + others.spans.len());
        let Self { hashes, tally, .. } = self;
        hash_windows(key, runs, hashes, |hashes| tally.add(hashes));
        self.add(key, others);
    }
}

/// Calls `batch` with the hashes of the features, one batch after another. `hashes` is a buffer.
fn hash_spans<W: Width>(
    key: &HashKey,
    features: FeatureSpans<'_>,
    hashes: &mut Vec<W>,
    mut batch: impl FnMut(&[W]),
) {
    for spans in features.spans.chunks(SPANS_PER_BATCH) {
        hash_features_at(kernel::level(), key, features.text.as_bytes(), spans, hashes);
        batch(hashes);
    }
}

/// Calls `batch` with the hashes of the windows, which are at most [`MAX_WINDOW`] bytes wide, one batch after another.
/// `hashes` is a buffer.
fn hash_windows(
    key: &HashKey,
    windows: WindowRuns<'_>,
    hashes: &mut Vec<u64>,
    mut batch: impl FnMut(&[u64]),
) {
    let WindowRuns { text, runs, width } = windows;
    for run in runs {
        let run = text.as_bytes().get(run.start as usize..run.end as usize);
        let mut rest = run.unwrap_or_default();
        while rest.len() >= width {
            // A batch shares its last `width - 1` bytes with the next.
            let bytes = &rest[..rest.len().min(WINDOWS_PER_BATCH + width - 1)];
            hash_windows_64(key, bytes, width, hashes);
            batch(hashes);
            rest = &rest[hashes.len()..];
        }
    }
}
