//! Reads the input on a separate thread, one batch ahead of processing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::chunk::{Chunk, ChunkContent};
use twinprint_text::charset::Charset;

use super::charset::detect_stream;
use super::decode::{self, ReadProgress, UnpackLimits};
use super::error::SourceError;
use super::format::{Codec, Format};
use super::loss::Loss;
use super::record_limits::RecordLimits;
use super::reject::RejectReason;
use super::scan::scanner;
use super::shared::Shared;
use super::split::{BLOCK_BYTES, SplitItem, Splitter, StreamFailure};
#[cfg(feature = "tables")]
use super::table::{Table, TablePart};

/// The maximum number of whole files in a chunk: small files cost time per file, not per byte.
const MAX_FILES_PER_CHUNK: usize = 64;
/// The maximum number of chunks of a batch, so that many tiny files do not accumulate.
const MAX_CHUNKS_PER_BATCH: usize = 1024;

/// Consecutive chunks of the input, together about as large as requested.
#[derive(Debug, Default)]
pub struct Batch {
    /// The chunks in input order; each can be processed on any thread.
    pub chunks: Vec<Chunk>,
    /// Files whose last record is in this batch, with their number of records.
    pub finished: VecDeque<(u32, u64)>,
    input_bytes: u64,
}

impl Batch {
    /// Bytes on disk that were read for this batch. They add up to [`Sources::total_bytes`](super::Sources::total_bytes)
    /// unless a file could not be read to its end.
    pub fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    /// Documents and rejects of all its chunks.
    pub fn records(&self) -> u64 {
        self.chunks.iter().map(Chunk::records).sum()
    }
}

/// The batches of all inputs in order. Ends after the first error.
#[derive(Debug)]
pub struct BatchReader {
    shared: Arc<Shared>,
    /// `None` after the end or an error.
    batches: Option<Receiver<Message>>,
    failed: Option<SourceError>,
    thread: Option<JoinHandle<()>>,
    recording: bool,
}

/// A batch, or `None` for the regular end. A thread that died sends neither.
type Message = Result<Option<Batch>, SourceError>;

impl BatchReader {
    /// Starts the reading thread. If `recording` is true, it notes the records and charsets of the files, and outcomes
    /// are counted.
    pub(super) fn start(shared: Arc<Shared>, batch_bytes: usize, recording: bool) -> Self {
        let (sender, batches) = sync_channel(1);
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("twinprint-read".to_owned())
            .spawn(move || {
                let mut reading = Reading {
                    shared: theirs,
                    sender,
                    batch_bytes,
                    batch: Batch::default(),
                    bytes: 0,
                    ordinal: 0,
                    counting: recording,
                };
                let end = reading.all();
                if let Some(end) = end {
                    // Sending fails if the receiver is gone; then nobody waits for the end.
                    let _ = reading.sender.send(end);
                }
            });
        let (thread, failed) = match thread {
            Ok(thread) => (Some(thread), None),
            Err(error) => (None, Some(SourceError::Thread(error))),
        };
        Self {
            shared,
            batches: Some(batches),
            failed,
            thread,
            recording,
        }
    }
}

impl Iterator for BatchReader {
    type Item = Result<Batch, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let message = self.batches.as_ref()?.recv();
        let error = match message {
            Ok(Ok(Some(_))) if self.shared.cancelled() => SourceError::Cancelled,
            Ok(Ok(Some(batch))) => {
                if self.recording {
                    for &(source, records) in &batch.finished {
                        self.shared.set_records(source, records);
                    }
                }
                return Some(Ok(batch));
            }
            Ok(Ok(None)) => {
                self.batches = None;
                return None;
            }
            Ok(Err(error)) => error,
            Err(_) => self.failed.take().unwrap_or(SourceError::ReaderStopped),
        };
        self.batches = None;
        Some(Err(error))
    }
}

impl Drop for BatchReader {
    fn drop(&mut self) {
        // The thread stops at its next batch when the receiver is gone.
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported as ReaderStopped.
            let _ = thread.join();
        }
    }
}

