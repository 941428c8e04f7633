//! Input and output: documents out of files, results into directories, fingerprints without documents.
//!
//! * [`source`] reads documents out of files, folders, globs and stdin; [`sink`] writes output directories whose files appear whole or
//!   not at all, and copies records.
//! * [`raw`] reads and writes files of fingerprints and of rows about them.
//! * [`results`] holds the rows and the report of a finished run, and reads them back.
//! * [`work`] holds the temporary files of a run; [`runs`] identifies runs, so that a killed one is recognised.
//! * [`jobs`] are whole jobs over inputs that compare no documents: fingerprints, idf statistics, joins and exports of stored fingerprints.
//! * [`page`] has the filters of HTML and Markdown templates.
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

/// The version that reports and pages name.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
