//! All rows of a segment, in the order of its first table.

use fingerprint::Width;
use fingerprint::kernel::unpack_bits;

use super::bits::unpack;
use super::directory::{Bounds, Directory};
use super::{Segment, SegmentError};

/// Every id with its fingerprint; see [`Segment::iter`].
#[derive(Debug)]
pub struct Rows<'s, W> {
    walk: Walk<'s, W>,
    /// The permuted rows at hand, the number of the first, and which of them comes next.
    stretch: Vec<W>,
    first: u32,
    next: usize,
    /// Ids of the current row that are left, and the position of the next.
    left: u64,
    id: u64,
    /// The next posting.
    posting: u64,
    fingerprint: W,
    failed: bool,
}

impl<W: Width> Segment<W> {
    /// Every (fingerprint, id), ordered by the first table's permuted form, then by id. That is ascending order of fingerprints for the
    /// plans of disjoint parts, which are all that the planner chooses for segments.
    pub fn iter(&self) -> Rows<'_, W> {
        Rows {
            walk: self.walk(0),
            stretch: Vec::new(),
            first: 0,
            next: 0,
            left: 0,
            id: 0,
            posting: 0,
            fingerprint: W::default(),
            failed: false,
        }
    }

    /// The directory of table `t`.
    #[inline]
    pub(super) fn directory(&self, t: usize) -> Directory<'_> {
        let table = &self.tables[t];
        Directory::new(
            table.form,
            &self.data[table.coarse.clone()],
            &self.data[table.fine.clone()],
        )
    }

    /// Asks memory for what [`Segment::bucket`] will read.
    pub(super) fn prefetch_bounds(&self, t: usize, address: u32) {
        match self.directory(t) {
            Directory::Plain(bounds) => bounds.prefetch(address),
            Directory::EliasFano(bounds) => bounds.prefetch(address),
        }
    }

    /// The bounds of an address of table `t`, verified.
    pub(super) fn bucket(&self, t: usize, address: u32) -> Result<(u32, u32), SegmentError> {
        fn look(bounds: &impl Bounds, address: u32) -> ([std::ops::Range<usize>; 2], (u32, u32)) {
            (bounds.touched(address), bounds.bucket(address))
        }
        let table = &self.tables[t];
        let ([coarse, fine], (start, end)) = match self.directory(t) {
            Directory::Plain(bounds) => look(&bounds, address),
            Directory::EliasFano(bounds) => look(&bounds, address),
        };
        self.touch(table.coarse.start + coarse.start..table.coarse.start + coarse.end)?;
        self.touch(table.fine.start + fine.start..table.fine.start + fine.end)?;
        if start > end || u64::from(end) > self.footer.rows {
            return Err(self.damaged(table.fine.start as u64, "a directory does not ascend"));
        }
        Ok((start, end))
    }

    /// Verifies the bytes of some rows of table `t`.
    pub(super) fn touch_rows(&self, t: usize, rows: std::ops::Range<u32>) -> Result<(), SegmentError> {
        let table = &self.tables[t];
        let width = u64::from(table.order.rest_bits());
        let from = (u64::from(rows.start) * width / 8) as usize;
        let to = (u64::from(rows.end.max(rows.start)) * width).div_ceil(8) as usize + 17;
        self.touch(table.rows.start + from..table.rows.start + to.min(table.rows.len()))
    }

    /// The bits below the address of a row of table `t`, verified.
    pub(super) fn rest(&self, t: usize, row: u32) -> Result<W, SegmentError> {
        let table = &self.tables[t];
        let width = table.order.rest_bits();
        let from = (u64::from(row) * u64::from(width) / 8) as usize;
        let to = (from + 17).min(table.rows.len());
        self.touch(table.rows.start + from..table.rows.start + to)?;
        Ok(unpack(&self.data[table.rows.clone()], width, u64::from(row)))
    }

    /// Packed number `i` of `width` bits of a section, verified.
    pub(super) fn number(
        &self,
        section: &std::ops::Range<usize>,
        width: u32,
        i: u64,
    ) -> Result<u64, SegmentError> {
        let from = (i * u64::from(width) / 8) as usize;
        let to = (from + 9).min(section.len());
        self.touch(section.start + from..section.start + to)?;
        Ok(unpack(&self.data[section.clone()], width, i))
    }

    /// Posting `i`: its row, and how many ids beyond one a row lie before it.
    pub(super) fn posting(&self, i: u64) -> Result<(u64, u64), SegmentError> {
        Ok((
            self.number(&self.posting_rows, super::build::ROW_BITS, i)?,
            self.number(&self.posting_sums, super::build::SUM_BITS, i)?,
        ))
    }

    /// Every id, in the order of [`Segment::iter`].
    pub fn ids(&self) -> impl Iterator<Item = Result<u64, SegmentError>> {
        (0..self.footer.ids).map(|i| self.id(i))
    }

    /// Id number `i`.
    pub(super) fn id(&self, i: u64) -> Result<u64, SegmentError> {
        if i >= self.footer.ids {
            return Err(self.damaged(self.ids.start as u64, "a posting reaches beyond the ids"));
        }
        self.number(&self.ids, self.footer.id_bits, i)
    }
}

