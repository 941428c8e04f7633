//! Width and radius for a corpus, told from a sample of it.
//!
//! Distances between unrelated texts are not those of random bits: pages share common words. So the distances of the sample's pairs are
//! counted, the *background* of strangers is fitted to their bulk ([`background`]), and what lies before it are relatives. Strangers grow with
//! the corpus, relatives do not; both together are the candidates a document that a radius will cost at its full size. What a radius
//! finds is measured on the sample, as far as it holds duplicates, and expected from the threshold otherwise.

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

use crate::{Documents, EvalError};
use twinprint_dedup::DedupError;
use twinprint_dedup::config::{Matching, to_toml};
use twinprint_dedup::{Auto, DedupOptions};
use twinprint_dedup::{MAX_RADIUS, radius};
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::source::{Intake, SourceOptions};
use twinprint_io::threads;
use twinprint_text::MIN_FEATURES;

/// Texts each compared with all of the sample, at most.
const COMPARED: usize = 4096;
/// Pairs within the widest radius that are verified, at most.
const VERIFIED: usize = 1_000_000;
/// True pairs from which on a measured recall says something.
const TELLING: usize = 30;
/// Characters shown of an example.
const SHOWN: usize = 90;

/// What a sample says about a corpus.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// Version of twinprint.
    pub version: String,
    /// Id of the profile, without its width.
    pub profile: String,
    /// Documents of the sample.
    pub documents: usize,
    /// The account of the input.
    pub intake: Intake,
    /// Different texts among them that are long enough for a fingerprint.
    pub texts: usize,
    /// Documents of the corpus that the figures are for.
    pub n: u64,
    /// Least Jaccard of a duplicate.
    pub threshold: f64,
    /// Pairs of the sample at the threshold, as far as they lie within the widest radius.
    pub true_pairs: usize,
    /// 64 and 128 bits.
    pub widths: Vec<WidthCalibration>,
    /// A pair at each distance, where the sample has one.
    pub examples: Vec<Example>,
    /// What would be chosen.
    pub bits: u32,
    /// Its radius.
    pub k: u32,
    /// Why.
    pub reason: String,
    #[serde(skip)]
    matching: Matching,
}

/// One width.
#[derive(Clone, Debug, Serialize)]
pub struct WidthCalibration {
    /// It.
    pub bits: u32,
    /// Pairs compared at each distance from 0.
    pub histogram: Vec<u64>,
    /// Strangers.
    pub background: Background,
    /// What each radius comes to.
    pub radii: Vec<RadiusCalibration>,
}

/// One radius.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RadiusCalibration {
    /// It.
    pub k: u32,
    /// Share of the sample's true pairs within it; absent where there are too few to tell.
    pub recall: Option<f64>,
    /// Expected share of pairs just at the threshold.
    pub recall_at_threshold: f64,
    /// Relatives a document, as in the sample.
    pub relatives: f64,
    /// Strangers a document at n.
    pub strangers: f64,
    /// Bytes a document of an index of the fingerprints at n, as `twinprint index build` makes it.
    pub index_bytes: f64,
    /// Estimated seconds of one core for finding all pairs at n.
    pub join_seconds: f64,
}

impl RadiusCalibration {
    /// Candidates a document at n.
    pub fn candidates(&self) -> f64 {
        self.relatives + self.strangers
    }
}

/// A pair of the sample.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// Its distance at 128 bits.
    pub distance: u32,
    /// Its Jaccard.
    pub jaccard: f64,
    /// Ids.
    pub ids: [String; 2],
    /// How the canonical texts begin where they first differ.
    pub texts: [String; 2],
}

/// Reads the sample and tells. O(n · min(n, 4096)) comparisons of fingerprints; all texts are held, up to
/// [`MAX_DOCUMENTS`](crate::MAX_DOCUMENTS).
///
/// # Errors
/// What stops reading; fewer than two documents.
pub fn calibrate(
    inputs: &[String],
    source_options: &SourceOptions,
    options: &DedupOptions,
    n: Option<u64>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Calibration, EvalError> {
    options.check()?;
    let pool = threads::pool(options.threads)?;
    pool.install(|| {
        let profile = options.profile_at(128).map_err(DedupError::from)?;
        let documents = Documents::read(inputs, source_options, &profile, progress, cancel)?;
        progress.stage("measure", 0, Unit::Steps);
        Sample::of(&documents, &profile).calibrate(options, n)
    })
}

/// The page of a calibration, in two languages, for a browser without a network.
pub fn page(calibration: &Calibration) -> String {
    page::html(calibration)
}

/// The different texts of the sample that have a fingerprint to trust.
struct Sample<'d> {
    documents: &'d Documents,
    profile: &'d Profile,
    /// Their documents.
    texts: Vec<u32>,
    /// Parallel to them.
    fingerprints: Vec<u128>,
    /// Those compared with all.
    compared: Vec<usize>,
}

