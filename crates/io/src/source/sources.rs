//! The files of an input, and the methods that read them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use twinprint_text::charset::Charset;

use super::batch::BatchReader;
use super::discover;
use super::error::SourceError;
use super::file::SourceFile;
use super::format::{Codec, Format};
use super::intake::Intake;
use super::memory::{MemoryBatches, MemoryInput};
use super::options::SourceOptions;
use super::shared::Shared;

/// The files of an input, in the order in which their records are numbered.
///
/// The inputs are read in the given order. The files of one input are ordered by the bytes of their paths. A file that
/// is named twice is read once, at its first position. If there are several inputs, the output files of a folder are
/// written to a folder of the same name under `kept/`. If two inputs would write to the same path there, the output
/// files of every input are written to a folder that is named by the input's number, from 1.
///
/// # Examples
/// ```
/// use twinprint_io::source::{RecordKind, SourceOptions, Sources};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// std::fs::write(
///     folder.path().join("a.jsonl"),
///     "{\"id\": \"1\", \"text\": \"first\"}\nno JSON\n{\"id\": \"2\", \"text\": \"second\"}\n",
/// )?;
/// std::fs::write(folder.path().join("b.txt"), "third")?;
///
/// let options = SourceOptions::default();
/// let inputs = [folder.path().display().to_string()];
/// let work_dir = tempfile::tempdir()?;
/// let sources = Sources::discover(&inputs, &options, work_dir.path())?;
///
/// let mut texts = Vec::new();
/// for batch in sources.read(8 << 20) {
///     // The chunks of a batch can be processed on different threads.
///     for chunk in &batch?.chunks {
///         chunk.documents(&options, &mut |record| {
///             if let RecordKind::Document { text, .. } = record.kind {
///                 texts.push(text.into_owned());
///             }
///         });
///     }
/// }
/// assert_eq!(texts, ["first", "second", "third"]);
///
/// let intake = sources.intake()?;
/// assert_eq!((intake.accepted, intake.rejected), (3, 1));
/// let reject = intake.first_reject().ok_or("no reject")?;
/// assert_eq!(reject.line, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Sources {
    shared: Arc<Shared>,
}

impl Sources {
    /// Finds the files that `inputs` name. An input is a file, a folder, a glob, or `-` for stdin. stdin is copied into
    /// `work_dir`.
    ///
    /// # Errors
    /// An input is missing, unreadable or of no known format; a pattern is invalid; or no file can be read.
    pub fn discover(
        inputs: &[String],
        options: &SourceOptions,
        work_dir: &Path,
    ) -> Result<Self, SourceError> {
        Self::discover_cancellable(inputs, options, work_dir, Arc::default())
    }

