//! The near-duplicate engine.
//!
//! [`dedup`](fn@dedup) is the main job: documents in, kept and removed records, groups and pairs out. [`source`] reads documents,
//! [`sink`] writes records and results; [`radius`] chooses how far apart two fingerprints may lie. What is computed on
//! texts, fingerprints and groups lives in crates of its own (`text`, `fingerprint`, `index`, `cluster`), wired together here.
//! Fingerprints alone, by the billion, are kept in a [`store`] of [`segment`]s; [`raw`] reads files of them.
#![forbid(unsafe_code)]

mod against;
mod annotate;
#[cfg_attr(not(feature = "collections"), path = "no_append.rs")]
mod append;
#[cfg(feature = "eval")]
pub mod calibrate;
mod candidates;
#[cfg(feature = "tables")]
mod cluster_table;
#[cfg(feature = "collections")]
pub mod collection;
mod config;
mod corpus;
mod dedup;
mod error;
#[cfg(feature = "eval")]
pub mod eval;
mod fingerprints;
mod forecast;
mod guard;
mod idf;
mod idle;
pub mod index_export;
pub mod index_join;
mod input_digest;
mod keep;
mod known_texts;
mod label;
mod made_dirs;
mod matcher;
mod memory;
mod near_misses;
pub mod number;
mod options;
mod output;
mod pairs;
mod parts;
#[cfg(feature = "eval")]
mod plot;
mod progress;
pub mod radius;
pub mod raw;
mod read;
mod relatives;
mod report;
mod rows;
#[cfg(feature = "stream")]
mod run_identity;
mod schedule;
mod set_join;
mod sets;
pub mod sink;
pub mod source;
mod space;
mod spool;
#[cfg(feature = "stream")]
pub mod stream;
mod threads;
mod work_dir;

/// The version that reports and pages name.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub use annotate::Columns;
pub use append::Appended;
pub use dedup::dedup;
pub use error::DedupError;
pub use fingerprints::{FingerprintRow, Subject, fingerprints};
pub use forecast::{AgainstForecast, Forecast, Room, forecast};
pub use guard::catches_panics;
pub use idf::build_idf;
pub use label::{ProfileLabel, ProfilesDiffer};
pub use options::{Auto, ClusterFiles, DedupOptions, EmptyTexts, Keep, MIN_FEATURES, Mode, Order, PairRows};
pub use pairs::MAX_PAIR_ROWS;
pub use parts::PartsReport;
pub use progress::{Progress, Silent, Unit, peak_memory};
pub use report::Report;
pub use twinprint_fingerprint::HashKey;
pub use twinprint_index::{planner, segment, sort, store};
pub use twinprint_text::compare::{BitVotes, Comparison, Explanation, FeatureWeights, compare};
pub use twinprint_text::compat;
pub use twinprint_text::{Features, IdfError, IdfPower, IdfTable, Profile, StopWords, Weight};

/// Compiles the Rust example of the repository's README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
