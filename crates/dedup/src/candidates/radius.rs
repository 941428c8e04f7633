//! The choice of width and radius: the largest Hamming distance of a candidate.
//!
//! A wider radius finds more duplicates and costs more. How much more it costs depends on the corpus: unrelated pages
//! share common words, so their distances are far below those of random bits. Hence a seeded sample of fingerprints is
//! compared with *all* fingerprints ([`density`]). This gives the number of candidates per document at every radius for
//! the actual corpus size, without extrapolation.
//!
//! The numbers of candidates are those of a typical document, the median. So a crowd (pages of one template) has no
//! influence on the radius, and thus on the duplicates that are found elsewhere. The limit on the neighbours of a row
//! bounds the cost of crowds.
//!
//! The largest radius with at most [`CANDIDATE_BUDGET`] candidates per document is chosen, at the width that is expected
//! to find more duplicates. If this radius misses too many duplicates, it is widened until it is sufficient
//! (`sufficient_recall`), until the *unrelated* candidates reach [`CANDIDATE_LIMIT`], or until it is the widest that is
//! considered. So only unrelated candidates, whose number grows with the corpus, keep a radius from being sufficient;
//! similar ones never do, however many a typical document has. [`RadiusChoice`] says which of these ended the choice. No
//! radius is needed where the set join finds all pairs ([`RadiusChoice::Exact`]).

pub(crate) mod density;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

pub use self::density::Density;
pub(crate) use self::density::{Fingerprints, PairsOfRow};
use crate::error::DedupError;
use crate::options::{Auto, DedupOptions, MAX_RADIUS};
pub use twinprint_io::results::RadiusChoice;

/// The number of candidates of a typical document up to which verification takes a small part of a run's time.
pub const CANDIDATE_BUDGET: f64 = 5.0;
/// A radius with more than this number of unrelated candidates per document is not widened further, even if its expected
/// recall is still too low.
pub const CANDIDATE_LIMIT: f64 = 100.0;
/// The default radius without verification, as in Manku, Jain and Das Sarma 2007.
const UNVERIFIED_RADIUS: u32 = 3;
/// A radius is sufficient if it is expected to find at least this share of the pairs *at* the threshold. Pairs above
/// the threshold are closer: on the labelled sets, a radius that finds 0.9 of the pairs at Jaccard 0.8 finds at least
/// 0.995 of all pairs from 0.8 up.
const SUFFICIENT_RECALL: f64 = 0.9;
/// The share that is sufficient among at most [`FEW_ROWS`] fingerprints, of which a wide radius has few unrelated ones.
const SUFFICIENT_RECALL_OF_FEW: f64 = 0.99;
/// The number of fingerprints up to which a wide radius is cheap. The time of the join grows with the square of the number;
/// 25,000 fingerprints took 0.25 s of CPU time at a radius of 30.
const FEW_ROWS: usize = 100_000;
/// The largest radius at 128 bits that is considered for every threshold. It is sufficient for thresholds from 0.8 up.
const DEFAULT_MAX_RADIUS: u32 = 24;
/// Radii wider than [`DEFAULT_MAX_RADIUS`] that are considered: up to a number of fingerprints, the radius that is expected
/// to find a share of the pairs at the threshold. The join at such a radius is hardly cheaper than comparing all pairs,
/// which takes one core about a minute at the second number.
const WIDER_RADII: [(usize, f64); 2] = [(FEW_ROWS, 0.9999), (2_000_000, 0.99)];
/// The smallest gain in expected recall that is worth the memory of wider fingerprints.
const MIN_RECALL_GAIN: f64 = 0.004;

/// The width and radius of a run, with the reason for the choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Radius {
    /// The width in which fingerprints are compared, 64 or 128 bits.
    pub bits: u32,
    /// The chosen radius: the largest Hamming distance of a candidate.
    pub k: u32,
    /// The criterion that decided the radius.
    pub choice: RadiusChoice,
    /// The reason for the choice, in one sentence for people.
    pub reason: String,
    /// The size of the sample; zeros if no sample was taken.
    pub sample: SampleSize,
    /// Expected candidates per document at the chosen radius; `None` if no sample was taken.
    pub expected_candidates: Option<f64>,
    /// Expected candidates of a typical document; `None` if no sample was taken.
    pub typical_candidates: Option<f64>,
    /// Expected share of pairs at the threshold that are within the radius.
    pub expected_recall: f64,
}

/// The criteria by which width and radius are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadiusCriteria {
    /// The width of the fingerprints, 64 or 128, if it is given.
    pub bits: Auto,
    /// The radius, if it is given; otherwise it is chosen.
    pub k: Auto,
    /// The minimum Jaccard of a duplicate.
    pub threshold: f64,
}

