//! The near-duplicate engine.
//!
//! [`dedup`](fn@dedup) is the main job: documents in, kept and removed records, groups and pairs out. [`source`] reads documents,
//! [`sink`] writes records and results; [`radius`] chooses how far apart two fingerprints may lie. What is computed on
//! texts, fingerprints and groups lives in crates of its own (`text`, `fingerprint`, `index`, `cluster`), wired together here.
#![forbid(unsafe_code)]

mod annotate;
mod candidates;
#[cfg(feature = "tables")]
mod cluster_table;
mod compare;
mod config;
mod corpus;
mod dedup;
mod error;
mod fingerprints;
mod forecast;
mod keep;
mod matcher;
mod memory;
mod near_misses;
pub mod number;
mod options;
mod output;
mod pairs;
mod positioned;
mod progress;
pub mod radius;
mod read;
mod relatives;
mod report;
mod rows;
mod schedule;
mod set_join;
mod sets;
pub mod sink;
pub mod source;
mod space;
mod spool;

pub use annotate::Columns;
pub use compare::{BitVotes, Comparison, Explanation, FeatureWeights, compare};
pub use dedup::dedup;
pub use error::DedupError;
pub use fingerprints::{FingerprintRow, Subject, fingerprints};
pub use forecast::{Forecast, Room, forecast};
pub use options::{Auto, DedupOptions, Keep, MIN_FEATURES, Mode, Order, PairRows};
pub use pairs::MAX_PAIR_ROWS;
pub use progress::{Progress, Silent, Unit, peak_memory};
pub use report::Report;
pub use text::{Features, Profile, StopWords, Weight};
