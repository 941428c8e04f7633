//! From canonical text to a fingerprint: features, their hashes, counts, weights, and one vote for each distinct
//! feature (Charikar 2002). Integer sums make the order of votes irrelevant.
//!
//! Fingerprints of up to 64 bits need only the low half of the feature hashes, which also tells features apart,
//! so hashes are made, counted and voted with at the width needed. Windows of a few characters in long ASCII runs
//! are hashed straight from the text, eight or four side by side; what such a run yields is what the ranges of
//! its characters would.
//!
//! A feature that weighs as often as it occurs may as well vote at each occurrence. So where nobody asks how many are distinct, nothing
//! is counted.

use twinprint_fingerprint::{HashKey, Span, Votes, Width, hash_features_at, hash_windows_64, kernel};

use crate::analyzer::{Analysis, Feature};
use crate::features::{Cutter, Features};
use crate::profile::Profile;
use crate::scale::Scale;
use crate::script::Measure;
use crate::tally::{Count, Tally};
use crate::weight::Weight;

/// The longest canonical text whose byte positions fit a [`Span`].
const MAX_CANONICAL: usize = u32::MAX as usize;

/// Features hashed at a time: their hashes stay in the first cache until they are counted.
const BATCH: usize = 512;

/// Windows hashed at a time. The last few of a batch are hashed one by one, so it is a longer one.
const WINDOWS: usize = 2048;

/// The highest frequency that weighs more than the one below.
const MOST_TF: usize = u16::MAX as usize;

/// The widest window that is one block of the feature hash.
const MAX_WINDOW: u8 = 7;

/// The part of an analyzer that reads canonical text.
pub(crate) struct Voter {
    pub(crate) features: Features,
    pub(crate) weight: Weight,
    pub(crate) bits: u32,
    pub(crate) key: HashKey,
    scale: Scale,
    cutter: Cutter,
    narrow: Poll<u64>,
    wide: Poll<u128>,
}

impl Voter {
    pub(crate) fn new(profile: &Profile, key: HashKey) -> Self {
        Self {
            features: profile.features(),
            weight: profile.weight(),
            bits: profile.bits(),
            key,
            scale: Scale::new(profile, &key),
            cutter: Cutter::default(),
            narrow: Poll::new(),
            wide: Poll::new(),
        }
    }

