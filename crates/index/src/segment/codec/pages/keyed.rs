//! Searches for keys in pages: the last rows of pages are searched, and the pages that may contain the key are decoded.

use twinprint_fingerprint::Width;

use super::PagesReader;
use crate::segment::SegmentError;
use crate::segment::codec::{KeyReads, KeyedRows, LowerBound};
use crate::segment::span::Span;

impl<W: Width> KeyedRows<W> for PagesReader<'_, W> {
    fn bucket_of(&self, _: u32) -> Result<Span, SegmentError> {
        Ok(Span {
            start: 0,
            end: self.ends.pages(),
        })
    }

    fn rows_between(
        &self,
        pages: Span,
        low: W,
        high: W,
        method: LowerBound,
        reads: &mut KeyReads,
        mut each: impl FnMut(u32, W),
    ) -> Result<(), SegmentError> {
        let step = |page| {
            reads.steps += 1;
            reads.bits += u64::from(W::BITS);
            Ok::<W, SegmentError>(self.ends.last(page))
        };
        let first = method.find(pages.start, pages.end, low, W::BITS, step)?;
        for page in first..pages.end {
            self.verify(page)?;
            reads.bits += 8 * self.page_bytes(page);
            let before = page * self.stored.page_rows;
            let mut rows = self.page(page);
            for (i, row) in (0..).zip(&mut rows) {
                if row > high {
                    return Ok(());
                }
                if row >= low {
                    each(before + i, row);
                }
            }
            if rows.is_broken() {
                return Err(self.damaged(page));
            }
        }
        Ok(())
    }
}

impl<W: Width> PagesReader<'_, W> {
    /// Verifies the bytes of a page.
    fn verify(&self, page: u32) -> Result<(), SegmentError> {
        super::Buckets::verify_rows(
            self,
            Span {
                start: page,
                end: page + 1,
            },
        )
    }
}
