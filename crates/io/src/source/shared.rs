//! The state of an input that the reading thread and the parsing threads share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tempfile::TempPath;
use twinprint_text::charset::Charset;

use super::file::SourceFile;
use super::intake::Tally;
use super::memory::MemoryInput;
use super::options::SourceOptions;

/// The files and options of an input, and the counts of its last reading.
#[derive(Debug)]
pub(super) struct Shared {
    pub files: Vec<SourceFile>,
    pub options: SourceOptions,
    /// The number of records in each file, as the last complete reading counted them. [`UNKNOWN`] before that.
    pub(super) records: Vec<AtomicU64>,
    /// True if the limit of records ended the last reading while records were left.
    pub(super) cut_short: AtomicBool,
    /// The charset of each file, once the beginning of the file was read.
    pub(super) charsets: Vec<OnceLock<Charset>>,
    /// The counts of the records parsed so far.
    pub(super) tally: Mutex<Tally>,
    pub(super) skipped: BTreeMap<String, u64>,
    pub(super) as_text: BTreeMap<String, u64>,
    pub(super) empty: Vec<String>,
    pub(super) repeated: u64,
    pub(super) cancel: Arc<AtomicBool>,
    /// The records, if they are in memory. There is one file then, which stands for them.
    pub(super) memory: Option<MemoryInput>,
    /// The copy of stdin on disk. It is deleted when the last reference to it is dropped.
    pub(super) _spool: Option<TempPath>,
}

/// Stands for the number of records of a file that was not read yet.
const UNKNOWN: u64 = u64::MAX;

impl Shared {
    /// The state of an input with these files before it is read.
    pub(super) fn of(files: Vec<SourceFile>, options: &SourceOptions, cancel: Arc<AtomicBool>) -> Self {
        Self {
            records: files.iter().map(|_| AtomicU64::new(UNKNOWN)).collect(),
            cut_short: AtomicBool::new(false),
            charsets: files.iter().map(|_| OnceLock::new()).collect(),
            tally: Mutex::default(),
            files,
            options: options.clone(),
            skipped: BTreeMap::new(),
            as_text: BTreeMap::new(),
            empty: Vec::new(),
            repeated: 0,
            cancel,
            memory: None,
            _spool: None,
        }
    }

    /// Locks the counts. Poisoning is ignored, because a panic of another thread leaves the counts consistent.
    pub(super) fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets the counts for a new reading.
    pub(super) fn take_tally(&self) {
        self.cut_short.store(false, Ordering::Relaxed);
        *self.tally() = Tally::default();
    }

    /// Adds counts of records.
    pub(super) fn count(&self, tally: Tally) {
        self.tally().add(tally);
    }

    /// Records that the input has more records than the limit allows.
    pub(super) fn cut_short(&self) {
        self.cut_short.store(true, Ordering::Relaxed);
    }

    /// The charset of a file, once the beginning of the file was read.
    pub(super) fn charset(&self, source: u32) -> Option<Charset> {
        self.charsets.get(source as usize)?.get().copied()
    }

    /// Returns true once the run is cancelled.
    pub(super) fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The number of records of a file, once the file was read.
    pub(super) fn records(&self, source: u32) -> Option<u64> {
        let records = self.records.get(source as usize)?.load(Ordering::Relaxed);
        (records != UNKNOWN).then_some(records)
    }

    /// Stores the charset of a file.
    pub(super) fn set_charset(&self, source: u32, charset: Charset) {
        if let Some(slot) = self.charsets.get(source as usize) {
            // A second reading of an unchanged file sets the same charset again, so the result is ignored. A changed
            // file is detected by its modification time.
            let _ = slot.set(charset);
        }
    }

    /// Stores the number of records of a file.
    pub(super) fn set_records(&self, source: u32, records: u64) {
        if let Some(slot) = self.records.get(source as usize) {
            slot.store(records, Ordering::Relaxed);
        }
    }
}
