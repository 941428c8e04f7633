//! Calibration: chooses width and radius for a corpus from a sample of it.
//!
//! Distances between unrelated documents are not those of random bits, because pages share common words. So the pairs
//! of the sample are counted by distance, and the *background*, the distribution for unrelated documents, is fitted to
//! the counts ([`Background`]). Pairs in excess of the background are similar documents. The number of unrelated
//! documents within a radius grows with the corpus; that of similar documents does not. The sum of both numbers is the
//! expected number of candidates per document at the size of the corpus. If the sample has enough duplicates, the
//! recall of a radius is measured on them; otherwise it is estimated from the threshold.

mod background;
mod page;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use serde::Serialize;
use twinprint_index::planner::{LookupCosts, LookupMode, Medium, Workload, plan_join_uniform, plan_segment};
use twinprint_index::segment::Codec;
use twinprint_text::Profile;

pub use background::Background;

use crate::EvalError;
use crate::documents::Documents;
use twinprint_dedup::DedupError;
use twinprint_dedup::config::{Matching, to_toml};
use twinprint_dedup::{Auto, DedupOptions};
use twinprint_dedup::{MAX_RADIUS, radius};
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::source::{Intake, SourceOptions};
use twinprint_io::threads;
use twinprint_text::MIN_FEATURES;

/// The largest number of texts that are compared with all texts of the sample.
const MAX_COMPARED: usize = 4096;
/// The largest number of pairs within the widest radius that are verified for the recall and the examples.
const MAX_VERIFIED: usize = 1_000_000;
/// The smallest number of true pairs in the sample with which a recall is reported.
const MIN_TRUE_PAIRS: usize = 30;
/// The number of characters that an example shows of each text.
const EXAMPLE_CHARS: usize = 90;

/// The result of a calibration. It serialises to its JSON form.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// The version of twinprint that made the calibration.
    pub version: String,
    /// The id of the profile, without its width.
    pub profile: String,
    /// The number of documents in the sample.
    pub documents: usize,
    /// The documents and rejects of the input.
    pub intake: Intake,
    /// The number of distinct texts in the sample that are long enough for a fingerprint.
    pub texts: usize,
    /// The number of documents of the corpus for which the figures are estimated.
    pub n: u64,
    /// The minimum Jaccard of a duplicate.
    pub threshold: f64,
    /// The number of pairs of the sample that are at the threshold and within the widest radius.
    pub true_pairs: usize,
    /// The figures for fingerprints of 64 and of 128 bits.
    pub widths: Vec<WidthCalibration>,
    /// One pair of the sample for each distance at which the sample has pairs.
    pub examples: Vec<Example>,
    /// The chosen width in bits.
    pub bits: u32,
    /// The chosen radius.
    pub k: u32,
    /// The reason for the choice of width and radius, for people.
    pub reason: String,
    #[serde(skip)]
    matching: Matching,
}

/// The figures of a calibration for one width.
#[derive(Clone, Debug, Serialize)]
pub struct WidthCalibration {
    /// The width of the fingerprints in bits.
    pub bits: u32,
    /// The number of compared pairs at each distance from 0. A pair counts twice if both of its texts are compared with
    /// all texts.
    pub histogram: Vec<u64>,
    /// The distribution of distances between unrelated documents.
    pub background: Background,
    /// The figures for each radius from 0.
    pub radii: Vec<RadiusCalibration>,
}

/// The figures of a calibration for one radius.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RadiusCalibration {
    /// The radius: the largest Hamming distance of a candidate.
    pub k: u32,
    /// The share of the sample's true pairs that are within the radius; `None` if the sample has fewer than 30 true
    /// pairs.
    pub recall: Option<f64>,
    /// The expected share of pairs just at the threshold that are within the radius.
    pub recall_at_threshold: f64,
    /// The number of similar documents within the radius per document, which is the same in the sample and in the
    /// corpus.
    #[serde(rename = "relatives")]
    pub similar: f64,
    /// The number of unrelated documents within the radius per document, estimated for the corpus.
    #[serde(rename = "strangers")]
    pub unrelated: f64,
    /// The size of an index of the corpus, in bytes per document.
    pub index_bytes: f64,
    /// The estimated time in which one core finds all pairs of the corpus within the radius, in seconds.
    pub join_seconds: f64,
}

