//! Estimates the thresholds of stories from the cosines of a sample of items.
//!
//! The *nearest cosine* of an item is its highest cosine with another item of the sample. The *background* is the
//! cosines of all pairs of items. Few pairs are related, so the background is that of unrelated items.
//!
//! 1. If the nearest cosines are of two kinds, the lower kind is that of items without a related item. The threshold is
//!    halfway between the means of the two kinds.
//! 2. Otherwise nearly all items have a related item, but they may be related closely or loosely: by an event, or by a
//!    subject. [`trials`] forms the stories of the sample at several thresholds, and measures by the silhouette how well
//!    they are separated. A peak of the silhouette is a trial that is separated at least as well as its neighbours on
//!    both sides, and by at least ¼. Below ¼ there is no substantial structure (Kaufman and Rousseeuw 1990). Each peak is
//!    a size of stories that the items have. The threshold is that of the peak with the highest threshold, so events are
//!    preferred to subjects. The first and the last trial are no peaks, because it is unknown whether the silhouette
//!    rises beyond them; the first has a few large stories of many subjects.
//! 3. If there is no such peak, the threshold is halfway between the mean of the background and the lower quartile of
//!    the nearest cosines, which all but a quarter of the items reach. Both values are taken of the square roots of the
//!    cosines: cosines near 0 are far more frequent than others, and the square root spreads them.
//!
//! Otsu's method (1979) finds the two kinds: it divides the sorted cosines where the means of both sides explain the
//! largest share of the variance. The cosines are of two kinds if that share is larger than it is for evenly spread
//! values, which is ¾.
//!
//! The centres of two large stories have about the cosine b / w by chance, if b is the mean cosine of unrelated items
//! and w that of the members of a story. Stories merge at 2b / w, with the mean of the nearest cosines as w, and never
//! below the threshold.
//!
//! Copies are left out, because a copy says nothing about stories.
//!
//! Sums, products, quotients and square roots are the only operations, and their order is fixed, so the result is the
//! same on every machine.

use serde::{Deserialize, Serialize};

use super::vector::TermWeight;
use trials::{CosineMatrix, MAX_TRIAL_ITEMS, TrialSample};

mod trials;

/// An item is a copy of another if their cosine is at least this value.
const COPY_COSINE: f64 = 0.9;
/// Otsu's share of explained variance for evenly spread values.
const EVEN_SHARE: f64 = 0.75;
/// Cosines of a smaller variance are equal, because vectors have single precision.
const MIN_VARIANCE: f64 = 1e-9;
/// The smallest sample that gives an estimate.
pub(super) const MIN_ITEMS: usize = 32;
/// The lowest and the highest threshold.
const THRESHOLDS: [f64; 2] = [0.01, COPY_COSINE];
/// The lowest silhouette of stories that are separated (Kaufman and Rousseeuw 1990).
const MIN_SILHOUETTE: f64 = 0.25;
/// Stories merge at this multiple of the cosine that their centres have by chance.
const MERGE_FACTOR: f64 = 2.0;
/// Thresholds and silhouettes are multiples of 1 / this. Decimal numbers of six digits are equal after they are written
/// and read.
const STEPS: f64 = 1e6;
/// Number of intervals of a histogram.
pub const COSINE_INTERVALS: usize = 40;

/// The number of cosines in each of [`COSINE_INTERVALS`] intervals, of equal width in the square root of the cosine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CosineHistogram(pub(super) Vec<u64>);

impl CosineHistogram {
    fn new() -> Self {
        Self(vec![0; COSINE_INTERVALS])
    }

    fn add(&mut self, cosine: f64) {
        let interval = (cosine.max(0.0).sqrt() * COSINE_INTERVALS as f64) as usize;
        if let Some(count) = self.0.get_mut(interval.min(COSINE_INTERVALS - 1)) {
            *count += 1;
        }
    }

    /// The counts, by ascending cosine. Interval i begins at the cosine (i / [`COSINE_INTERVALS`])².
    pub fn counts(&self) -> &[u64] {
        &self.0
    }
}

