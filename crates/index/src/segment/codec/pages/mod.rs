//! Rows as Huffman-coded differences, in pages (Manku, Jain, Das Sarma, "Detecting near-duplicates for web crawling",
//! 2007).
//!
//! A page is a fixed number of the table's permuted fingerprints. The first one is stored uncompressed. Every other one
//! is stored as two numbers: h, the position of the most significant bit in which it differs from the one before, as a
//! canonical Huffman code ([`huffman`]); and the h bits to the right of that bit ([`page`]). The bits to the left equal
//! those of the one before, and the bit itself is a one, since rows ascend. The last fingerprint and the start of every
//! page are stored separately ([`ends`]). They are read and verified when the file is opened, and replace a directory:
//! they identify the page that has to be decoded.
//!
//! Spans count pages. Row number r is row r mod P of page ⌊r / P⌋, where P is the number of rows of a page.
//!
//! Many probes ordered by address hit the same pages repeatedly; they decode a page once and keep it ([`PageCache`]). A
//! single query decodes a page only up to the rows it needs.

pub(in crate::segment) mod ends;
pub(in crate::segment) mod huffman;
mod keyed;
pub(in crate::segment) mod page;
mod places;

use std::ops::Range;

use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::prefetch_read;

use self::ends::PageEnds;
use self::huffman::Decoder;
use self::page::Page;
use super::{Buckets, Mismatch, ProbeCosts, Probed, RowCursor, Workspace, required};
use crate::segment::bits::PADDING;
use crate::segment::layout::{Footer, SectionKind};
use crate::segment::order::Order;
use crate::segment::sectors::Sectors;
use crate::segment::span::Span;
use crate::segment::{Segment, SegmentError};

/// The minimum number of rows that are read at a time in a pass over all rows, unless fewer are left.
const STRETCH_ROWS: usize = 4096;
/// The approximate number of rows in the cache of decoded pages: half a megabyte of 64-bit rows, which fit the
/// second-level cache.
const CACHED_ROWS: u32 = 1 << 16;
/// The offsets of the cache lines of a page that are prefetched. The processor prefetches the following ones by itself.
const PREFETCH_OFFSETS: [usize; 3] = [0, 64, 128];

/// The costs of lookups in pages of `page_rows` rows. A probe decodes half a page on average.
pub(super) fn costs(page_rows: u32) -> ProbeCosts {
    ProbeCosts {
        probe: 40.0 + 2.0 * f64::from(page_rows),
        candidate: 4.0,
        scanned: 4.0,
    }
}

/// The pages of a table, with their ends and the decoder of their Huffman code.
#[derive(Debug)]
pub(in crate::segment) struct Pages {
    page_rows: u32,
    ends: PageEnds,
    rows: Range<usize>,
    decoder: Decoder,
}

impl Pages {
    /// Opens the pages of table `t`. The sections that the footer lists must be within the file.
    pub(in crate::segment) fn open<W: Width>(
        footer: &Footer,
        t: usize,
        page_rows: u32,
        data: &[u8],
        sectors: &Sectors,
    ) -> Result<Self, Mismatch> {
        let lasts = required(
            footer.range(SectionKind::DirectoryCoarse, t),
            "the ends of pages are missing",
        )?;
        let starts = required(
            footer.range(SectionKind::DirectoryFine, t),
            "the starts of pages are missing",
        )?;
        let rows = required(footer.range(SectionKind::Rows, t), "rows are missing")?;
        let at = rows.start as u64;
        let lengths = rows.start..rows.start + W::BITS as usize;
        for bytes in [lasts.clone(), starts.clone(), lengths.clone()] {
            sectors
                .verify(data, bytes)
                .map_err(|offset| Mismatch(offset, "a checksum does not match"))?;
        }
        let lengths = data
            .get(lengths)
            .filter(|_| rows.len() >= W::BITS as usize + PADDING);
        let lengths = lengths.ok_or(Mismatch(at, "rows are missing"))?;
        let decoder = Decoder::new(lengths).ok_or(Mismatch(at, "its Huffman code is invalid"))?;
        let pages = footer.rows.div_ceil(page_rows.into());
        let ends = PageEnds::open::<W>(pages as u32, lasts, starts, data)?;
        // The section of rows consists of the code lengths, the pages and the padding.
        let bytes = ends.bytes(data, W::BITS.into());
        if bytes != Some((rows.len() - PADDING) as u64) {
            return Err(Mismatch(at, "pages are missing"));
        }
        Ok(Self {
            page_rows,
            ends,
            rows,
            decoder,
        })
    }

