//! Files of rows.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use twinprint_index::PositionedFile;
use twinprint_io::work::WorkError;

use super::Row;
use crate::error::DedupError;

/// The number of bytes of a file that are read or written at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes rows to a new file.
pub(crate) struct RowWriter<R> {
    file: BufWriter<File>,
    path: PathBuf,
    rows: u64,
    bytes: Vec<u8>,
    row: PhantomData<R>,
}

impl<R: Row> RowWriter<R> {
    pub(crate) fn create(path: &Path) -> Result<Self, DedupError> {
        let file = File::create_new(path).map_err(|error| WorkError::file(path, error))?;
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            path: path.to_owned(),
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
        let written = self.file.write_all(&self.bytes);
        written.map_err(|error| WorkError::file(&self.path, error))?;
        self.rows += 1;
        Ok(())
    }

    /// Ends the file and opens it.
    pub(crate) fn finish(self) -> Result<RowFile<R>, DedupError> {
        let path = self.path;
        let file = self.file.into_inner();
        file.map_err(|error| WorkError::file(&path, error.into_error()))?;
        RowFile::open(&path)
    }
}

/// A file of rows.
#[derive(Debug)]
pub(crate) struct RowFile<R> {
    file: PositionedFile,
    path: PathBuf,
    rows: u64,
    row: PhantomData<R>,
}

impl<R: Row> RowFile<R> {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read, or its size is not a multiple of the size of a row.
    pub(crate) fn open(path: &Path) -> Result<Self, DedupError> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = opened.map_err(|error| WorkError::file(path, error))?;
        if bytes % R::BYTES as u64 != 0 {
            return Err(WorkError::file(path, std::io::ErrorKind::InvalidData.into()).into());
        }
        Ok(Self {
            file: PositionedFile::new(file),
            path: path.to_owned(),
            rows: bytes / R::BYTES as u64,
            row: PhantomData,
        })
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.rows
    }

    /// The error of a file whose rows do not fit those of other files.
    pub(crate) fn damaged(&self) -> DedupError {
        WorkError::file(&self.path, std::io::ErrorKind::InvalidData.into()).into()
    }

    /// The row at a position.
    ///
    /// # Errors
    /// The file cannot be read, or has no such row.
    pub(crate) fn get(&self, position: u64) -> Result<R, DedupError> {
        let mut bytes = vec![0; R::BYTES];
        self.read(position, &mut bytes)?;
        Ok(R::read_from(&bytes))
    }

    /// Reads rows at ascending positions.
    pub(crate) fn cursor(&self) -> RowCursor<'_, R> {
        RowCursor {
            file: self,
            first: 0,
            bytes: Vec::new(),
        }
    }

    /// Reads all rows.
    pub(crate) fn all(&self) -> RowReader<'_, R> {
        self.range(0..self.rows)
    }

    /// Reads the rows at a range of positions.
    pub(crate) fn range(&self, range: Range<u64>) -> RowReader<'_, R> {
        RowReader {
            file: self,
            left: range,
            bytes: Vec::new(),
            next: 0,
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

    fn read(&self, position: u64, bytes: &mut [u8]) -> Result<(), DedupError> {
        let read = self.file.read_exact_at(bytes, position * R::BYTES as u64);
        Ok(read.map_err(|error| WorkError::file(&self.path, error))?)
    }
}

/// Reads consecutive rows of a file.
pub(crate) struct RowReader<'f, R> {
    file: &'f RowFile<R>,
    /// The positions of the rows that are not in `bytes` yet.
    left: Range<u64>,
    bytes: Vec<u8>,
    next: usize,
}

impl<R: Row> RowReader<'_, R> {
    fn fill(&mut self) -> Result<(), DedupError> {
        let rows = (BUFFER_BYTES / R::BYTES).max(1) as u64;
        let rows = rows.min(self.left.end - self.left.start);
        self.bytes.resize(rows as usize * R::BYTES, 0);
        self.file.read(self.left.start, &mut self.bytes)?;
        self.left.start += rows;
        self.next = 0;
        Ok(())
    }
}

impl<R: Row> Iterator for RowReader<'_, R> {
    type Item = Result<R, DedupError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.bytes.len() {
            if self.left.is_empty() {
                return None;
            }
            if let Err(error) = self.fill() {
                self.left = 0..0;
                return Some(Err(error));
            }
        }
        let row = R::read_from(&self.bytes[self.next..self.next + R::BYTES]);
        self.next += R::BYTES;
        Some(Ok(row))
    }
}

/// Reads rows at ascending positions, many at a time.
pub(crate) struct RowCursor<'f, R> {
    file: &'f RowFile<R>,
    /// The position of the first row in `bytes`.
    first: u64,
    bytes: Vec<u8>,
}

impl<R: Row> RowCursor<'_, R> {
    /// The row at a position.
    ///
    /// # Errors
    /// The file cannot be read, or has no such row.
    pub(crate) fn get(&mut self, position: u64) -> Result<R, DedupError> {
        let rows = (self.bytes.len() / R::BYTES) as u64;
        if !(self.first..self.first + rows).contains(&position) {
            let wanted = ((BUFFER_BYTES / R::BYTES) as u64)
                .min(self.file.rows.saturating_sub(position))
                .max(1);
            self.bytes.resize(wanted as usize * R::BYTES, 0);
            self.first = position;
            self.file.read(position, &mut self.bytes)?;
        }
        let at = (position - self.first) as usize * R::BYTES;
        Ok(R::read_from(&self.bytes[at..at + R::BYTES]))
    }
}
