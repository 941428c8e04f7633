//! The functions `dedup`, `dedup_stage`, `find` and `forecast`, with all the document stores that this build supports.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint_dedup::{
    DedupError, DedupJob, DedupOptions, FindInput, Forecast, Found, Stage, StageStatus, TaskShare,
    dedup_to_objects as to_objects, dedup_with_stores, forecast_with_stores,
};
use twinprint_io::progress::Progress;
use twinprint_io::results::Report;
use twinprint_io::sink::ObjectFolder;

#[cfg(feature = "collections")]
use crate::collection_store::Collections as Stores;
#[cfg(not(feature = "collections"))]
use twinprint_dedup::known::NoStores as Stores;

/// Finds the near-duplicates among the documents of a job and writes the result, like [`twinprint_dedup::dedup`].
/// [`DedupOptions::against`](crate::DedupOptions::against) may name a collection or an index.
///
/// # Errors
/// Fails only for a reason that stops the whole run. A record that cannot be used does not stop it: the record is
/// rejected, counted and listed in `rejects.jsonl`.
pub fn dedup(
    job: &DedupJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Report, DedupError> {
    dedup_with_stores(job, &Stores, progress, cancel)
}

/// Finds the near-duplicates like [`dedup`], and copies the result to a folder of object storage, like
/// [`twinprint_dedup::dedup_to_objects`].
///
/// # Errors
/// The errors of [`dedup`]; the folder is not empty, or cannot be written.
pub fn dedup_to_objects(
    job: &DedupJob<'_>,
    to: &ObjectFolder,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Report, DedupError> {
    to_objects(job, to, &Stores, progress, cancel)
}

/// Runs a share of the tasks of one stage of a run on disk, like [`twinprint_dedup::dedup_stage`].
/// [`DedupOptions::against`](crate::DedupOptions::against) may name a collection or an index.
///
/// # Errors
/// The errors of [`dedup`]; an earlier stage is not whole.
pub fn dedup_stage(
    job: &DedupJob<'_>,
    stage: Stage,
    share: TaskShare,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<StageStatus, DedupError> {
    twinprint_dedup::dedup_stage(job, &Stores, stage, share, progress, cancel)
}

/// Finds the near-duplicates among the records of `input` and keeps the result in memory, like
/// [`twinprint_dedup::find`].
///
/// # Errors
/// The errors of [`dedup`] before anything is written.
pub fn find(
    input: FindInput,
    options: &DedupOptions,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Found, DedupError> {
    twinprint_dedup::find(input, options, &Stores, progress, cancel)
}

/// Estimates memory, disk and time of a run from a sample, like [`twinprint_dedup::forecast`].
///
/// # Errors
/// Fails for the reasons of [`dedup`] that occur before the run or while the sample is read.
pub fn forecast(
    job: &DedupJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Forecast, DedupError> {
    forecast_with_stores(job, &Stores, progress, cancel)
}
