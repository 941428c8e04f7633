//! The options of an evaluation.

use std::path::PathBuf;

use twinprint_dedup::DedupOptions;
use twinprint_io::source::SourceOptions;
use twinprint_text::Profile;

use super::error::EvalError;

/// The arguments of [`evaluate`](crate::evaluate()).
#[derive(Clone, Copy, Debug)]
pub struct EvalJob<'j> {
    /// The inputs: files, folders and globs. They are read more than once, so stdin cannot be one of them.
    pub inputs: &'j [String],
    /// The options for reading the inputs.
    pub source: &'j SourceOptions,
    /// The options of the evaluation.
    pub options: &'j EvalOptions,
}

/// The options of an evaluation.
#[derive(Clone, Debug)]
pub struct EvalOptions {
    /// The options with which the engine is run. Its threshold is set to each of [`thresholds`](Self::thresholds) in
    /// turn.
    pub dedup: DedupOptions,
    /// The thresholds: minimum Jaccards of a duplicate, in (0, 1]. Each threshold is evaluated separately.
    pub thresholds: Vec<f64>,
    /// The path of a list of labelled pairs: JSON lines `{a, b, jaccard}`, where `a` and `b` are ids of documents.
    pub pairs: Option<PathBuf>,
    /// The field of the labelled pairs that has the Jaccard.
    pub truth_field: String,
    /// The Jaccard from which the list of labelled pairs is complete. If `None`, the Jaccard of every pair that is not
    /// listed is measured on the texts.
    pub complete: Option<f64>,
    /// Further profiles whose fingerprints are evaluated alone, after the profile of [`dedup`](Self::dedup).
    pub profiles: Vec<FurtherProfile>,
}

/// A profile whose fingerprints are evaluated alone, by their Hamming distance.
#[derive(Clone, Debug)]
pub struct FurtherProfile {
    /// The profile. Its own width does not matter.
    pub profile: Profile,
    /// The widths at which the profile is evaluated: 16, 32, 64 or 128.
    pub widths: Vec<u32>,
}

impl EvalOptions {
    /// Returns options that evaluate `dedup` at the thresholds 0.5, 0.7, 0.8 and 0.9, with the exact Jaccard of every
    /// pair as the truth.
    pub fn new(dedup: DedupOptions) -> Self {
        Self {
            dedup,
            thresholds: vec![0.5, 0.7, 0.8, 0.9],
            pairs: None,
            truth_field: "jaccard".to_owned(),
            complete: None,
            profiles: Vec::new(),
        }
    }
}

impl FurtherProfile {
    /// The widths at which a profile is evaluated by default.
    pub const WIDTHS: [u32; 2] = [64, 128];

    pub(super) fn check(&self) -> Result<(), EvalError> {
        let wrong = self.widths.iter().find(|bits| ![16, 32, 64, 128].contains(*bits));
        wrong.map_or(Ok(()), |&bits| Err(EvalError::Width(bits)))
    }
}
