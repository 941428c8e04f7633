//! Packed rows: the bits below the address, each of the same width, and a directory.
//!
//! Spans count rows. A probe reads the directory and then the rows, without a branch on the data in between, so that
//! many probes can be in flight. With an Elias–Fano directory this is the coding of Elias (1974) and Fano (1971).

mod places;

use std::ops::Range;

use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::{PackedRows, RangeHit, prefetch_read, unpack_bits};

use super::{Buckets, Mismatch, ProbeCosts, Probed, RowCursor, Workspace, required};
use crate::segment::bits::{packed_bytes, unpack};
use crate::segment::directory::{Bounds, Directory, DirectoryForm};
use crate::segment::layout::{Footer, SectionKind};
use crate::segment::order::Order;
use crate::segment::span::Span;
use crate::segment::{Segment, SegmentError};

/// The size of a cache line in bytes.
const CACHE_LINE_BYTES: usize = 64;
/// The number of bytes of rows of which the caches hold little.
const FAR_BYTES: usize = 1 << 27;
/// The number of bytes after its rows that a reader may read.
const OVERREAD_BYTES: usize = 17;
/// The maximum number of rows that are read at a time in a pass over all rows.
const STRETCH_ROWS: u32 = 4096;

pub(super) const COSTS: ProbeCosts = ProbeCosts {
    probe: 10.0,
    candidate: 1.5,
    scanned: 0.7,
};

/// The packed rows of a table and its directory, as positions of their sections in the file.
#[derive(Debug)]
pub(in crate::segment) struct Packed {
    form: DirectoryForm,
    coarse: Range<usize>,
    fine: Range<usize>,
    rows: Range<usize>,
    kernel: PackedRows,
}

impl Packed {
    /// Opens the packed rows of table `t`. The sections that the footer lists must be within the file.
    pub(in crate::segment) fn open<W: Width>(
        footer: &Footer,
        t: usize,
        form: DirectoryForm,
        order: &Order<W>,
    ) -> Result<Self, Mismatch> {
        let needed = packed_bytes(footer.rows, order.rest_bits());
        let rows = footer
            .range(SectionKind::Rows, t)
            .filter(|r| r.len() as u64 == needed);
        Ok(Self {
            form,
            coarse: required(
                footer.range(SectionKind::DirectoryCoarse, t),
                "a directory is missing",
            )?,
            fine: required(
                footer.range(SectionKind::DirectoryFine, t),
                "a directory is missing",
            )?,
            rows: required(rows, "rows are missing")?,
            kernel: PackedRows::new(order.rest_bits()),
        })
    }

    #[inline]
    pub(super) fn directory<'s>(&self, data: &'s [u8]) -> Directory<'s> {
        Directory::new(self.form, &data[self.coarse.clone()], &data[self.fine.clone()])
    }
}

/// Reads packed rows, by a directory of one form.
pub(in crate::segment) struct PackedReader<'s, W, B> {
    segment: &'s Segment<W>,
    pub(super) order: &'s Order<W>,
    stored: &'s Packed,
    packed: &'s [u8],
    bounds: B,
    /// The number of rows of the table; `width` is the number of bits of each. They are copied here so that loops keep
    /// them in registers.
    pub(super) count: u32,
    width: u32,
    /// True if the rows are too many for the caches, so that many probes wait for memory.
    is_far: bool,
}

impl<'s, W: Width, B: Bounds> PackedReader<'s, W, B> {
    #[inline]
    pub(super) fn new(segment: &'s Segment<W>, order: &'s Order<W>, stored: &'s Packed, bounds: B) -> Self {
        let packed = &segment.data[stored.rows.clone()];
        Self {
            segment,
            order,
            stored,
            packed,
            is_far: packed.len() > FAR_BYTES,
            bounds,
            count: segment.footer.rows as u32,
            width: order.rest_bits(),
        }
    }

    /// Returns the rows of an address, after verifying the bytes of the directory that it reads.
    pub(super) fn bucket(&self, address: u32) -> Result<Span, SegmentError> {
        let (segment, stored) = (self.segment, self.stored);
        let [coarse, fine] = self.bounds.bucket_bytes(address);
        segment.verify_bytes(stored.coarse.start + coarse.start..stored.coarse.start + coarse.end)?;
        segment.verify_bytes(stored.fine.start + fine.start..stored.fine.start + fine.end)?;
        let Span { start, end } = self.bounds.bucket(address);
        if start > end || u64::from(end) > segment.footer.rows {
            return Err(self.not_ascending());
        }
        Ok(Span { start, end })
    }

    pub(super) fn not_ascending(&self) -> SegmentError {
        let at = self.stored.fine.start as u64;
        self.segment.damaged(at, "a directory does not ascend")
    }

