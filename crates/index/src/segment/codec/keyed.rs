//! Rows found by a search for their key, instead of by the directory alone.

use twinprint_fingerprint::Width;

use super::PackedReader;
use super::lower_bound::LowerBound;
use crate::segment::SegmentError;
use crate::segment::directory::Bounds;
use crate::segment::span::Span;

/// The reads of searches for keys.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::segment) struct KeyReads {
    /// The number of rows that were read to find the first row of a key. In pages, it is that of last rows of pages.
    pub(in crate::segment) steps: u64,
    /// The number of bits of the rows, ends of pages and pages that were read.
    pub(in crate::segment) bits: u64,
}

/// A table whose rows can be found by their permuted form.
pub(in crate::segment) trait KeyedRows<W: Width> {
    /// Returns the rows of an address, or with pages all pages. Verifies all bytes that are read.
    fn bucket_of(&self, address: u32) -> Result<Span, SegmentError>;

    /// Calls `each(row, permuted)` with every row from `low` to `high`, which must have the same address. `bucket` must
    /// be that of the address. Verifies all bytes that are read.
    fn rows_between(
        &self,
        bucket: Span,
        low: W,
        high: W,
        method: LowerBound,
        reads: &mut KeyReads,
        each: impl FnMut(u32, W),
    ) -> Result<(), SegmentError>;
}

impl<W: Width, B: Bounds> KeyedRows<W> for PackedReader<'_, W, B> {
    fn bucket_of(&self, address: u32) -> Result<Span, SegmentError> {
        self.bucket(address)
    }

    fn rows_between(
        &self,
        bucket: Span,
        low: W,
        high: W,
        method: LowerBound,
        reads: &mut KeyReads,
        mut each: impl FnMut(u32, W),
    ) -> Result<(), SegmentError> {
        let order = self.order;
        let address = order.address(low);
        let width = order.rest_bits();
        let mut steps = 0;
        let step = |row| {
            steps += 1;
            self.rest(row)
        };
        let mut row = method.find(bucket.start, bucket.end, order.rest(low), width, step)?;
        let last = order.rest(high);
        let mut compared = 0;
        while row < bucket.end {
            let rest = self.rest(row)?;
            compared += 1;
            if rest > last {
                break;
            }
            each(row, order.join(address, rest));
            row += 1;
        }
        reads.steps += steps;
        reads.bits += (steps + compared) * u64::from(width);
        Ok(())
    }
}
