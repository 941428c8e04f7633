//! Rows: records of a fixed size, in files and in external sorts.
//!
//! A row is its fields one after another, numbers little-endian. Rows are ordered by their fields in turn, so the first
//! fields of a row are those that it is sorted by.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Debug;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use twinprint_index::PositionedFile;
use twinprint_index::segment::SegmentError;
use twinprint_index::sort::{SortItem, Sorter};
use twinprint_io::work::WorkError;

use crate::error::DedupError;

/// The number of bytes of a file that are read or written at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// The value of a field, with a fixed number of bytes.
pub(crate) trait Field: Copy + Ord + Debug + Send + Sync + 'static {
    const BYTES: usize;

    /// Writes the value to `out`, which has [`BYTES`](Self::BYTES) bytes.
    fn write_to(self, out: &mut [u8]);

    /// Returns the value of [`BYTES`](Self::BYTES) bytes.
    fn read_from(bytes: &[u8]) -> Self;
}

macro_rules! number_fields {
    ($($number:ty),*) => {
        $(impl Field for $number {
            const BYTES: usize = size_of::<Self>();

            #[inline]
            fn write_to(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn read_from(bytes: &[u8]) -> Self {
                let mut number = [0; size_of::<Self>()];
                number.copy_from_slice(bytes);
                Self::from_le_bytes(number)
            }
        })*
    };
}

number_fields!(u8, u32, u64, u128);

impl Field for () {
    const BYTES: usize = 0;

    fn write_to(self, _: &mut [u8]) {}

    fn read_from(_: &[u8]) {}
}

impl<const N: usize> Field for [u8; N] {
    const BYTES: usize = N;

    fn write_to(self, out: &mut [u8]) {
        out.copy_from_slice(&self);
    }

    fn read_from(bytes: &[u8]) -> Self {
        let mut value = [0; N];
        value.copy_from_slice(bytes);
        value
    }
}

/// A row of fields.
pub(crate) trait Row: SortItem + Debug + Sync + 'static {
    const BYTES: usize;

    /// The row that is not below any other.
    fn largest() -> Self;
}

