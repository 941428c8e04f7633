//! Puts the records of one output in another order than that of the input.
//!
//! The output's bytes go to a temporary file first, in the order of the input. At the end the records are read back in theirs, some
//! MiB at a time: what is held is where each record of the file begins and ends. What stands between two records, such as blank lines, stays
//! with the one before; what stands before the first stays there.
//!
//! Both orders are packed by zstd on the way, only to count: the whole of the output, at its default level and window.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::encode::zstd;
use super::error::SinkError;
use twinprint_index::PositionedFile;

/// Bytes of records read back at a time.
const BATCH: u64 = 8 << 20;
/// Records read back at a time.
const RECORDS: usize = 1 << 14;
const BUFFER: usize = 1 << 20;

/// Another order for the records that are kept.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// The rank of a record by its ordinal; equal ranks stay in the order of input.
    pub rank: &'a dyn Fn(u64) -> u32,
    /// Where the temporary files go.
    pub work: &'a Path,
}

/// Bytes of outputs packed with zstd.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Zstd {
    /// In the order of the input.
    pub before: u64,
    /// In the order written.
    pub after: u64,
}

/// A record and what follows it, in the temporary file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stretch {
    rank: u32,
    start: u64,
    end: u64,
}

/// The records of one output, to be put in order.
pub(super) struct Arrange {
    work: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
    records: Vec<Stretch>,
    before: Counted,
}

impl Arrange {
    pub(super) fn new(work: &Path) -> Result<Self, SinkError> {
        let failed = failed(work);
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER, tempfile::tempfile_in(work).map_err(&failed)?),
            before: Counted::new().map_err(&failed)?,
            work: work.to_owned(),
            bytes: 0,
            records: Vec::new(),
        })
    }

    /// Says that a record begins here.
    pub(super) fn begin(&mut self, rank: u32) {
        self.end();
        self.records.push(Stretch {
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

    /// Gives everything to `take` in order. Sorting apart, linear.
    pub(super) fn finish(
        mut self,
        mut take: impl FnMut(&[u8]) -> Result<(), SinkError>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Zstd, SinkError> {
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
        let mut after = Counted::new().map_err(&failed)?;
        let before_first = Stretch {
            rank: 0,
            start: 0,
            end: first,
        };
        let mut left = records.as_slice();
        let mut batch: &[Stretch] = &[before_first];
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
        Ok(Zstd {
            before: self.before.finish().map_err(&failed)?,
            after: after.finish().map_err(&failed)?,
        })
    }
}

/// How many records are read next: one at least.
fn next_batch(left: &[Stretch]) -> usize {
    let mut bytes = 0;
    let fits = left.iter().take(RECORDS).take_while(|record| {
        let fits = bytes < BATCH;
        bytes += record.end - record.start;
        fits
    });
    fits.count()
}

/// Packs, and counts what comes out.
struct Counted(::zstd::Encoder<'static, Count>);

struct Count(u64);

impl Counted {
    fn new() -> io::Result<Self> {
        zstd(Count(0)).map(Self)
    }

    fn finish(self) -> io::Result<u64> {
        self.0.finish().map(|count| count.0)
    }
}

impl Write for Count {
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
    move |source| SinkError::Io {
        path: path.clone(),
        action: "put records in order in this directory; free space there or choose another with --work-dir",
        source,
    }
}