    /// The number of rows of a page.
    pub(super) fn page_rows(&self) -> u32 {
        self.page_rows
    }
}

/// A cache of decoded pages, for many neighbouring probes. Page p is at position p modulo the number of positions.
#[derive(Debug, Default)]
pub(super) struct PageCache<W> {
    /// True if decoded pages are kept.
    many: bool,
    places: Vec<(Option<u32>, Vec<W>)>,
    /// The number of bytes of the pages that were decoded.
    pub(super) bytes: u64,
}

impl<W> PageCache<W> {
    /// Empties the cache. `many` decides if decoded pages are kept from now on.
    pub(super) fn begin(&mut self, many: bool) {
        self.many = many;
        for (page, _) in &mut self.places {
            *page = None;
        }
    }
}

/// Reads the pages of a table.
pub(in crate::segment) struct PagesReader<'s, W> {
    segment: &'s Segment<W>,
    order: &'s Order<W>,
    stored: &'s Pages,
    ends: ends::EndsReader<'s, W>,
    rows: &'s [u8],
}

impl<'s, W: Width> PagesReader<'s, W> {
    #[inline]
    pub(super) fn new(segment: &'s Segment<W>, order: &'s Order<W>, stored: &'s Pages) -> Self {
        Self {
            segment,
            order,
            stored,
            ends: stored.ends.read(&segment.data),
            rows: &segment.data[stored.rows.clone()],
        }
    }

    /// The number of rows of page `page`.
    fn len(&self, page: u32) -> u32 {
        let before = u64::from(page) * u64::from(self.stored.page_rows);
        let left = self.segment.footer.rows.saturating_sub(before);
        left.min(self.stored.page_rows.into()) as u32
    }

    /// Returns an iterator that decodes the rows of a page one by one.
    #[inline]
    fn page(&self, page: u32) -> Page<'_, W> {
        let bytes = self.ends.bytes_of(page);
        Page::new(self.rows, bytes, &self.stored.decoder, self.len(page))
    }

    /// The number of bytes of page `page`.
    fn page_bytes(&self, page: u32) -> u64 {
        let bytes = self.ends.bytes_of(page);
        bytes.end - bytes.start
    }

    #[cold]
    fn damaged(&self, page: u32) -> SegmentError {
        let at = self.stored.rows.start as u64 + self.ends.bytes_of(page).start;
        self.segment.damaged(at, "a page cannot be decoded")
    }

    /// Decodes all rows of a page and appends them to `out`.
    fn decode(&self, page: u32, out: &mut Vec<W>) -> Result<(), SegmentError> {
        let mut rows = self.page(page);
        out.extend(&mut rows);
        // A valid page is decoded to its last byte, and its last row equals the one that is stored with the ends of
        // pages.
        let last = out.last().copied();
        if rows.is_whole() && last == Some(self.ends.last(page)) {
            Ok(())
        } else {
            Err(self.damaged(page))
        }
    }

    /// Returns the rows of a page from the cache, after decoding them if they are not in it. Returns `None` if decoded
    /// pages are not kept.
    fn cached_page<'d>(
        &self,
        page: u32,
        decoded: &'d mut PageCache<W>,
    ) -> Result<Option<&'d [W]>, SegmentError> {
        if !decoded.many {
            return Ok(None);
        }
        let places = (CACHED_ROWS / self.stored.page_rows).clamp(16, 4096) as usize;
        if decoded.places.len() != places {
            decoded.places.clear();
            decoded.places.resize_with(places, Default::default);
        }
        let Some((of, rows)) = decoded.places.get_mut(page as usize % places) else {
            return Ok(None);
        };
        if *of != Some(page) {
            *of = None;
            rows.clear();
            self.decode(page, rows)?;
            *of = Some(page);
            decoded.bytes += self.page_bytes(page);
        }
        Ok(Some(rows))
    }
}

