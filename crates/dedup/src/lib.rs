//! The main job: documents in, kept and removed records, clusters and pairs out.
//!
//! [`dedup`] runs these steps over one corpus:
//!
//! * [`read`]: records to classes of equal text with fingerprints; texts to a temporary file.
//! * [`known`]: texts that an index or a store of documents knows from before are removed.
//! * [`candidates`]: the radius is chosen, the fingerprints are joined, short texts are joined by their shingles.
//! * [`verify`]: candidates are verified on the text and grouped.
//! * [`parts`]: partial copies, where asked for.
//! * [`write`] and [`report`]: records, clusters, pairs and the report.
//!
//! [`forecast()`] estimates memory, disk and time from a sample. Every step knows [`corpus`], the tables of documents and classes, and
//! [`options`].
//!
//! Deterministic: the same input, options and version give the same files on any number of threads.
#![forbid(unsafe_code)]

mod candidates;
pub mod config;
mod corpus;
mod error;
mod forecast;
mod job;
pub mod known;
mod memory;
mod options;
mod parts;
mod read;
mod report;
mod verify;
mod write;

use twinprint_io::VERSION;

pub use candidates::radius;
pub use error::{AgainstProblem, DedupError};
pub use forecast::{AgainstForecast, Forecast, Room, forecast};
pub use job::{dedup, dedup_with_stores};
pub use options::{
    Auto, ClusterFiles, Columns, DedupOptions, EmptyTexts, Keep, MAX_PAIR_ROWS, Mode, Order, PairRows, WIDEST,
};
