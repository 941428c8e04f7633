//! Estimates the thresholds of stories from the cosines of a sample of items.
//!
//! The *nearest cosine* of an item is its highest cosine with another item of the sample. The *background* is the
//! cosines of all pairs of items. Few pairs are related, so the background is that of unrelated items.
//!
//! * If the nearest cosines are of two kinds, the lower kind is that of items without a related item. The threshold is
//!   halfway between the means of the two kinds.
//! * Otherwise nearly all items have a related item. The threshold is halfway between the mean of the background and
//!   the lower quartile of the nearest cosines, which all but a quarter of the items reach.
//!
//! In the second case, both values are taken of the square roots of the cosines: cosines near 0 are far more frequent than
//! others, and the square root spreads them.
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

/// An item is a copy of another if their cosine is at least this value.
const COPY_COSINE: f64 = 0.9;
/// Otsu's share of explained variance for evenly spread values.
const EVEN_SHARE: f64 = 0.75;
/// The smallest sample that gives an estimate.
pub(super) const MIN_ITEMS: usize = 32;
/// The lowest and the highest threshold.
const THRESHOLDS: [f64; 2] = [0.01, COPY_COSINE];
/// Stories merge at this multiple of the cosine that their centres have by chance.
const MERGE_FACTOR: f64 = 2.0;
/// Thresholds are multiples of 1 / this. Decimal numbers of six digits are equal after they are written and read.
const THRESHOLD_STEPS: f64 = 1e6;
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
    /// True if the nearest cosines are of two kinds: some items have no related item.
    pub two_kinds: bool,
    /// The nearest cosines of the distinct items.
    pub nearest: CosineHistogram,
    /// The cosines of all pairs of distinct items.
    pub background: CosineHistogram,
}

