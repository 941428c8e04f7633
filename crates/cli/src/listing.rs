//! Rows of `fingerprint` that list features or keywords instead of only counting features.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use serde_json::{Value, json};
use twinprint::compat::{Keywords, Recipe};
use twinprint::hyperplane::{Dimension, VectorVotes};
use twinprint::source::{Intake, RejectReason, SourceOptions};
use twinprint::{
    FeatureVotes, Progress, RecordRow, RecordVotes, Subject, Vector, WeightedFeature, fingerprint_hex,
};

use crate::notation::Notation;
use crate::usage::{reject_reason, usage};
use crate::{number, terminal};

/// Options for rows that list features or keywords.
#[derive(clap::Args)]
pub(crate) struct ListingArgs {
    /// List the features of each document with their weights and hashes, or the components of each vector, and the votes
    /// for each bit, as JSON lines
    #[arg(long)]
    explain: bool,

    /// Write the N keywords of each document by TF-IDF instead of the fingerprint, as JSON lines. Needs --idf, or the
    /// profile cppjieba
    #[arg(long, value_name = "N", conflicts_with_all = ["vector_key", "features_key", "explain", "notation"], value_parser = crate::number::parse_count::<u32>)]
    top: Option<u32>,
}

/// The contents of the rows.
#[derive(Clone, Copy)]
pub(crate) enum Listing {
    /// The features of each document with their votes.
    Votes(Notation),
    /// At most this number of keywords.
    Keywords(u32),
}

/// The inputs of a run, and how they are read.
pub(crate) struct ListingInput<'a> {
    pub(crate) inputs: &'a [String],
    pub(crate) source: &'a SourceOptions,
    pub(crate) subject: &'a Subject,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) cancel: &'a Arc<AtomicBool>,
    pub(crate) quiet: bool,
}

impl ListingArgs {
    /// The contents of the rows; `None` if they only have fingerprints.
    pub(crate) fn listing(&self, notation: Notation) -> Option<Listing> {
        let keywords = self.top.map(Listing::Keywords);
        keywords.or(self.explain.then_some(Listing::Votes(notation)))
    }
}

impl Listing {
    /// Checks that the options fit: rows are JSON lines, and the keywords are limited in one place only.
    pub(crate) fn check(self, subject: &Subject, writes_tsv: bool) -> anyhow::Result<()> {
        let option = match self {
            Self::Votes(_) => "--explain",
            Self::Keywords(_) => "--top",
        };
        if writes_tsv {
            return Err(usage(format!(
                "{option} writes JSON lines; leave out --format-out"
            )));
        }
        match (self, subject) {
            (Self::Keywords(_), Subject::Text { profile, .. }) if profile.idf().is_none() => Err(usage(
                "--top needs a table of idf weights: add --idf zhen1, or --idf FILE with a table of `twinprint idf build`",
            )),
            (
                Self::Keywords(_),
                Subject::Recipe {
                    recipe: Recipe::Cppjieba(Keywords::Top(_)) | Recipe::HaoyuhuGosimhash(Keywords::Top(_)),
                    ..
                },
            ) => Err(usage(
                "--top states the number of keywords; leave out -topN at the end of --profile",
            )),
            _ => Ok(()),
        }
    }

