#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! * [`source`] reads documents out of files, folders, globs and stdin; [`sink`] writes output directories and copies records.
//! * [`raw`] reads and writes files of fingerprints and of rows about them.
//! * [`results`] has the rows and the report of a finished run, and reads them; [`rows`] writes them.
//! * [`work`] has the temporary files of a run; [`runs`] identifies runs, so that a killed run is recognised.
//! * [`jobs`] are complete jobs over inputs that do not compare documents.
//! * [`page`] and [`number`] format names and numbers for reports.
//! * [`progress`], [`threads`], [`object_pool`] and [`guard`] are used by every job: progress, worker threads, reused objects, and panics of
//!   third-party readers as errors.
//!
//! Invariant: every record that is read is a document, rejected with a reason, or counted as lost ([`source::Intake`]).
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
pub mod results;
pub mod rows;
pub mod runs;
pub mod sink;
pub mod source;
pub mod threads;
pub mod work;

pub use error::{JobError, OptionError};
pub use profile_label::{ProfileLabel, ProfilesDiffer};

/// The version in reports and pages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
