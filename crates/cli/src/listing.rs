//! Rows of `fingerprint` that list features or keywords instead of only counting features.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use serde_json::{Value, json};
use twinprint::compat::{Keywords, Recipe};
use twinprint::source::{Intake, RejectReason, SourceOptions};
use twinprint::{ExplanationRow, FeatureVotes, KeywordsRow, Progress, Subject, WeightedFeature};

use crate::notation::Notation;
use crate::terminal;
use crate::usage::{reject_reason, usage};

/// Options for rows that list features or keywords.
#[derive(clap::Args)]
pub(crate) struct ListingArgs {
    /// List the features of each document with their weights and hashes, and the votes for each bit, as JSON lines
    #[arg(long, conflicts_with = "vector_key")]
    explain: bool,

    /// Write the N keywords of each document by TF-IDF instead of the fingerprint, as JSON lines. Needs --idf, or the
    /// profile cppjieba
    #[arg(long, value_name = "N", conflicts_with_all = ["vector_key", "features_key", "explain"], value_parser = crate::number::parse_count::<u32>)]
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
                twinprint::explanations(inputs, source, subject, *progress, cancel, |row| {
                    let ExplanationRow { id, votes, .. } = &row;
                    let listed = match votes {
                        Ok(votes) => Ok(votes_json(id, &row.source, row.line, votes, notation)?),
                        Err(reason) => Err(reason.clone()),
                    };
                    line(&row.source, row.line, listed)
                })
            }
            Self::Keywords(limit) => {
                twinprint::keywords(inputs, source, subject, limit, *progress, cancel, |row| {
                    let KeywordsRow { id, keywords, .. } = &row;
                    let listed = keywords.as_ref().map_err(RejectReason::clone).map(|keywords| {
                        json!({
                            "id": id,
                            "source": row.source,
                            "line": row.line,
                            "keywords": keywords.iter().map(pair).collect::<Vec<_>>(),
                        })
                    });
                    line(&row.source, row.line, listed)
                })
            }
        }
    }
}

/// The row of a document. Its field `features` can be read with --features-key.
fn votes_json(
    id: &str,
    source: &str,
    line: u64,
    votes: &FeatureVotes,
    notation: Notation,
) -> anyhow::Result<Value> {
    let mask = u128::MAX >> (u128::BITS - votes.bits());
    let digits = votes.bits() as usize / 4;
    let hashes = votes.features.iter();
    let hashes = hashes.map(|voting| format!("0x{:0digits$x}", voting.hash & mask));
    Ok(json!({
        "id": id,
        "source": source,
        "line": line,
        "fingerprint": notation.write(&votes.hex())?,
        "features": votes.features.iter().map(|voting| pair(&voting.feature)).collect::<Vec<_>>(),
        "hashes": hashes.collect::<Vec<_>>(),
        "votes": votes.sums.iter().map(|&sum| number(sum)).collect::<Vec<_>>(),
    }))
}

fn pair(feature: &WeightedFeature) -> Value {
    json!([feature.name, number(feature.weight)])
}

/// A JSON number, without a fraction if it is whole.
fn number(x: f64) -> Value {
    /// Up to this value, floating-point numbers represent all whole numbers exactly.
    const MAX_EXACT: f64 = (1u64 << 53) as f64;
    if x.fract() == 0.0 && x.abs() <= MAX_EXACT {
        Value::from(x as i64)
    } else {
        Value::from(x)
    }
}