/// The reason for a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Basis {
    /// The nearest cosines are of two kinds, because some items have no related item. The threshold is between them.
    TwoKinds,
    /// The threshold is that of a trial whose stories are well separated.
    Separated,
    /// Neither holds. The threshold is halfway between the background and the nearest cosines.
    Halfway,
}

/// The stories that the first items of the sample form at a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The minimum cosine between an item and the centre of the story that it joins.
    pub threshold: f64,
    /// The mean silhouette of the items, from -1 to 1. It measures the separation of the stories.
    pub silhouette: f64,
    /// Number of stories.
    pub stories: u64,
}

/// The thresholds that a sample of items suggests, and the cosines that they were estimated from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Number of items of the sample, copies included.
    pub items: u64,
    /// Number of these items that are not copies of others.
    pub distinct: u64,
    /// The minimum cosine between an item and the centre of the story that it joins.
    pub threshold: f64,
    /// The minimum cosine of the centres of two stories that merge.
    pub merge: f64,
    /// The reason for the threshold.
    pub basis: Basis,
    /// The trials by ascending threshold. Empty if the nearest cosines are of two kinds, because trials are then not
    /// needed.
    pub trials: Vec<Trial>,
    /// The nearest cosines of the distinct items.
    pub nearest: CosineHistogram,
    /// The cosines of all pairs of distinct items.
    pub background: CosineHistogram,
}

/// The cosines of the distinct items of a sample.
struct Cosines<'v> {
    /// The vectors of the distinct items.
    distinct: Vec<&'v [TermWeight]>,
    /// The nearest cosine of each distinct item.
    nearest: Vec<f64>,
    background: CosineHistogram,
    /// The mean of the background.
    mean: f64,
    /// The mean of the square roots of the background.
    root_mean: f64,
    /// The cosines of the items that take part in trials.
    matrix: CosineMatrix,
}

impl<'v> Cosines<'v> {
    /// Compares all items. O(pairs that share a term).
    fn new(vectors: &'v [Vec<TermWeight>]) -> Self {
        let terms = vectors.iter().flatten().map(|weighted| weighted.term);
        let mut postings: Vec<Vec<(u32, f32)>> =
            vec![Vec::new(); terms.max().map_or(0, |term| term as usize + 1)];
        let (mut distinct, mut nearest) = (Vec::new(), Vec::<f64>::new());
        let mut background = CosineHistogram::new();
        let mut matrix = CosineMatrix::default();
        let (mut sum, mut root_sum) = (0.0, 0.0);
        for vector in vectors.iter().filter(|vector| !vector.is_empty()) {
            let mut cosines = vec![0.0f64; nearest.len()];
            for &TermWeight { term, weight } in vector {
                for &(item, other) in postings.get(term as usize).into_iter().flatten() {
                    if let Some(cosine) = cosines.get_mut(item as usize) {
                        *cosine += f64::from(weight) * f64::from(other);
                    }
                }
            }
            let highest = cosines.iter().copied().fold(0.0, f64::max);
            if highest >= COPY_COSINE {
                continue;
            }
            for (&cosine, nearest) in cosines.iter().zip(&mut nearest) {
                *nearest = nearest.max(cosine);
                background.add(cosine);
                sum += cosine;
                root_sum += cosine.sqrt();
            }
            for &TermWeight { term, weight } in vector {
                if let Some(list) = postings.get_mut(term as usize) {
                    list.push((nearest.len() as u32, weight));
                }
            }
            if nearest.len() < MAX_TRIAL_ITEMS {
                matrix.push(&cosines);
            }
            distinct.push(vector.as_slice());
            nearest.push(highest);
        }
        let pairs = (nearest.len() * nearest.len().saturating_sub(1) / 2).max(1) as f64;
        Self {
            distinct,
            nearest,
            background,
            mean: sum / pairs,
            root_mean: root_sum / pairs,
            matrix,
        }
    }