/// Estimates the thresholds from the vectors of items, each of length 1 and sorted by term. `None` if fewer than
/// [`MIN_ITEMS`] are distinct. O(pairs that share a term).
pub(super) fn estimate(vectors: &[Vec<TermWeight>]) -> Option<Estimate> {
    let terms = vectors.iter().flatten().map(|weighted| weighted.term);
    let mut postings: Vec<Vec<(u32, f32)>> =
        vec![Vec::new(); terms.max().map_or(0, |term| term as usize + 1)];
    let mut nearest: Vec<f64> = Vec::new();
    let mut background = CosineHistogram::new();
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
        nearest.push(highest);
    }
    if nearest.len() < MIN_ITEMS {
        return None;
    }
    let pairs = (nearest.len() * (nearest.len() - 1) / 2) as f64;
    let mut sorted = nearest.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let split = split(&sorted);
    let two_kinds = split.share > EVEN_SHARE;
    let threshold = if two_kinds {
        split.middle
    } else {
        let lower_quartile = sorted.get(sorted.len() / 4).copied().unwrap_or_default();
        let middle = f64::midpoint(root_sum / pairs, lower_quartile.sqrt());
        middle * middle
    };
    let [lowest, highest] = THRESHOLDS;
    let rounded = |cosine: f64| (cosine * THRESHOLD_STEPS).round() / THRESHOLD_STEPS;
    let threshold = rounded(threshold.clamp(lowest, highest));
    let mean_nearest = nearest.iter().sum::<f64>() / nearest.len() as f64;
    let by_chance = sum / pairs / mean_nearest.max(lowest);
    let mut histogram = CosineHistogram::new();
    for &cosine in &nearest {
        histogram.add(cosine);
    }
    Some(Estimate {
        items: vectors.len() as u64,
        distinct: nearest.len() as u64,
        threshold,
        merge: rounded((MERGE_FACTOR * by_chance).clamp(threshold, highest)),
        two_kinds,
        nearest: histogram,
        background,
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
        let share = if variance > 0.0 { between / variance } else { 0.0 };
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
mod tests {
    use proptest::prelude::*;

    use super::super::vector::{dot, norm};
    use super::*;

    /// The estimate by its definition: all cosines by `dot`, and every division of the nearest cosines.
    fn naive(vectors: &[Vec<TermWeight>]) -> Option<(f64, f64)> {
        let cosine = |a: &[TermWeight], b: &[TermWeight]| dot(a.iter().copied(), b.iter().copied());
        let mut distinct: Vec<&Vec<TermWeight>> = Vec::new();
        for vector in vectors.iter().filter(|vector| !vector.is_empty()) {
            if distinct.iter().all(|other| cosine(vector, other) < COPY_COSINE) {
                distinct.push(vector);
            }
        }
        if distinct.len() < MIN_ITEMS {
            return None;
        }
        let (mut pairs, mut nearest) = (Vec::new(), vec![0.0f64; distinct.len()]);
        for (i, a) in distinct.iter().enumerate() {
            for (j, b) in distinct.iter().enumerate().filter(|&(j, _)| j != i) {
                nearest[i] = nearest[i].max(cosine(a, b));
                if j < i {
                    pairs.push(cosine(a, b));
                }
            }
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let spread = |values: &[f64]| {
            let mean = mean(values);
            values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        };
        let (mut share, mut threshold) = (0.0, 0.0);
        for &cut in &nearest {
            let (low, high): (Vec<f64>, Vec<f64>) = nearest.iter().partition(|&&value| value <= cut);
            let explained = 1.0 - (spread(&low) + spread(&high)) / spread(&nearest);
            if !high.is_empty() && explained > share {
                (share, threshold) = (explained, f64::midpoint(mean(&low), mean(&high)));
            }
        }
        if share <= EVEN_SHARE {
            let roots: Vec<f64> = pairs.iter().map(|value| value.sqrt()).collect();
            let mut sorted = nearest.clone();
            sorted.sort_by(f64::total_cmp);
            threshold = f64::midpoint(mean(&roots), sorted[sorted.len() / 4].sqrt()).powi(2);
        }
        let threshold = threshold.clamp(0.01, COPY_COSINE);
        let merge = 2.0 * mean(&pairs) / mean(&nearest).max(0.01);
        Some((threshold, merge.clamp(threshold, COPY_COSINE)))
    }

    fn vector(terms: &std::collections::BTreeMap<u32, u8>) -> Vec<TermWeight> {
        let length = norm(terms.values().map(|&weight| f32::from(weight)));
        let scaled = |(&term, &weight): (&u32, &u8)| TermWeight {
            term,
            weight: (f64::from(weight) / length) as f32,
        };
        terms.iter().map(scaled).collect()
    }

    proptest! {
        #[test]
        fn an_estimate_follows_its_definition(
            items in prop::collection::vec(prop::collection::btree_map(0u32..60, 1u8..9, 0..6), 20..70),
        ) {
            let vectors: Vec<Vec<TermWeight>> = items.iter().map(vector).collect();
            let found = estimate(&vectors);
            let expected = naive(&vectors);
            prop_assert_eq!(found.is_some(), expected.is_some());
            if let (Some(found), Some((threshold, merge))) = (found, expected) {
                prop_assert!((found.threshold - threshold).abs() < 2e-6, "{} {}", found.threshold, threshold);
                prop_assert!((found.merge - merge).abs() < 2e-6, "{} {}", found.merge, merge);
                let read: Estimate = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
                prop_assert_eq!(&read, &found);
                prop_assert_eq!(found.nearest.counts().iter().sum::<u64>(), found.distinct);
                let pairs = found.distinct * (found.distinct - 1) / 2;
                prop_assert_eq!(found.background.counts().iter().sum::<u64>(), pairs);
            }
        }
    }

    /// Unit vectors: `items` of which each group of `size` shares a term of the given weight.
    fn groups(items: u32, size: u32, shared: f32) -> Vec<Vec<TermWeight>> {
        let own = (1.0 - shared * shared).sqrt();
        let item = |n: u32| {
            let shared = TermWeight {
                term: n / size,
                weight: shared,
            };
            vec![
                shared,
                TermWeight {
                    term: items + n,
                    weight: own,
                },
            ]
        };
        (0..items).map(item).collect()
    }

    #[test]
    fn related_items_are_separated_from_the_background() {
        let found = estimate(&groups(200, 10, 0.5)).unwrap();
        assert!(!found.two_kinds);
        assert!((0.05..0.2).contains(&found.threshold), "{}", found.threshold);
        assert!(found.merge >= found.threshold);
    }

    #[test]
    fn items_without_a_related_item_are_separated_from_the_others() {
        let mut vectors = groups(100, 5, 0.7);
        let lonely = groups(100, 100, 0.3);
        vectors.extend(lonely.into_iter().map(|mut vector| {
            for weighted in &mut vector {
                weighted.term += 1000;
            }
            vector
        }));
        let found = estimate(&vectors).unwrap();
        assert!(found.two_kinds);
        // The cosines are 0.49 within a group and 0.09 among the others.
        assert!((0.15..0.35).contains(&found.threshold), "{}", found.threshold);
    }

    #[test]
    fn copies_alone_give_no_estimate() {
        assert_eq!(estimate(&vec![groups(1, 1, 0.5).remove(0); 100]), None);
    }
}
