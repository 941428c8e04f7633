//! Consecutive rows of a table, read together: for lookups that compare blocks of rows with blocks of queries.

use twinprint_fingerprint::Width;

use super::Buckets;
use super::packed::PackedReader;
use crate::segment::SegmentError;
use crate::segment::directory::Bounds;
use crate::segment::span::Span;

/// Consecutive addresses, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::segment) struct AddressRange {
    pub(in crate::segment) first: u32,
    pub(in crate::segment) last: u32,
}

/// A reader of rows that are stored independently of one another.
pub(in crate::segment) trait RowBlocks<W: Width>: Buckets<W> {
    /// Returns the rows of consecutive addresses. Verifies the bytes of the directory that it reads.
    fn rows_between(&self, addresses: AddressRange) -> Result<Span, SegmentError>;

    /// Replaces the contents of `out` by the bits below the address of the rows of a span. Verifies the bytes that it
    /// reads. `words` is a buffer.
    fn read_rests(&self, span: Span, words: &mut Vec<u64>, out: &mut Vec<W>) -> Result<(), SegmentError>;

    /// Returns the address of a row, which must have one of these addresses. Takes O(log n) time for n addresses.
    fn address_of(&self, row: u32, among: AddressRange) -> Result<u32, SegmentError>;
}

impl<W: Width, B: Bounds> RowBlocks<W> for PackedReader<'_, W, B> {
    fn rows_between(&self, AddressRange { first, last }: AddressRange) -> Result<Span, SegmentError> {
        let (first, last) = (self.bucket(first)?, self.bucket(last)?);
        if first.start > last.end {
            return Err(self.not_ascending());
        }
        Ok(Span {
            start: first.start,
            end: last.end,
        })
    }

    fn read_rests(&self, span: Span, words: &mut Vec<u64>, out: &mut Vec<W>) -> Result<(), SegmentError> {
        self.verify_rows(span)?;
        out.clear();
        self.unpack_rests(span, words, out);
        Ok(())
    }

    fn address_of(&self, row: u32, among: AddressRange) -> Result<u32, SegmentError> {
        let AddressRange { mut first, mut last } = among;
        while first < last {
            let middle = first + (last - first) / 2;
            if self.bucket(middle)?.end > row {
                last = middle;
            } else {
                first = middle + 1;
            }
        }
        Ok(first)
    }
}
