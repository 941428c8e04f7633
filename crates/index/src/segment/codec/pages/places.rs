//! The places in the file that a probe of pages reads.

use std::ops::Range;

use twinprint_fingerprint::Width;

use super::{Pages, PagesReader};
use crate::segment::SegmentError;
use crate::segment::codec::Buckets;
use crate::segment::codec::places::{Places, TableAreas};
use crate::segment::span::Span;

impl Pages {
    /// The areas of the table.
    pub(in crate::segment) fn areas(&self) -> TableAreas {
        TableAreas {
            rows: self.rows.clone(),
            ..TableAreas::default()
        }
    }
}

impl<W: Width> Places<W> for PagesReader<'_, W> {
    fn coarse_place(&self, _: u32) -> Range<usize> {
        0..0
    }

    fn fine_place(&self, _: u32) -> Result<Range<usize>, SegmentError> {
        Ok(0..0)
    }

    fn guessed_rows(&self, address: u32) -> Result<Range<u64>, SegmentError> {
        let Span { start, end } = self.locate(address);
        let row = |page: u32| u64::from(page) * u64::from(self.stored.page_rows);
        Ok(row(start)..row(end.max(start)))
    }

    fn guessed_rows_place(&self, address: u32) -> Result<Range<usize>, SegmentError> {
        self.rows_place(address)
    }

    fn rows_place(&self, address: u32) -> Result<Range<usize>, SegmentError> {
        let Span { start, end } = self.locate(address);
        let at = self.stored.rows.start;
        if start >= end {
            return Ok(at..at);
        }
        let (from, to) = (self.ends.bytes_of(start).start, self.ends.bytes_of(end - 1).end);
        Ok(at + from as usize..at + to as usize)
    }
}
