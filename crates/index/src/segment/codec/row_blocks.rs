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
    /// The number of rows of the table.
    fn count(&self) -> u32;

    /// Returns the rows of consecutive addresses. Verifies the bytes of the directory that it reads.
    fn rows_between(&self, addresses: AddressRange) -> Result<Span, SegmentError>;

    /// Returns the end of the rows of an address. Verifies the bytes of the directory that it reads.
    fn end_of(&self, address: u32) -> Result<u32, SegmentError>;

    /// Replaces the contents of `out` by the bits below the address of the rows of a span. Verifies the bytes that it
    /// reads. `words` is a buffer.
    fn read_rests(&self, span: Span, words: &mut Vec<u64>, out: &mut Vec<W>) -> Result<(), SegmentError>;

    /// Prefetches what [`read_rests`](Self::read_rests) reads of `count` rows from `row` on.
    fn prefetch_rests(&self, row: u32, count: u32);

    /// Returns the address of a row, which must have one of these addresses. `guess` is one of them, and is tried first.
    /// Takes O(log n) time for n addresses.
    fn address_of(&self, row: u32, among: AddressRange, guess: u32) -> Result<u32, SegmentError>;
}

impl<W: Width, B: Bounds> RowBlocks<W> for PackedReader<'_, W, B> {
    fn count(&self) -> u32 {
        self.count
    }

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

    fn end_of(&self, address: u32) -> Result<u32, SegmentError> {
        Ok(self.bucket(address)?.end)
    }

    fn read_rests(&self, span: Span, words: &mut Vec<u64>, out: &mut Vec<W>) -> Result<(), SegmentError> {
        self.verify_rows(span)?;
        out.clear();
        self.unpack_rests(span, words, out);
        Ok(())
    }

    fn prefetch_rests(&self, row: u32, count: u32) {
        self.prefetch_packed(row, count);
    }

    fn address_of(&self, row: u32, among: AddressRange, guess: u32) -> Result<u32, SegmentError> {
        let AddressRange { mut first, mut last } = among;
        let mut middle = guess;
        while first < last {
            let rows = self.bucket(middle)?;
            if rows.end <= row {
                first = middle + 1;
            } else if rows.start > row {
                last = middle.saturating_sub(1);
            } else {
                return Ok(middle);
            }
            middle = first + (last - first) / 2;
        }
        Ok(first)
    }
}
