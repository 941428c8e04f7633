//! The documents of an evaluation, in memory: their ids, canonical texts, shingle sets and fingerprints.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::overlap::{Overlap, ShingleSet, Shingler};
use twinprint_text::{Analyzer, Measure, Profile};

use super::MAX_DOCUMENTS;
use super::document_rows::{DocumentRow, InputPosition, each_batch};
use super::error::{EvalError, check_cancelled};
use super::pair::DocumentPair;
use twinprint_dedup::DedupError;
use twinprint_io::progress::Progress;
use twinprint_io::source::{Intake, SourceOptions, Sources};
use twinprint_io::work::WorkDir;
use twinprint_text::MIN_FEATURES;

/// All documents of an evaluation, numbered in input order.
pub(crate) struct Documents {
    ids: Vec<String>,
    numbers: HashMap<String, u32>,
    /// The number of the document at each position in the input.
    positions: HashMap<InputPosition, u32>,
    pub(super) canonical: Vec<String>,
    measures: Vec<Measure>,
    features: Vec<u32>,
    /// The shingle set of each document, by its own measure.
    pub(super) sets: Vec<ShingleSet>,
    /// The shingle sets by characters of the documents that are measured by words. They exist only if other documents
    /// are measured by characters.
    by_characters: Vec<Option<ShingleSet>>,
    pub(super) fingerprints: Vec<u128>,
    /// The time in which the documents were read and the fingerprints computed, in seconds.
    pub(super) seconds: f64,
    /// The time in which the shingle sets were computed, in seconds.
    pub(super) seconds_shingling: f64,
    /// The documents and rejects of the input.
    pub(crate) intake: Intake,
    /// True once the evaluation is cancelled.
    cancel: Arc<AtomicBool>,
}

impl Documents {
    /// Reads all documents. Counts records that are not documents in the intake.
    pub(crate) fn read(
        inputs: &[String],
        source_options: &SourceOptions,
        profile: &Profile,
        progress: &dyn Progress,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Self, EvalError> {
        let started = Instant::now();
        let work = WorkDir::temporary()?;
        let sources = Sources::discover_cancellable(inputs, source_options, work.path(), Arc::clone(cancel))?;
        sources.check_fields(|hint| progress.warn(hint))?;
        let mut rows: Vec<DocumentRow> = Vec::new();
        each_batch(&sources, profile, progress, |batch| {
            rows.extend(batch);
            if rows.len() > MAX_DOCUMENTS {
                return Err(EvalError::TooMany);
            }
            Ok(())
        })?;
        let intake = sources.intake()?;
        if rows.len() < 2 {
            return Err(EvalError::TooFew(rows.len()));
        }
        let seconds = started.elapsed().as_secs_f64();
        let mut numbers = HashMap::new();
        for (number, row) in (0u32..).zip(&rows) {
            if numbers.insert(row.id.clone(), number).is_some() {
                return Err(EvalError::RepeatedId(row.id.clone()));
            }
        }
        let started = Instant::now();
        let shingler = || Shingler::new(HashKey::PUBLIC);
        let cut = |shingler: &mut Shingler, row: &DocumentRow| {
            ShingleSet::new(shingler.shingle(&row.canonical, row.measure))
        };
        let sets = rows.par_iter().map_init(shingler, cut).collect();
        let seconds_shingling = started.elapsed().as_secs_f64();
        let mixed = rows.iter().any(|row| row.measure == Measure::CharGrams);
        let by_characters = |shingler: &mut Shingler, row: &DocumentRow| {
            (mixed && row.measure == Measure::WordGrams)
                .then(|| ShingleSet::new(shingler.shingle(&row.canonical, Measure::CharGrams)))
        };
        Ok(Self {
            by_characters: rows.par_iter().map_init(shingler, by_characters).collect(),
            sets,
            numbers,
            positions: (0u32..)
                .zip(&rows)
                .map(|(i, row)| (row.position.clone(), i))
                .collect(),
            measures: rows.iter().map(|row| row.measure).collect(),
            features: rows.iter().map(|row| row.features).collect(),
            fingerprints: rows.iter().map(|row| row.fingerprint).collect(),
            ids: rows.iter().map(|row| row.id.clone()).collect(),
            canonical: rows.into_iter().map(|row| row.canonical).collect(),
            seconds,
            seconds_shingling,
            intake,
            cancel: Arc::clone(cancel),
        })
    }

    /// True if the evaluation is cancelled. Loops over pairs then skip their remaining pairs, and their results are not
    /// used.
    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Returns an error if the evaluation is cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), EvalError> {
        check_cancelled(&self.cancel)
    }

    /// The number of documents.
    pub(crate) fn len(&self) -> usize {
        self.sets.len()
    }

    /// The id of a document.
    pub(crate) fn id(&self, i: usize) -> &str {
        &self.ids[i]
    }

    /// The canonical text of a document.
    pub(crate) fn canonical(&self, i: usize) -> &str {
        &self.canonical[i]
    }

    /// The number of distinct features of a document.
    pub(crate) fn features(&self, i: usize) -> u32 {
        self.features[i]
    }

    /// The fingerprint of a document at 128 bits.
    pub(crate) fn fingerprint(&self, i: usize) -> u128 {
        self.fingerprints[i]
    }

    /// The exact Jaccard of two documents, measured on their shingle sets.
    pub(crate) fn jaccard(&self, a: usize, b: usize) -> f64 {
        self.overlap(a, b, 0.0).map_or(0.0, |overlap| overlap.jaccard())
    }

    /// The number of documents whose text is short.
    pub(super) fn short(&self) -> usize {
        self.features
            .iter()
            .filter(|&&features| features < MIN_FEATURES)
            .count()
    }

    /// The number of the document with an id.
    pub(super) fn number(&self, id: &str) -> Option<u32> {
        self.numbers.get(id).copied()
    }

    /// The number of the document at a position in the input.
    pub(super) fn at(&self, source: &str, line: u64) -> Option<u32> {
        self.positions
            .get(&InputPosition {
                source: source.to_owned(),
                line,
            })
            .copied()
    }

    /// The overlap of the shingle sets of a pair; `None` if its Jaccard is below `threshold`.
    pub(super) fn overlap(&self, a: usize, b: usize, threshold: f64) -> Option<Overlap> {
        let own = self.measures[a] == self.measures[b];
        let set = |i: usize| match &self.by_characters[i] {
            Some(set) if !own => set,
            _ => &self.sets[i],
        };
        set(a).overlap_at_least(set(b), threshold)
    }

    /// Returns the candidates whose Jaccard is at least `threshold`. Runs in parallel.
    pub(super) fn verify(&self, candidates: &[DocumentPair], threshold: f64) -> Vec<DocumentPair> {
        let is_near = |&&DocumentPair { a, b }: &&DocumentPair| {
            self.overlap(a as usize, b as usize, threshold).is_some()
        };
        candidates.par_iter().filter(is_near).copied().collect()
    }

    /// Computes the fingerprints of all documents under another profile. Returns that profile at 128 bits, and the
    /// fingerprints.
    pub(super) fn fingerprints_of(&self, profile: &Profile) -> Result<(Profile, Vec<u128>), DedupError> {
        let profile = profile.at_width(128)?;
        let make = |analyzer: &mut Analyzer, text: &String| analyzer.analyze_canonical(text).fingerprint;
        let analyzer = || Analyzer::new(&profile, HashKey::PUBLIC);
        let fingerprints = self.canonical.par_iter().map_init(analyzer, make).collect();
        Ok((profile, fingerprints))
    }
}
