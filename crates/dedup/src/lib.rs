//! Near-duplicate removal over files: reads documents, and writes kept and removed records, groups and pairs.
//!
//! ```
//! use std::sync::Arc;
//! use twinprint_dedup::{DedupJob, DedupOptions, Keep, dedup};
//! use twinprint_io::progress::Silent;
//! use twinprint_io::source::SourceOptions;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let lighthouse = "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back.";
//! std::fs::write(dir.path().join("draft.txt"), lighthouse)?;
//! std::fs::write(dir.path().join("final.txt"), format!("{lighthouse} Lit in May."))?;
//!
//! let report = dedup(
//!     &DedupJob {
//!         inputs: &[dir.path().display().to_string()],
//!         source: &SourceOptions::default(),
//!         options: &DedupOptions { keep: Keep::Longest, ..DedupOptions::new()? },
//!         out: &tempfile::tempdir()?.path().join("out"),
//!     },
//!     &Silent,
//!     &Arc::default(),
//! )?;
//! assert_eq!((report.records.kept, report.records.removed), (1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! [`dedup`] runs these stages over one corpus:
//!
//! * `read`: groups records into classes of equal text with fingerprints, and writes the texts to a temporary file.
//! * `known`: removes documents that an index or a document store already has.
//! * `candidates`: chooses the radius, joins the fingerprints, and joins short texts by their shingles.
//! * `recall`: measures the share of the duplicates that are among the candidates, on a sample of the texts.
//! * `verify`: verifies the candidates on their texts, and groups the duplicates.
//! * `parts`: searches for partial copies if [`DedupOptions::parts`] is set.
//! * `write` and `report`: write the records, clusters, pairs and the report.
//!
//! [`find()`] is the same search with the result in memory. [`forecast()`] estimates memory, disk and time from a
//! sample. Every stage uses two further modules: `corpus`, with the tables of documents and classes, and `options`.
//!
//! Deterministic: the same input, options and version give the same files on any number of threads.
#![forbid(unsafe_code)]

mod candidates;
pub mod config;
mod corpus;
mod error;
mod forecast;
mod found;
mod ids;
mod job;
pub mod known;
mod memory;
mod options;
mod packed;
mod parts;
mod read;
mod recall;
mod report;
mod rows;
mod stages;
mod verify;
mod write;

use twinprint_io::VERSION;

pub use candidates::radius;
pub use error::{AgainstProblem, DedupError, Shortage, StageDamage};
pub use forecast::{AgainstForecast, Forecast, Room, forecast, forecast_with_stores};
pub use found::{Fate, FindInput, Found, FoundDocument, FoundRecord, find};
pub use job::{DedupJob, dedup, dedup_stage, dedup_status, dedup_to_objects, dedup_with_stores};
pub use options::{
    Auto, ClusterFiles, Columns, DedupOptions, EmptyTexts, Keep, MAX_PAIR_ROWS, MAX_RADIUS, Mode, OnDisk,
    Order, PairRows,
};
pub use read::RejectedRecord;
pub use stages::{Stage, StageStatus, TaskShare};
pub use write::pairs::FoundPair;
