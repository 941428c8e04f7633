//! Counts of all pairs by score. From them follows the quality of every cut: the score from which pairs are called
//! duplicates.

use rayon::prelude::*;

use super::documents::Documents;
use super::error::EvalError;
use super::evaluation::{Quality, RadiusPoint};
use super::truth::Truth;

/// The number of pairs of documents by bin of a score. The first bin has the most similar pairs.
pub(super) struct Tally {
    /// For each bin, the number of pairs in this bin and all bins before it.
    all: Vec<u64>,
    /// For each threshold and bin, the number of true pairs in this bin and all bins before it.
    right: Vec<Vec<u64>>,
}

impl Tally {
    /// Scores every pair of documents. `row(a, out)` pushes the bins of the pairs of document a with 0, 1, … a − 1; a
    /// bin is below `bins`. O(n²).
    ///
    /// # Errors
    /// [`JobError::Cancelled`](twinprint_io::JobError::Cancelled).
    pub(super) fn count(
        documents: &Documents,
        truth: &Truth,
        thresholds: &[f64],
        bins: usize,
        row: impl Fn(usize, &mut Vec<u16>) + Sync,
    ) -> Result<Self, EvalError> {
        let empty = || (vec![0u64; bins], vec![vec![0u64; bins]; thresholds.len()]);
        let count = |(mut all, mut right): (Vec<u64>, Vec<Vec<u64>>), a: usize| {
            if documents.cancelled() {
                return (all, right);
            }
            let mut scores = Vec::with_capacity(a);
            row(a, &mut scores);
            for &score in &scores {
                all[usize::from(score)] += 1;
            }
            for pair in truth.of_document(a) {
                let score = usize::from(scores[pair.a as usize]);
                for (right, _) in right
                    .iter_mut()
                    .zip(thresholds)
                    .filter(|(_, t)| pair.jaccard >= **t)
                {
                    right[score] += 1;
                }
            }
            (all, right)
        };
        let add = |into: &mut Vec<u64>, from: Vec<u64>| into.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        let (mut all, mut right) =
            (0..documents.len())
                .into_par_iter()
                .fold(empty, count)
                .reduce(empty, |mut a, b| {
                    add(&mut a.0, b.0);
                    a.1.iter_mut().zip(b.1).for_each(|(a, b)| add(a, b));
                    a
                });
        documents.check_cancelled()?;
        let sum = |counts: &mut Vec<u64>| {
            for i in 1..counts.len() {
                counts[i] += counts[i - 1];
            }
        };
        sum(&mut all);
        right.iter_mut().for_each(sum);
        Ok(Self { all, right })
    }

    /// The quality at the threshold with index `threshold`, if every pair up to `bin` is called a duplicate.
    pub(super) fn at(&self, threshold: usize, bin: usize) -> Quality {
        let right = &self.right[threshold];
        let bin = bin.min(self.all.len() - 1);
        Quality::new(self.all[bin], right[bin], right.last().copied().unwrap_or(0))
    }

    /// The bin whose cut has the best F1 at a threshold. The cut is chosen with knowledge of the truth, so this F1 is
    /// an upper bound for the score.
    pub(super) fn best(&self, threshold: usize) -> (usize, Quality) {
        let mut best = (0, self.at(threshold, 0));
        for bin in 1..self.all.len() {
            let quality = self.at(threshold, bin);
            if quality.f1 > best.1.f1 {
                best = (bin, quality);
            }
        }
        best
    }

    /// The points of a radius curve, for the bins up to `last`. A bin is a Hamming distance here.
    pub(super) fn points(&self, documents: usize, last: u32) -> Vec<RadiusPoint> {
        let thresholds = 0..self.right.len();
        let point = |k: u32| {
            let quality: Vec<Quality> = thresholds.clone().map(|t| self.at(t, k as usize)).collect();
            RadiusPoint {
                k,
                candidates: self.all[k as usize] as f64 / documents.max(1) as f64,
                recall: quality.iter().map(|quality| quality.recall).collect(),
                f1: quality.iter().map(|quality| quality.f1).collect(),
                f1_verified: quality
                    .iter()
                    .map(|q| 2.0 * q.recall / (1.0 + q.recall))
                    .collect(),
            }
        };
        (0..=last.min(self.all.len() as u32 - 1)).map(point).collect()
    }
}
