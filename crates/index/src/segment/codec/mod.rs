//! The storage formats of the rows of a table, behind one interface.
//!
//! *Packed* ([`packed`]): the bits of a row below its address, all of one width, and a directory from addresses to rows. With an Elias–Fano
//! directory the two together are the Elias–Fano coding of the table: its upper bits in unary, its lower bits verbatim. *Pages*
//! ([`pages`]): rows as Huffman-coded differences in pages, whose last rows take the place of a directory (Manku, Jain, Das Sarma 2007).
//!
//! A table is searched through [`Buckets`], whichever way it is stored: an address is *located*, which gives a [`Span`] in the units of the
//! codec, rows or pages; then the rows of the span that have the address are compared. Between the steps the bytes of the next step are prefetched.
//! `Segment::buckets` and [`each_codec`] choose the codec once for a whole batch of probes, so that nothing is chosen in the loops.

mod packed;
pub(super) mod pages;

use std::ops::Range;

use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::{RangeHit, RowRange};

pub(super) use self::packed::{Packed, PackedReader};
pub(super) use self::pages::{Pages, PagesReader};
use super::directory::{Directory, EliasFano, Plain};
use super::span::Span;
use super::{Segment, SegmentError};

/// A reader of the rows of a table in one storage format.
pub(super) trait Buckets<W: Width> {
    /// Prefetches the bytes that [`Buckets::locate`] will read.
    fn prefetch(&self, address: u32);

    /// Verifies the bytes that [`Buckets::locate`] will read.
    fn verify_bounds(&self, address: u32) -> Result<(), SegmentError>;

    /// Finds the rows of an address, and prefetches them.
    fn locate(&self, address: u32) -> Span;

    /// Verifies the rows of a span.
    fn verify_rows(&self, span: Span) -> Result<(), SegmentError>;

    /// Calls `each(probe, row, rest)` for every row within k of a probe's query; `rest` are the row's bits below the
    /// address. Returns the number of rows compared. The rows of the spans must have been verified.
    fn within(
        &self,
        probed: &Probed<'_, W>,
        k: u32,
        workspace: &mut Workspace<W>,
        each: impl FnMut(u32, u32, W),
    ) -> Result<u64, SegmentError>;

    /// The number of a permuted row, which must be in the span located for its address, verified.
    fn row_of(&self, permuted: W, span: Span) -> Result<Option<u32>, SegmentError>;

    /// Verifies and appends the permuted rows from `place` on, some thousand or all that are left, and advances
    /// `place`.
    fn fill(&self, place: &mut RowCursor, out: &mut Vec<W>) -> Result<(), SegmentError>;
}

/// One address to be probed for one query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) address: u32,
    /// The position of the query in its block.
    pub(super) slot: u32,
}

/// Probes that have been located.
pub(super) struct Probed<'p, W> {
    pub(super) probes: &'p [Probe],
    /// The span of each probe, with its slot as the query.
    pub(super) runs: &'p [RowRange],
    /// For each slot, the query's bits below the address.
    pub(super) rests: &'p [W],
}

/// Reused buffers of comparisons.
#[derive(Debug, Default)]
pub(super) struct Workspace<W> {
    near: Vec<RangeHit>,
    decoded: pages::PageCache<W>,
}

impl<W> Workspace<W> {
    /// Begins to probe a table. `many` is true if neighbouring queries are probed one after the other.
    pub(super) fn begin(&mut self, many: bool) {
        self.decoded.begin(many);
    }
}

/// The position of a pass over all rows of a table.
#[derive(Debug, Default)]
pub(super) struct RowCursor {
    /// The number of the next row.
    pub(super) row: u32,
    /// The address after that of the last row, and the end of the last row's bucket.
    address: u32,
    end: u32,
    rests: Vec<u64>,
}

/// The positions of the rows of a table in an open segment.
#[derive(Debug)]
pub(super) enum StoredRows {
    Packed(Packed),
    Pages(Pages),
}

/// Nanoseconds of a probe, of a candidate, and of a row of a scan. Only their ratios matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeCosts {
    pub(super) probe: f64,
    pub(super) candidate: f64,
    pub(super) scanned: f64,
}

impl StoredRows {
    /// The costs of its steps.
    pub(super) fn costs(&self) -> ProbeCosts {
        match self {
            Self::Packed(_) => packed::COSTS,
            Self::Pages(pages) => pages::costs(pages.page_rows()),
        }
    }
}

/// One of the readers; see [`each_codec`].
pub(super) enum RowReader<'s, W> {
    Plain(PackedReader<'s, W, Plain<'s>>),
    EliasFano(PackedReader<'s, W, EliasFano<'s>>),
    Pages(PagesReader<'s, W>),
}

impl<W: Width> Segment<W> {
    /// The reader of the rows of table `t`.
    #[inline]
    pub(super) fn buckets(&self, t: usize) -> RowReader<'_, W> {
        let table = &self.tables[t];
        match &table.rows {
            StoredRows::Packed(packed) => match packed.directory(&self.data) {
                Directory::Plain(bounds) => {
                    RowReader::Plain(PackedReader::new(self, &table.order, packed, bounds))
                }
                Directory::EliasFano(bounds) => {
                    RowReader::EliasFano(PackedReader::new(self, &table.order, packed, bounds))
                }
            },
            StoredRows::Pages(pages) => RowReader::Pages(PagesReader::new(self, &table.order, pages)),
        }
    }
}

/// `each_codec!(reader, rows => …)` evaluates the expression with `rows` bound to the reader of the codec.
macro_rules! each_codec {
    ($reader:expr, $rows:ident => $do:expr) => {
        match $reader {
            $crate::segment::codec::RowReader::Plain($rows) => $do,
            $crate::segment::codec::RowReader::EliasFano($rows) => $do,
            $crate::segment::codec::RowReader::Pages($rows) => $do,
        }
    };
}
pub(super) use each_codec;

/// A mismatch in a file, and its offset.
#[derive(Debug)]
pub(super) struct Mismatch(pub(super) u64, pub(super) &'static str);

/// The range of a section that must exist.
fn required(section: Option<Range<usize>>, what: &'static str) -> Result<Range<usize>, Mismatch> {
    section.ok_or(Mismatch(0, what))
}