    /// Appends the bits below the address of the rows of a span, whose bytes must have been verified.
    pub(super) fn unpack_rests(&self, Span { start, end }: Span, words: &mut Vec<u64>, out: &mut Vec<W>) {
        let width = self.width;
        if width <= 64 {
            words.resize(end.saturating_sub(start) as usize, 0);
            unpack_bits(self.packed, width, start as usize, words);
            out.extend(words.iter().map(|&rest| W::truncate(u128::from(rest))));
        } else {
            out.extend((start..end).map(|row| unpack::<W>(self.packed, width, u64::from(row))));
        }
    }

    /// Prefetches the packed bits of `count` rows from `row` on.
    pub(super) fn prefetch_packed(&self, row: u32, count: u32) {
        let width = u64::from(self.width);
        let first = (u64::from(row) * width / 8) as usize;
        let last = (u64::from(row.saturating_add(count)) * width / 8) as usize;
        for at in (first..last.min(self.packed.len())).step_by(CACHE_LINE_BYTES) {
            prefetch_read(self.packed, at);
        }
    }

    /// Returns the bits of a row below its address, after verifying the bytes that it reads.
    pub(super) fn rest(&self, row: u32) -> Result<W, SegmentError> {
        let from = (u64::from(row) * u64::from(self.width) / 8) as usize;
        let to = (from + OVERREAD_BYTES).min(self.packed.len());
        let at = self.stored.rows.start;
        self.segment.verify_bytes(at + from..at + to)?;
        Ok(unpack(self.packed, self.width, u64::from(row)))
    }
}

impl<W: Width, B: Bounds> Buckets<W> for PackedReader<'_, W, B> {
    #[inline]
    fn prefetch(&self, address: u32) {
        self.bounds.prefetch(address);
    }

    fn verify_bounds(&self, address: u32) -> Result<(), SegmentError> {
        self.bucket(address).map(|_| ())
    }

    #[inline]
    fn locate(&self, address: u32) -> Span {
        let Span { start, end } = self.bounds.bucket(address);
        let end = end.min(self.count);
        let width = u64::from(self.width);
        let first = (u64::from(start) * width / 8) as usize;
        let last = (u64::from(end) * width / 8) as usize;
        prefetch_read(self.packed, first);
        if self.is_far {
            // Nothing predicts whether a short run of rows crosses into the next cache line. Prefetching the same line
            // twice costs less than a mispredicted branch, and less than the wait for memory.
            prefetch_read(self.packed, last.min(first + CACHE_LINE_BYTES));
        }
        for at in (first + CACHE_LINE_BYTES..last).step_by(CACHE_LINE_BYTES) {
            prefetch_read(self.packed, at);
        }
        Span { start, end }
    }

    fn verify_rows(&self, Span { start, end }: Span) -> Result<(), SegmentError> {
        let width = u64::from(self.width);
        let from = (u64::from(start) * width / 8) as usize;
        let to = (u64::from(end.max(start)) * width).div_ceil(8) as usize + OVERREAD_BYTES;
        let at = self.stored.rows.start;
        self.segment
            .verify_bytes(at + from..at + to.min(self.packed.len()))
    }

    #[inline]
    fn within(
        &self,
        probed: &Probed<'_, W>,
        k: u32,
        workspace: &mut Workspace<W>,
        mut each: impl FnMut(u32, u32, W),
    ) -> Result<u64, SegmentError> {
        let near = &mut workspace.near;
        near.clear();
        let kernel = &self.stored.kernel;
        kernel.within(self.packed, probed.runs, probed.rests, k, near);
        for &RangeHit { range: probe, row } in &*near {
            each(probe, row, unpack(self.packed, self.width, u64::from(row)));
        }
        let candidates =
            |run: &twinprint_fingerprint::kernel::RowRange| u64::from(run.end.saturating_sub(run.start));
        Ok(probed.runs.iter().map(candidates).sum())
    }

    fn row_of(&self, permuted: W, Span { start, end }: Span) -> Result<Option<u32>, SegmentError> {
        let rest = self.order.rest(permuted);
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.rest(middle)? < rest {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok((low < end && self.rest(low)? == rest).then_some(low))
    }

    fn fill(&self, place: &mut RowCursor, out: &mut Vec<W>) -> Result<(), SegmentError> {
        let span = Span {
            start: place.row,
            end: self.count.min(place.row.saturating_add(STRETCH_ROWS)),
        };
        self.verify_rows(span)?;
        let at = out.len();
        self.unpack_rests(span, &mut place.rests, out);
        for rest in &mut out[at..] {
            while place.row >= place.end {
                if u64::from(place.address) >> self.order.address_bits() > 0 {
                    let at = self.stored.fine.start as u64;
                    return Err(self.segment.damaged(at, "a directory ends too early"));
                }
                place.end = self.bucket(place.address)?.end;
                place.address += 1;
            }
            *rest = self.order.join(place.address - 1, *rest);
            place.row += 1;
        }
        Ok(())
    }
}
