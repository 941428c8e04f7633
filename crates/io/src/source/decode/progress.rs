//! Counts the bytes of a file while it is read: the bytes read from disk, those that the decoder has used, and the
//! positions of gzip members.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::source::byte_stream::ByteStream;
use crate::source::reject::RejectReason;

/// The byte ranges of a gzip member in the compressed file and in the decompressed stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GzipMember {
    /// The range in the compressed file.
    pub packed: Range<u64>,
    /// The range in the decompressed stream.
    pub unpacked: Range<u64>,
}

/// Counts the bytes of a file while it is read.
#[derive(Debug, Default)]
pub struct ReadProgress {
    /// Number of bytes read from disk since the last call of [`take_bytes`](Self::take_bytes).
    taken: AtomicU64,
    /// Number of bytes of the file that the decoder has consumed. For an uncompressed file these are all bytes read.
    used: AtomicU64,
    /// The value of `used` when the decoder last returned bytes.
    productive: AtomicU64,
    /// The gzip members that have ended. `None` if they are not recorded.
    members: Option<Mutex<Vec<GzipMember>>>,
}

impl ReadProgress {
    /// Creates counts that also record the gzip members.
    pub fn with_members() -> Self {
        Self {
            members: Some(Mutex::default()),
            ..Self::default()
        }
    }

    /// Returns the number of bytes read from disk since the last call.
    pub fn take_bytes(&self) -> u64 {
        self.taken.swap(0, Ordering::Relaxed)
    }

    /// Returns the number of bytes of the file on disk from which nothing could be decoded. `bytes` is the size of the
    /// file, and `reason` is why reading it ended.
    pub fn unread(&self, bytes: u64, reason: &RejectReason) -> u64 {
        let gave = match reason.cause() {
            // The beginning of the file was read only to detect its charset, so no byte of the file was used.
            RejectReason::NotCuttable { .. } => 0,
            // The gzip stream was complete before the bytes that are not gzip, so all bytes that the decoder consumed
            // were used.
            RejectReason::Junk => self.used.load(Ordering::Relaxed),
            _ => self.productive.load(Ordering::Relaxed),
        };
        bytes.saturating_sub(gave)
    }

    /// Returns the gzip members that have ended since the last call.
    pub fn take_members(&self) -> Vec<GzipMember> {
        let members = self.members.as_ref().and_then(|members| members.lock().ok());
        members.map_or_else(Vec::new, |mut members| std::mem::take(&mut *members))
    }

    pub(super) fn member(&self, member: GzipMember) {
        if let Some(Ok(mut members)) = self.members.as_ref().map(Mutex::lock) {
            members.push(member);
        }
    }
}

/// An uncompressed file. All bytes that are read from it are used.
pub(super) struct PlainFile {
    file: File,
    progress: Arc<ReadProgress>,
}

impl PlainFile {
    /// Wraps `file`. The bytes read from it are counted in `progress`.
    pub(super) fn new(file: File, progress: &Arc<ReadProgress>) -> Self {
        Self {
            file,
            progress: Arc::clone(progress),
        }
    }

    fn note(&self, bytes: usize) {
        let ReadProgress {
            taken,
            used,
            productive,
            ..
        } = &*self.progress;
        for count in [taken, used, productive] {
            count.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

impl Read for PlainFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buf)?;
        self.note(read);
        Ok(read)
    }
}

impl ByteStream for PlainFile {
    fn append_to(&mut self, bytes: &mut Vec<u8>, most: u64) -> io::Result<usize> {
        let before = bytes.len();
        let read = (&self.file).take(most).read_to_end(bytes);
        self.note(bytes.len() - before);
        read
    }
}

/// A file that counts the bytes read from it.
pub(super) struct CountedFile {
    file: File,
    progress: Arc<ReadProgress>,
}

impl CountedFile {
    /// Wraps `file`. The bytes read from it are counted in `progress`.
    pub(super) fn new(file: File, progress: &Arc<ReadProgress>) -> Self {
        Self {
            file,
            progress: Arc::clone(progress),
        }
    }
}

impl Read for CountedFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buf)?;
        self.progress.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// A reader that counts the bytes that the decoder has consumed.
pub(super) struct UsedBytes<R> {
    reader: R,
    bytes: u64,
    progress: Arc<ReadProgress>,
}

impl<R> UsedBytes<R> {
    pub(super) fn new(reader: R, progress: &Arc<ReadProgress>) -> Self {
        Self {
            reader,
            bytes: 0,
            progress: Arc::clone(progress),
        }
    }

    fn note(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.progress.used.store(self.bytes, Ordering::Relaxed);
    }
}

impl<R: Read> Read for UsedBytes<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buf)?;
        self.note(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for UsedBytes<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.reader.consume(amount);
        self.note(amount);
    }
}

/// A decompressed stream. After each read that returns bytes, it records how many bytes of the file the decoder has
/// consumed.
struct OutputNoted<R> {
    stream: R,
    progress: Arc<ReadProgress>,
}

pub(super) fn noted(stream: impl Read + Send + 'static, progress: &Arc<ReadProgress>) -> Box<dyn ByteStream> {
    Box::new(OutputNoted {
        stream,
        progress: Arc::clone(progress),
    })
}

impl<R: Read> Read for OutputNoted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buf)?;
        if read > 0 {
            let used = self.progress.used.load(Ordering::Relaxed);
            self.progress.productive.store(used, Ordering::Relaxed);
        }
        Ok(read)
    }
}

// The default method notes each read, so bytes that a failed read has consumed do not count as decoded.
impl<R: Read + Send> ByteStream for OutputNoted<R> {}
