//! Byte counts of a file while it is read: read from disk, used by the decoder, and unpacked.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::source::reject::RejectReason;

/// The byte ranges of a gzip member in the packed file and in the unpacked stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GzipMember {
    /// The range in the packed file.
    pub packed: Range<u64>,
    /// The range in the unpacked stream.
    pub unpacked: Range<u64>,
}

/// Byte counts of a file while it is read.
#[derive(Debug, Default)]
pub struct ReadProgress {
    /// Bytes read from disk since the last [`take_bytes`](Self::take_bytes).
    taken: AtomicU64,
    /// Bytes of the file that the decoder has consumed; for a plain file, all bytes read.
    used: AtomicU64,
    /// The value of `used` when the stream last yielded bytes.
    productive: AtomicU64,
    /// The gzip members that ended, if they are listed.
    members: Option<Mutex<Vec<GzipMember>>>,
}

impl ReadProgress {
    /// Byte counts that also list gzip members.
    pub fn with_members() -> Self {
        Self {
            members: Some(Mutex::default()),
            ..Self::default()
        }
    }

    /// The number of bytes read from disk since the last call.
    pub fn take_bytes(&self) -> u64 {
        self.taken.swap(0, Ordering::Relaxed)
    }

    /// The number of bytes of a file of `bytes` bytes that yielded nothing, when reading ended for `reason`.
    pub fn unread(&self, bytes: u64, reason: &RejectReason) -> u64 {
        let gave = match reason.cause() {
            // Only the beginning of the file was read, and none of it was used.
            RejectReason::NotCuttable { .. } => 0,
            // The stream before the foreign bytes was complete, including its end mark.
            RejectReason::Junk => self.used.load(Ordering::Relaxed),
            _ => self.productive.load(Ordering::Relaxed),
        };
        bytes.saturating_sub(gave)
    }

    /// The members that ended since the last call.
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

/// A file that counts the bytes taken from it.
pub(super) struct CountedFile {
    file: File,
    progress: Arc<ReadProgress>,
}

impl CountedFile {
    /// Counts the bytes read of `file` in `progress`.
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

/// A reader that counts the bytes that its user has consumed.
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

/// An unpacked stream that notes how much of the file was used for its bytes.
struct OutputNoted<R> {
    stream: R,
    progress: Arc<ReadProgress>,
}

pub(super) fn noted(
    stream: impl Read + Send + 'static,
    progress: &Arc<ReadProgress>,
) -> Box<dyn Read + Send> {
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