    /// Forms stories at each of the thresholds of trials.
    fn trials(&self, merge: f64) -> Vec<Trial> {
        let items = self.distinct.len().min(MAX_TRIAL_ITEMS);
        let mut sample = TrialSample::new(self.distinct.get(..items).unwrap_or_default());
        trials::THRESHOLDS
            .map(|threshold| {
                let stories = sample.stories(threshold, merge.max(threshold));
                Trial {
                    threshold,
                    silhouette: rounded(self.matrix.silhouette(&stories)),
                    stories: stories.iter().max().map_or(0, |&last| last as u64 + 1),
                }
            })
            .into()
    }
}

/// Estimates the thresholds from the vectors of items, each of length 1 and sorted by term. `None` if fewer than
/// [`MIN_ITEMS`] are distinct. O(pairs that share a term), several times for the items that take part in trials.
pub(super) fn estimate(vectors: &[Vec<TermWeight>]) -> Option<Estimate> {
    let cosines = Cosines::new(vectors);
    if cosines.nearest.len() < MIN_ITEMS {
        return None;
    }
    let mut sorted = cosines.nearest.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let [lowest, highest] = THRESHOLDS;
    let mean_nearest = cosines.nearest.iter().sum::<f64>() / cosines.nearest.len() as f64;
    let merge = rounded((MERGE_FACTOR * cosines.mean / mean_nearest.max(lowest)).clamp(lowest, highest));
    let split = split(&sorted);
    let trials = if split.share > EVEN_SHARE {
        Vec::new()
    } else {
        cosines.trials(merge)
    };
    let (basis, threshold) = if trials.is_empty() {
        (Basis::TwoKinds, split.middle)
    } else if let Some(trial) = separated(&trials) {
        (Basis::Separated, trial.threshold)
    } else {
        let lower_quartile = sorted.get(sorted.len() / 4).copied().unwrap_or_default();
        let middle = f64::midpoint(cosines.root_mean, lower_quartile.sqrt());
        (Basis::Halfway, middle * middle)
    };
    let threshold = rounded(threshold.clamp(lowest, highest));
    let mut nearest = CosineHistogram::new();
    for &cosine in &cosines.nearest {
        nearest.add(cosine);
    }
    Some(Estimate {
        items: vectors.len() as u64,
        distinct: cosines.nearest.len() as u64,
        threshold,
        merge: merge.max(threshold),
        basis,
        trials,
        nearest,
        background: cosines.background,
    })
}

/// The nearest multiple of 1 / [`STEPS`].
fn rounded(value: f64) -> f64 {
    (value * STEPS).round() / STEPS
}

/// The trial of the highest threshold among the peaks of the silhouette.
fn separated(trials: &[Trial]) -> Option<&Trial> {
    trials.windows(3).rev().find_map(|neighbours| match neighbours {
        [before, trial, after] => {
            let is_peak = trial.silhouette >= before.silhouette.max(after.silhouette);
            (is_peak && trial.silhouette >= MIN_SILHOUETTE).then_some(trial)
        }
        _ => None,
    })
}

/// A division of values into a lower and an upper kind.
#[derive(Debug)]
struct Split {
    /// The middle of the means of both kinds.
    middle: f64,
    /// The share of the variance that the two means explain, from 0 to 1.
    share: f64,
}

/// Divides sorted values by Otsu's method. Linear.
fn split(values: &[f64]) -> Split {
    let count = values.len() as f64;
    let total: f64 = values.iter().sum();
    let mean = total / count.max(1.0);
    let variance: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let mut best = Split {
        middle: mean,
        share: 0.0,
    };
    let (mut below, mut lower) = (0.0, 0.0);
    for &value in values.split_last().map_or(&[][..], |(_, rest)| rest) {
        below += 1.0;
        lower += value;
        let means = [lower / below, (total - lower) / (count - below)];
        let between = below * (count - below) / count * (means[1] - means[0]) * (means[1] - means[0]);
        let share = if variance > MIN_VARIANCE * count {
            between / variance
        } else {
            0.0
        };
        if share > best.share {
            best = Split {
                middle: f64::midpoint(means[0], means[1]),
                share,
            };
        }
    }
    best
}

#[cfg(test)]
mod tests;
