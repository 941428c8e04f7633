//! All pairs by a score, so that every cut of it can be judged at once.

use rayon::prelude::*;

use super::documents::Documents;
use super::error::EvalError;
use super::evaluation::{Judged, Point};
use super::truth::Truth;

/// Pairs of documents by bin of a score; the first bin holds the most alike.
pub(super) struct Tally {
    /// Pairs with a score in a bin or one before it.
    all: Vec<u64>,
    /// Of these, the true ones at each threshold.
    right: Vec<Vec<u64>>,
}

impl Tally {
    /// Scores every pair: `row(a, bins)` pushes the bins, below `bins`, of the pairs of a with 0, 1, … a − 1. O(n²).
    ///
    /// # Errors
    /// [`DedupError::Cancelled`](twinprint_dedup::DedupError::Cancelled).
    pub(super) fn of(
        (documents, truth): (&Documents, &Truth),
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

    /// How calling everything up to `bin` does at a threshold.
    pub(super) fn at(&self, threshold: usize, bin: usize) -> Judged {
        let right = &self.right[threshold];
        let bin = bin.min(self.all.len() - 1);
        Judged::new(self.all[bin], right[bin], right.last().copied().unwrap_or(0))
    }

    /// The bin with the best F1 at a threshold: the most this score can do, chosen knowing the truth.
    pub(super) fn best(&self, threshold: usize) -> (usize, Judged) {
        let mut best = (0, self.at(threshold, 0));
        for bin in 1..self.all.len() {
            let judged = self.at(threshold, bin);
            if judged.f1 > best.1.f1 {
                best = (bin, judged);
            }
        }
        best
    }

    /// The curve up to bin `last`.
    pub(super) fn points(&self, documents: usize, last: u32) -> Vec<Point> {
        let thresholds = 0..self.right.len();
        let point = |k: u32| {
            let judged: Vec<Judged> = thresholds.clone().map(|t| self.at(t, k as usize)).collect();
            Point {
                k,
                candidates: self.all[k as usize] as f64 / documents.max(1) as f64,
                recall: judged.iter().map(|judged| judged.recall).collect(),
                f1: judged.iter().map(|judged| judged.f1).collect(),
                f1_verified: judged.iter().map(|j| 2.0 * j.recall / (1.0 + j.recall)).collect(),
            }
        };
        (0..=last.min(self.all.len() as u32 - 1)).map(point).collect()
    }
}