    /// Writes the rows of all records, and returns the intake.
    pub(crate) fn run(self, input: &ListingInput<'_>, out: &mut impl Write) -> anyhow::Result<Intake> {
        let ListingInput {
            inputs,
            source,
            subject,
            progress,
            cancel,
            quiet,
        } = input;
        let mut line = |source: &str, line: u64, listed: Result<Value, RejectReason>| match listed {
            Ok(json) => writeln!(out, "{json}").context(terminal::STDOUT_ERROR),
            Err(reason) => {
                if !quiet {
                    terminal::note(&format!("rejected {source}:{line}: {}", reject_reason(&reason)));
                }
                Ok(())
            }
        };
        match self {
            Self::Votes(notation) => {
                let mut empty = 0;
                let intake = twinprint::explanations(inputs, source, subject, *progress, cancel, |row| {
                    let listed = match &row.result {
                        Ok(RecordVotes::Features(votes)) => {
                            empty += u64::from(votes.sums.iter().all(|&sum| sum == 0.0));
                            Ok(features_json(votes, notation)?)
                        }
                        Ok(RecordVotes::Vector { vector, votes }) => {
                            Ok(vector_json(vector, votes, notation)?)
                        }
                        Err(reason) => Err(reason.clone()),
                    };
                    line(
                        &row.source,
                        row.line,
                        listed.map(|listed| of_record(&row, listed)),
                    )
                })?;
                if !quiet {
                    note_empty(empty);
                }
                Ok(intake)
            }
            Self::Keywords(limit) => {
                twinprint::keywords(inputs, source, subject, limit, *progress, cancel, |row| {
                    let listed = row.result.as_ref().map_err(RejectReason::clone).map(|keywords| {
                        let keywords = keywords.iter().map(pair);
                        of_record(&row, json!({ "keywords": keywords.collect::<Vec<_>>() }))
                    });
                    line(&row.source, row.line, listed)
                })
            }
        }
    }
}

/// Prints the number of records whose fingerprints have no votes.
pub(crate) fn note_empty(records: u64) {
    if records > 0 {
        let (have, their) = if records == 1 {
            ("has", "its fingerprint says")
        } else {
            ("have", "their fingerprints say")
        };
        terminal::note(&format!(
            "{} {have} no votes (no features, or only weights that round to 0); {their} nothing",
            number::counted(records, "record")
        ));
    }
}

/// Adds the place of a record to what is listed of it.
fn of_record<T>(row: &RecordRow<T>, mut listed: Value) -> Value {
    listed["id"] = row.id.as_str().into();
    listed["source"] = row.source.as_str().into();
    listed["line"] = row.line.into();
    listed
}

/// The features of a document and their votes. The field `features` can be read with --features-key.
fn features_json(votes: &FeatureVotes, notation: Notation) -> anyhow::Result<Value> {
    let mask = u128::MAX >> (u128::BITS - votes.bits());
    let digits = votes.bits() as usize / 4;
    let hashes = votes.features.iter();
    let hashes = hashes.map(|voting| format!("0x{:0digits$x}", voting.hash & mask));
    Ok(json!({
        "fingerprint": notation.write(&votes.hex())?,
        "features": votes.features.iter().map(|voting| pair(&voting.feature)).collect::<Vec<_>>(),
        "hashes": hashes.collect::<Vec<_>>(),
        "votes": votes.sums.iter().map(|&sum| json_number(sum)).collect::<Vec<_>>(),
    }))
}

/// The components of a vector and their votes. The field `components` can be read with --vector-key.
fn vector_json(vector: &Vector, votes: &VectorVotes, notation: Notation) -> anyhow::Result<Value> {
    let components = vector
        .components
        .iter()
        .map(|(dimension, value)| match dimension {
            Dimension::Index(index) => json!([index, json_number(*value)]),
            Dimension::Name(name) => json!([name, json_number(*value)]),
        });
    Ok(json!({
        "fingerprint": notation.write(&fingerprint_hex(votes.fingerprint, votes.sums.len() as u32))?,
        "components": components.collect::<Vec<_>>(),
        "votes": votes.sums,
    }))
}

fn pair(feature: &WeightedFeature) -> Value {
    json!([feature.name, json_number(feature.weight)])
}

/// A JSON number, without a fraction if it is whole.
fn json_number(x: f64) -> Value {
    /// Up to this value, floating-point numbers represent all whole numbers exactly.
    const MAX_EXACT: f64 = (1u64 << 53) as f64;
    if x.fract() == 0.0 && x.abs() <= MAX_EXACT {
        Value::from(x as i64)
    } else {
        Value::from(x)
    }
}
