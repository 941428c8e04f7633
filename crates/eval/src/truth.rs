//! The truth: the true pairs of an evaluation. Their Jaccards come from the list of labelled pairs, and are measured
//! for pairs that the list does not cover.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;
use serde_json::Value;

use super::documents::Documents;
use super::error::EvalError;
use super::evaluation::{ListAgreement, Quality};
use super::options::EvalOptions;
use super::pair::DocumentPair;
use twinprint_io::number::count;

/// The rounding error of a listed Jaccard. Lists often have four digits, so it is half a unit of the fourth digit.
const ROUNDING: f64 = 0.000_051;

/// A pair of documents whose Jaccard is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct KnownPair {
    /// The number of the earlier document.
    pub(super) a: u32,
    /// The number of the later document.
    pub(super) b: u32,
    pub(super) jaccard: f64,
}

impl KnownPair {
    pub(super) fn new(a: u32, b: u32, jaccard: f64) -> Self {
        Self {
            a: a.min(b),
            b: a.max(b),
            jaccard,
        }
    }
}

/// All pairs whose Jaccard is known. Every other pair is below every threshold.
pub(super) struct Truth {
    /// The known pairs, sorted by the later document, then by the earlier one.
    pub(super) known: Vec<KnownPair>,
    /// For each document, the position in `known` of its first pair with an earlier document; at the end, the number of
    /// pairs.
    starts: Vec<usize>,
    /// The source of the Jaccards, as a sentence for people.
    pub(super) sentence: String,
    pub(super) agreement: Option<ListAgreement>,
}

impl Truth {
    /// Determines the pairs with a Jaccard of at least `lowest`. O(n²) unless the list of pairs is complete.
    pub(super) fn of(documents: &Documents, options: &EvalOptions, lowest: f64) -> Result<Self, EvalError> {
        let listed = match &options.pairs {
            Some(path) => read(path, &options.truth_field, documents)?,
            None => HashMap::new(),
        };
        if let Some(complete) = options.complete {
            if lowest < complete {
                return Err(EvalError::Incomplete { lowest, complete });
            }
            let sentence = format!(
                "{} listed pairs; every other pair is below {complete}",
                count(listed.len() as u64)
            );
            return Ok(Self::new(documents.len(), listed, sentence, None));
        }
        let measured = measure(documents, lowest);
        documents.check_cancelled()?;
        let agreement = options.pairs.is_some().then(|| compare(documents, &listed));
        let sentence = if listed.is_empty() {
            format!("exact Jaccard of every pair of texts, from {lowest} up")
        } else {
            format!(
                "{} listed pairs; every other pair by exact Jaccard of the texts, from {lowest} up",
                count(listed.len() as u64)
            )
        };
        let mut known = listed;
        for (pair, jaccard) in measured {
            let entry = known.entry(pair).or_insert(jaccard);
            if (*entry - jaccard).abs() < ROUNDING {
                *entry = jaccard;
            }
        }
        Ok(Self::new(documents.len(), known, sentence, agreement))
    }

    fn new(
        documents: usize,
        known: HashMap<DocumentPair, f64>,
        sentence: String,
        agreement: Option<ListAgreement>,
    ) -> Self {
        let mut known: Vec<KnownPair> = known
            .into_iter()
            .map(|(DocumentPair { a, b }, jaccard)| KnownPair::new(a, b, jaccard))
            .collect();
        known.sort_unstable_by_key(|pair| (pair.b, pair.a));
        let starts = (0..=documents as u32)
            .map(|b| known.partition_point(|pair| pair.b < b))
            .collect();
        Self {
            known,
            starts,
            sentence,
            agreement,
        }
    }

    /// The known pairs of document `b` with earlier documents.
    pub(super) fn of_document(&self, b: usize) -> &[KnownPair] {
        &self.known[self.starts[b]..self.starts[b + 1]]
    }

    /// The number of pairs whose Jaccard is at least `threshold`.
    pub(super) fn count(&self, threshold: f64) -> u64 {
        self.known.iter().filter(|pair| pair.jaccard >= threshold).count() as u64
    }

