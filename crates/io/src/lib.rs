#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! * [`source`] reads documents from files, folders, globs and stdin. [`sink`] writes output directories and copies
//!   records into them.
//! * [`raw`] reads files of fingerprints, and writes rows about fingerprints.
//! * [`results`] defines the rows and the report of a finished run, and reads them. [`rows`] writes the rows.
//! * [`work`] manages the temporary files of a run. [`runs`] identifies runs, so that a killed run is recognised when
//!   its command is repeated.
//! * [`jobs`] are complete jobs that do not compare documents: fingerprints, idf tables, and joins and exports of
//!   fingerprints.
//! * [`page`] and [`number`] format names and numbers for reports.
//! * Every job uses [`progress`] to report progress, [`threads`] to start worker threads, [`object_pool`] to reuse
//!   objects, and [`guard`] to turn panics of third-party readers into errors.
//!
//! Invariant: every record that is read becomes a document, is rejected with a reason, or is counted as lost
//! ([`source::Intake`]).
#![forbid(unsafe_code)]

mod error;
pub mod guard;
pub mod jobs;
mod markers;
pub mod number;
pub mod object_pool;
pub mod page;
mod profile_label;
pub mod progress;
pub mod raw;
#[cfg_attr(
    not(feature = "object-storage"),
    allow(dead_code, reason = "only a build with object storage has objects")
)]
mod remote;
pub mod results;
pub mod rows;
pub mod runs;
pub mod sink;
pub mod source;
pub mod threads;
pub mod work;

pub use error::{JobError, OptionError};
pub use profile_label::{ProfileLabel, ProfilesDiffer};

/// The version of twinprint, as reports and web pages show it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