/// The state of the reading thread.
struct Reading {
    shared: Arc<Shared>,
    sender: SyncSender<Message>,
    batch_bytes: usize,
    batch: Batch,
    /// The size of the batch in bytes: unpacked bytes, where records are held unpacked.
    bytes: usize,
    /// The number of records so far.
    ordinal: u64,
    /// True if the outcomes of the records are counted.
    counting: bool,
}

/// The receiver has gone.
struct ReceiverGone;

impl Reading {
    /// Reads all files. Returns the last message, or `None` if the receiver is gone.
    fn all(&mut self) -> Option<Message> {
        let limit = self.shared.options.limit.unwrap_or(u64::MAX);
        let shared = Arc::clone(&self.shared);
        let mut next = 0;
        while next < shared.files.len() && self.ordinal < limit {
            if shared.cancelled() {
                return Some(Err(SourceError::Cancelled));
            }
            let left = limit - self.ordinal;
            let step = match shared.files[next].format {
                #[cfg(feature = "tables")]
                format if format.is_table() => self.table(next, left).map(|()| 1),
                format if format.is_whole_file() => self.whole(next, left),
                _ => self.records(next, left).map(|()| 1),
            };
            match step {
                Ok(read) => next += read,
                Err(ReceiverGone) => return None,
            }
        }
        if shared.cancelled() {
            return Some(Err(SourceError::Cancelled));
        }
        let last = !self.batch.chunks.is_empty() || !self.batch.finished.is_empty();
        if last && self.flush().is_err() {
            return None;
        }
        Some(Ok(None))
    }

    /// Puts whole files from `first` on into one chunk. Returns their number.
    fn whole(&mut self, first: usize, limit: u64) -> Result<usize, ReceiverGone> {
        let mut bytes = 0;
        let most = usize::try_from(limit)
            .unwrap_or(usize::MAX)
            .min(MAX_FILES_PER_CHUNK);
        let files = self.shared.files[first..].iter().take(most).take_while(|file| {
            let takes = file.format.is_whole_file() && bytes < BLOCK_BYTES as u64;
            if takes {
                bytes += file.bytes;
            }
            takes
        });
        let count = files.count();
        let range = first as u32..(first + count) as u32;
        self.batch
            .finished
            .extend(range.clone().map(|source| (source, 1)));
        self.batch.input_bytes += bytes;
        self.push(count as u64, bytes as usize, ChunkContent::Files(range))?;
        Ok(count)
    }

    /// Reads a file record by record.
    fn records(&mut self, index: usize, limit: u64) -> Result<(), ReceiverGone> {
        let shared = Arc::clone(&self.shared);
        let (file, source) = (&shared.files[index], index as u32);
        let before = self.ordinal;
        // Records of web archives are written with their own packed bytes, so the positions of the members are noted.
        let read = Arc::new(match file.format {
            Format::Warc => ReadProgress::with_members(),
            _ => ReadProgress::default(),
        });
        match decode::open(
            &file.path,
            file.codec,
            file.bytes,
            UnpackLimits::of(&shared.options),
            &read,
        ) {
            Ok(stream) => {
                let record_limits = RecordLimits::of(&shared.options);
                let told = detect_stream(stream, file.format, &shared.options);
                shared.set_charset(source, told.charset);
                let scan = scanner(file.format, told.read_as, &shared.options);
                let mut splitter =
                    Splitter::new(told.stream, scan, told.charset, BLOCK_BYTES, record_limits, limit);
                let broken = |error: &_| {
                    let reason = decode::reason(error, file.codec);
                    StreamFailure {
                        unread_bytes: read.unread(file.bytes, &reason),
                        reason,
                    }
                };
                while let Some(mut cut) = splitter.next(broken) {
                    if let SplitItem::RecordBlock(block) = &mut cut {
                        block.members = read.take_members();
                    }
                    self.batch.input_bytes += read.take_bytes();
                    self.cut(source, told.read_as, cut)?;
                    if shared.cancelled() {
                        return Ok(());
                    }
                }
                if splitter.leaves_records(broken) {
                    shared.cut_short();
                }
            }
            Err(error) => {
                let reason = decode::reason(&error, Codec::Plain);
                self.lost(source, 1, reason.losing(Loss::unread(file.bytes)))?;
            }
        }
        self.batch.input_bytes += read.take_bytes();
        self.batch.finished.push_back((source, self.ordinal - before));
        Ok(())
    }

