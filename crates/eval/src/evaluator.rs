//! Evaluates the methods that score every pair, and MinHash with banding.

use std::time::Instant;

use twinprint_text::Profile;

use super::cosine;
use super::documents::Documents;
use super::error::EvalError;
use super::evaluation::{
    BytesPerDocument, EvaluatedMethod, Evaluation, MethodResult, MethodSeconds, MethodSetting, RadiusCurve,
};
use super::minhash::{self, Banding, Signatures};
use super::score::Tally;
use super::truth::Truth;

/// The fingerprints of all documents, and the time in which they were computed.
pub(super) struct TimedFingerprints<'m> {
    /// The profile of the fingerprints, at 128 bits.
    pub(super) profile: &'m Profile,
    /// The fingerprint of each document, at 128 bits. The low bits are the narrower fingerprints.
    pub(super) fingerprints: &'m [u128],
    /// The time in which the fingerprints were computed, in seconds.
    pub(super) seconds: f64,
}

/// An evaluation in progress, to which one method after another is added.
pub(super) struct Evaluator<'e> {
    pub(super) documents: &'e Documents,
    pub(super) truth: &'e Truth,
    pub(super) thresholds: &'e [f64],
    pub(super) evaluation: Evaluation,
}

impl Evaluator<'_> {
    /// Adds a method that uses fingerprints alone, at one width: a pair within the radius is called a duplicate.
    /// `is_engine` is true for the profile of the engine, of which more figures are reported.
    pub(super) fn fingerprints(
        &mut self,
        made: &TimedFingerprints<'_>,
        bits: u32,
        is_engine: bool,
    ) -> Result<(), EvalError> {
        let started = Instant::now();
        let fingerprints = made.fingerprints;
        let mask = u128::MAX >> (128 - bits);
        let distance = |a: usize, b: usize| ((fingerprints[a] ^ fingerprints[b]) & mask).count_ones();
        let tally = self.tally(bits as usize + 1, |a, bins| {
            bins.extend((0..a).map(|b| distance(a, b) as u16));
        })?;
        let seconds = MethodSeconds {
            made: made.seconds,
            found: started.elapsed().as_secs_f64(),
            verified: 0.0,
        };
        let bytes = BytesPerDocument {
            fingerprint: f64::from(bits / 8),
            ..BytesPerDocument::default()
        };
        let id = profile_name(made.profile, bits);
        if is_engine && bits == 64 {
            let name = format!("SimHash k = 3 alone ({id})");
            let at = |i| {
                tally
                    .at(i, 3)
                    .with(MethodSetting::Radius { bits, k: 3 }, bytes, seconds)
            };
            self.push(&name, at);
        }
        let name = format!("SimHash alone, best k ({id})");
        self.push(&name, |i| {
            let (k, quality) = tally.best(i);
            quality.with(MethodSetting::Radius { bits, k: k as u32 }, bytes, seconds)
        });
        self.evaluation.curves.push(RadiusCurve {
            profile: id,
            bits,
            points: tally.points(self.documents.len(), bits / 2),
        });
        if is_engine && bits == 128 {
            self.count_distances(distance);
        }
        Ok(())
    }

    /// Adds two methods that use MinHash with 128 slots. The first calls a pair a duplicate by its estimated Jaccard.
    /// The second finds candidates by bands and verifies them like the engine. `text_bytes` is the number of bytes per
    /// document of the texts kept for verification.
    pub(super) fn minhash(&mut self, text_bytes: f64) -> Result<(), EvalError> {
        let started = Instant::now();
        let signatures = Signatures::of(&self.documents.sets);
        let made = self.documents.seconds_shingling + started.elapsed().as_secs_f64();
        let bytes = BytesPerDocument {
            fingerprint: Signatures::BYTES as f64,
            ..BytesPerDocument::default()
        };
        let started = Instant::now();
        let tally = self.tally(minhash::SLOTS + 1, |a, bins| {
            bins.extend((0..a).map(|b| (minhash::SLOTS - signatures.equal_slots(a, b)) as u16));
        })?;
        let found = started.elapsed().as_secs_f64();
        let seconds = MethodSeconds {
            made,
            found,
            verified: 0.0,
        };
        let thresholds = self.thresholds;
        self.push("MinHash-128 alone", |i| {
            let slots = minhash::least_slots(thresholds[i]);
            let setting = MethodSetting::Similarity { least: thresholds[i] };
            tally.at(i, minhash::SLOTS - slots).with(setting, bytes, seconds)
        });
        let mut results = Vec::new();
        for &threshold in thresholds {
            self.documents.check_cancelled()?;
            let banding = minhash::banding(threshold);
            let Banding { bands, rows } = banding;
            let started = Instant::now();
            let candidates = signatures.candidates(banding);
            let found = started.elapsed().as_secs_f64();
            let started = Instant::now();
            let verified = self.documents.verify(&candidates, threshold);
            let seconds = MethodSeconds {
                made,
                found,
                verified: started.elapsed().as_secs_f64(),
            };
            let quality = self
                .truth
                .quality(&verified, threshold)
                .with_candidates(candidates.len(), self.documents.len());
            let bytes = BytesPerDocument {
                // The table of each band stores a key of 8 bytes and a number of 4 bytes for each document.
                tables: (bands * 12) as f64,
                verification: text_bytes,
                ..bytes
            };
            results.push(quality.with(MethodSetting::Bands { bands, rows }, bytes, seconds));
        }
        self.push_results("MinHash-128 LSH + verification", results);
        Ok(())
    }

    /// Adds the method that compares documents by the cosine of their word counts.
    pub(super) fn cosine(&mut self) -> Result<(), EvalError> {
        let started = Instant::now();
        let vectors = cosine::Vectors::of(self.documents);
        let made = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let tally = self.tally(cosine::BINS + 1, |a, bins| vectors.row(a, bins))?;
        let seconds = MethodSeconds {
            made,
            found: started.elapsed().as_secs_f64(),
            verified: 0.0,
        };
        let bytes = BytesPerDocument {
            fingerprint: vectors.bytes() / self.documents.len().max(1) as f64,
            ..BytesPerDocument::default()
        };
        self.push("bag-of-words cosine, best cut", |i| {
            let (bin, quality) = tally.best(i);
            let least = cosine::least(bin);
            quality.with(MethodSetting::Similarity { least }, bytes, seconds)
        });
        Ok(())
    }

    /// Counts the known pairs by Hamming distance and Jaccard.
    fn count_distances(&mut self, distance: impl Fn(usize, usize) -> u32) {
        let columns = (1.0 / Evaluation::BAND).round() as usize + 1;
        let mut counts = vec![vec![0; columns]; 65];
        for pair in &self.truth.known {
            let row = distance(pair.a as usize, pair.b as usize).min(64) as usize;
            let column = (pair.jaccard / Evaluation::BAND + 1e-9) as usize;
            counts[row][column.min(columns - 1)] += 1;
        }
        self.evaluation.distances = counts;
    }

    fn tally(&self, bins: usize, row: impl Fn(usize, &mut Vec<u16>) + Sync) -> Result<Tally, EvalError> {
        Tally::count(self.documents, self.truth, self.thresholds, bins, row)
    }

    /// Adds a method. `result_at` returns its result at each threshold, by the index of the threshold.
    fn push(&mut self, name: &str, result_at: impl Fn(usize) -> MethodResult) {
        let results = (0..self.thresholds.len()).map(result_at).collect();
        self.push_results(name, results);
    }

    /// Adds a method with its results, one for each threshold.
    pub(super) fn push_results(&mut self, name: &str, results: Vec<MethodResult>) {
        self.evaluation.methods.push(EvaluatedMethod {
            name: name.to_owned(),
            results,
        });
    }
}

/// Formats the id of a profile at a width of `bits`.
fn profile_name(profile: &Profile, bits: u32) -> String {
    profile
        .at_width(bits)
        .map_or_else(|_| profile.id(), |profile| profile.id())
}
