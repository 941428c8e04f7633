//! Finds the ids of matches: first the row of a fingerprint in the first table, then the ids of the row.
//!
//! Each step of a match waits for memory, so many matches take each step together.

use std::ops::Range;

use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::prefetch_read;

use crate::segment::codec::{Buckets, each_codec};
use crate::segment::span::Span;
use crate::segment::{Segment, SegmentError};

/// Stands for a row number that is not known yet. No row has this number.
pub(super) const NO_ROW: u32 = u32::MAX;

/// A fingerprint that was found for a query, with its distance and its row in the first table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowMatch<W> {
    pub(super) query: u32,
    pub(super) fingerprint: W,
    pub(super) distance: u32,
    pub(super) row: u32,
}

impl<W: Width> Segment<W> {
    /// Calls `each(query, id, fingerprint, distance)` for every id of the fingerprints in `found`.
    pub(super) fn ids_of(
        &self,
        found: &mut [RowMatch<W>],
        mut each: impl FnMut(u32, u64, W, u32),
    ) -> Result<(), SegmentError> {
        if self.data.is_mapped() && self.reads.is_cold() {
            self.read_id_places(found)?;
        }
        each_codec!(self.buckets(0), rows => self.rows_of(&rows, found))?;
        let id_bits = u64::from(self.footer.id_bits);
        if self.footer.postings == 0 {
            for f in &*found {
                prefetch_read(
                    &self.data,
                    self.ids.start + (u64::from(f.row) * id_bits / 8) as usize,
                );
            }
            for f in &*found {
                each(f.query, self.id(u64::from(f.row))?, f.fingerprint, f.distance);
            }
            return Ok(());
        }
        for f in &*found {
            for i in self.ids_of_row(f.row)? {
                each(f.query, self.id(i)?, f.fingerprint, f.distance);
            }
        }
        Ok(())
    }

    /// Calls `each` with the ids of a row, whose number is as in [`Segment::stretches`]. Does nothing if the row does
    /// not exist.
    ///
    /// # Errors
    /// `Damaged` if the ids are damaged.
    pub fn ids_at(&self, row: u32, mut each: impl FnMut(u64)) -> Result<(), SegmentError> {
        if u64::from(row) < self.footer.rows {
            for i in self.ids_of_row(row)? {
                each(self.id(i)?);
            }
        }
        Ok(())
    }

    /// Returns the number of ids of a row, whose number is as in [`Segment::stretches`].
    ///
    /// # Errors
    /// `Damaged` if the postings are damaged.
    pub fn ids_count(&self, row: u32) -> Result<u64, SegmentError> {
        if self.footer.postings == 0 || u64::from(row) >= self.footer.rows {
            return Ok((u64::from(row) < self.footer.rows).into());
        }
        let ids = self.ids_of_row(row)?;
        Ok(ids.end - ids.start)
    }

    /// For each match whose row is not known yet, finds the row of its fingerprint in the first table, which `rows`
    /// reads.
    fn rows_of(&self, rows: &impl Buckets<W>, found: &mut [RowMatch<W>]) -> Result<(), SegmentError> {
        let order = &self.tables[0].order;
        let unknown = |f: &RowMatch<W>| f.row == NO_ROW;
        if found.len() > 1 {
            for f in found.iter().filter(|f| unknown(f)) {
                rows.prefetch(order.address(order.permute(f.fingerprint)));
            }
        }
        let mut spans: Vec<Span> = Vec::new();
        for f in found.iter().filter(|f| unknown(f)) {
            let address = order.address(order.permute(f.fingerprint));
            if !self.sectors.all() {
                rows.verify_bounds(address)?;
            }
            spans.push(rows.locate(address));
        }
        for (f, span) in found.iter_mut().filter(|f| unknown(f)).zip(spans) {
            let Some(row) = rows.row_of(order.permute(f.fingerprint), span)? else {
                return Err(self.damaged(0, "a fingerprint is missing from the first table"));
            };
            f.row = row;
        }
        Ok(())
    }

    /// Returns the positions of the ids of a row in the section of ids.
    fn ids_of_row(&self, row: u32) -> Result<Range<u64>, SegmentError> {
        let row = u64::from(row);
        // A binary search for the first posting whose row is not below this row.
        let (mut low, mut high) = (0, self.footer.postings);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.posting(middle)?.0 < row {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let end = (u64::MAX, self.footer.ids.saturating_sub(self.footer.rows));
        let at = |i: u64| {
            if i < self.footer.postings {
                self.posting(i)
            } else {
                Ok(end)
            }
        };
        let (found, before) = at(low)?;
        let more = if found == row {
            at(low + 1)?.1.saturating_sub(before)
        } else {
            0
        };
        let first = row.saturating_add(before);
        Ok(first..first.saturating_add(more).saturating_add(1))
    }
}