    /// The quality at a threshold of a method that calls the pairs `called` duplicates.
    pub(super) fn quality(&self, called: &[DocumentPair], threshold: f64) -> Quality {
        let is_true = |pair: &&DocumentPair| {
            let DocumentPair { a, b } = pair.ordered();
            let known = self.of_document(b as usize);
            known
                .binary_search_by_key(&a, |known| known.a)
                // The list may have rounded a Jaccard at the threshold up or down.
                .is_ok_and(|at| known[at].jaccard >= threshold - ROUNDING)
        };
        let right = called.iter().filter(is_true).count() as u64;
        let true_pairs = self.count(threshold);
        Quality::new(called.len() as u64, right.min(true_pairs), true_pairs)
    }
}

/// Measures the Jaccard of every pair of texts, and returns the pairs with at least `lowest`.
fn measure(documents: &Documents, lowest: f64) -> HashMap<DocumentPair, f64> {
    let with_earlier = |b: usize| {
        let earlier = 0..if documents.cancelled() { 0 } else { b };
        earlier.filter_map(move |a| {
            let overlap = documents.overlap(a, b, lowest)?;
            let pair = DocumentPair {
                a: a as u32,
                b: b as u32,
            };
            Some((pair, overlap.jaccard()))
        })
    };
    (0..documents.len())
        .into_par_iter()
        .flat_map_iter(with_earlier)
        .collect()
}

/// Compares the listed Jaccards with the measured ones.
fn compare(documents: &Documents, listed: &HashMap<DocumentPair, f64>) -> ListAgreement {
    let difference = |(&DocumentPair { a, b }, &jaccard): (&DocumentPair, &f64)| {
        (documents.jaccard(a as usize, b as usize) - jaccard).abs()
    };
    let differences: Vec<f64> = listed.par_iter().map(difference).collect();
    ListAgreement {
        listed: listed.len() as u64,
        largest: differences.iter().copied().fold(0.0, f64::max),
        off: differences.iter().filter(|&&d| d > ROUNDING).count() as u64,
    }
}

/// Reads the list of labelled pairs, and returns the Jaccard of each pair of document numbers, the smaller number
/// first.
fn read(path: &Path, field: &str, documents: &Documents) -> Result<HashMap<DocumentPair, f64>, EvalError> {
    let text = std::fs::read_to_string(path).map_err(|source| EvalError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mut pairs = HashMap::new();
    for (line, row) in (1..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty()) {
        let wrong = |what: String| EvalError::Row {
            path: path.to_owned(),
            line,
            what,
        };
        let row: Value = serde_json::from_str(row)
            .map_err(|error| wrong(format!("the line is not a JSON object ({error})")))?;
        let side = |key: &str| {
            let id = match &row[key] {
                Value::String(id) => id.clone(),
                Value::Number(id) => id.to_string(),
                _ => return Err(wrong(format!("the field \"{key}\" is missing or is not an id"))),
            };
            let unknown = || {
                wrong(format!(
                    "no document has the id {id:?}, which is in the field \"{key}\""
                ))
            };
            documents.number(&id).ok_or_else(unknown)
        };
        let (a, b) = (side("a")?, side("b")?);
        let jaccard = row[field].as_f64().ok_or_else(|| EvalError::NoJaccard {
            path: path.to_owned(),
            line,
            field: field.to_owned(),
        })?;
        if !(0.0..=1.0).contains(&jaccard) {
            return Err(wrong(format!(
                "{jaccard} is no Jaccard: it is below 0 or above 1"
            )));
        }
        if a == b {
            return Err(wrong("a and b are the same document".to_owned()));
        }
        if let Some(other) = pairs.insert(DocumentPair { a, b }.ordered(), jaccard)
            && (jaccard - other).abs() > ROUNDING
        {
            return Err(wrong(format!(
                "the Jaccard of this pair is {jaccard} here and {other} in an earlier line"
            )));
        }
    }
    Ok(pairs)
}