/// Defines a row: a struct whose fields are [`Field`]s.
macro_rules! row {
    (
        $(#[$doc:meta])*
        struct $name:ident $(<$key:ident>)? {
            $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name $(<$key>)? {
            $($(#[$field_doc])* pub(crate) $field: $type,)*
        }

        impl $(<$key: $crate::rows::Field>)? $crate::rows::Row for $name $(<$key>)? {
            const BYTES: usize = 0 $(+ <$type as $crate::rows::Field>::BYTES)*;

            fn largest() -> Self {
                let bytes = vec![u8::MAX; Self::BYTES];
                <Self as twinprint_index::sort::SortItem>::read_from(&bytes)
            }
        }

        impl $(<$key: $crate::rows::Field>)? twinprint_index::sort::SortItem for $name $(<$key>)? {
            fn stored_bytes(_top: Self) -> usize {
                <Self as $crate::rows::Row>::BYTES
            }

            #[inline]
            fn write_to(self, out: &mut [u8]) {
                let _rest = out;
                $(
                    let (field, _rest) = _rest.split_at_mut(<$type as $crate::rows::Field>::BYTES);
                    $crate::rows::Field::write_to(self.$field, field);
                )*
            }

            #[inline]
            fn read_from(bytes: &[u8]) -> Self {
                let _rest = bytes;
                $(
                    let (field, _rest) = _rest.split_at(<$type as $crate::rows::Field>::BYTES);
                    let $field = <$type as $crate::rows::Field>::read_from(field);
                )*
                Self { $($field),* }
            }
        }
    };
}
pub(crate) use row;

row! {
    /// A number alone.
    struct Number {
        value: u64,
    }
}

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

/// Merges sorted rows.
pub(crate) struct Merge<R, I> {
    sources: Vec<I>,
    heads: BinaryHeap<Reverse<(R, usize)>>,
    failure: Option<DedupError>,
}

impl<R: Row, I: Iterator<Item = Result<R, DedupError>>> Merge<R, I> {
    pub(crate) fn new(sources: Vec<I>) -> Self {
        let mut merge = Self {
            heads: BinaryHeap::with_capacity(sources.len()),
            sources,
            failure: None,
        };
        for source in 0..merge.sources.len() {
            merge.advance(source);
        }
        merge
    }

    fn advance(&mut self, source: usize) {
        match self.sources[source].next() {
            Some(Ok(row)) => self.heads.push(Reverse((row, source))),
            Some(Err(error)) => self.failure = Some(error),
            None => {}
        }
    }
}

impl<R: Row, I: Iterator<Item = Result<R, DedupError>>> Iterator for Merge<R, I> {
    type Item = Result<R, DedupError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failure.take() {
            self.heads.clear();
            return Some(Err(error));
        }
        let Reverse((row, source)) = self.heads.pop()?;
        self.advance(source);
        Some(Ok(row))
    }
}

/// An external sort of rows.
pub(crate) struct RowSorter<R: Row>(Sorter<R>);

impl<R: Row> RowSorter<R> {
    /// A sorter that takes about `memory` bytes, with temporary files in `dir`.
    pub(crate) fn new(dir: &Path, memory: u64) -> Self {
        Self(Sorter::new(dir, R::largest(), memory))
    }

    pub(crate) fn push(&mut self, row: R) -> Result<(), DedupError> {
        Ok(self.0.push(row).map_err(sort_failed)?)
    }

    /// Calls `each` with the rows in order.
    pub(crate) fn finish(self, mut each: impl FnMut(R) -> Result<(), DedupError>) -> Result<(), DedupError> {
        let ended = self.0.finish(|rows: &[R]| {
            rows.iter()
                .try_for_each(|&row| each(row).map_err(SortEnd::Caller))
        });
        match ended {
            Ok(()) => Ok(()),
            Err(SortEnd::Caller(error)) => Err(error),
            Err(SortEnd::Sort(error)) => Err(sort_failed(error).into()),
        }
    }

    /// Writes the rows to a file in order.
    pub(crate) fn write(self, path: &Path) -> Result<RowFile<R>, DedupError> {
        let mut writer = RowWriter::create(path)?;
        self.finish(|row| writer.push(row))?;
        writer.finish()
    }
}

/// The reason for which a sort ended early.
enum SortEnd {
    Sort(SegmentError),
    Caller(DedupError),
}

impl From<SegmentError> for SortEnd {
    fn from(error: SegmentError) -> Self {
        Self::Sort(error)
    }
}

fn sort_failed(error: SegmentError) -> WorkError {
    match error {
        SegmentError::Io { path, source } => WorkError::file(&path, source),
        other => WorkError::file(Path::new(""), std::io::Error::other(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    row! {
        struct Sample<K> {
            key: K,
            small: u8,
            wide: u128,
        }
    }

    fn rows(count: u64) -> Vec<Sample<u32>> {
        let row = |i: u64| Sample {
            key: (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u32,
            small: i as u8,
            wide: u128::from(i) << 70,
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn rows_are_read_back_sorted_and_merged() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Sample::<u32>::BYTES, 21);
        let mut expected = rows(50_000);
        for memory in [0, 1 << 30] {
            let mut sorter = RowSorter::new(dir.path(), memory);
            for &row in &expected {
                sorter.push(row).unwrap();
            }
            let file = sorter.write(&dir.path().join(memory.to_string())).unwrap();
            let mut sorted = expected.clone();
            sorted.sort_unstable();
            assert!(file.all().map(Result::unwrap).eq(sorted.iter().copied()));
            assert_eq!(file.get(77).unwrap(), sorted[77]);
            let mut cursor = file.cursor();
            for at in [0, 1, 77, 49_000, 49_999, 3] {
                assert_eq!(cursor.get(at).unwrap(), sorted[at as usize]);
            }
            assert!(cursor.get(50_000).is_err());
            let middle = sorted[20_000];
            assert_eq!(file.partition_point(|row| *row < middle).unwrap(), 20_000);
            let halves = vec![file.range(0..30_000), file.range(10_000..50_000)];
            let merged: Vec<_> = Merge::new(halves).map(Result::unwrap).collect();
            let mut both = sorted[..30_000].to_vec();
            both.extend(&sorted[10_000..]);
            both.sort_unstable();
            assert!(merged == both);
        }
        expected.clear();
    }

    #[test]
    fn a_file_that_was_cut_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        let mut writer = RowWriter::create(&path).unwrap();
        for row in rows(10) {
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(50).unwrap();
        assert!(RowFile::<Sample<u32>>::open(&path).is_err());
        let missing = RowFile::<Number>::open(&dir.path().join("missing")).unwrap_err();
        assert!(missing.to_string().contains("missing"));
    }
}
