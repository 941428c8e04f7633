//! The search for duplicates of a sample among all kept texts, by an inverted index of the sample's shingles.

use std::path::Path;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;
use twinprint_fingerprint::HashKey;
use twinprint_text::overlap::Shingler;

use super::records::{Reading, SampledText};
use crate::document_rows::DocumentRow;
use crate::error::EvalError;

/// The number of examples of missed pairs.
const EXAMPLES: usize = 10;

/// Two kept documents of which one should have been removed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissedPair {
    /// The id of the document of the sample.
    pub a: String,
    /// The id of the other document.
    pub b: String,
    /// The exact Jaccard of their texts.
    pub jaccard: f64,
}

/// A duplicate of a text of the sample.
pub(super) struct FoundDuplicate {
    sampled: u32,
    id: String,
    jaccard: f64,
}

/// An inverted index of the texts of a sample.
pub(super) struct SampleSearch {
    sample: Vec<SampledText>,
    /// The number of shingles of each text.
    sizes: Vec<usize>,
    /// The texts that have a shingle.
    holders: FxHashMap<u64, Vec<u32>>,
    /// The best duplicate of each text.
    best: FxHashMap<u32, FoundDuplicate>,
}

impl SampleSearch {
    pub(super) fn new(sample: Vec<SampledText>) -> Self {
        let mut shingler = Shingler::new(HashKey::PUBLIC);
        let mut holders: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        let mut sizes = Vec::with_capacity(sample.len());
        for (number, text) in (0..).zip(&sample) {
            let shingles = shingler.shingle(&text.document.canonical, text.document.measure);
            sizes.push(shingles.len());
            for shingle in shingles {
                holders.entry(shingle).or_default().push(number);
            }
        }
        Self {
            sample,
            sizes,
            holders,
            best: FxHashMap::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sample.len()
    }

    /// Searches every record of a folder for duplicates of the sample.
    pub(super) fn read(
        &mut self,
        reading: &Reading<'_>,
        folder: &Path,
        threshold: f64,
    ) -> Result<(), EvalError> {
        let mut first = 0;
        reading.each_batch(folder, |records| {
            let shingler = || Shingler::new(HashKey::PUBLIC);
            let duplicates = |shingler: &mut Shingler, (at, record): (usize, &DocumentRow)| {
                let shingles = shingler.shingle(&record.canonical, record.measure);
                self.duplicates(first + at as u64, record, &shingles, threshold)
            };
            let found = records.par_iter().enumerate().map_init(shingler, duplicates);
            let found: Vec<_> = found.collect();
            first += records.len() as u64;
            self.add(found.into_iter().flatten());
        })
    }

    /// The texts of the sample that a kept record duplicates, itself excepted.
    fn duplicates(
        &self,
        position: u64,
        record: &DocumentRow,
        shingles: &[u64],
        threshold: f64,
    ) -> Vec<FoundDuplicate> {
        let measure = record.measure;
        let mut common: FxHashMap<u32, usize> = FxHashMap::default();
        let held = shingles.iter().filter_map(|shingle| self.holders.get(shingle));
        for &number in held.flatten() {
            *common.entry(number).or_default() += 1;
        }
        let duplicate = |(sampled, common): (u32, usize)| {
            let text = &self.sample[sampled as usize];
            let union = shingles.len() + self.sizes[sampled as usize] - common;
            let jaccard = common as f64 / union as f64;
            let is_duplicate =
                jaccard >= threshold && text.position != position && text.document.measure == measure;
            is_duplicate.then(|| FoundDuplicate {
                sampled,
                id: record.id.clone(),
                jaccard,
            })
        };
        common.into_iter().filter_map(duplicate).collect()
    }

    fn add(&mut self, found: impl Iterator<Item = FoundDuplicate>) {
        for duplicate in found {
            let best = self.best.get(&duplicate.sampled);
            if best.is_none_or(|best| (best.jaccard, &duplicate.id) < (duplicate.jaccard, &best.id)) {
                self.best.insert(duplicate.sampled, duplicate);
            }
        }
    }

    /// The number of texts of the sample that have a duplicate, and the most similar pairs.
    pub(super) fn finish(self) -> (usize, Vec<MissedPair>) {
        let missed = self.best.len();
        let mut pairs: Vec<MissedPair> = self
            .best
            .into_values()
            .map(|duplicate| MissedPair {
                a: self.sample[duplicate.sampled as usize].document.id.clone(),
                b: duplicate.id,
                jaccard: duplicate.jaccard,
            })
            .collect();
        pairs.sort_by(|a, b| b.jaccard.total_cmp(&a.jaccard).then_with(|| a.a.cmp(&b.a)));
        pairs.truncate(EXAMPLES);
        (missed, pairs)
    }
}
