//! Makes the fingerprints of one thread.

use twinprint_text::compat::RecipeFingerprinter;
use twinprint_text::{Analyzer, FeatureVotes, GivenFeatures, fingerprint_hex};

use super::entries::{parse_features, parse_vector};
use super::{RowFingerprint, Subject};
use crate::OptionError;

/// The fingerprinter of one thread.
pub(in crate::jobs) enum Worker {
    Analyzer {
        analyzer: Box<Analyzer>,
        bits: u32,
        counts_features: bool,
    },
    Features(GivenFeatures),
    Vector {
        bits: u32,
    },
    Recipe {
        fingerprinter: Box<RecipeFingerprinter>,
        bits: u32,
    },
}

impl Worker {
    pub(in crate::jobs) fn new(subject: &Subject) -> Result<Self, OptionError> {
        Ok(match subject {
            Subject::Text {
                profile,
                key,
                counts_features,
            } => Self::Analyzer {
                analyzer: Box::new(Analyzer::new(profile, *key)),
                bits: profile.bits(),
                counts_features: *counts_features,
            },
            Subject::Features(rules) => Self::Features(rules.clone()),
            Subject::Vector { bits } => Self::Vector { bits: *bits },
            Subject::Recipe { recipe, dictionaries } => Self::Recipe {
                fingerprinter: Box::new(
                    RecipeFingerprinter::new(*recipe, dictionaries.clone())
                        .map_err(|error| OptionError::new("profile", error.to_string()))?,
                ),
                bits: recipe.bits(),
            },
        })
    }

    /// Returns the fingerprint of a record, or the reason why it has none. `content` is a text; for given features and
    /// vectors it is JSON.
    pub(in crate::jobs) fn make(&mut self, content: &str) -> Result<RowFingerprint, String> {
        match self {
            Self::Analyzer {
                analyzer,
                bits,
                counts_features: false,
            } => Ok(RowFingerprint {
                hex: fingerprint_hex(analyzer.fingerprint(content), *bits),
                features: None,
            }),
            Self::Analyzer { analyzer, bits, .. } => {
                let analysis = analyzer.analyze(content);
                Ok(RowFingerprint {
                    hex: fingerprint_hex(analysis.fingerprint, *bits),
                    features: Some(analysis.features),
                })
            }
            Self::Features(rules) => given_votes(rules, content).map(|votes| RowFingerprint {
                hex: votes.hex(),
                features: Some(votes.features.len() as u32),
            }),
            Self::Vector { bits } => vector_fingerprint(content, *bits),
            Self::Recipe { fingerprinter, bits } => {
                let made = fingerprinter.fingerprint(content);
                let made = made.map_err(|error| error.to_string())?;
                Ok(RowFingerprint {
                    hex: fingerprint_hex(made.bits.into(), *bits),
                    features: Some(made.features),
                })
            }
        }
    }

    /// Returns the features of a record with their votes, or the reason why it has none.
    pub(in crate::jobs) fn votes(&mut self, content: &str) -> Result<FeatureVotes, String> {
        match self {
            Self::Analyzer { analyzer, .. } => analyzer.votes(content).map_err(|error| error.to_string()),
            Self::Features(rules) => given_votes(rules, content),
            Self::Vector { .. } => Err("a vector has no features".to_owned()),
            Self::Recipe { fingerprinter, .. } => {
                fingerprinter.votes(content).map_err(|error| error.to_string())
            }
        }
    }
}

fn given_votes(rules: &GivenFeatures, json: &str) -> Result<FeatureVotes, String> {
    let features = parse_features(json).map_err(|error| error.to_string())?;
    rules.votes(features).map_err(|error| error.to_string())
}

/// Returns the fingerprint, of `bits` bits, of a vector that is given as JSON.
fn vector_fingerprint(json: &str, bits: u32) -> Result<RowFingerprint, String> {
    let vector = parse_vector(json).map_err(|error| error.to_string())?;
    let full = vector.fingerprint().map_err(|error| error.to_string())?;
    Ok(RowFingerprint {
        hex: fingerprint_hex(full, bits),
        features: Some(vector.values.len() as u32),
    })
}
