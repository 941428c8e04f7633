//! The places in the file that a probe reads: for lookups in a file that is not in memory, which let the system read all
//! places of many probes at once.
//!
//! A place is a range of bytes of the file. The places of a probe are in up to three areas of a table: the coarse part
//! of a directory, its fine part, and the rows. The coarse part is small. It tells the place of the rows nearly, so that
//! the system can read the fine part and the rows at the same time.

use std::ops::Range;

use twinprint_fingerprint::Width;

use super::Buckets;
use crate::segment::SegmentError;

/// The areas of a table, as ranges of bytes of the file. In pages, only the rows are not empty: the ends of pages were
/// read when the file was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::segment) struct TableAreas {
    pub(in crate::segment) coarse: Range<usize>,
    pub(in crate::segment) fine: Range<usize>,
    pub(in crate::segment) rows: Range<usize>,
}

/// A reader of rows that knows the places that a probe reads.
pub(in crate::segment) trait Places<W: Width>: Buckets<W> {
    /// The place of an address in the coarse part.
    fn coarse_place(&self, address: u32) -> Range<usize>;

    /// The place of an address in the fine part. Reads and verifies the coarse part.
    fn fine_place(&self, address: u32) -> Result<Range<usize>, SegmentError>;

    /// The place at which the rows of an address are, if the rows of its group are spread evenly. Reads and verifies the
    /// coarse part. Empty if the group has too many rows for a guess.
    fn guessed_rows_place(&self, address: u32) -> Result<Range<usize>, SegmentError>;

    /// The numbers of the rows that are guessed for an address.
    fn guessed_rows(&self, address: u32) -> Result<Range<u64>, SegmentError>;

    /// The place of the rows of an address. Reads and verifies the directory.
    fn rows_place(&self, address: u32) -> Result<Range<usize>, SegmentError>;
}