impl RadiusCalibration {
    /// The expected number of candidates per document of the corpus.
    pub fn candidates(&self) -> f64 {
        self.similar + self.unrelated
    }
}

/// An example: a pair of documents of the sample at one Hamming distance.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// The Hamming distance of the fingerprints at 128 bits.
    pub distance: u32,
    /// The exact Jaccard of the texts.
    pub jaccard: f64,
    /// The ids of both documents.
    pub ids: [String; 2],
    /// The part of each canonical text around the first difference between them.
    pub texts: [String; 2],
}

/// The arguments of [`calibrate`].
#[derive(Clone, Copy, Debug)]
pub struct CalibrationJob<'j> {
    /// The sample: files, folders and globs.
    pub inputs: &'j [String],
    /// The options for reading the inputs.
    pub source: &'j SourceOptions,
    /// The options of the deduplication that is calibrated. A width or radius that they fix is kept.
    pub options: &'j DedupOptions,
    /// The number of documents in the corpus; `None` if the sample is the corpus.
    pub corpus_documents: Option<u64>,
}

/// Reads a sample and chooses width and radius for its corpus. O(n · min(n, 4096)) comparisons of fingerprints. All
/// texts are in memory; there may be at most [`MAX_DOCUMENTS`](crate::MAX_DOCUMENTS).
///
/// # Errors
/// The sample cannot be read, or has fewer than two documents.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use twinprint_dedup::DedupOptions;
/// use twinprint_eval::calibrate::{CalibrationJob, calibrate};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::SourceOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let sample = dir.path().join("sample.jsonl");
/// std::fs::write(
///     &sample,
///     concat!(
///         "{\"text\": \"Cocoa prices rose in London after rain delayed the harvest.\"}\n",
///         "{\"text\": \"The city council voted to build a bridge over the river.\"}\n",
///     ),
/// )?;
///
/// let job = CalibrationJob {
///     inputs: &[sample.display().to_string()],
///     source: &SourceOptions::default(),
///     options: &DedupOptions::new()?,
///     corpus_documents: Some(50_000_000),
/// };
/// let calibration = calibrate(&job, &Silent, &Arc::default())?;
/// println!("{} bits, radius {}: {}", calibration.bits, calibration.k, calibration.reason);
/// std::fs::write(dir.path().join("choice.toml"), calibration.config())?;
/// # Ok(())
/// # }
/// ```
pub fn calibrate(
    job: &CalibrationJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Calibration, EvalError> {
    let options = job.options;
    options.check()?;
    let pool = threads::pool(options.threads)?;
    pool.install(|| {
        let profile = options.profile_at(128).map_err(DedupError::from)?;
        let documents = Documents::read(job.inputs, job.source, &profile, progress, cancel)?;
        progress.stage("measure", 0, Unit::Steps);
        Sample::of(&documents, &profile).calibrate(options, job.corpus_documents)
    })
}

/// Returns the page of a calibration: HTML in two languages, without references to other files.
pub fn page(calibration: &Calibration) -> String {
    page::html(calibration)
}

/// The distinct texts of the sample that are long enough for a fingerprint.
struct Sample<'d> {
    documents: &'d Documents,
    profile: &'d Profile,
    /// For each text, the number of its document.
    texts: Vec<u32>,
    /// The fingerprint of each text at 128 bits.
    fingerprints: Vec<u128>,
    /// The positions of the texts that are compared with all texts.
    compared: Vec<usize>,
}

/// A verified pair of the sample. A text is identified by its position in [`Sample::texts`].
struct VerifiedPair {
    texts: [usize; 2],
    jaccard: f64,
}

impl<'d> Sample<'d> {
    fn of(documents: &'d Documents, profile: &'d Profile) -> Self {
        let mut seen = HashSet::new();
        let new = |&i: &u32| {
            let i = i as usize;
            documents.features(i) >= MIN_FEATURES && seen.insert(documents.canonical(i))
        };
        let texts: Vec<u32> = (0..documents.len() as u32).filter(new).collect();
        let stride = texts.len().div_ceil(MAX_COMPARED).max(1);
        Self {
            documents,
            profile,
            fingerprints: texts.iter().map(|&i| documents.fingerprint(i as usize)).collect(),
            compared: (0..texts.len()).step_by(stride).collect(),
            texts,
        }
    }

