//! What an evaluation found; serialises to its JSON form.

use serde::Serialize;

use super::documents::Documents;
use super::truth::Truth;
use twinprint_io::source::Intake;

/// The result of [`evaluate`](super::evaluate()).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evaluation {
    /// Version of twinprint.
    pub version: String,
    /// Documents, and those too short for their fingerprints to be trusted.
    pub documents: usize,
    /// Of these, documents of few features, whose pairs the engine finds by their shingles.
    pub short: usize,
    /// The account of the input.
    pub intake: Intake,
    /// Threads that the seconds were taken with.
    pub threads: usize,
    /// The truth, in a sentence.
    pub truth: String,
    /// How the list of pairs agrees with what was measured on the texts.
    pub agreement: Option<Agreement>,
    /// Jaccards from which on a pair counts as a duplicate, ascending.
    pub thresholds: Vec<f64>,
    /// True pairs at each of them.
    pub true_pairs: Vec<u64>,
    /// Methods, each with a cell a threshold.
    pub methods: Vec<Method>,
    /// Candidates and quality at each radius.
    pub curves: Vec<Curve>,
    /// Known pairs by distance at 128 bits (rows) and Jaccard in bands of [`BAND`](Self::BAND) (columns).
    pub distances: Vec<Vec<u64>>,
}

/// Listed against measured Jaccard.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Agreement {
    /// Pairs listed.
    pub listed: u64,
    /// The largest difference.
    pub largest: f64,
    /// Pairs of the list that differ by more than half a unit of the fourth digit.
    pub off: u64,
}

/// A method and what it did.
#[derive(Clone, Debug, Serialize)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// What it did at each threshold.
    pub cells: Vec<Cell>,
}

/// Bytes a document.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Bytes {
    /// What stands for the text.
    pub fingerprint: f64,
    /// Tables to find candidates with, beside it.
    pub tables: f64,
    /// Texts kept for verification, packed.
    pub verification: f64,
}

/// Wall time in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Seconds {
    /// From texts to fingerprints.
    pub made: f64,
    /// From fingerprints to pairs.
    pub found: f64,
    /// Checking pairs on the texts.
    pub verified: f64,
}

/// Quality at one threshold, over all pairs of documents.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cell {
    /// What the method was set to.
    pub setting: Setting,
    /// How it did.
    #[serde(flatten)]
    pub judged: Judged,
    /// What it held.
    pub bytes: Bytes,
    /// What it took.
    pub seconds: Seconds,
}

/// What was asked of a method.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Setting {
    /// Distance at most k.
    Radius {
        /// Width.
        bits: u32,
        /// Radius.
        k: u32,
    },
    /// Similarity at least this.
    Similarity {
        /// The least.
        least: f64,
    },
    /// Bands of so many rows each.
    Bands {
        /// How many.
        bands: usize,
        /// Slots in each.
        rows: usize,
    },
}

/// Precision, recall and their harmonic mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Judged {
    /// Pairs called duplicates.
    pub called: u64,
    /// Of these, duplicates; 1 where none was called.
    pub precision: f64,
    /// Duplicates that were called; 1 where there are none.
    pub recall: f64,
    /// 2PR / (P + R).
    pub f1: f64,
    /// Pairs verified, a document; 0 where nothing is verified.
    pub candidates: f64,
}

impl Judged {
    /// Of `called` pairs, `right` are among the `true_pairs`.
    pub(super) fn new(called: u64, right: u64, true_pairs: u64) -> Self {
        let share = |of: u64| if of == 0 { 1.0 } else { right as f64 / of as f64 };
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

    /// The same, of so many candidates.
    pub(super) fn of(self, candidates: usize, documents: usize) -> Self {
        Self {
            candidates: candidates as f64 / documents.max(1) as f64,
            ..self
        }
    }

    pub(super) fn with(self, setting: Setting, bytes: Bytes, seconds: Seconds) -> Cell {
        Cell {
            setting,
            judged: self,
            bytes,
            seconds,
        }
    }
}

/// One kind of fingerprint at every radius.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// The profile's id.
    pub profile: String,
    /// Width.
    pub bits: u32,
    /// From radius 0 up.
    pub points: Vec<Point>,
}

/// A radius.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// It.
    pub k: u32,
    /// Pairs within it, a document.
    pub candidates: f64,
    /// Share of the true pairs within it, at each threshold: the recall with or without verification.
    pub recall: Vec<f64>,
    /// F1 where the distance is the verdict, at each threshold.
    pub f1: Vec<f64>,
    /// F1 where pairs within the radius are verified, at each threshold.
    pub f1_verified: Vec<f64>,
}

impl Evaluation {
    /// Breadth of a column of [`distances`](Self::distances).
    pub const BAND: f64 = 0.02;

    pub(super) fn begin(documents: &Documents, truth: &Truth, thresholds: &[f64]) -> Self {
        Self {
            version: twinprint_io::VERSION.to_owned(),
            documents: documents.len(),
            short: documents.short(),
            intake: documents.intake.clone(),
            threads: rayon::current_num_threads(),
            truth: truth.sentence.clone(),
            agreement: truth.agreement,
            thresholds: thresholds.to_vec(),
            true_pairs: thresholds.iter().map(|&t| truth.count(t)).collect(),
            ..Self::default()
        }
    }

    /// Counts the known pairs by distance and Jaccard.
    pub(super) fn heat(&mut self, truth: &Truth, distance: impl Fn(usize, usize) -> u32) {
        let columns = (1.0 / Self::BAND).round() as usize + 1;
        self.distances = vec![vec![0; columns]; 65];
        for pair in &truth.known {
            let row = distance(pair.a as usize, pair.b as usize).min(64) as usize;
            let column = (pair.jaccard / Self::BAND + 1e-9) as usize;
            self.distances[row][column.min(columns - 1)] += 1;
        }
    }
}