impl<W: Width> Buckets<W> for PagesReader<'_, W> {
    #[inline]
    fn prefetch(&self, address: u32) {
        self.ends.prefetch(self.order.join(address, W::default()));
    }

    fn verify_bounds(&self, _: u32) -> Result<(), SegmentError> {
        // The ends of pages, which `locate` reads, were verified when the file was opened.
        Ok(())
    }

    #[inline]
    fn locate(&self, address: u32) -> Span {
        let first = self.order.join(address, W::default());
        let last = self.order.join(address, self.order.rest(!W::default()));
        let start = self.ends.page_of(first);
        let end = if start < self.ends.pages() && self.ends.last(start) < last {
            (self.ends.page_of(last) + 1).min(self.ends.pages())
        } else {
            (start + 1).min(self.ends.pages())
        };
        if start < end {
            let at = self.ends.bytes_of(start).start as usize;
            for ahead in PREFETCH_OFFSETS {
                prefetch_read(self.rows, at + ahead);
            }
        }
        Span { start, end }
    }

    fn verify_rows(&self, Span { start, end }: Span) -> Result<(), SegmentError> {
        if start >= end {
            return Ok(());
        }
        let (from, to) = (self.ends.bytes_of(start).start, self.ends.bytes_of(end - 1).end);
        let at = self.stored.rows.start;
        self.segment.verify_bytes(at + from as usize..at + to as usize)
    }

    fn within(
        &self,
        probed: &Probed<'_, W>,
        k: u32,
        workspace: &mut Workspace<W>,
        mut each: impl FnMut(u32, u32, W),
    ) -> Result<u64, SegmentError> {
        let all = self.order.rest(!W::default());
        let mut candidates = 0;
        for ((number, run), &address) in (0..).zip(probed.runs).zip(probed.addresses) {
            let rest = probed.rests.get(run.query as usize).copied().unwrap_or_default();
            let (first, last) = (
                self.order.join(address, W::default()),
                self.order.join(address, all),
            );
            let wanted = self.order.join(address, rest);
            for page in run.start..run.end {
                let before = page * self.stored.page_rows;
                let mut compare = |i: u32, row: W| {
                    candidates += 1;
                    if (row ^ wanted).distance(W::default()) <= k {
                        each(number, before + i, self.order.rest(row));
                    }
                };
                if let Some(rows) = self.cached_page(page, &mut workspace.decoded)? {
                    let from = rows.partition_point(|&row| row < first);
                    let in_bucket = rows[from..].iter().take_while(|&&row| row <= last);
                    for (i, &row) in (from as u32..).zip(in_bucket) {
                        compare(i, row);
                    }
                    continue;
                }
                workspace.decoded.bytes += self.page_bytes(page);
                let mut rows = self.page(page);
                for (i, row) in (0..).zip(&mut rows) {
                    if row > last {
                        break;
                    }
                    if row >= first {
                        compare(i, row);
                    }
                }
                if rows.is_broken() {
                    return Err(self.damaged(page));
                }
            }
        }
        Ok(candidates)
    }

    fn row_of(&self, permuted: W, _: Span) -> Result<Option<u32>, SegmentError> {
        let page = self.ends.page_of(permuted);
        if page == self.ends.pages() {
            return Ok(None);
        }
        self.verify_rows(Span {
            start: page,
            end: page + 1,
        })?;
        let mut rows = self.page(page);
        let found = (0..).zip(&mut rows).find(|&(_, row)| row >= permuted);
        if rows.is_broken() {
            return Err(self.damaged(page));
        }
        Ok(found
            .filter(|&(_, row)| row == permuted)
            .map(|(i, _)| page * self.stored.page_rows + i))
    }

    fn fill(&self, place: &mut RowCursor, out: &mut Vec<W>) -> Result<(), SegmentError> {
        let upto = out.len() + STRETCH_ROWS;
        let mut page = place.row / self.stored.page_rows;
        while page < self.ends.pages() && out.len() < upto {
            self.verify_rows(Span {
                start: page,
                end: page + 1,
            })?;
            let before = out.last().copied();
            let at = out.len();
            self.decode(page, out)?;
            if before >= out.get(at).copied() && before.is_some() {
                return Err(self.damaged(page));
            }
            place.row += self.len(page);
            page += 1;
        }
        Ok(())
    }
}
