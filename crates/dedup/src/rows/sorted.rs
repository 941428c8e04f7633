//! Merges of sorted rows, and external sorts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::ops::Range;
use std::path::{Path, PathBuf};

use twinprint_index::segment::SegmentError;
use twinprint_index::sort::Sorter;
use twinprint_io::work::WorkError;

use super::{Row, RowFile, RowReader, RowWriter};
use crate::error::DedupError;

/// Merges sorted rows.
pub(crate) struct Merge<R, I> {
    sources: Vec<I>,
    heads: BinaryHeap<Reverse<(R, usize)>>,
    failure: Option<DedupError>,
}

impl<'f, R: Row> Merge<R, RowReader<'f, R>> {
    /// Merges ranges of sorted files, with buffers of about `memory` bytes together, but of a block for each file at least.
    pub(crate) fn of_ranges(ranges: &[(&'f RowFile<R>, Range<u64>)], memory: u64) -> Self {
        let each = memory / (ranges.len() as u64).max(1);
        let each = usize::try_from(each).unwrap_or(usize::MAX);
        let readers = ranges
            .iter()
            .map(|(file, range)| file.range_within(range.clone(), each));
        Self::new(readers.collect())
    }

    /// Merges sorted files, with the buffers of [`of_ranges`](Self::of_ranges).
    pub(crate) fn of_files(files: &'f [RowFile<R>], memory: u64) -> Self {
        let ranges: Vec<_> = files.iter().map(|file| (file, 0..file.len())).collect();
        Self::of_ranges(&ranges, memory)
    }
}

impl<R: Row, I: Iterator<Item = Result<R, DedupError>>> Merge<R, I> {
    pub(super) fn new(sources: Vec<I>) -> Self {
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

/// Takes the next row if `is_wanted` is true for it. A row that cannot be read is an error.
pub(crate) fn next_if<R, I>(
    rows: &mut Peekable<I>,
    is_wanted: impl Fn(&R) -> bool,
) -> Result<Option<R>, DedupError>
where
    I: Iterator<Item = Result<R, DedupError>>,
{
    rows.next_if(|row| row.as_ref().map_or(true, &is_wanted))
        .transpose()
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

    /// Writes the rows to a file in order, and returns its path.
    pub(crate) fn write(self, path: &Path) -> Result<PathBuf, DedupError> {
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