/// The number of fingerprints in a sample and in the whole corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleSize {
    /// The number of sampled fingerprints.
    pub sampled: usize,
    /// The number of fingerprints that the sample was taken from.
    pub all: usize,
}

/// Chooses the radius, and the width among 64 and 128 bits. A width or radius given in `criteria` is kept.
///
/// `rows` are the distinct fingerprints at full width. `jaccard` returns the Jaccard of the texts of two rows; it is
/// called for some hundred pairs if there are many candidates.
pub(crate) fn choose<F: Fingerprints + ?Sized>(
    rows: &F,
    criteria: RadiusCriteria,
    seed: u64,
    jaccard: &density::Jaccard<'_>,
) -> Result<Radius, DedupError> {
    let sample = density::sample(rows.count(), seed);
    let size = SampleSize {
        sampled: sample.len(),
        all: rows.count(),
    };
    choose_by(
        &|bits, widest| density::measure(rows, &sample, bits, widest, jaccard),
        size,
        criteria,
    )
}

/// Predicts the choice that [`choose`] will make for a whole corpus, from sections of it.
///
/// `half` has the distinct fingerprints of the first halves of the sections, and `whole` those of the complete
/// sections. `all` is the approximate number of distinct fingerprints in the corpus. Candidates among neighbouring
/// documents are as many in the halves as in the complete sections, and candidates among unrelated documents are half
/// as many. So the line through both numbers extrapolates to the corpus. The pairs of a row are extrapolated for each
/// sampled row by itself.
pub(crate) fn foresee(
    [half, whole]: [&[u128]; 2],
    all: f64,
    criteria: RadiusCriteria,
    seed: u64,
    jaccard: [&density::Jaccard<'_>; 2],
) -> Result<Foreseen, DedupError> {
    let more = (all - whole.len() as f64).max(0.0);
    let steps = more / (whole.len() - half.len()).max(1) as f64;
    let [of_half, of_whole] = [half, whole].map(|rows| density::sample(rows.len(), seed));
    let extrapolated = |bits, widest| {
        let first = density::measure(half, &of_half, bits, widest, jaccard[0])?;
        let second = density::measure(whole, &of_whole, bits, widest, jaccard[1])?;
        Ok::<_, DedupError>(first.extrapolated(&second, steps))
    };
    let size = SampleSize {
        sampled: of_whole.len(),
        all: all as usize,
    };
    let radius = choose_by(&extrapolated, size, criteria)?;
    let pairs = density::extrapolated_pairs([half, whole], &of_half, radius.bits, radius.k, steps);
    Ok(Foreseen { radius, pairs })
}

/// The prediction of [`foresee`].
pub(crate) struct Foreseen {
    pub(crate) radius: Radius,
    /// The pairs of a row at that radius.
    pub(crate) pairs: PairsOfRow,
}

/// Chooses width and radius for a corpus whose expected number of candidates per document is known.
///
/// `density(bits, widest)` returns that number for each radius from 0 to `widest`. `sample` is the size of the sample
/// from which it was estimated.
///
/// ```
/// use twinprint_dedup::Auto;
/// use twinprint_dedup::radius::{Density, RadiusCriteria, SampleSize, choose_expected};
///
/// // One unrelated candidate per document within a radius of 10 bits, and many more beyond 20.
/// let unrelated = |k| if k <= 20 { f64::from(k) / 10.0 } else { 1e6 };
/// let density = |bits, widest| {
///     let unrelated: Vec<f64> = (0..=widest).map(unrelated).collect();
///     // Each document also has 50 similar ones. They do not make the radius too narrow for most duplicates.
///     let candidates: Vec<f64> = unrelated.iter().map(|unrelated| unrelated + 50.0).collect();
///     Density { bits, typical: candidates.clone(), candidates, unrelated: Some(unrelated) }
/// };
/// let sample = SampleSize { sampled: 2_048, all: 1_000_000 };
/// let criteria = RadiusCriteria { bits: Auto::Fixed(128), k: Auto::Auto, threshold: 0.8 };
/// let radius = choose_expected(&density, sample, criteria);
/// assert_eq!((radius.bits, radius.k), (128, 20));
/// assert!(radius.expected_recall > 0.9);
/// ```
pub fn choose_expected(
    density: &dyn Fn(u32, u32) -> Density,
    sample: SampleSize,
    criteria: RadiusCriteria,
) -> Radius {
    let chosen = choose_by(
        &|bits, widest| Ok::<_, Infallible>(density(bits, widest)),
        sample,
        criteria,
    );
    let mut radius = match chosen {
        Ok(radius) => radius,
        Err(never) => match never {},
    };
    if radius.expected_candidates.is_none() {
        radius.expected_candidates = density(radius.bits, radius.k).candidates.last().copied();
    }
    radius
}

fn choose_by<E>(
    density: &dyn Fn(u32, u32) -> Result<Density, E>,
    sample: SampleSize,
    criteria: RadiusCriteria,
) -> Result<Radius, E> {
    let RadiusCriteria { bits, k, threshold } = criteria;
    let widths = MAX_RADIUS.iter().filter(|(width, _)| match bits {
        Auto::Auto => true,
        Auto::Fixed(bits) => bits == *width,
    });
    if let (Auto::Fixed(k), Auto::Fixed(bits)) = (k, bits) {
        return Ok(given(bits, k, threshold));
    }
    if let Auto::Fixed(k) = k {
        // The radius is given, but no width: 64 bits are chosen if the join at 64 bits is exact at this radius.
        return Ok(given(if k <= MAX_RADIUS[0].1 { 64 } else { 128 }, k, threshold));
    }
    let mut best: Option<Radius> = None;
    for &(bits, widest) in widths {
        let widest = widest_for(bits, widest, threshold, sample.all);
        let next = from_density(&density(bits, widest)?, threshold, sample);
        let better = |best: &Radius| {
            let enough = sufficient_recall(sample.all);
            let gain = next.expected_recall.min(enough) - best.expected_recall.min(enough);
            let affordable =
                |radius: &Radius| radius.typical_candidates.is_none_or(|c| c <= CANDIDATE_BUDGET);
            match (affordable(best), affordable(&next)) {
                (true, true) => next.expected_recall > best.expected_recall + MIN_RECALL_GAIN,
                (false, true) => gain > -MIN_RECALL_GAIN,
                (_, false) => {
                    gain > MIN_RECALL_GAIN
                        || next.typical_candidates < best.typical_candidates && gain > -MIN_RECALL_GAIN
                }
            }
        };
        if best.as_ref().is_none_or(better) {
            best = Some(next);
        }
    }
    Ok(best.unwrap_or_else(|| given(64, MAX_RADIUS[0].1, threshold)))
}

/// The widest radius that is considered for `all` fingerprints of `bits` bits.
fn widest_for(bits: u32, widest: u32, threshold: f64, all: usize) -> u32 {
    let usual = widest.min(DEFAULT_MAX_RADIUS);
    let Some((_, share)) = WIDER_RADII.into_iter().find(|&(rows, _)| all <= rows) else {
        return usual;
    };
    (usual..widest)
        .find(|&k| recall(bits, k, threshold) >= share)
        .unwrap_or(widest)
}

/// Chooses the best radius at one width.
fn from_density(density: &Density, threshold: f64, sample: SampleSize) -> Radius {
    let bits = density.bits;
    let unrelated = density.unrelated();
    let within = |candidates: &[f64], budget: f64| {
        candidates
            .iter()
            .take_while(|&&c| c <= budget)
            .count()
            .saturating_sub(1) as u32
    };
    let enough = sufficient_recall(sample.all);
    let cheap = within(&density.typical, CANDIDATE_BUDGET);
    let most = within(unrelated, CANDIDATE_LIMIT).max(cheap);
    let sufficient = (0..=most)
        .find(|&k| recall(bits, k, threshold) >= enough)
        .unwrap_or(most);
    let k = cheap.max(sufficient);
    let candidates = density.candidates[k as usize];
    let expected_recall = recall(bits, k, threshold);
    let choice = if k > cheap && expected_recall >= enough {
        RadiusChoice::Sufficient
    } else if k as usize + 1 == unrelated.len() {
        RadiusChoice::Widest
    } else if k == cheap {
        RadiusChoice::Affordable
    } else {
        RadiusChoice::Limited
    };
    let most = |candidates: &[f64], budget, kind| {
        if candidates[k as usize] > budget {
            return format!("the narrowest radius at {bits} bits");
        }
        format!("the largest radius at {bits} bits with about {budget} {kind}candidates a document or fewer")
    };
    let why = match choice {
        RadiusChoice::Sufficient => format!(
            "the smallest radius at {bits} bits that is expected to find {} of the pairs at the threshold",
            per_cent(enough)
        ),
        RadiusChoice::Widest => format!("the widest radius that is considered at {bits} bits"),
        RadiusChoice::Limited => most(unrelated, CANDIDATE_LIMIT, "unrelated "),
        _ => most(&density.typical, CANDIDATE_BUDGET, ""),
    };
    let short = if expected_recall < enough {
        format!(
            ", expected to find {} of the pairs at the threshold",
            per_cent(expected_recall)
        )
    } else {
        String::new()
    };
    let of_these = match &density.unrelated {
        Some(unrelated) => format!(" ({:.1} unrelated)", unrelated[k as usize]),
        None => String::new(),
    };
    let typical = density.typical[k as usize];
    let SampleSize { sampled, all } = sample;
    Radius {
        bits,
        k,
        choice,
        sample,
        reason: format!(
            "{why}{short}: {candidates:.1} candidates a document on average, {typical:.1} in the median{of_these}, from \
             {sampled} sampled fingerprints against all {all}"
        ),
        expected_candidates: Some(candidates),
        typical_candidates: Some(typical),
        expected_recall,
    }
}

/// The share of the pairs at the threshold that a radius must be expected to find among `all` fingerprints.
fn sufficient_recall(all: usize) -> f64 {
    if all <= FEW_ROWS {
        SUFFICIENT_RECALL_OF_FEW
    } else {
        SUFFICIENT_RECALL
    }
}

/// The smallest radius at `bits` bits that is sufficient for a threshold among many fingerprints; `None` if no radius
/// that is considered is.
pub(crate) fn sufficient(bits: u32, threshold: f64) -> Option<u32> {
    let (_, widest) = MAX_RADIUS.iter().find(|(width, _)| *width == bits)?;
    (0..=*widest).find(|&k| recall(bits, k, threshold) >= SUFFICIENT_RECALL)
}

/// Formats a share in whole per cent, rounded down.
fn per_cent(share: f64) -> String {
    format!("{:.0} %", (100.0 * share + 1e-9).floor())
}

fn given(bits: u32, k: u32, threshold: f64) -> Radius {
    Radius {
        bits,
        k,
        choice: RadiusChoice::Given,
        reason: "as given".to_owned(),
        sample: SampleSize::default(),
        expected_candidates: None,
        typical_candidates: None,
        expected_recall: recall(bits, k, threshold),
    }
}

/// The radius of a run without verification, in which it is the verdict: every pair within it is a duplicate.
pub(crate) fn verdict(options: &DedupOptions) -> Radius {
    let k = match options.hamming {
        Auto::Fixed(k) => k,
        Auto::Auto => UNVERIFIED_RADIUS,
    };
    Radius {
        bits: options.width_without_verification(),
        k,
        choice: RadiusChoice::Verdict,
        reason: "without verification, every pair within the radius counts as a duplicate".to_owned(),
        sample: SampleSize::default(),
        expected_candidates: None,
        typical_candidates: None,
        expected_recall: 1.0,
    }
}

/// The radius of a corpus in which the set join finds all pairs at the threshold: the width itself, which excludes no
/// pair.
pub(crate) fn exact(bits: Auto) -> Radius {
    let bits = match bits {
        Auto::Fixed(bits) => bits,
        Auto::Auto => 128,
    };
    Radius {
        bits,
        k: bits,
        choice: RadiusChoice::Exact,
        reason: "the exact join of the shingles costs no more than fingerprints here, and finds every pair at the \
                 threshold whatever the distance of its fingerprints"
            .to_owned(),
        sample: SampleSize::default(),
        expected_candidates: None,
        typical_candidates: None,
        expected_recall: 1.0,
    }
}

/// The probability that one bit differs between two texts at Jaccard `threshold`.
///
/// With word 3-grams, scattered edits of a share e of the words give J = (1 − 3e)/(1 + 3e) and a cosine of about 1 − e;
/// edits in one place give J = (1 − e)/(1 + e). A value between the two is used: e = 0.6 (1 − J)/(1 + J).
fn flip_probability(threshold: f64) -> f64 {
    let changed = 0.6 * (1.0 - threshold) / (1.0 + threshold);
    (1.0 - changed).acos() / std::f64::consts::PI
}

/// The expected share of the pairs with a Jaccard of `threshold` whose fingerprints of `bits` bits differ in at most
/// `k` bits. The number of differing bits is modelled by a binomial distribution.
///
/// ```
/// use twinprint_dedup::radius::recall;
///
/// assert!(recall(128, 24, 0.8) > recall(128, 3, 0.8));
/// ```
pub fn recall(bits: u32, k: u32, threshold: f64) -> f64 {
    let p = flip_probability(threshold);
    if p <= 0.0 {
        return 1.0;
    }
    let mut term = (f64::from(bits) * (1.0 - p).ln()).exp();
    let mut sum = 0.0;
    for i in 0..=k.min(bits) {
        sum += term;
        term *= f64::from(bits - i) / f64::from(i + 1) * p / (1.0 - p);
    }
    sum.min(1.0)
}
