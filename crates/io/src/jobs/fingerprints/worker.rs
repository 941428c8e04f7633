//! Makes the fingerprints of one thread.

use twinprint_fingerprint::HashKey;
use twinprint_fingerprint::hyperplane::{Hyperplanes, VectorVotes};
use twinprint_text::compat::RecipeFingerprinter;
use twinprint_text::{Analyzer, FeatureVotes, GivenFeatures, fingerprint_hex};

use super::entries::{Vector, parse_features, parse_vector};
use super::votes::RecordVotes;
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
    Vector(Box<Hyperplanes>),
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
            Subject::Vector { bits } => Self::Vector(Box::new(Hyperplanes::new(HashKey::PUBLIC, *bits))),
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
            } => {
                let fingerprint = analyzer.fingerprint(content);
                Ok(RowFingerprint {
                    hex: fingerprint_hex(fingerprint, *bits),
                    features: None,
                    empty: fingerprint == 0 && analyzer.analyze(content).features == 0,
                })
            }
            Self::Analyzer { analyzer, bits, .. } => {
                let analysis = analyzer.analyze(content);
                Ok(RowFingerprint {
                    hex: fingerprint_hex(analysis.fingerprint, *bits),
                    features: Some(analysis.features),
                    empty: analysis.features == 0,
                })
            }
            Self::Features(rules) => given_votes(rules, content).map(|votes| RowFingerprint {
                hex: votes.hex(),
                features: Some(votes.features.len() as u32),
                empty: votes.sums.iter().all(|&sum| sum == 0.0),
            }),
            Self::Vector(hyperplanes) => {
                let (vector, votes) = vector_votes(hyperplanes, content)?;
                Ok(RowFingerprint {
                    hex: fingerprint_hex(votes.fingerprint, hyperplanes.bits()),
                    features: Some(vector.components.len() as u32),
                    empty: false,
                })
            }
            Self::Recipe { fingerprinter, bits } => {
                let made = fingerprinter.fingerprint(content);
                let made = made.map_err(|error| error.to_string())?;
                Ok(RowFingerprint {
                    hex: fingerprint_hex(made.bits.into(), *bits),
                    features: Some(made.features),
                    empty: made.features == 0,
                })
            }
        }
    }

    /// Returns the features or components of a record with the votes, or the reason why it has none.
    pub(in crate::jobs) fn votes(&mut self, content: &str) -> Result<RecordVotes, String> {
        let features = match self {
            Self::Analyzer { analyzer, .. } => analyzer.votes(content).map_err(|error| error.to_string())?,
            Self::Features(rules) => given_votes(rules, content)?,
            Self::Vector(hyperplanes) => {
                let (vector, votes) = vector_votes(hyperplanes, content)?;
                return Ok(RecordVotes::Vector { vector, votes });
            }
            Self::Recipe { fingerprinter, .. } => {
                fingerprinter.votes(content).map_err(|error| error.to_string())?
            }
        };
        Ok(RecordVotes::Features(features))
    }
}

fn given_votes(rules: &GivenFeatures, json: &str) -> Result<FeatureVotes, String> {
    let features = parse_features(json).map_err(|error| error.to_string())?;
    rules.votes(features).map_err(|error| error.to_string())
}

/// Parses a vector that is given as JSON, and makes its fingerprint.
fn vector_votes(hyperplanes: &mut Hyperplanes, json: &str) -> Result<(Vector, VectorVotes), String> {
    let vector = parse_vector(json).map_err(|error| error.to_string())?;
    let votes = hyperplanes
        .of(&vector.components)
        .map_err(|error| error.to_string())?;
    Ok((vector, votes))
}