    /// Plans a table into ranges of rows, which are decoded by the tasks that process them.
    #[cfg(feature = "tables")]
    fn table(&mut self, index: usize, limit: u64) -> Result<(), ReceiverGone> {
        let shared = Arc::clone(&self.shared);
        let (file, source) = (&shared.files[index], index as u32);
        let before = self.ordinal;
        let planned = Table::open(file)
            .map(Arc::new)
            .and_then(|table| {
                if table.rows() > limit {
                    shared.cut_short();
                }
                let planned = table.plan(file, &shared.options, limit);
                planned.map_err(|reason| {
                    reason.losing(Loss {
                        rows: table.rows(),
                        ..Loss::unread(file.bytes)
                    })
                })
            })
            .map_err(|reason| reason.losing(Loss::unread(file.bytes)));
        let mut told = 0;
        match planned {
            Ok(planned) => {
                let ranges = planned.len() as u64;
                for (i, planned) in planned.into_iter().enumerate() {
                    if shared.cancelled() {
                        return Ok(());
                    }
                    // No bytes are read here; the reported counts only have to add up.
                    let bytes = (u128::from(file.bytes) * (i as u128 + 1) / u128::from(ranges)) as u64;
                    self.batch.input_bytes += bytes - told;
                    told = bytes;
                    match planned {
                        TablePart::Rows(row_range) => {
                            let rows = row_range.rows.end - row_range.rows.start;
                            self.push(rows, row_range.bytes, ChunkContent::Rows { source, row_range })?;
                        }
                        TablePart::Lost(row, reason) => self.lost(source, row + 1, reason)?,
                    }
                }
            }
            Err(reason) => self.lost(source, 1, reason)?,
        }
        self.batch.input_bytes += file.bytes - told;
        self.batch.finished.push_back((source, self.ordinal - before));
        Ok(())
    }

    /// Adds a reject for a part of a file that yields no record.
    fn lost(&mut self, source: u32, line: u64, reason: RejectReason) -> Result<(), ReceiverGone> {
        let rejected = ChunkContent::Rejected {
            source,
            line,
            raw_len: 0,
            reason,
        };
        self.push(1, 0, rejected)
    }

    fn cut(&mut self, source: u32, charset: Charset, cut: SplitItem) -> Result<(), ReceiverGone> {
        match cut {
            SplitItem::RecordBlock(block) => {
                // Spans of tiny records take more memory than the records.
                let bytes = block.data.len() + size_of_val(block.spans.as_slice());
                self.push(
                    block.records,
                    bytes,
                    ChunkContent::Bytes {
                        source,
                        charset,
                        block,
                    },
                )
            }
            SplitItem::Rejected {
                line,
                raw_len,
                reason,
            } => self.push(
                1,
                0,
                ChunkContent::Rejected {
                    source,
                    line,
                    raw_len,
                    reason,
                },
            ),
        }
    }

    fn push(&mut self, records: u64, bytes: usize, body: ChunkContent) -> Result<(), ReceiverGone> {
        let shared = Arc::clone(&self.shared);
        self.batch.chunks.push(Chunk {
            shared,
            first_ordinal: self.ordinal,
            records,
            body,
            counted: AtomicBool::new(!self.counting),
        });
        self.ordinal += records;
        self.bytes += bytes;
        let full = self.bytes >= self.batch_bytes || self.batch.chunks.len() >= MAX_CHUNKS_PER_BATCH;
        if full { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ReceiverGone> {
        self.bytes = 0;
        self.sender
            .send(Ok(Some(std::mem::take(&mut self.batch))))
            .map_err(|_| ReceiverGone)
    }
}