impl<'d> Sample<'d> {
    fn of(documents: &'d Documents, profile: &'d Profile) -> Self {
        let mut seen = HashSet::new();
        let new = |&i: &u32| {
            let i = i as usize;
            documents.features(i) >= MIN_FEATURES && seen.insert(documents.canonical(i))
        };
        let texts: Vec<u32> = (0..documents.len() as u32).filter(new).collect();
        let stride = texts.len().div_ceil(COMPARED).max(1);
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
            .filter(|(_, jaccard)| *jaccard >= options.threshold)
            .map(|&(pair, _)| pair)
            .collect();
        let widths: Vec<WidthCalibration> = MAX_RADIUS
            .iter()
            .map(|&(bits, widest)| self.width(bits, widest, options.threshold, n, &at_threshold))
            .collect::<Result<_, _>>()?;
        let expected = |bits: u32, widest: u32| {
            let width = widths.iter().find(|width| width.bits == bits);
            let radii = width.into_iter().flat_map(|width| &width.radii);
            radii
                .take(widest as usize + 1)
                .map(RadiusCalibration::candidates)
                .collect()
        };
        let sampled = (self.compared.len(), usize::try_from(n).unwrap_or(usize::MAX));
        let asked = (options.bits, options.hamming);
        let chosen = radius::choose_expected(&expected, sampled, asked, options.threshold);
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

    /// Pairs within the widest radius at 128 bits, and their Jaccard.
    fn verified_pairs(&self) -> Vec<([usize; 2], f64)> {
        let widest = MAX_RADIUS[1].1;
        let near = |&b: &usize| {
            let earlier = 0..if self.documents.cancelled() { 0 } else { b };
            let near = earlier.filter(move |&a| self.distance(128, [a, b]) <= widest);
            near.map(move |a| [a, b])
        };
        let mut pairs: Vec<[usize; 2]> = self.compared.par_iter().flat_map_iter(near).collect();
        pairs.sort_unstable();
        let stride = pairs.len().div_ceil(VERIFIED).max(1);
        let thinned: Vec<[usize; 2]> = pairs.into_iter().step_by(stride).collect();
        let verify = |&[a, b]: &[usize; 2]| {
            let [x, y] = [a, b].map(|i| self.texts[i] as usize);
            (!self.documents.cancelled()).then(|| ([a, b], self.documents.jaccard(x, y)))
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
        let (mut within, mut relatives) = (0, 0f64);
        let radii = (0..=widest).map(|k| {
            within += histogram[k as usize];
            let strangers = background.within(k);
            // Each text was compared with all others, and a pair counts once. Where strangers drown them, relatives are no fewer than
            // at a smaller radius.
            let more = (within as f64 - strangers * all as f64) / compared / 2.0;
            relatives = relatives.max(more);
            let found = true_pairs
                .iter()
                .filter(|&&pair| self.distance(bits, pair) <= k)
                .count();
            let rows = usize::try_from(n).unwrap_or(usize::MAX);
            let ask = Workload {
                n,
                bits,
                k,
                memory: None,
                medium: Medium::Memory,
                mode: LookupMode::Batch,
                skew_bits: 0.0,
                codec: Codec::default(),
            };
            let lookup = plan_segment(&ask, &LookupCosts::default()).ok();
            let join = plan_join_uniform(rows, bits, k).ok();
            let index_bytes = lookup.and_then(|choice| Some(choice.alternatives.first()?.bytes));
            let join_ns = join.and_then(|choice| Some(choice.alternatives.first()?.cost));
            RadiusCalibration {
                k,
                recall: (true_pairs.len() >= TELLING).then(|| found as f64 / true_pairs.len() as f64),
                recall_at_threshold: radius::recall(bits, k, threshold),
                relatives,
                strangers: strangers * (n as f64 - 1.0) / 2.0,
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

    /// Pairs of a compared text with any other, by distance.
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

    /// The first pair at each distance.
    fn examples(&self, pairs: &[([usize; 2], f64)]) -> Vec<Example> {
        let mut examples: Vec<Option<Example>> = vec![None; MAX_RADIUS[1].1 as usize + 1];
        for &(pair, jaccard) in pairs {
            let distance = self.distance(128, pair);
            let place = &mut examples[distance as usize];
            if place.is_none() {
                let documents = pair.map(|i| self.texts[i] as usize);
                *place = Some(Example {
                    distance,
                    jaccard,
                    ids: documents.map(|i| self.documents.id(i).to_owned()),
                    texts: differing(documents.map(|i| self.documents.canonical(i))),
                });
            }
        }
        examples.into_iter().flatten().collect()
    }
}

/// The texts from a little before their first difference.
fn differing([a, b]: [&str; 2]) -> [String; 2] {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(SHOWN / 4);
    [a, b].map(|text| text.chars().skip(from).take(SHOWN).collect())
}

/// A profile's id without its width.
fn without_width(id: &str) -> String {
    id.replacen("-128", "", 1)
}

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
    /// The options it comes to, for `dedup --config`.
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
