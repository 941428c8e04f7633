//! The places in the file that a probe of packed rows reads.

use std::ops::Range;

use twinprint_fingerprint::Width;

use super::{Packed, PackedReader};
use crate::segment::SegmentError;
use crate::segment::codec::Buckets;
use crate::segment::codec::places::{Places, TableAreas};
use crate::segment::directory::Bounds;
use crate::segment::span::Span;

/// The largest number of bytes of the rows of a group within which the place of an address is guessed.
const MAX_GUESSED_BYTES: u64 = 1 << 16;

impl Packed {
    /// The areas of the table.
    pub(in crate::segment) fn areas(&self) -> TableAreas {
        TableAreas {
            coarse: self.coarse.clone(),
            fine: self.fine.clone(),
            rows: self.rows.clone(),
        }
    }
}

impl<W: Width, B: Bounds> PackedReader<'_, W, B> {
    /// The bytes of the file that rows take, and the few bytes more that their reader reads.
    fn bytes_of(&self, rows: Range<u64>) -> Range<usize> {
        let width = u64::from(self.width);
        let from = (rows.start * width / 8) as usize;
        let to = (rows.end.max(rows.start) * width).div_ceil(8) as usize;
        let (at, len) = (self.stored.rows.start, self.packed.len());
        at + from.min(len)..at + to.saturating_add(super::OVERREAD_BYTES).min(len)
    }
}

impl<W: Width, B: Bounds> Places<W> for PackedReader<'_, W, B> {
    fn coarse_place(&self, address: u32) -> Range<usize> {
        let (at, bytes) = (self.stored.coarse.start, self.bounds.group_bytes(address));
        at + bytes.start..at + bytes.end
    }

    fn fine_place(&self, address: u32) -> Result<Range<usize>, SegmentError> {
        self.segment.verify_bytes(self.coarse_place(address))?;
        let [_, fine] = self.bounds.bucket_bytes(address);
        let at = self.stored.fine.start;
        Ok(at + fine.start..at + fine.end)
    }

    fn guessed_rows(&self, address: u32) -> Result<Range<u64>, SegmentError> {
        self.segment.verify_bytes(self.coarse_place(address))?;
        let Span { start, end } = self.bounds.group_rows(address);
        let (start, end) = (u64::from(start.min(self.count)), u64::from(end.min(self.count)));
        let rows = end.saturating_sub(start);
        if rows * u64::from(self.width) / 8 > MAX_GUESSED_BYTES {
            return Ok(start..start);
        }
        let addresses = 1u64 << self.bounds.group_bits().min(self.order.address_bits());
        let before = u64::from(address) & (addresses - 1);
        let (first, last) = (rows * before / addresses, rows * (before + 1) / addresses);
        // The number of rows before an address of a group of m rows has a standard deviation of √m / 2 at most.
        let margin = rows.isqrt();
        Ok(start + first.saturating_sub(margin)..start + (last + 1 + margin).min(rows))
    }

    fn guessed_rows_place(&self, address: u32) -> Result<Range<usize>, SegmentError> {
        let rows = self.guessed_rows(address)?;
        let place = self.bytes_of(rows.clone());
        Ok(if rows.is_empty() {
            place.start..place.start
        } else {
            place
        })
    }

    fn rows_place(&self, address: u32) -> Result<Range<usize>, SegmentError> {
        self.verify_bounds(address)?;
        let Span { start, end } = self.bounds.bucket(address);
        Ok(self.bytes_of(start.into()..end.min(self.count).into()))
    }
}
