//! The main job with all the stores that this build knows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint_dedup::{DedupError, DedupOptions, Forecast, dedup_with_stores};
use twinprint_io::progress::Progress;
use twinprint_io::results::Report;
use twinprint_io::source::SourceOptions;

#[cfg(feature = "collections")]
use crate::collection_store::Collections as Stores;
#[cfg(not(feature = "collections"))]
use twinprint_dedup::known::NoStores as Stores;

/// Finds the near-duplicates among the documents of `inputs` and writes the result to the directory `out`, as
/// [`twinprint_dedup::dedup`]; [`DedupOptions::against`] may name a collection as well as an index.
///
/// # Errors
/// An error that stops the run as a whole; a record that cannot be used is rejected, counted and named instead.
pub fn dedup(
    inputs: &[String],
    source_options: &SourceOptions,
    options: &DedupOptions,
    out: &Path,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Report, DedupError> {
    dedup_with_stores(inputs, source_options, options, out, &Stores, progress, cancel)
}

/// Estimates memory, disk and time of a run from a sample, as [`twinprint_dedup::forecast`].
///
/// # Errors
/// As [`dedup`].
pub fn forecast(
    inputs: &[String],
    source_options: &SourceOptions,
    options: &DedupOptions,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Forecast, DedupError> {
    twinprint_dedup::forecast(inputs, source_options, options, &Stores, progress, cancel)
}