    fn calibrate(&self, options: &DedupOptions, n: Option<u64>) -> Result<Calibration, EvalError> {
        let n = n.unwrap_or(self.documents.len() as u64).max(2);
        let true_pairs = self.verified_pairs();
        self.documents.check_cancelled()?;
        let at_threshold: Vec<[usize; 2]> = true_pairs
            .iter()
            .filter(|pair| pair.jaccard >= options.threshold)
            .map(|pair| pair.texts)
            .collect();
        let widths: Vec<WidthCalibration> = MAX_RADIUS
            .iter()
            .map(|&(bits, widest)| self.width(bits, widest, options.threshold, n, &at_threshold))
            .collect::<Result<_, _>>()?;
        let expected = |bits: u32, widest: u32| {
            let width = widths.iter().find(|width| width.bits == bits);
            let radii = width.into_iter().flat_map(|width| &width.radii);
            let radii = radii.take(widest as usize + 1);
            let candidates: Vec<f64> = radii.clone().map(RadiusCalibration::candidates).collect();
            radius::Density {
                bits,
                typical: candidates.clone(),
                candidates,
                unrelated: Some(radii.map(|radius| radius.unrelated).collect()),
            }
        };
        let sample = radius::SampleSize {
            sampled: self.compared.len(),
            all: usize::try_from(n).unwrap_or(usize::MAX),
        };
        let criteria = radius::RadiusCriteria {
            bits: options.bits,
            k: options.hamming,
            threshold: options.threshold,
        };
        let chosen = radius::choose_expected(&expected, sample, criteria);
        Ok(Calibration {
            version: twinprint_io::VERSION.to_owned(),
            profile: without_width(&self.profile.id()),
            documents: self.documents.len(),
            intake: self.documents.intake.clone(),
            texts: self.texts.len(),
            n,
            threshold: options.threshold,
            true_pairs: at_threshold.len(),
            widths,
            examples: self.examples(&true_pairs),
            bits: chosen.bits,
            k: chosen.k,
            reason: reason(&chosen, options),
            matching: Matching::of(options, &chosen),
        })
    }

    fn distance(&self, bits: u32, [a, b]: [usize; 2]) -> u32 {
        let differ = self.fingerprints[a] ^ self.fingerprints[b];
        (differ & (u128::MAX >> (128 - bits))).count_ones()
    }

    /// Verifies the pairs within the widest radius at 128 bits, and returns them with their Jaccards.
    fn verified_pairs(&self) -> Vec<VerifiedPair> {
        let widest = MAX_RADIUS[1].1;
        let near = |&b: &usize| {
            let earlier = 0..if self.documents.cancelled() { 0 } else { b };
            let near = earlier.filter(move |&a| self.distance(128, [a, b]) <= widest);
            near.map(move |a| [a, b])
        };
        let mut pairs: Vec<[usize; 2]> = self.compared.par_iter().flat_map_iter(near).collect();
        pairs.sort_unstable();
        let stride = pairs.len().div_ceil(MAX_VERIFIED).max(1);
        let thinned: Vec<[usize; 2]> = pairs.into_iter().step_by(stride).collect();
        let verify = |&[a, b]: &[usize; 2]| {
            let [x, y] = [a, b].map(|i| self.texts[i] as usize);
            (!self.documents.cancelled()).then(|| VerifiedPair {
                texts: [a, b],
                jaccard: self.documents.jaccard(x, y),
            })
        };
        thinned.par_iter().filter_map(verify).collect()
    }

