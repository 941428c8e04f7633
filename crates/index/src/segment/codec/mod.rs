//! The storage formats of the rows of a table, behind one interface.
//!
//! *Packed* ([`packed`]): the bits of a row below its address, all of one width, and a directory from addresses to
//! rows. With an Elias–Fano directory the two together are the Elias–Fano coding of the table: its upper bits in unary,
//! its lower bits verbatim. *Pages* ([`pages`]): rows as Huffman-coded differences in pages, whose last rows take the
//! place of a directory (Manku, Jain, Das Sarma 2007).
//!
//! A table is searched through [`Buckets`], in whatever format it is stored. First an address is *located*, which gives
//! a [`Span`] of rows or of pages, depending on the codec. Then the rows of the span that have the address are
//! compared. Between the steps the bytes of the next step are prefetched. `Segment::buckets` and [`each_codec`] choose
//! the codec once for a whole batch of probes, so that nothing is chosen in the loops.

mod keyed;
mod lower_bound;
mod packed;
pub(super) mod pages;
mod places;
mod row_blocks;

use std::ops::Range;

use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::{RangeHit, RowRange};

pub(super) use self::keyed::{KeyReads, KeyedRows};
pub(super) use self::lower_bound::LowerBound;
pub(super) use self::packed::{Packed, PackedReader};
pub(super) use self::pages::{Pages, PagesReader};
pub(super) use self::places::{Places, TableAreas};
pub(super) use self::row_blocks::{AddressRange, RowBlocks};
use super::directory::{Compact, Directory, EliasFano, Plain};
use super::span::Span;
use super::{Segment, SegmentError};

/// A reader of the rows of a table in one storage format.
pub(super) trait Buckets<W: Width> {
    /// Prefetches the bytes that [`Buckets::locate`] will read.
    fn prefetch(&self, address: u32);

    /// Verifies the bytes that [`Buckets::locate`] will read.
    fn verify_bounds(&self, address: u32) -> Result<(), SegmentError>;

    /// Finds the rows of an address and prefetches them. The span counts rows or pages, depending on the codec.
    fn locate(&self, address: u32) -> Span;

    /// Verifies the rows of a span.
    fn verify_rows(&self, span: Span) -> Result<(), SegmentError>;

    /// Calls `each(probe, row, rest)` for every row within Hamming distance `k` of a probe's query; `rest` is the row's
    /// bits below the address. Returns the number of rows compared. The rows of the spans must have been verified.
    fn within(
        &self,
        probed: &Probed<'_, W>,
        k: u32,
        workspace: &mut Workspace<W>,
        each: impl FnMut(u32, u32, W),
    ) -> Result<u64, SegmentError>;

    /// Returns the number of a permuted row, or `None` if the table does not contain it. `span` must have been located
    /// for the row's address. Verifies the bytes that are read.
    fn row_of(&self, permuted: W, span: Span) -> Result<Option<u32>, SegmentError>;

    /// Verifies the permuted rows from `place` on, some thousand or all that are left, appends them to `out`, and
    /// advances `place`.
    fn fill(&self, place: &mut RowCursor, out: &mut Vec<W>) -> Result<(), SegmentError>;
}

/// Probes whose rows have been located.
pub(super) struct Probed<'p, W> {
    pub(super) addresses: &'p [u32],
    /// The span of each probe, with the probe's slot as the number of the query.
    pub(super) runs: &'p [RowRange],
    /// For each slot, the query's bits below the address.
    pub(super) rests: &'p [W],
}

/// Buffers for comparisons, which are reused.
#[derive(Debug, Default)]
pub(super) struct Workspace<W> {
    near: Vec<RangeHit>,
    decoded: pages::PageCache<W>,
}

impl<W> Workspace<W> {
    /// Prepares the buffers for probes of another table. `many` is true if many queries are probed in the order of
    /// their addresses, so that decoded pages are worth keeping.
    pub(super) fn begin(&mut self, many: bool) {
        self.decoded.begin(many);
    }

    /// Returns the number of bytes of the pages that were decoded since the last call.
    pub(super) fn take_page_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.decoded.bytes)
    }
}

/// The position of a pass that reads all rows of a table.
#[derive(Debug, Default)]
pub(super) struct RowCursor {
    /// The number of the next row.
    pub(super) row: u32,
    /// One more than the address of the row read last; `end` is the end of that row's bucket.
    address: u32,
    end: u32,
    rests: Vec<u64>,
}

/// The rows of a table in an open segment, as positions of their sections in the file.
#[derive(Debug)]
pub(super) enum StoredRows {
    Packed(Packed),
    Pages(Pages),
}

/// The costs of a probe, of a candidate, and of a row of a scan, in nanoseconds. Only their ratios matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeCosts {
    pub(super) probe: f64,
    pub(super) candidate: f64,
    pub(super) scanned: f64,
}

impl StoredRows {
    /// The areas of the table in the file.
    pub(super) fn areas(&self) -> TableAreas {
        match self {
            Self::Packed(packed) => packed.areas(),
            Self::Pages(pages) => pages.areas(),
        }
    }

    /// The costs of lookups in this storage format.
    pub(super) fn costs(&self) -> ProbeCosts {
        match self {
            Self::Packed(_) => packed::COSTS,
            Self::Pages(pages) => pages::costs(pages.page_rows()),
        }
    }
}

/// A reader of the rows of a table, by storage format; [`each_codec`] matches on it.
pub(super) enum RowReader<'s, W> {
    Compact(PackedReader<'s, W, Compact<'s>>),
    Plain(PackedReader<'s, W, Plain<'s>>),
    EliasFano(PackedReader<'s, W, EliasFano<'s>>),
    Pages(PagesReader<'s, W>),
}

impl<W: Width> Segment<W> {
    /// Returns the reader of the rows of table `t`.
    #[inline]
    pub(super) fn buckets(&self, t: usize) -> RowReader<'_, W> {
        let table = &self.tables[t];
        match &table.rows {
            StoredRows::Packed(packed) => match packed.directory(&self.data) {
                Directory::Compact(bounds) => {
                    RowReader::Compact(PackedReader::new(self, &table.order, packed, bounds))
                }
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
            $crate::segment::codec::RowReader::Compact($rows) => $do,
            $crate::segment::codec::RowReader::Plain($rows) => $do,
            $crate::segment::codec::RowReader::EliasFano($rows) => $do,
            $crate::segment::codec::RowReader::Pages($rows) => $do,
        }
    };
}
pub(super) use each_codec;

/// Runs a statement with the reader of packed rows; with pages, another one.
macro_rules! if_packed {
    ($reader:expr, $rows:ident => $do:expr, else $otherwise:expr) => {
        match $reader {
            $crate::segment::codec::RowReader::Compact($rows) => $do,
            $crate::segment::codec::RowReader::Plain($rows) => $do,
            $crate::segment::codec::RowReader::EliasFano($rows) => $do,
            $crate::segment::codec::RowReader::Pages(_) => $otherwise,
        }
    };
}
pub(super) use if_packed;

/// A mismatch in a file: its offset, and its description.
#[derive(Debug)]
pub(super) struct Mismatch(pub(super) u64, pub(super) &'static str);

/// Returns the range of a section that must exist. If it does not exist, the error is a mismatch with the description
/// `what`.
fn required(section: Option<Range<usize>>, what: &'static str) -> Result<Range<usize>, Mismatch> {
    section.ok_or(Mismatch(0, what))
}
