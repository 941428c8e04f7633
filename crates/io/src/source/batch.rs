//! Reads the input on a separate thread, one batch ahead of the threads that process it.

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
use super::memory::MemoryBatches;
use super::record_limits::RecordLimits;
use super::reject::RejectReason;
use super::scan::scanner;
use super::shared::Shared;
use super::split::{BLOCK_BYTES, SplitItem, Splitter, StreamFailure};
#[cfg(feature = "tables")]
use super::table::{Table, TablePart};

/// The largest number of whole files in a chunk. Small files take time per file rather than per byte, so chunks are
/// also limited by their number.
const MAX_FILES_PER_CHUNK: usize = 64;
/// The largest number of chunks in a batch. It limits the memory of a batch of many tiny files.
const MAX_CHUNKS_PER_BATCH: usize = 1024;

/// Consecutive chunks of the input, whose total size is about the requested batch size.
#[derive(Debug, Default)]
pub struct Batch {
    /// The chunks in input order. Each can be processed on any thread.
    pub chunks: Vec<Chunk>,
    /// The files whose last record is in this batch: the index and the number of records of each.
    pub finished: VecDeque<(u32, u64)>,
    input_bytes: u64,
    /// See [`record_bytes`](Self::record_bytes).
    record_bytes: usize,
}

impl Batch {
    /// The size of the batch in memory, in bytes. Records count with their decompressed size.
    pub fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    /// The number of bytes read from disk for this batch. Over all batches, the numbers add up to
    /// [`Sources::total_bytes`](super::Sources::total_bytes) unless a file could not be read to its end.
    pub fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    /// The number of documents and rejects in all chunks of the batch.
    pub fn records(&self) -> u64 {
        self.chunks.iter().map(Chunk::records).sum()
    }
}

/// Iterates over the batches of all inputs, in order. The iterator ends after the first error.
#[derive(Debug)]
pub struct BatchReader {
    shared: Arc<Shared>,
    /// Receives batches from the reading thread. `None` after the last batch or an error.
    batches: Option<Receiver<Message>>,
    failed: Option<SourceError>,
    thread: Option<JoinHandle<()>>,
    recording: bool,
}

/// A message of the reading thread: a batch, or `None` at the end of the input. If the thread panics, it sends neither.
type Message = Result<Option<Batch>, SourceError>;

impl BatchReader {
    /// Starts the reading thread. If `recording` is true, the numbers of records and the charsets of the files are
    /// stored in `shared`, and the outcomes of the records are counted.
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
                    ordinal: 0,
                    counting: recording,
                };
                let end = reading.all();
                if let Some(end) = end {
                    // Sending fails only if the `BatchReader` was dropped. Then nobody needs the message.
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
        // Dropping the receiver makes the thread stop at its next batch.
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, `next` has already returned `ReaderStopped`.
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
    /// The number of records read so far, which is the ordinal of the next record.
    ordinal: u64,
    /// True if the outcomes of the records are counted in the intake.
    counting: bool,
}

/// The error of sending a batch when the `BatchReader` was dropped.
struct ReceiverGone;

impl Reading {
    /// Reads all files and sends their batches. Returns the last message to send, or `None` if the `BatchReader` was
    /// dropped.
    fn all(&mut self) -> Option<Message> {
        let limit = self.shared.options.limit.unwrap_or(u64::MAX);
        let shared = Arc::clone(&self.shared);
        if let Some(memory) = &shared.memory {
            return match memory.take() {
                Ok(batches) => self.memory(batches, limit),
                Err(error) => Some(Err(error)),
            };
        }
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
        self.end()
    }

    /// Sends the last batch. Returns the message that ends the input.
    fn end(&mut self) -> Option<Message> {
        if self.shared.cancelled() {
            return Some(Err(SourceError::Cancelled));
        }
        let last = !self.batch.chunks.is_empty() || !self.batch.finished.is_empty();
        if last && self.flush().is_err() {
            return None;
        }
        Some(Ok(None))
    }

    /// Puts each batch of records in memory into a chunk. A batch is read as a whole, so the last one may exceed `limit`.
    fn memory(&mut self, batches: MemoryBatches, limit: u64) -> Option<Message> {
        for batch in batches {
            if self.shared.cancelled() {
                return Some(Err(SourceError::Cancelled));
            }
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            };
            if self.ordinal >= limit {
                self.shared.cut_short();
                break;
            }
            let (records, bytes) = (batch.records(), batch.bytes());
            if records > 0 && self.push(records, bytes, ChunkContent::Memory(batch)).is_err() {
                return None;
            }
        }
        self.batch.finished.push_back((0, self.ordinal));
        self.end()
    }

    /// Puts consecutive files that are one document each into one chunk, starting with the file `first`. Returns the
    /// number of files.
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

    /// Splits one file into blocks of records, and puts each block into a chunk.
    fn records(&mut self, index: usize, limit: u64) -> Result<(), ReceiverGone> {
        let shared = Arc::clone(&self.shared);
        let (file, source) = (&shared.files[index], index as u32);
        let before = self.ordinal;
        // A kept record of a web archive is copied with its compressed bytes, so the positions of the gzip members are
        // recorded.
        let read = Arc::new(match file.format {
            Format::Warc => ReadProgress::with_members(),
            _ => ReadProgress::default(),
        });
        let limits = UnpackLimits::of(&shared.options);
        let opened = file.open();
        match opened.and_then(|opened| decode::open_as_named(opened, file.codec, file.bytes, limits, &read)) {
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

    /// Splits a table into ranges of rows, and puts each range into a chunk. The rows are decoded later, by the task
    /// that processes the chunk.
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
                    // No bytes are read at this point. The size of the file is divided evenly among its ranges, so that
                    // the reported progress adds up.
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

    /// Adds a reject that stands for a part of a file from which no record could be read.
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
                // The spans of tiny records take more memory than the records themselves, so they count as well.
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
        self.batch.record_bytes += bytes;
        let full =
            self.batch.record_bytes >= self.batch_bytes || self.batch.chunks.len() >= MAX_CHUNKS_PER_BATCH;
        if full { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ReceiverGone> {
        self.sender
            .send(Ok(Some(std::mem::take(&mut self.batch))))
            .map_err(|_| ReceiverGone)
    }
}