    fn width(
        &self,
        bits: u32,
        widest: u32,
        threshold: f64,
        n: u64,
        true_pairs: &[[usize; 2]],
    ) -> Result<WidthCalibration, EvalError> {
        let histogram = self.histogram(bits);
        self.documents.check_cancelled()?;
        let background = Background::fit(&histogram);
        let compared = self.compared.len().max(1) as f64;
        let all: u64 = histogram.iter().sum();
        let (mut within, mut similar) = (0, 0f64);
        let radii = (0..=widest).map(|k| {
            within += histogram[k as usize];
            let unrelated = background.within(k);
            // The number of pairs per compared text is halved, because a pair belongs to two texts but counts once. The
            // number of similar documents cannot fall as the radius grows. Where unrelated documents hide the increase,
            // the value of the next smaller radius is kept.
            let more = (within as f64 - unrelated * all as f64) / compared / 2.0;
            similar = similar.max(more);
            let found = true_pairs
                .iter()
                .filter(|&&pair| self.distance(bits, pair) <= k)
                .count();
            let rows = usize::try_from(n).unwrap_or(usize::MAX);
            let workload = Workload {
                n,
                bits,
                k,
                memory: None,
                medium: Medium::Memory,
                mode: LookupMode::Batch,
                skew_bits: 0.0,
                codec: Codec::default(),
            };
            let lookup = plan_segment(&workload, &LookupCosts::default()).ok();
            let join = plan_join_uniform(rows, bits, k).ok();
            let index_bytes = lookup.and_then(|choice| Some(choice.alternatives.first()?.bytes));
            let join_ns = join.and_then(|choice| Some(choice.alternatives.first()?.cost));
            RadiusCalibration {
                k,
                recall: (true_pairs.len() >= MIN_TRUE_PAIRS).then(|| found as f64 / true_pairs.len() as f64),
                recall_at_threshold: radius::recall(bits, k, threshold),
                similar,
                unrelated: unrelated * (n as f64 - 1.0) / 2.0,
                index_bytes: index_bytes.unwrap_or(f64::NAN) / n as f64,
                join_seconds: join_ns.unwrap_or(f64::NAN) / 1e9,
            }
        });
        Ok(WidthCalibration {
            bits,
            radii: radii.collect(),
            histogram,
            background,
        })
    }

    /// Counts the pairs of a compared text with any other text, by Hamming distance.
    fn histogram(&self, bits: u32) -> Vec<u64> {
        let empty = || vec![0u64; bits as usize + 1];
        let count = |mut counts: Vec<u64>, &a: &usize| {
            let all = 0..if self.documents.cancelled() {
                0
            } else {
                self.fingerprints.len()
            };
            for b in all.filter(|&b| b != a) {
                counts[self.distance(bits, [a, b]) as usize] += 1;
            }
            counts
        };
        let add = |mut a: Vec<u64>, b: Vec<u64>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        self.compared.par_iter().fold(empty, count).reduce(empty, add)
    }

    /// Chooses the first pair at each distance as an example.
    fn examples(&self, pairs: &[VerifiedPair]) -> Vec<Example> {
        let mut examples: Vec<Option<Example>> = vec![None; MAX_RADIUS[1].1 as usize + 1];
        for pair in pairs {
            let distance = self.distance(128, pair.texts);
            let example = &mut examples[distance as usize];
            if example.is_none() {
                let documents = pair.texts.map(|i| self.texts[i] as usize);
                *example = Some(Example {
                    distance,
                    jaccard: pair.jaccard,
                    ids: documents.map(|i| self.documents.id(i).to_owned()),
                    texts: differing(documents.map(|i| self.documents.canonical(i))),
                });
            }
        }
        examples.into_iter().flatten().collect()
    }
}

/// Returns the part of each text that begins shortly before their first difference.
fn differing([a, b]: [&str; 2]) -> [String; 2] {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(EXAMPLE_CHARS / 4);
    [a, b].map(|text| text.chars().skip(from).take(EXAMPLE_CHARS).collect())
}

/// Removes the width from the id of a profile.
fn without_width(id: &str) -> String {
    id.replacen("-128", "", 1)
}

/// The reason for the choice, with the expected number of candidates unless width and radius are fixed.
fn reason(chosen: &radius::Radius, options: &DedupOptions) -> String {
    match (options.bits, options.hamming, chosen.expected_candidates) {
        (Auto::Fixed(_), Auto::Fixed(_), _) | (_, _, None) => chosen.reason.clone(),
        (_, _, Some(candidates)) => {
            let why = chosen.reason.split(':').next().unwrap_or_default();
            format!("{why}: {candidates:.2} candidates a document expected")
        }
    }
}

impl Calibration {
    /// Returns the chosen options as a TOML configuration for a deduplication.
    pub fn config(&self) -> String {
        let comment = format!(
            "From a sample of {} documents, for {}.\n# {}",
            self.documents, self.n, self.reason
        );
        to_toml(&comment, &self.matching)
    }
}

#[cfg(test)]
mod tests;
