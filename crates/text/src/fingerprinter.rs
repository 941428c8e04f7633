//! Computes a fingerprint from a canonical text: cuts the features, counts and hashes them, weights them, and lets each
//! distinct feature vote once (Charikar 2002). The sums are integers, so the order of the votes does not matter.
//!
//! Features of at most 15 bytes, nearly all words and character shingles, are counted by their bytes, and only the
//! distinct ones are hashed. Features of equal count vote one after another, because many votes of equal weight are
//! faster than votes of different weights. Longer features are hashed first and counted by the low halves of their
//! hashes. A fingerprint of up to 64 bits needs only the low half of each feature hash.
//!
//! If every occurrence of a feature has the same weight, each occurrence votes by itself. Features are then counted
//! only if the caller asks for the number of distinct features.
//!
//! Windows of a few characters are not cut in long runs of ASCII. They are counted directly from the text, as numbers of 64
//! bits. If each occurrence votes by itself, they are hashed directly from the text, eight or four at a time.

use twinprint_fingerprint::{HashKey, ShortFeature, Span, Votes, Width, WindowFeature};

use crate::analysis::{Analysis, Feature};
use crate::feature_hash::FeatureHasher;
use crate::features::{FeatureCutter, FeatureSpans, Features, WindowRuns};
use crate::profile::Profile;
use crate::script::Measure;
use crate::short_tally::{STRIDE, ShortTally};
use crate::tally::{Count, Tally};
use crate::weight::Weight;
use crate::weight_table::WeightTable;

/// The maximum length of a canonical text in bytes. A [`Span`] cannot store larger positions.
const MAX_CANONICAL_BYTES: usize = u32::MAX as usize;

/// Number of byte ranges hashed at a time. Their hashes stay in the first-level cache until they are counted.
const SPANS_PER_BATCH: usize = 512;

/// Number of windows hashed at a time. It is larger than [`SPANS_PER_BATCH`], because the last few windows of each
/// batch are hashed one by one.
const WINDOWS_PER_BATCH: usize = 2048;

/// The maximum weight under [`Weight::Tf`]: a feature that occurs more often has this weight.
const MAX_TF: usize = u16::MAX as usize;

/// The maximum width of a window, in bytes, at which one block of the feature hash covers the window.
const MAX_WINDOW: u8 = WindowFeature::MAX_BYTES as u8;

/// Computes fingerprints of canonical texts under one profile and key. Reuses its buffers.
pub(crate) struct Fingerprinter {
    pub(crate) features: Features,
    pub(crate) bits: u32,
    pub(crate) hasher: FeatureHasher,
    weights: WeightTable,
    cutter: FeatureCutter,
    narrow: FeatureCounter<u64>,
    wide: FeatureCounter<u128>,
}

impl Fingerprinter {
    pub(crate) fn new(profile: &Profile, key: HashKey) -> Self {
        let hasher = FeatureHasher::new(profile.hash(), key);
        Self {
            features: profile.features(),
            bits: profile.bits(),
            hasher,
            weights: WeightTable::new(profile, &hasher),
            cutter: FeatureCutter::default(),
            narrow: FeatureCounter::new(),
            wide: FeatureCounter::new(),
        }
    }

    /// The profile's weight function, which maps the frequency of a feature to its weight.
    pub(crate) fn weight(&self) -> Weight {
        self.weights.weight()
    }

