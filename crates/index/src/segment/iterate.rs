//! Iterators over all rows of a segment, in the order of its first table.

use twinprint_fingerprint::Width;

use super::bits::unpack;
use super::codec::{Buckets, RowCursor, TableAreas, each_codec};
use super::read_ahead::InOrder;
use super::{Segment, SegmentError};

/// The number of ids after which a pass over all ids reads ahead.
const STRETCH_IDS: u64 = 4096;

/// An iterator over every id of a segment with its fingerprint; see [`Segment::iter`].
#[derive(Debug)]
pub struct SegmentRows<'s, W> {
    walk: RowWalk<'s, W>,
    /// Buffered permuted rows; `first` is the row number of the first one, `next` the position of the next one to
    /// return.
    stretch: Vec<W>,
    first: u32,
    next: usize,
    /// The number of ids left of the current row; `id` is the position of the next id in the section of ids.
    left: u64,
    id: u64,
    /// The number of the next posting.
    posting: u64,
    ids_ahead: InOrder,
    fingerprint: W,
    failed: bool,
}

impl<W: Width> Segment<W> {
    /// Returns every (fingerprint, id), ordered by the first table's permuted form, then by id. For plans of disjoint
    /// parts, which are the only ones that the planner chooses for segments in memory, this is the ascending order of
    /// fingerprints.
    pub fn iter(&self) -> SegmentRows<'_, W> {
        SegmentRows {
            walk: self.walk(0),
            stretch: Vec::new(),
            first: 0,
            next: 0,
            left: 0,
            id: 0,
            posting: 0,
            ids_ahead: InOrder::new(self.ids.clone()),
            fingerprint: W::default(),
            failed: false,
        }
    }

    /// Reads packed number `i`, of `width` bits, from a section, after verifying its bytes.
    pub(super) fn number(
        &self,
        section: &std::ops::Range<usize>,
        width: u32,
        i: u64,
    ) -> Result<u64, SegmentError> {
        let from = (i * u64::from(width) / 8) as usize;
        let to = (from + 9).min(section.len());
        self.verify_bytes(section.start + from..section.start + to)?;
        Ok(unpack(&self.data[section.clone()], width, i))
    }

    /// Reads posting `i`: the number of its row, and the number of ids beyond one per row in all rows before it.
    pub(super) fn posting(&self, i: u64) -> Result<(u64, u64), SegmentError> {
        Ok((
            self.number(&self.posting_rows, super::build::ROW_BITS, i)?,
            self.number(&self.posting_sums, super::build::SUM_BITS, i)?,
        ))
    }

    /// Returns every id, in the order of [`Segment::iter`].
    pub fn ids(&self) -> impl Iterator<Item = Result<u64, SegmentError>> {
        let mut ahead = InOrder::new(self.ids.clone());
        (0..self.footer.ids).map(move |i| {
            if i % STRETCH_IDS == 0 {
                ahead.advance(self, self.id_place(i));
            }
            self.id(i)
        })
    }

    /// The offset in the file at which the id at position `i` of the section of ids begins.
    pub(super) fn id_place(&self, i: u64) -> usize {
        self.ids.start + (i * u64::from(self.footer.id_bits) / 8) as usize
    }

    /// Reads the id at position `i` of the section of ids.
    pub(super) fn id(&self, i: u64) -> Result<u64, SegmentError> {
        if i >= self.footer.ids {
            return Err(self.damaged(self.ids.start as u64, "a posting reaches beyond the ids"));
        }
        self.number(&self.ids, self.footer.id_bits, i)
    }
}

impl<W: Width> SegmentRows<'_, W> {
    fn advance(&mut self) -> Result<Option<(W, u64)>, SegmentError> {
        let segment = self.walk.segment;
        if self.left == 0 {
            if self.next == self.stretch.len() {
                (self.first, self.next) = (self.walk.row(), 0);
                if !self.walk.fill(&mut self.stretch)? {
                    return Ok(None);
                }
                self.ids_ahead.advance(segment, segment.id_place(self.id));
            }
            let row_at_hand = u64::from(self.first) + self.next as u64;
            self.fingerprint = segment.tables[0].order.restore(self.stretch[self.next]);
            self.next += 1;
            self.left = 1;
            if self.posting < segment.footer.postings {
                let (row, before) = segment.posting(self.posting)?;
                if row == row_at_hand {
                    self.posting += 1;
                    let after = if self.posting < segment.footer.postings {
                        segment.posting(self.posting)?.1
                    } else {
                        segment.footer.ids.saturating_sub(segment.footer.rows)
                    };
                    self.left += after.saturating_sub(before);
                }
            }
        }
        let id = segment.id(self.id)?;
        self.id += 1;
        self.left -= 1;
        Ok(Some((self.fingerprint, id)))
    }
}

impl<W: Width> Iterator for SegmentRows<'_, W> {
    type Item = Result<(W, u64), SegmentError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = self.advance();
        self.failed = row.is_err();
        row.transpose()
    }
}

impl<'s, W: Width> IntoIterator for &'s Segment<W> {
    type Item = Result<(W, u64), SegmentError>;
    type IntoIter = SegmentRows<'s, W>;

    fn into_iter(self) -> SegmentRows<'s, W> {
        self.iter()
    }
}

/// A pass over the permuted rows of one table, some thousand at a time; see [`Segment::walk`].
#[derive(Debug)]
pub(super) struct RowWalk<'s, W> {
    segment: &'s Segment<W>,
    table: usize,
    place: RowCursor,
    /// The parts of the directory and the rows, which are read in order.
    ahead: [InOrder; 3],
}

impl<W: Width> Segment<W> {
    /// Starts a pass over the permuted rows of table `t`, from the first row on.
    pub(super) fn walk(&self, t: usize) -> RowWalk<'_, W> {
        let TableAreas { coarse, fine, rows } = self.tables[t].rows.areas();
        RowWalk {
            segment: self,
            table: t,
            place: RowCursor::default(),
            ahead: [coarse, fine, rows].map(InOrder::new),
        }
    }

    /// Calls `each(first, rows)` with the distinct fingerprints in the order of [`Segment::iter`], in stretches of some
    /// thousand rows. `first` is the number of the first row of a stretch. This is the fast way to read a complete
    /// segment; [`Segment::ids_at`] returns the ids of a row.
    ///
    /// # Errors
    /// `Damaged` if a row cannot be read; any error of `each`.
    pub fn stretches<E: From<SegmentError>>(
        &self,
        mut each: impl FnMut(u32, &[W]) -> Result<(), E>,
    ) -> Result<(), E> {
        let order = &self.tables[0].order;
        let mut walk = self.walk(0);
        let mut rows = Vec::new();
        loop {
            let first = walk.row();
            if !walk.fill(&mut rows)? {
                return Ok(());
            }
            for row in &mut rows {
                *row = order.restore(*row);
            }
            each(first, &rows)?;
        }
    }
}

impl<W: Width> RowWalk<'_, W> {
    /// The number of the next row.
    pub(super) fn row(&self) -> u32 {
        self.place.row
    }

    /// Replaces `out` by the next rows. Returns `false` if there are none left.
    pub(super) fn fill(&mut self, out: &mut Vec<W>) -> Result<bool, SegmentError> {
        out.clear();
        if u64::from(self.place.row) >= self.segment.footer.rows {
            return Ok(false);
        }
        let done = f64::from(self.place.row) / self.segment.footer.rows as f64;
        for area in &mut self.ahead {
            area.advance_to_share(self.segment, done);
        }
        each_codec!(self.segment.buckets(self.table), rows => rows.fill(&mut self.place, out))?;
        Ok(true)
    }
}