    pub(crate) fn analyze<'a>(&mut self, canonical: &'a str) -> Analysis<'a> {
        let text = within_reach(canonical);
        let measure = Measure::of(text);
        let (features, fingerprint) = if self.bits > 64 {
            let (source, spans) = self.cutter.cut(self.features, text, measure);
            self.wide.count(&self.key, source, spans);
            let (hashes, weights) = self.wide.ballot(&self.scale);
            let mut votes = Votes::<u128>::new();
            votes.add(hashes, weights);
            (hashes.len(), votes.finish())
        } else {
            match self.features {
                Features::CharShingles(n @ 1..=MAX_WINDOW) => {
                    let (source, runs, spans) = self.cutter.cut_runs(n, text, measure);
                    self.narrow
                        .count_runs(&self.key, source, usize::from(n), runs, spans);
                }
                features => {
                    let (source, spans) = self.cutter.cut(features, text, measure);
                    self.narrow.count(&self.key, source, spans);
                }
            }
            let (hashes, weights) = self.narrow.ballot(&self.scale);
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
        let text = within_reach(canonical);
        // No feature occurs more often than there are bytes, so none comes to the bound of its weight.
        let every_time = self.weight == Weight::Tf && self.scale.is_plain() && text.len() <= MOST_TF;
        let (Features::CharShingles(n @ 1..=MAX_WINDOW), ..=64, true) =
            (self.features, self.bits, every_time)
        else {
            return self.analyze(canonical).fingerprint;
        };
        let (source, runs, spans) = self.cutter.cut_runs(n, text, Measure::of(text));
        let mut votes = Votes::<u64>::new();
        let hashes = &mut self.narrow.hashes;
        windows(&self.key, source, usize::from(n), runs, hashes, |hashes| {
            votes.add_unit_64(hashes);
        });
        stretches(&self.key, source, spans, hashes, |hashes| {
            votes.add_unit_64(hashes);
        });
        u128::from(votes.finish() & u64::MAX >> (64 - self.bits))
    }

    /// The features of a canonical text in order of first occurrence, stop words left out.
    pub(crate) fn explain(&mut self, canonical: &str) -> Vec<Feature> {
        let text = within_reach(canonical);
        let (source, spans) = self.cutter.cut(self.features, text, Measure::of(text));
        self.wide.count(&self.key, source, spans);
        let feature = |(&hash, count): (&u128, Count)| {
            let weight = self.scale.weigh(hash.low_u64(), count.tf)?;
            let span: Span = spans.get(count.first as usize).copied().unwrap_or_default();
            let text = source
                .get(span.start as usize..span.end as usize)
                .unwrap_or_default()
                .to_owned();
            Some(Feature {
                text,
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

/// The part of the text that counts.
fn within_reach(canonical: &str) -> &str {
    let end = canonical.floor_char_boundary(MAX_CANONICAL);
    canonical.get(..end).unwrap_or_default()
}

/// Counts features and says what each distinct one weighs, by hashes of one width.
struct Poll<W> {
    /// A batch of hashes.
    hashes: Vec<W>,
    tally: Tally<W>,
    /// The distinct features that are no stop words.
    kept: Vec<W>,
    weights: Vec<u16>,
}

impl<W: Width> Poll<W> {
    fn new() -> Self {
        Self {
            hashes: Vec::new(),
            tally: Tally::new(),
            kept: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Counts the features that are `spans` of `source`, and no others.
    fn count(&mut self, key: &HashKey, source: &str, spans: &[Span]) {
        self.tally.start(spans.len());
        self.add(key, source, spans);
    }

    fn add(&mut self, key: &HashKey, source: &str, spans: &[Span]) {
        let Self { hashes, tally, .. } = self;
        stretches(key, source, spans, hashes, |hashes| tally.add(hashes));
    }

    /// The distinct features that are no stop words, and their weights.
    fn ballot(&mut self, scale: &Scale) -> (&[W], &[u16]) {
        self.weights.clear();
        if scale.is_plain() {
            let counts = self.tally.counts();
            self.weights.extend(counts.map(|count| scale.weight.of(count.tf)));
            return (self.tally.hashes(), &self.weights);
        }
        self.kept.clear();
        for (&hash, count) in self.tally.hashes().iter().zip(self.tally.counts()) {
            if let Some(weight) = scale.weigh(hash.low_u64(), count.tf) {
                self.kept.push(hash);
                self.weights.push(weight);
            }
        }
        (&self.kept, &self.weights)
    }
}

impl Poll<u64> {
    /// Counts the windows of `n` bytes (from 1 to [`MAX_WINDOW`]) in each of the `runs` of `source`, none shorter
    /// than `n`, and the features that are `spans` of it.
    fn count_runs(&mut self, key: &HashKey, source: &str, n: usize, runs: &[Span], spans: &[Span]) {
        let windows = |run: &Span| (run.end - run.start) as usize + 1 - n;
        self.tally
            .start(spans.len() + runs.iter().map(windows).sum::<usize>());
        let Self { hashes, tally, .. } = self;
        self::windows(key, source, n, runs, hashes, |hashes| tally.add(hashes));
        self.add(key, source, spans);
    }
}

/// Hands on the hashes of the features that are `spans` of `source`, batch after batch.
fn stretches<W: Width>(
    key: &HashKey,
    source: &str,
    spans: &[Span],
    hashes: &mut Vec<W>,
    mut each: impl FnMut(&[W]),
) {
    for batch in spans.chunks(BATCH) {
        hash_features_at(kernel::level(), key, source.as_bytes(), batch, hashes);
        each(hashes);
    }
}

/// Hands on the hashes of the windows of `n` bytes (from 1 to [`MAX_WINDOW`]) in each of the `runs` of `source`, none shorter than `n`, batch
/// after batch.
fn windows(
    key: &HashKey,
    source: &str,
    n: usize,
    runs: &[Span],
    hashes: &mut Vec<u64>,
    mut each: impl FnMut(&[u64]),
) {
    for run in runs {
        let run = source.as_bytes().get(run.start as usize..run.end as usize);
        let mut rest = run.unwrap_or_default();
        while rest.len() >= n {
            // Batches share n − 1 bytes with the next.
            let batch = &rest[..rest.len().min(WINDOWS + n - 1)];
            hash_windows_64(key, batch, n, hashes);
            each(hashes);
            rest = &rest[hashes.len()..];
        }
    }
}
