//! Files of rows.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twinprint_index::OpenFiles;

use super::Row;
use super::blocks::{BLOCK_BYTES, BlockFile, BlockWriter};
use crate::error::DedupError;

/// The number of bytes of a file that are read at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes rows to a new file.
pub(crate) struct RowWriter<R> {
    file: BlockWriter,
    rows: u64,
    bytes: Vec<u8>,
    row: PhantomData<R>,
}

impl<R: Row> RowWriter<R> {
    pub(crate) fn create(path: &Path) -> Result<Self, DedupError> {
        Ok(Self {
            file: BlockWriter::create(path)?,
            rows: 0,
            bytes: vec![0; R::BYTES],
            row: PhantomData,
        })
    }

    /// The number of rows written.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn push(&mut self, row: R) -> Result<(), DedupError> {
        row.write_to(&mut self.bytes);
        self.file.write(&self.bytes)?;
        self.rows += 1;
        Ok(())
    }

    /// Ends the file, and returns its path.
    pub(crate) fn finish(self) -> Result<PathBuf, DedupError> {
        self.file.finish()
    }

    /// Ends the file and deletes its name, so that it exists as long as the returned value.
    pub(crate) fn finish_without_name(self) -> Result<RowFile<R>, DedupError> {
        RowFile::of(self.file.finish_without_name()?)
    }
}

/// A file of rows.
#[derive(Debug)]
pub(crate) struct RowFile<R> {
    file: BlockFile,
    rows: u64,
    row: PhantomData<R>,
}

impl<R: Row> RowFile<R> {
    /// Finds a file, which is one of `open` while it is open.
    ///
    /// # Errors
    /// The file is missing, or its size is not that of a file of such rows.
    pub(crate) fn open(path: &Path, open: &Arc<OpenFiles>) -> Result<Self, DedupError> {
        Self::of(BlockFile::open(path, open)?)
    }

    /// The rows of a file.
    ///
    /// # Errors
    /// Its size is not that of a file of such rows.
    pub(crate) fn of(file: BlockFile) -> Result<Self, DedupError> {
        if !file.len().is_multiple_of(R::BYTES as u64) {
            return Err(file.damaged());
        }
        Ok(Self {
            rows: file.len() / R::BYTES as u64,
            file,
            row: PhantomData,
        })
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.rows
    }

    /// The error that a row refers to something that does not exist.
    pub(crate) fn damaged(&self) -> DedupError {
        self.file.damaged()
    }

    /// The row at a position.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or has no such row.
    pub(crate) fn get(&self, position: u64) -> Result<R, DedupError> {
        let end = position.saturating_add(1);
        Ok(R::read_from(&self.file.read(Self::place(position..end))?))
    }

    /// Reads rows at ascending positions.
    pub(crate) fn cursor(&self) -> RowCursor<'_, R> {
        RowCursor {
            reader: self.range(0..0),
            first: 0,
        }
    }

    /// Reads all rows.
    pub(crate) fn all(&self) -> RowReader<'_, R> {
        self.range(0..self.rows)
    }

    /// Reads the rows at a range of positions. The iterator fails if the file has no such range.
    pub(crate) fn range(&self, range: Range<u64>) -> RowReader<'_, R> {
        self.range_within(range, BUFFER_BYTES)
    }

    /// Reads the rows at a range of positions with a buffer of about `buffer` bytes.
    pub(super) fn range_within(&self, range: Range<u64>, buffer: usize) -> RowReader<'_, R> {
        let buffer = buffer.clamp(BLOCK_BYTES, BUFFER_BYTES);
        RowReader {
            file: self,
            left: range,
            rows_at_once: (buffer / R::BYTES).max(1) as u64,
            bytes: Vec::new(),
            read: 0..0,
        }
    }

    /// The first position whose row does not satisfy `is_before`. Rows that satisfy it come before the others.
    pub(crate) fn partition_point(&self, is_before: impl Fn(&R) -> bool) -> Result<u64, DedupError> {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low.midpoint(high);
            if is_before(&self.get(middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The bytes of a range of rows.
    fn place(rows: Range<u64>) -> Range<u64> {
        let bytes = |row: u64| row.saturating_mul(R::BYTES as u64);
        bytes(rows.start)..bytes(rows.end)
    }
}

/// Reads consecutive rows of a file.
pub(crate) struct RowReader<'f, R> {
    file: &'f RowFile<R>,
    /// The positions of the rows that were not read yet.
    left: Range<u64>,
    rows_at_once: u64,
    bytes: Vec<u8>,
    /// The place in `bytes` of the rows that were read and not returned.
    read: Range<usize>,
}

impl<R: Row> RowReader<'_, R> {
    fn fill(&mut self) -> Result<(), DedupError> {
        let file = self.file;
        // A range that the file does not have is an error at once, so no memory is taken for it.
        if self.left.start > self.left.end || self.left.end > file.rows {
            return Err(file.damaged());
        }
        let end = self.left.end.min(self.left.start + self.rows_at_once);
        self.read = file
            .file
            .read_to(RowFile::<R>::place(self.left.start..end), &mut self.bytes)?;
        self.left.start = end;
        Ok(())
    }

    fn take(&mut self) -> Option<R> {
        let row = self.bytes.get(self.read.start..self.read.end)?.get(..R::BYTES)?;
        self.read.start += R::BYTES;
        Some(R::read_from(row))
    }
}

impl<R: Row> Iterator for RowReader<'_, R> {
    type Item = Result<R, DedupError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(row) = self.take() {
            return Some(Ok(row));
        }
        if self.left.start == self.left.end {
            return None;
        }
        if let Err(error) = self.fill() {
            self.left = 0..0;
            return Some(Err(error));
        }
        self.take().map(Ok)
    }
}

/// Reads rows at ascending positions, many at a time.
pub(crate) struct RowCursor<'f, R> {
    reader: RowReader<'f, R>,
    /// The position of the next row of the reader.
    first: u64,
}

impl<R: Row> RowCursor<'_, R> {
    /// The row at a position.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or has no such row.
    pub(crate) fn get(&mut self, position: u64) -> Result<R, DedupError> {
        let file = self.reader.file;
        if position >= file.rows {
            return Err(file.damaged());
        }
        let buffered = (self.reader.read.len() / R::BYTES) as u64;
        match position.checked_sub(self.first) {
            Some(skipped) if skipped < buffered => self.reader.read.start += skipped as usize * R::BYTES,
            _ => self.reader = file.range(position..file.rows),
        }
        self.first = position + 1;
        self.reader.next().unwrap_or_else(|| Err(file.damaged()))
    }
}
