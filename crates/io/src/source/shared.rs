//! The state of an input that its readers on all threads share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tempfile::TempPath;
use twinprint_text::charset::Charset;

use super::file::SourceFile;
use super::intake::Tally;
use super::options::SourceOptions;

/// The files and options of an input, and the counts of reading it.
#[derive(Debug)]
pub(super) struct Shared {
    pub files: Vec<SourceFile>,
    pub options: SourceOptions,
    /// Records of each file as the last whole reading counted them; [`UNKNOWN`] before.
    pub(super) records: Vec<AtomicU64>,
    /// ALL
    pub(super) cut_short: AtomicBool,
    /// The charset of each file, once its beginning was read.
    pub(super) charsets: Vec<OnceLock<Charset>>,
    /// The intake of the records parsed so far.
    pub(super) tally: Mutex<Tally>,
    pub(super) skipped: BTreeMap<String, u64>,
    pub(super) as_text: BTreeMap<String, u64>,
    pub(super) empty: Vec<String>,
    pub(super) repeated: u64,
    pub(super) cancel: Arc<AtomicBool>,
    /// The copy of stdin, which is deleted when the last user is dropped.
    pub(super) _spool: Option<TempPath>,
}

/// The number of records of a file that was not read.
pub(super) const UNKNOWN: u64 = u64::MAX;

impl Shared {
    /// The counts. A panic of another thread leaves them consistent.
    pub(super) fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to count again.
    pub(super) fn take_tally(&self) {
        self.cut_short.store(false, Ordering::Relaxed);
        *self.tally() = Tally::default();
    }

    /// Counts records.
    pub(super) fn count(&self, tally: Tally) {
        self.tally().add(tally);
    }

    /// Notes that records follow the last one that the limit allows.
    pub(super) fn cut_short(&self) {
        self.cut_short.store(true, Ordering::Relaxed);
    }

    /// The charset of a file, once it is known.
    pub(super) fn charset(&self, source: u32) -> Option<Charset> {
        self.charsets.get(source as usize)?.get().copied()
    }

    /// True once the run is cancelled.
    pub(super) fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The number of records of a file, once it was read.
    pub(super) fn records(&self, source: u32) -> Option<u64> {
        let records = self.records.get(source as usize)?.load(Ordering::Relaxed);
        (records != UNKNOWN).then_some(records)
    }

    /// Notes the charset of a file.
    pub(super) fn set_charset(&self, source: u32, charset: Charset) {
        if let Some(slot) = self.charsets.get(source as usize) {
            // If the file has not changed, a second reading sets the same charset. A changed file is detected by its
            // modification time.
            let _ = slot.set(charset);
        }
    }

    /// Notes the number of records of a file.
    pub(super) fn set_records(&self, source: u32, records: u64) {
        if let Some(slot) = self.records.get(source as usize) {
            slot.store(records, Ordering::Relaxed);
        }
    }
}
