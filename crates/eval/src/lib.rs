//! The quality of near-duplicate detection, measured on labelled documents, and calibration on a sample.
//!
//! * [`evaluate`](evaluate()) measures precision, recall and F1 of the engine and of baselines.
//! * [`calibrate`](calibrate::calibrate()) chooses width and radius for a corpus from a sample of it.
//!
//! Every method is evaluated over *all* pairs of documents. If the list of labelled pairs is complete from some Jaccard
//! up, a pair that it does not name is below that Jaccard; otherwise such pairs are measured (module `truth`). A method
//! that scores every pair (fingerprints alone, MinHash, cosine) is evaluated with every score as its cut (`score`). The
//! engine is run as users run it (`engine`). The work is quadratic, so that the truth does not depend on an index.
//!
//! Baselines: MinHash (Broder 1997) and its banding (Indyk and Motwani 1998; [`minhash`]), and the cosine of word counts
//! (`cosine`). [`plot`] draws the pages' lines and heat maps.
//!
//! ```
//! use std::sync::Arc;
//!
//! use twinprint_dedup::DedupOptions;
//! use twinprint_eval::{EvalJob, EvalOptions, evaluate};
//! use twinprint_io::progress::Silent;
//! use twinprint_io::source::SourceOptions;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let docs = dir.path().join("docs.jsonl");
//! # std::fs::write(&docs, "{\"id\": 1, \"text\": \"a b c d\"}\n{\"id\": 2, \"text\": \"A b c d!\"}\n")?;
//! # let docs = docs.display().to_string();
//! let job = EvalJob {
//!     inputs: &[docs], // "docs.jsonl"
//!     source: &SourceOptions::default(),
//!     options: &EvalOptions::new(DedupOptions::new()?),
//! };
//! let evaluation = evaluate(&job, &Silent, &Arc::default())?;
//! for method in &evaluation.methods {
//!     let f1 = method.results.iter().map(|result| result.quality.f1);
//!     println!("{}: F1 {:.3?}", method.name, f1.collect::<Vec<_>>());
//! }
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod calibrate;
mod cosine;
mod document_rows;
mod documents;
mod engine;
mod error;
mod evaluate;
mod evaluation;
mod evaluator;
pub mod minhash;
mod options;
mod page;
mod pair;
pub mod plot;
mod result_check;
mod score;
#[cfg(test)]
mod stop_at;
mod truth;

use twinprint_io::VERSION;

pub use error::EvalError;
pub use evaluate::evaluate;
pub use evaluation::{
    BytesPerDocument, EvaluatedMethod, Evaluation, ListAgreement, MethodResult, MethodSeconds, MethodSetting,
    Quality, RadiusCurve, RadiusPoint,
};
pub use options::{EvalJob, EvalOptions, FurtherProfile};
pub use result_check::{
    CheckJob, GroupCounts, MissedPair, RecordCounts, ResultCheck, ResultProblem, check_result,
};

/// The largest number of documents: every pair of them is compared several times.
pub const MAX_DOCUMENTS: usize = 50_000;

/// Returns the page of an evaluation: HTML in two languages, without references to other files.
pub fn page(evaluation: &Evaluation) -> String {
    page::html(evaluation)
}

/// The example of the README, compiled as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
