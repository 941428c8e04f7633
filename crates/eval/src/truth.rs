//! Which pairs are duplicates: the list of labelled pairs, and where that ends, exact Jaccard of every pair.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;
use serde_json::Value;

use super::EvalOptions;
use super::documents::Documents;
use super::error::EvalError;
use super::evaluation::{Agreement, Judged};
use twinprint_io::number::count;

/// Half a unit of the fourth digit, to which lists are often written.
const ROUNDED: f64 = 0.000_051;

/// A pair of which the Jaccard is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    /// The earlier document.
    pub(super) a: u32,
    /// The later one.
    pub(super) b: u32,
    pub(super) jaccard: f64,
}

impl Known {
    pub(super) fn new(a: u32, b: u32, jaccard: f64) -> Self {
        Self {
            a: a.min(b),
            b: a.max(b),
            jaccard,
        }
    }
}

/// All known pairs; one that is not among them is below every threshold.
pub(super) struct Truth {
    /// Sorted by the later document, then the earlier.
    pub(super) known: Vec<Known>,
    /// Where the pairs of each later document begin, and the end.
    starts: Vec<usize>,
    pub(super) sentence: String,
    pub(super) agreement: Option<Agreement>,
}

impl Truth {
    /// The truth from the Jaccard `lowest` up. O(n²) where the list is not complete.
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
            if (*entry - jaccard).abs() < ROUNDED {
                *entry = jaccard;
            }
        }
        Ok(Self::new(documents.len(), known, sentence, agreement))
    }

    fn new(
        documents: usize,
        known: HashMap<(u32, u32), f64>,
        sentence: String,
        agreement: Option<Agreement>,
    ) -> Self {
        let mut known: Vec<Known> = known
            .into_iter()
            .map(|((a, b), jaccard)| Known::new(a, b, jaccard))
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

    /// The known pairs of a document with earlier ones.
    pub(super) fn of_document(&self, b: usize) -> &[Known] {
        &self.known[self.starts[b]..self.starts[b + 1]]
    }

    /// How many pairs reach a threshold.
    pub(super) fn count(&self, threshold: f64) -> u64 {
        self.known.iter().filter(|pair| pair.jaccard >= threshold).count() as u64
    }

    /// How calling these pairs duplicates does at a threshold.
    pub(super) fn judge(&self, called: &[(u32, u32)], threshold: f64) -> Judged {
        let is_true = |&&(a, b): &&(u32, u32)| {
            let known = self.of_document(a.max(b) as usize);
            known
                .binary_search_by_key(&a.min(b), |known| known.a)
                // A Jaccard just at the threshold may be listed on either side of it.
                .is_ok_and(|at| known[at].jaccard >= threshold - ROUNDED)
        };
        let right = called.iter().filter(is_true).count() as u64;
        let true_pairs = self.count(threshold);
        Judged::new(called.len() as u64, right.min(true_pairs), true_pairs)
    }
}

/// Every pair of texts at a Jaccard from `lowest` up.
fn measure(documents: &Documents, lowest: f64) -> HashMap<(u32, u32), f64> {
    let with_earlier = |b: usize| {
        let earlier = 0..if documents.cancelled() { 0 } else { b };
        earlier.filter_map(move |a| {
            let overlap = documents.overlap(a, b, lowest)?;
            Some(((a as u32, b as u32), overlap.jaccard()))
        })
    };
    (0..documents.len())
        .into_par_iter()
        .flat_map_iter(with_earlier)
        .collect()
}

fn compare(documents: &Documents, listed: &HashMap<(u32, u32), f64>) -> Agreement {
    let difference = |(&(a, b), &jaccard): (&(u32, u32), &f64)| {
        (documents.jaccard(a as usize, b as usize) - jaccard).abs()
    };
    let differences: Vec<f64> = listed.par_iter().map(difference).collect();
    Agreement {
        listed: listed.len() as u64,
        largest: differences.iter().copied().fold(0.0, f64::max),
        off: differences.iter().filter(|&&d| d > ROUNDED).count() as u64,
    }
}

/// The list, by document numbers, the smaller first.
fn read(path: &Path, field: &str, documents: &Documents) -> Result<HashMap<(u32, u32), f64>, EvalError> {
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
        let row: Value =
            serde_json::from_str(row).map_err(|error| wrong(format!("no JSON object: {error}")))?;
        let side = |key: &str| {
            let id = match &row[key] {
                Value::String(id) => id.clone(),
                Value::Number(id) => id.to_string(),
                _ => return Err(wrong(format!("no id in the field \"{key}\""))),
            };
            let unknown = || wrong(format!("no document has the id {id:?} of the field \"{key}\""));
            documents.number(&id).ok_or_else(unknown)
        };
        let (a, b) = (side("a")?, side("b")?);
        let jaccard = row[field].as_f64().ok_or_else(|| {
            wrong(format!(
                "no number in the field \"{field}\" (--truth-field names another)"
            ))
        })?;
        if a != b {
            pairs.insert((a.min(b), a.max(b)), jaccard);
        }
    }
    Ok(pairs)
}
