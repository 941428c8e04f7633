//! Writes the records of one output file in another order than that of the input.
//!
//! The bytes of the output are first written to a temporary file, in the order of the input. At the end the records are
//! read back in the new order, 8 MiB at a time. Only the start and the end of each record are in memory. Bytes between
//! two records, such as blank lines, stay after the record that precedes them, and bytes before the first record stay
//! at the beginning.
//!
//! The output is also compressed in memory with zstd, in both orders, to measure how much smaller the new order is.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::error::SinkError;
use super::streams::zstd;
use twinprint_index::PositionedFile;

/// The number of bytes of records that are read back at a time.
const BATCH_BYTES: u64 = 8 << 20;
/// The largest number of records that are read back at a time.
const BATCH_RECORDS: usize = 1 << 14;
/// The size of the write buffer of the temporary file, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// The order in which a copy writes the kept records.
#[derive(Clone, Copy)]
pub struct RecordOrder<'a> {
    /// Returns the rank of the record with a given ordinal. Records are written by ascending rank. Records of equal
    /// rank keep the order of the input.
    pub rank: &'a dyn Fn(u64) -> u32,
    /// The directory in which temporary files are created.
    pub work: &'a Path,
}

/// The sizes of the output when compressed with zstd, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ZstdSizes {
    /// The compressed size of the records in the order of the input.
    pub before: u64,
    /// The compressed size of the records in the order in which they were written.
    pub after: u64,
}

/// The position of a record in the temporary file, with the bytes up to the next record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RecordRange {
    rank: u32,
    start: u64,
    end: u64,
}

/// An output file whose records are reordered before they are written.
pub(super) struct OrderedOutput {
    work: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
    records: Vec<RecordRange>,
    before: PackedSize,
}

impl OrderedOutput {
    pub(super) fn new(work: &Path) -> Result<Self, SinkError> {
        let failed = failed(work);
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile_in(work).map_err(&failed)?),
            before: PackedSize::new().map_err(&failed)?,
            work: work.to_owned(),
            bytes: 0,
            records: Vec::new(),
        })
    }

    /// Begins a record of the given rank at the current position of the temporary file.
    pub(super) fn begin(&mut self, rank: u32) {
        self.end();
        self.records.push(RecordRange {
            rank,
            start: self.bytes,
            end: self.bytes,
        });
    }

    fn end(&mut self) {
        if let Some(last) = self.records.last_mut() {
            last.end = self.bytes;
        }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        self.bytes += bytes.len() as u64;
        let written = self.file.write_all(bytes);
        written
            .and_then(|()| self.before.0.write_all(bytes))
            .map_err(failed(&self.work))
    }

    /// Calls `take` with all bytes of the output in the new order, and returns the two compressed sizes. Takes linear
    /// time after sorting the records.
    pub(super) fn finish(
        mut self,
        mut take: impl FnMut(&[u8]) -> Result<(), SinkError>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<ZstdSizes, SinkError> {
        self.end();
        let failed = failed(&self.work);
        let first = self.records.first().map_or(self.bytes, |first| first.start);
        let mut records = self.records;
        records.par_sort_unstable();
        let file = self
            .file
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        let file = PositionedFile::new(file);
        let mut after = PackedSize::new().map_err(&failed)?;
        let before_first = RecordRange {
            rank: 0,
            start: 0,
            end: first,
        };
        let mut left = records.as_slice();
        let mut batch: &[RecordRange] = &[before_first];
        loop {
            if cancelled() {
                return Err(SinkError::Cancelled);
            }
            let read: Vec<Vec<u8>> = batch
                .par_iter()
                .map(|record| {
                    let mut bytes = vec![0; (record.end - record.start) as usize];
                    file.read_exact_at(&mut bytes, record.start).map(|()| bytes)
                })
                .collect::<Result<_, _>>()
                .map_err(&failed)?;
            for bytes in &read {
                after.0.write_all(bytes).map_err(&failed)?;
                take(bytes)?;
            }
            if left.is_empty() {
                break;
            }
            (batch, left) = left.split_at(next_batch(left));
        }
        Ok(ZstdSizes {
            before: self.before.finish().map_err(&failed)?,
            after: after.finish().map_err(&failed)?,
        })
    }
}

/// Returns the number of records to read in the next batch, at least 1.
fn next_batch(left: &[RecordRange]) -> usize {
    let mut bytes = 0;
    let fits = left.iter().take(BATCH_RECORDS).take_while(|record| {
        let fits = bytes < BATCH_BYTES;
        bytes += record.end - record.start;
        fits
    });
    fits.count()
}

/// Measures the size of bytes when compressed with zstd.
struct PackedSize(::zstd::Encoder<'static, ByteCount>);

struct ByteCount(u64);

impl PackedSize {
    fn new() -> io::Result<Self> {
        zstd(ByteCount(0)).map(Self)
    }

    fn finish(self) -> io::Result<u64> {
        self.0.finish().map(|count| count.0)
    }
}

impl Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(work: &Path) -> impl Fn(io::Error) -> SinkError + use<> {
    let path = work.to_owned();
    move |source| SinkError::Reorder {
        path: path.clone(),
        source,
    }
}