impl<W: Width> Rows<'_, W> {
    fn advance(&mut self) -> Result<Option<(W, u64)>, SegmentError> {
        let segment = self.walk.segment;
        if self.left == 0 {
            if self.next == self.stretch.len() {
                (self.first, self.next) = (self.walk.row(), 0);
                if !self.walk.fill(&mut self.stretch)? {
                    return Ok(None);
                }
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

impl<W: Width> Iterator for Rows<'_, W> {
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
    type IntoIter = Rows<'s, W>;

    fn into_iter(self) -> Rows<'s, W> {
        self.iter()
    }
}

/// Permuted rows of one table in stretches; see [`Segment::walk`].
#[derive(Debug)]
pub(super) struct Walk<'s, W> {
    segment: &'s Segment<W>,
    table: usize,
    /// The address of the row to come, and the end of its bucket.
    address: u32,
    end: u32,
    row: u32,
    rests: Vec<u64>,
}

impl<W: Width> Segment<W> {
    /// The permuted rows of table `t` from the first on.
    pub(super) fn walk(&self, t: usize) -> Walk<'_, W> {
        Walk {
            segment: self,
            table: t,
            address: 0,
            end: 0,
            row: 0,
            rests: Vec::new(),
        }
    }

    /// Calls `each(first, rows)` with the distinct fingerprints in the order of [`Segment::iter`], in stretches of some thousand, `first` being
    /// the number of a stretch's first row. The fast way to read all of a segment; [`Segment::ids_at`] gives the ids of a row.
    ///
    /// # Errors
    /// The file is damaged; whatever `each` gives.
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

impl<W: Width> Walk<'_, W> {
    /// Rows of a stretch.
    const STRETCH: u32 = 4096;

    /// The number of the row to come.
    pub(super) fn row(&self) -> u32 {
        self.row
    }

    /// Replaces `out` by the next rows; false where there are none.
    pub(super) fn fill(&mut self, out: &mut Vec<W>) -> Result<bool, SegmentError> {
        out.clear();
        let (segment, table) = (self.segment, &self.segment.tables[self.table]);
        let (width, all) = (table.order.rest_bits(), segment.footer.rows as u32);
        let upto = all.min(self.row.saturating_add(Self::STRETCH));
        if self.row == upto {
            return Ok(false);
        }
        segment.touch_rows(self.table, self.row..upto)?;
        let packed = &segment.data[table.rows.clone()];
        if width <= 64 {
            self.rests.resize((upto - self.row) as usize, 0);
            unpack_bits(packed, width, self.row as usize, &mut self.rests);
            out.extend(self.rests.iter().map(|&rest| W::truncate(u128::from(rest))));
        } else {
            out.extend((self.row..upto).map(|row| unpack::<W>(packed, width, u64::from(row))));
        }
        for rest in out.iter_mut() {
            while self.row >= self.end {
                if u64::from(self.address) >> table.order.address_bits() > 0 {
                    return Err(segment.damaged(table.fine.start as u64, "a directory ends too early"));
                }
                self.end = segment.bucket(self.table, self.address)?.1;
                self.address += 1;
            }
            *rest = table.order.join(self.address - 1, *rest);
            self.row += 1;
        }
        Ok(true)
    }
}
