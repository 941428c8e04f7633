//! The result of an evaluation. It serialises to its JSON form.

use std::fmt;

use serde::Serialize;

use twinprint_io::source::Intake;

/// The result of [`evaluate`](crate::evaluate()).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evaluation {
    /// The version of twinprint that made the evaluation.
    pub version: String,
    /// The number of documents.
    pub documents: usize,
    /// The number of short texts among the documents. The engine finds duplicates of short texts by their shingles.
    pub short: usize,
    /// The documents and rejects of the input.
    pub intake: Intake,
    /// The number of threads with which the seconds were measured.
    pub threads: usize,
    /// The source of the true pairs, as a sentence for people.
    pub truth: String,
    /// The agreement of the listed Jaccards with those measured on the texts; `None` without a list of pairs.
    pub agreement: Option<ListAgreement>,
    /// The minimum Jaccards of a duplicate, ascending.
    pub thresholds: Vec<f64>,
    /// The number of true pairs at each threshold.
    pub true_pairs: Vec<u64>,
    /// The methods, each with a result for each threshold.
    pub methods: Vec<EvaluatedMethod>,
    /// Candidates and quality of fingerprints at each radius.
    pub curves: Vec<RadiusCurve>,
    /// The number of known pairs by Hamming distance at 128 bits (rows) and by Jaccard in bands of [`BAND`](Self::BAND)
    /// (columns).
    pub distances: Vec<Vec<u64>>,
}

/// The agreement of the Jaccards in a list of pairs with those measured on the texts.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ListAgreement {
    /// The number of pairs in the list.
    pub listed: u64,
    /// The largest difference between a listed and a measured Jaccard.
    pub largest: f64,
    /// The number of listed pairs whose Jaccard differs from the measured one by more than half a unit of the fourth
    /// digit.
    pub off: u64,
}

/// An evaluated method and its results.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluatedMethod {
    /// The name of the method, for people.
    pub name: String,
    /// The result at each threshold.
    #[serde(rename = "cells")]
    pub results: Vec<MethodResult>,
}

/// The memory that a method needs, in bytes per document.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct BytesPerDocument {
    /// The bytes of a document's fingerprint, MinHash signature or vector.
    pub fingerprint: f64,
    /// The bytes of the tables in which candidates are found.
    pub tables: f64,
    /// The bytes of the texts that are kept for verification.
    pub verification: f64,
}

/// The wall times of a method, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct MethodSeconds {
    /// The time in which the fingerprints were computed from the texts.
    pub made: f64,
    /// The time in which pairs of fingerprints were found.
    pub found: f64,
    /// The time in which pairs were verified on the texts.
    pub verified: f64,
}

/// The result of a method at one threshold, over all pairs of documents.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MethodResult {
    /// The setting with which the method was evaluated.
    pub setting: MethodSetting,
    /// The precision, recall and F1 of the method.
    #[serde(flatten)]
    pub quality: Quality,
    /// The memory of the method.
    pub bytes: BytesPerDocument,
    /// The times of the method.
    pub seconds: MethodSeconds,
}

/// The setting with which a method is evaluated.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MethodSetting {
    /// A pair is a candidate or duplicate if the Hamming distance of its fingerprints is at most `k`.
    Radius {
        /// The width of the fingerprints in bits.
        bits: u32,
        /// The radius: the largest Hamming distance.
        k: u32,
    },
    /// All pairs that share enough shingles are candidates, whatever the distance of their fingerprints.
    Shingles,
    /// A pair is called a duplicate if its similarity is at least `least`.
    Similarity {
        /// The minimum similarity of a duplicate.
        least: f64,
    },
    /// A pair is a candidate if its MinHash signatures agree in all slots of a band.
    Bands {
        /// The number of bands of a signature.
        bands: usize,
        /// The number of slots in a band.
        rows: usize,
    },
}

impl fmt::Display for MethodSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Radius { bits, k } => write!(f, "{bits} bits, k = {k}"),
            Self::Shingles => write!(f, "all by shingles"),
            Self::Similarity { least } => write!(f, "≥ {least:.3}"),
            Self::Bands { bands, rows } => write!(f, "{bands} × {rows}"),
        }
    }
}

/// Precision, recall and their harmonic mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// The number of pairs that the method calls duplicates.
    pub called: u64,
    /// The share of the called pairs that are true; 1 if no pair is called a duplicate.
    pub precision: f64,
    /// The share of the true pairs that are called duplicates; 1 if no pair is true.
    pub recall: f64,
    /// The harmonic mean of precision and recall, 2PR / (P + R).
    pub f1: f64,
    /// The number of verified pairs per document; 0 for a method without verification.
    pub candidates: f64,
}

impl Quality {
    /// Computes the quality of a method that calls `called` pairs duplicates, of which `right` are among the
    /// `true_pairs`.
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

    /// Adds the number of verified candidates per document.
    pub(super) fn with_candidates(self, candidates: usize, documents: usize) -> Self {
        Self {
            candidates: candidates as f64 / documents.max(1) as f64,
            ..self
        }
    }

    /// Makes the result of a method that has this quality.
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

/// The quality of the fingerprints of one profile and width at every radius.
#[derive(Clone, Debug, Serialize)]
pub struct RadiusCurve {
    /// The id of the profile.
    pub profile: String,
    /// The width of the fingerprints in bits.
    pub bits: u32,
    /// The quality at each radius from 0.
    pub points: Vec<RadiusPoint>,
}

/// The quality of fingerprints at one radius.
#[derive(Clone, Debug, Serialize)]
pub struct RadiusPoint {
    /// The radius: the largest Hamming distance of a pair.
    pub k: u32,
    /// The number of pairs within the radius, per document.
    pub candidates: f64,
    /// For each threshold, the share of the true pairs that are within the radius. It is the recall, with or without
    /// verification.
    pub recall: Vec<f64>,
    /// For each threshold, F1 if every pair within the radius is called a duplicate.
    pub f1: Vec<f64>,
    /// For each threshold, F1 if the pairs within the radius are verified.
    pub f1_verified: Vec<f64>,
}

impl Evaluation {
    /// The width of a column of [`distances`](Self::distances), as a difference of Jaccards.
    pub const BAND: f64 = 0.02;
}
