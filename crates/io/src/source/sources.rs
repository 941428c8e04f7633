//! The files found, and the ways through them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use tempfile::TempPath;
use twinprint_text::charset::Charset;

use super::batch::BatchReader;
use super::discover;
use super::error::SourceError;
use super::format::{Codec, Format};
use super::intake::{Intake, Tally};
use super::options::SourceOptions;
use super::reject::RejectReason;

/// One file to read.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceFile {
    /// Where it is. For stdin, its copy in the work directory.
    pub path: PathBuf,
    /// How users see it, and what rows of the output carry as `source`.
    pub label: String,
    /// Its place under `kept/` and `removed/`.
    pub relative: PathBuf,
    /// How it is cut into documents.
    pub format: Format,
    /// How its bytes are packed.
    pub codec: Codec,
    /// Its size on disk in bytes when it was found.
    pub bytes: u64,
    /// Its extension with a dot, if that names another format or none and the file is read as text all the same.
    pub as_text: Option<String>,
    /// The reason for which nothing of it can be read, as it showed when it was found.
    pub unreadable: Option<RejectReason>,
    /// Its time of change when it was found.
    pub modified: Option<SystemTime>,
}

/// The files of a job, in the order in which their records are counted.
///
/// Inputs come in the order given, the files of one input by the bytes of their paths. A file named twice is read
/// once, at its first place. Among several inputs, a folder's files go into a folder of its name under `kept/`. Where two inputs would write to the same place under `kept/`, every input's files go
/// into a folder of the input's number, from 1.
#[derive(Debug)]
pub struct Sources {
    shared: Arc<Shared>,
}

/// What readers on other threads need.
#[derive(Debug)]
pub struct Shared {
    pub files: Vec<SourceFile>,
    pub options: SourceOptions,
    /// Records of each file as the last whole reading counted them; [`UNKNOWN`] before.
    records: Vec<AtomicU64>,
    /// Records follow the last one that the limit allowed.
    cut_short: AtomicBool,
    /// The charset of each file, once its beginning was read.
    charsets: Vec<OnceLock<Charset>>,
    /// The account of the records parsed so far.
    tally: Mutex<Tally>,
    skipped: BTreeMap<String, u64>,
    as_text: BTreeMap<String, u64>,
    empty: Vec<String>,
    repeated: u64,
    cancel: Arc<AtomicBool>,
    /// Deletes the copy of stdin with the last user.
    _spool: Option<TempPath>,
}

const UNKNOWN: u64 = u64::MAX;

impl SourceFile {
    /// What a record without an id of its own is known by: `label:line` (or row), or the label of a whole file.
    pub fn name_of(&self, line: u64) -> String {
        if self.format.is_whole_file() {
            self.label.clone()
        } else {
            format!("{}:{line}", self.label)
        }
    }
}

impl Sources {
    /// Finds the files that `inputs` name: files, folders, globs, or `-` for stdin, which is copied into `work_dir`.
    ///
    /// # Errors
    /// An input that is missing, unreadable, of no known format, or nothing to read at all.
    pub fn discover(
        inputs: &[String],
        options: &SourceOptions,
        work_dir: &Path,
    ) -> Result<Self, SourceError> {
        Self::discover_cancellable(inputs, options, work_dir, Arc::default())
    }

    /// As [`discover`](Self::discover); once `cancel` is set, finding, reading and copying stop with
    /// [`SourceError::Cancelled`].
    ///
    /// # Errors
    /// As [`discover`](Self::discover).
    pub fn discover_cancellable(
        inputs: &[String],
        options: &SourceOptions,
        work_dir: &Path,
        cancel: Arc<AtomicBool>,
    ) -> Result<Self, SourceError> {
        let found = discover::discover(inputs, options, work_dir, &cancel, &mut std::io::stdin().lock())?;
        let as_text = found.as_text();
        Ok(Self {
            shared: Arc::new(Shared {
                records: found.files.iter().map(|_| AtomicU64::new(UNKNOWN)).collect(),
                cut_short: AtomicBool::new(false),
                charsets: found.files.iter().map(|_| OnceLock::new()).collect(),
                tally: Mutex::default(),
                files: found.files,
                options: options.clone(),
                skipped: found.skipped,
                as_text,
                empty: found.empty,
                repeated: found.repeated,
                cancel,
                _spool: found.spool,
            }),
        })
    }

    /// Some of the files, given by their places in [`list`](Self::list), with the same options. A copy of stdin stays with `self`.
    pub fn part(&self, files: &[u32]) -> Self {
        let files: Vec<SourceFile> = files
            .iter()
            .filter_map(|&file| self.shared.files.get(file as usize).cloned())
            .collect();
        Self {
            shared: Arc::new(Shared {
                records: files.iter().map(|_| AtomicU64::new(UNKNOWN)).collect(),
                cut_short: AtomicBool::new(false),
                charsets: files.iter().map(|_| OnceLock::new()).collect(),
                tally: Mutex::default(),
                files,
                options: self.shared.options.clone(),
                skipped: BTreeMap::new(),
                as_text: BTreeMap::new(),
                empty: Vec::new(),
                repeated: 0,
                cancel: Arc::clone(&self.shared.cancel),
                _spool: None,
            }),
        }
    }

