//! The result of an evaluation. It serialises to its JSON form.

use std::fmt;

use serde::Serialize;

use twinprint_io::source::Intake;

/// The result of [`evaluate`](crate::evaluate()).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evaluation {
    /// Version of twinprint.
    pub version: String,
    /// The number of documents.
    pub documents: usize,
    /// The number of short texts among them, whose pairs the engine finds by their shingles.
    pub short: usize,
    /// The documents and rejects of the input.
    pub intake: Intake,
    /// The number of threads with which the seconds were measured.
    pub threads: usize,
    /// The origin of the truth, as a sentence.
    pub truth: String,
    /// The agreement of the list of pairs with the Jaccards measured on the texts.
    pub agreement: Option<ListAgreement>,
    /// The minimum Jaccards of a duplicate, ascending.
    pub thresholds: Vec<f64>,
    /// The number of true pairs at each threshold.
    pub true_pairs: Vec<u64>,
    /// The methods, each with a result for each threshold.
    pub methods: Vec<EvaluatedMethod>,
    /// Candidates and quality of fingerprints at each radius.
    pub curves: Vec<RadiusCurve>,
    /// Known pairs by distance at 128 bits (rows) and Jaccard in bands of [`BAND`](Self::BAND) (columns).
    pub distances: Vec<Vec<u64>>,
}

/// The agreement of listed with measured Jaccards.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ListAgreement {
    /// Pairs listed.
    pub listed: u64,
    /// The largest difference.
    pub largest: f64,
    /// Listed pairs whose Jaccard differs from the measured one by more than half a unit of the fourth digit.
    pub off: u64,
}

/// A method and its results.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluatedMethod {
    /// The name of the method.
    pub name: String,
    /// The result at each threshold.
    #[serde(rename = "cells")]
    pub results: Vec<MethodResult>,
}

/// Memory of a method, in bytes per document.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct BytesPerDocument {
    /// The fingerprint, signature or vector.
    pub fingerprint: f64,
    /// The tables in which candidates are found.
    pub tables: f64,
    /// The compressed texts kept for verification.
    pub verification: f64,
}

/// Wall time of a method, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct MethodSeconds {
    /// The time for computing fingerprints of the texts.
    pub made: f64,
    /// The time for finding pairs of fingerprints.
    pub found: f64,
    /// The time for verifying pairs on the texts.
    pub verified: f64,
}

/// The result of a method at one threshold, over all pairs of documents.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MethodResult {
    /// The setting of the method.
    pub setting: MethodSetting,
    /// Precision, recall and F1.
    #[serde(flatten)]
    pub quality: Quality,
    /// Memory.
    pub bytes: BytesPerDocument,
    /// Time.
    pub seconds: MethodSeconds,
}

/// The setting of a method.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MethodSetting {
    /// Hamming distance at most k.
    Radius {
        /// Width of the fingerprints.
        bits: u32,
        /// The radius.
        k: u32,
    },
    /// Similarity at least `least`.
    Similarity {
        /// The minimum similarity of a pair that is called a duplicate.
        least: f64,
    },
    /// MinHash bands with `rows` slots each.
    Bands {
        /// The number of bands.
        bands: usize,
        /// The number of slots in each band.
        rows: usize,
    },
}

impl fmt::Display for MethodSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Radius { bits, k } => write!(f, "{bits} bits, k = {k}"),
            Self::Similarity { least } => write!(f, "≥ {least:.3}"),
            Self::Bands { bands, rows } => write!(f, "{bands} × {rows}"),
        }
    }
}

/// Precision, recall and their harmonic mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Pairs called duplicates.
    pub called: u64,
    /// The share of the called pairs that are true; 1 if none was called.
    pub precision: f64,
    /// The share of the true pairs that were called; 1 if there are none.
    pub recall: f64,
    /// The harmonic mean of precision and recall, 2PR / (P + R).
    pub f1: f64,
    /// Verified pairs per document; 0 for a method without verification.
    pub candidates: f64,
}

impl Quality {
    /// The quality of `called` pairs, of which `right` are among the `true_pairs`.
    pub(super) fn new(called: u64, right: u64, true_pairs: u64) -> Self {
        let share = |total: u64| {
            if total == 0 {
                1.0
            } else {
                right as f64 / total as f64
            }
        };
        let (precision, recall) = (share(called), share(true_pairs));
        let sum = precision + recall;
        Self {
            called,
            precision,
            recall,
            f1: if sum > 0.0 {
                2.0 * precision * recall / sum
            } else {
                0.0
            },
            candidates: 0.0,
        }
    }

    /// The same quality, with the number of verified candidates.
    pub(super) fn with_candidates(self, candidates: usize, documents: usize) -> Self {
        Self {
            candidates: candidates as f64 / documents.max(1) as f64,
            ..self
        }
    }

    /// The result of a method with this quality.
    pub(super) fn with(
        self,
        setting: MethodSetting,
        bytes: BytesPerDocument,
        seconds: MethodSeconds,
    ) -> MethodResult {
        MethodResult {
            setting,
            quality: self,
            bytes,
            seconds,
        }
    }
}

/// The quality of one kind of fingerprint at every radius.
#[derive(Clone, Debug, Serialize)]
pub struct RadiusCurve {
    /// The profile's id.
    pub profile: String,
    /// The width.
    pub bits: u32,
    /// The points, from radius 0 up.
    pub points: Vec<RadiusPoint>,
}

/// The quality at one radius.
#[derive(Clone, Debug, Serialize)]
pub struct RadiusPoint {
    /// The radius.
    pub k: u32,
    /// Pairs within the radius per document.
    pub candidates: f64,
    /// The share of the true pairs within the radius, at each threshold: the recall with or without verification.
    pub recall: Vec<f64>,
    /// F1 at each threshold if every pair within the radius is called a duplicate.
    pub f1: Vec<f64>,
    /// F1 at each threshold if pairs within the radius are verified.
    pub f1_verified: Vec<f64>,
}

impl Evaluation {
    /// The width in Jaccard of a column of [`distances`](Self::distances).
    pub const BAND: f64 = 0.02;
}
