//! Reads values of any length from a file of bytes, one after another.

use super::blocks::BlockFile;
use crate::error::DedupError;

/// The number of bytes that are read at a time.
const READ_BYTES: u64 = 256 << 10;

/// Reads consecutive values of a file.
pub(crate) struct BlockReader<'f> {
    file: &'f BlockFile,
    /// The position of the next value.
    next: u64,
    /// The position of `bytes`.
    start: u64,
    bytes: Vec<u8>,
}

impl<'f> BlockReader<'f> {
    /// Begins at a position.
    pub(crate) fn at(file: &'f BlockFile, next: u64) -> Self {
        Self {
            file,
            next,
            start: next,
            bytes: Vec::new(),
        }
    }

    /// The position of the next value.
    pub(crate) fn position(&self) -> u64 {
        self.next
    }

    /// The next value, which ends at a position.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or ends before.
    pub(crate) fn next(&mut self, end: u64) -> Result<&[u8], DedupError> {
        if end > self.start + self.bytes.len() as u64 {
            let read_to = self.file.len().min(self.next.saturating_add(READ_BYTES)).max(end);
            self.bytes = self.file.read(self.next..read_to)?;
            self.start = self.next;
        }
        let place = (self.next - self.start) as usize..end.saturating_sub(self.start) as usize;
        let value = self.bytes.get(place).ok_or_else(|| self.file.damaged())?;
        self.next = end;
        Ok(value)
    }
}