    pub(crate) fn analyze<'a>(&mut self, canonical: &'a str) -> Analysis<'a> {
        let text = addressable(canonical);
        let measure = Measure::of(text);
        let cut = match self.features {
            Features::CharShingles(n @ 1..=MAX_WINDOW) => self.cutter.cut_runs(n, text, measure),
            features => (WindowRuns::NONE, self.cutter.cut(features, text, measure)),
        };
        let (features, fingerprint) = if self.bits > 64 {
            self.wide.count(&self.hasher, cut);
            let (hashes, weights) = self.wide.weighted(&self.hasher, &self.weights);
            let mut votes = Votes::<u128>::new();
            votes.add(hashes, weights);
            (hashes.len(), votes.finish())
        } else {
            self.narrow.count(&self.hasher, cut);
            let (hashes, weights) = self.narrow.weighted(&self.hasher, &self.weights);
            let mut votes = Votes::<u64>::new();
            votes.add_64(hashes, weights);
            // A fingerprint of fewer than 64 bits is the low part of the fingerprint of 64 bits.
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

    /// Computes the same fingerprint as [`analyze`](Self::analyze), faster for some profiles.
    pub(crate) fn fingerprint(&mut self, canonical: &str) -> u128 {
        let text = addressable(canonical);
        // A feature occurs at most once per byte of the text, so no frequency exceeds `MAX_TF`. Then every occurrence
        // adds 1 to the feature's weight, and each occurrence can vote by itself.
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
        hash_windows(&self.hasher, runs, hashes, |hashes| votes.add_unit_64(hashes));
        hash_spans(&self.hasher, others, hashes, |hashes| votes.add_unit_64(hashes));
        u128::from(votes.finish() & u64::MAX >> (64 - self.bits))
    }

    /// Lists the features of a canonical text, except stop words, in order of first occurrence.
    pub(crate) fn explain(&mut self, canonical: &str) -> Vec<Feature> {
        let text = addressable(canonical);
        let cut = self.cutter.cut(self.features, text, Measure::of(text));
        self.wide.count_hashes(&self.hasher, cut);
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

/// The first [`MAX_CANONICAL_BYTES`] bytes of a text. The rest is not analysed.
fn addressable(canonical: &str) -> &str {
    let end = canonical.floor_char_boundary(MAX_CANONICAL_BYTES);
    canonical.get(..end).unwrap_or_default()
}

/// Counts the distinct features of one document after another and gives each its weight. `W` is the width of the
/// feature hashes.
struct FeatureCounter<W> {
    /// The windows of ASCII runs. If there are any, also all other features that may equal them.
    windows: ShortTally<WindowFeature>,
    /// The other features of at most 15 bytes.
    short: ShortTally<ShortFeature>,
    /// A buffer for the features that cannot equal a window.
    others: Vec<Span>,
    /// The features that are not short.
    long: Vec<Span>,
    /// The counts of the long features, by their hashes.
    tally: Tally<W>,
    /// A buffer for the hashes of one batch.
    hashes: Vec<W>,
    /// Buffers for the distinct short features and their counts.
    features: Vec<ShortFeature>,
    counts: Vec<u32>,
    /// The hashes of the distinct features that are not stop words.
    kept: Vec<W>,
    /// The weights of the features that [`weighted`](Self::weighted) returns, in the same order.
    weights: Vec<u16>,
}

impl<W: Width> FeatureCounter<W> {
    fn new() -> Self {
        Self {
            windows: ShortTally::new(),
            short: ShortTally::new(),
            others: Vec::new(),
            long: Vec::new(),
            tally: Tally::new(),
            hashes: Vec::new(),
            features: Vec::new(),
            counts: Vec::new(),
            kept: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Starts a new document and counts its features: the windows of the runs, and all others.
    fn count(&mut self, hasher: &FeatureHasher, (runs, others): (WindowRuns<'_>, FeatureSpans<'_>)) {
        self.long.clear();
        self.windows.start(runs.windows());
        self.short.start(others.spans.len());
        if runs.runs.is_empty() {
            self.add(others);
        } else {
            self.add_windows(runs);
            self.add_other_features(others);
        }
        self.add_long(hasher, others.text);
    }

    /// Counts the windows of runs.
    fn add_windows(&mut self, WindowRuns { text, runs, width }: WindowRuns<'_>) {
        let bytes = text.as_bytes();
        for run in runs {
            let (start, end) = (run.start as usize, run.end as usize + 1 - width);
            // The windows that begin before `near` are numbers without a copy, because 8 bytes can be read.
            let near = bytes.len().saturating_sub(7).clamp(start, end);
            for first in (start..near).step_by(STRIDE) {
                let last = near.min(first + STRIDE);
                let eights = bytes[first..last + 7].array_windows();
                self.windows
                    .add(eights.filter_map(|eight| WindowFeature::first(eight, width)));
            }
            let rest = (near..end).filter_map(|start| {
                let (start, end) = (start as u32, (start + width) as u32);
                WindowFeature::cut(bytes, Span { start, end })
            });
            self.windows.add(rest);
        }
    }

    /// Counts features that may equal a window, and other ones.
    fn add_other_features(&mut self, features: FeatureSpans<'_>) {
        let mut others = std::mem::take(&mut self.others);
        others.clear();
        let bytes = features.text.as_bytes();
        for spans in features.spans.chunks(STRIDE) {
            self.windows.add(spans.iter().filter_map(|&span| {
                let feature = WindowFeature::cut(bytes, span);
                if feature.is_none() {
                    others.push(span);
                }
                feature
            }));
        }
        self.add(FeatureSpans {
            spans: &others,
            ..features
        });
        self.others = others;
    }

    /// Counts short features, and gathers the long ones.
    fn add(&mut self, features: FeatureSpans<'_>) {
        let bytes = features.text.as_bytes();
        for spans in features.spans.chunks(STRIDE) {
            let short = spans.iter().filter_map(|&span| {
                let feature = ShortFeature::cut(bytes, span);
                if feature.is_none() {
                    self.long.push(span);
                }
                feature
            });
            self.short.add(short);
        }
    }

    /// Counts the long features that [`add`](Self::add) gathered.
    fn add_long(&mut self, hasher: &FeatureHasher, text: &str) {
        let Self {
            long, tally, hashes, ..
        } = self;
        tally.start(long.len());
        let long = FeatureSpans { text, spans: long };
        hash_spans(hasher, long, hashes, |hashes| tally.add(hashes));
    }

    /// Starts a new document and counts all features by their hashes, in [`tally`](Self::tally).
    fn count_hashes(&mut self, hasher: &FeatureHasher, features: FeatureSpans<'_>) {
        let Self { hashes, tally, .. } = self;
        tally.start(features.spans.len());
        hash_spans(hasher, features, hashes, |hashes| tally.add(hashes));
    }

    /// Returns the hashes of the document's distinct features that are not stop words, and the weights in the same
    /// order.
    fn weighted(&mut self, hasher: &FeatureHasher, table: &WeightTable) -> (&[W], &[u16]) {
        self.windows.sorted(0, &mut self.features, &mut self.counts);
        let windows = self.features.len();
        self.short.sorted(windows, &mut self.features, &mut self.counts);
        self.weights.clear();
        if table.is_frequency_only() {
            let weight = table.weight();
            hasher.hash_short(&self.features, &mut self.kept);
            self.kept.extend_from_slice(self.tally.hashes());
            let counts = self.counts.iter().copied();
            let counts = counts.chain(self.tally.counts().map(|count| count.tf));
            self.weights.extend(counts.map(|tf| weight.of(tf)));
            return (&self.kept, &self.weights);
        }
        self.kept.clear();
        hasher.hash_short(&self.features, &mut self.hashes);
        let short = self.hashes.iter().zip(self.counts.iter().copied());
        let long = self.tally.hashes().iter();
        let long = long.zip(self.tally.counts().map(|count| count.tf));
        for (&hash, tf) in short.chain(long) {
            if let Some(weight) = table.weigh(hash.low_u64(), tf) {
                self.kept.push(hash);
                self.weights.push(weight);
            }
        }
        (&self.kept, &self.weights)
    }
}

/// Hashes the features in batches and calls `batch` with the hashes of each. `hashes` is a reused buffer.
fn hash_spans<W: Width>(
    hasher: &FeatureHasher,
    features: FeatureSpans<'_>,
    hashes: &mut Vec<W>,
    mut batch: impl FnMut(&[W]),
) {
    for spans in features.spans.chunks(SPANS_PER_BATCH) {
        hasher.hash_spans(features.text.as_bytes(), spans, hashes);
        batch(hashes);
    }
}

/// Hashes windows of at most [`MAX_WINDOW`] bytes in batches and calls `batch` with the hashes of each. `hashes` is a
/// reused buffer.
fn hash_windows(
    hasher: &FeatureHasher,
    windows: WindowRuns<'_>,
    hashes: &mut Vec<u64>,
    mut batch: impl FnMut(&[u64]),
) {
    let WindowRuns { text, runs, width } = windows;
    for run in runs {
        let run = text.as_bytes().get(run.start as usize..run.end as usize);
        let mut rest = run.unwrap_or_default();
        while rest.len() >= width {
            // The next batch begins `width - 1` bytes before the end of this one, because windows overlap.
            let bytes = &rest[..rest.len().min(WINDOWS_PER_BATCH + width - 1)];
            hasher.hash_windows(bytes, width, hashes);
            batch(hashes);
            rest = &rest[hashes.len()..];
        }
    }
}