    /// Like [`discover`](Self::discover). Once `cancel` is set, the search, the readings and the copies of these
    /// sources stop with [`SourceError::Cancelled`].
    ///
    /// # Errors
    /// The same as for [`discover`](Self::discover).
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
                skipped: found.skipped,
                as_text,
                empty: found.empty,
                repeated: found.repeated,
                _spool: found.spool,
                ..Shared::of(found.files, options, cancel)
            }),
        })
    }

    /// Returns sources with records in memory, under the name `label`. They can be read once.
    pub fn of_memory(
        label: &str,
        batches: MemoryBatches,
        options: &SourceOptions,
        cancel: Arc<AtomicBool>,
    ) -> Self {
        let file = SourceFile {
            remote: None,
            path: PathBuf::new(),
            label: label.to_owned(),
            relative: PathBuf::from(label),
            // Records in memory are named by their numbers, as those of a file with many records.
            format: Format::Jsonl,
            codec: Codec::Plain,
            bytes: 0,
            as_text: None,
            unreadable: None,
            modified: None,
        };
        Self {
            shared: Arc::new(Shared {
                memory: Some(MemoryInput::new(batches)),
                ..Shared::of(vec![file], options, cancel)
            }),
        }
    }

    /// Returns sources with only the given files, which are indices in [`list`](Self::list), and the same options.
    /// `self` owns the copy of stdin on disk, so it must outlive the subset.
    #[must_use]
    pub fn subset(&self, files: &[u32]) -> Self {
        let files: Vec<SourceFile> = files
            .iter()
            .filter_map(|&file| self.shared.files.get(file as usize).cloned())
            .collect();
        let cancel = Arc::clone(&self.shared.cancel);
        Self {
            shared: Arc::new(Shared::of(files, &self.shared.options, cancel)),
        }
    }

    /// The files to read, in order.
    pub fn list(&self) -> &[SourceFile] {
        &self.shared.files
    }

    /// Returns a file by its index in [`list`](Self::list).
    ///
    /// # Panics
    /// If the index is out of range. The indices in the records and chunks of these sources are always valid.
    pub fn file(&self, source: u32) -> &SourceFile {
        &self.shared.files[source as usize]
    }

    /// The options with which the sources were found.
    pub fn options(&self) -> &SourceOptions {
        &self.shared.options
    }

    /// The number of skipped files, by extension. Files that were skipped for another reason are counted under a text
    /// in parentheses, such as [`EXCLUDED`](super::EXCLUDED).
    pub fn skipped(&self) -> &BTreeMap<String, u64> {
        &self.shared.skipped
    }

    /// The number of files, by extension, that are read as text although their extension is not that of a text file.
    /// There are two cases. The extension belongs to no format, and the user spelled it in a path or pattern. Or every
    /// text file is accepted, and the content of the file is not of the format that its extension names.
    pub fn as_text(&self) -> &BTreeMap<String, u64> {
        &self.shared.as_text
    }

    /// The inputs that are folders without a file to read.
    pub fn empty_inputs(&self) -> &[String] {
        &self.shared.empty
    }

    /// If the limit of records ended the last reading early, returns the number of files that were not opened. Returns
    /// `None` if everything was read.
    pub fn limit_reached(&self) -> Option<u64> {
        let limit = self.shared.options.limit?;
        let files = 0..self.list().len() as u32;
        let records: Vec<Option<u64>> = files.map(|file| self.records(file)).collect();
        let read: u64 = records.iter().flatten().sum();
        let not_begun = records.iter().filter(|records| records.is_none()).count() as u64;
        let left = not_begun > 0 || self.shared.cut_short.load(Ordering::Relaxed);
        (read >= limit && left).then_some(not_begun)
    }

    /// The number of times that a later input named a file again. Each file is read once.
    pub fn repeated(&self) -> u64 {
        self.shared.repeated
    }

    /// The total size of all files on disk, in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.shared.files.iter().map(|f| f.bytes).sum()
    }

    /// Reads all files on a separate thread, in batches of about `batch_bytes` bytes (`dedup` takes 1 MiB for each thread). Besides
    /// the batches that the caller owns, at most two are in memory: one that is being filled and one that waits. Resets
    /// the [intake](Self::intake).
    pub fn read(&self, batch_bytes: usize) -> BatchReader {
        self.shared.take_tally();
        BatchReader::start(Arc::clone(&self.shared), batch_bytes, true)
    }

    /// Returns the intake of the last [reading](Self::read). It counts the records of all chunks that were parsed with
    /// [`documents`](super::Chunk::documents).
    ///
    /// # Errors
    /// [`SourceError::NothingAccepted`] if records of files were read, but none of them is a document. Most often the
    /// name of the field is wrong. The caller knows the records in memory.
    pub fn intake(&self) -> Result<Intake, SourceError> {
        let intake = self.intake_so_far();
        if self.shared.memory.is_some() {
            Ok(intake)
        } else {
            intake.checked()
        }
    }

    /// Returns the counts of what has been read so far. [`intake`](Self::intake) needs a reading of the whole input; this
    /// function also works during a reading, and after a reading of only a part of the input.
    pub fn intake_so_far(&self) -> Intake {
        self.shared.tally().intake(&self.shared.files)
    }

    /// Like [`read`](Self::read), but does not count the records again.
    pub fn reread(&self, batch_bytes: usize) -> BatchReader {
        BatchReader::start(Arc::clone(&self.shared), batch_bytes, false)
    }

    /// The number of records of a file. `None` until the file has been read.
    pub fn records(&self, source: u32) -> Option<u64> {
        self.shared.records(source)
    }

    /// The charset of a file. `None` until the beginning of the file has been read.
    pub fn charset(&self, source: u32) -> Option<Charset> {
        self.shared.charset(source)
    }

    /// The number of files read so far, by charset.
    pub fn charsets(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for charset in self.shared.charsets.iter().filter_map(OnceLock::get) {
            *counts.entry(charset.name()).or_default() += 1;
        }
        counts
    }

    /// Returns true once the `cancel` flag of [`discover_cancellable`](Self::discover_cancellable) is set.
    pub fn cancelled(&self) -> bool {
        self.shared.cancelled()
    }
}