    /// The files, in order.
    pub fn list(&self) -> &[SourceFile] {
        &self.shared.files
    }

    /// The options they were found with.
    pub fn options(&self) -> &SourceOptions {
        &self.shared.options
    }

    /// Files left out, counted by extension; what has none is counted in words in parentheses.
    pub fn skipped(&self) -> &BTreeMap<String, u64> {
        &self.shared.skipped
    }

    /// Files that are read as text by extension: where that names no format, and the file's name or a pattern spells it; and where it names a
    /// format, every text is taken, and the file does not hold what the format says.
    pub fn as_text(&self) -> &BTreeMap<String, u64> {
        &self.shared.as_text
    }

    /// The inputs that are folders without a file to read.
    pub fn empty_inputs(&self) -> &[String] {
        &self.shared.empty
    }

    /// The number of files that were not begun when the limit ended the last reading. `None` if nothing was left.
    pub fn limit_reached(&self) -> Option<u64> {
        let limit = self.shared.options.limit?;
        let files = 0..self.list().len() as u32;
        let records: Vec<Option<u64>> = files.map(|file| self.records(file)).collect();
        let read: u64 = records.iter().flatten().sum();
        let not_begun = records.iter().filter(|records| records.is_none()).count() as u64;
        let left = not_begun > 0 || self.shared.cut_short.load(Ordering::Relaxed);
        (read >= limit && left).then_some(not_begun)
    }

    /// How often a file was named again by a later input, and not read again.
    pub fn repeated(&self) -> u64 {
        self.shared.repeated
    }

    /// Bytes on disk of all files.
    pub fn total_bytes(&self) -> u64 {
        self.shared.files.iter().map(|f| f.bytes).sum()
    }

    /// Reads all files on a thread of its own, in batches of about `batch_bytes` bytes (8 to 16 MiB serve well). Two
    /// batches are held beside those handed out: one filling, one waiting.
    pub fn read(&self, batch_bytes: usize) -> BatchReader {
        self.shared.take_tally();
        BatchReader::start(Arc::clone(&self.shared), batch_bytes, true)
    }

    /// The account of the last [reading](Self::read): of the records whose chunks were turned into [documents](super::Chunk::documents).
    ///
    /// # Errors
    /// [`SourceError::NothingAccepted`] where there were records, and none of them is a document.
    pub fn intake(&self) -> Result<Intake, SourceError> {
        self.intake_so_far().checked()
    }

    /// As [`intake`](Self::intake), of a reading that is not over or covers a part of the input only.
    pub fn intake_so_far(&self) -> Intake {
        self.shared.tally().intake(&self.shared.files)
    }

    /// Reads again without counting.
    pub fn reread(&self, batch_bytes: usize) -> BatchReader {
        BatchReader::start(Arc::clone(&self.shared), batch_bytes, false)
    }

    /// The records of a file, once it has been read.
    pub fn records(&self, source: u32) -> Option<u64> {
        self.shared.records(source)
    }

    /// The charset of a file, once it has been read.
    pub fn charset(&self, source: u32) -> Option<Charset> {
        self.shared.charset(source)
    }

    /// How many of the files read so far are in each charset.
    pub fn charsets(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for charset in self.shared.charsets.iter().filter_map(OnceLock::get) {
            *counts.entry(charset.name()).or_default() += 1;
        }
        counts
    }

    pub fn cancelled(&self) -> bool {
        self.shared.cancelled()
    }
}

impl Shared {
    /// The counts; a panic elsewhere leaves them whole.
    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to count again.
    fn take_tally(&self) {
        self.cut_short.store(false, Ordering::Relaxed);
        *self.tally() = Tally::default();
    }

    /// Counts records.
    pub fn count(&self, tally: Tally) {
        self.tally().add(tally);
    }

    /// Notes that records follow the last one that the limit allows.
    pub fn cut_short(&self) {
        self.cut_short.store(true, Ordering::Relaxed);
    }

    pub fn charset(&self, source: u32) -> Option<Charset> {
        self.charsets.get(source as usize)?.get().copied()
    }

    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    pub fn records(&self, source: u32) -> Option<u64> {
        let records = self.records.get(source as usize)?.load(Ordering::Relaxed);
        (records != UNKNOWN).then_some(records)
    }

    pub fn set_charset(&self, source: u32, charset: Charset) {
        if let Some(slot) = self.charsets.get(source as usize) {
            // Read again, a file that did not change has the same; one that did is found out by its time.
            let _ = slot.set(charset);
        }
    }

    pub fn set_records(&self, source: u32, records: u64) {
        if let Some(slot) = self.records.get(source as usize) {
            slot.store(records, Ordering::Relaxed);
        }
    }
}
