//! Lookups of very many queries: buckets of rows are joined with lists of queries.
//!
//! A probe costs a dozen nanoseconds, and a batch of many queries probes each part of a table many times. Then it is
//! cheaper to read the table once, in order. Queries are sorted by the p leading bits of their addresses, their
//! *prefix*. The rows of one prefix are a *bucket*. A bucket is unpacked once and compared with the queries of its own
//! prefix and of all prefixes within the radius of the table, which [`copies`] brings together. The comparison of many
//! with many takes some hundredths of a nanosecond for each pair.
//!
//! Rows and queries are compared in the bits below the address, because the other bits of a row are not stored; 32 of
//! these bits are compared if few unrelated rows are near in them. A row that is near is compared in all bits, and its
//! address is found in the directory.
//!
//! [`choose`] chooses p, or probes if they are cheaper. A shorter prefix has fewer copies of queries, a longer one has
//! fewer comparisons. This is the join of `crate::join`, with the stored table as one side.

mod copies;
mod cost;
#[cfg(test)]
mod tests;

use std::ops::{ControlFlow, Range};

use twinprint_fingerprint::{Width, kernel};

use self::copies::{Block, Copies};
pub(super) use self::cost::choose;
use super::arrangement::Arrangement;
use super::ids::{NO_ROW, RowMatch};
use super::probes::{REPORT_ROWS, TableLookup};
use super::search::TableProbes;
use super::{Receive, Stats};
use crate::flips;
use crate::segment::codec::{AddressRange, RowBlocks};
use crate::segment::span::Span;
use crate::segment::{Segment, SegmentError};

/// The number of rows that are unpacked together. They fit the first-level cache.
const WINDOW_ROWS: u32 = 1024;
/// The maximum number of queries that are compared with the rows of a bucket at a time, so that the near pairs of equal
/// rows and queries do not fill the memory.
const QUERIES_TOGETHER: usize = 2048;
/// The number of near pairs that are checked together. While they are gathered, the queries of the first are fetched.
const CHECKED_PAIRS: usize = 512;

/// The bits below the address in which rows and queries are compared first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    All,
    Low32,
}

/// A join that is cheaper than probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Join {
    /// The number of bits of a prefix, at most the number of address bits.
    pub(super) bits: u32,
    pub(super) compared: Compared,
}

/// Buffers that are reused from one table to the next.
#[derive(Debug, Default)]
pub(crate) struct JoinBuffers<W> {
    all: Comparison<W, W>,
    low: Comparison<W, u32>,
    found: Vec<RowMatch<W>>,
}

/// The rows and queries that are compared.
#[derive(Debug, Default)]
struct Comparison<W, C> {
    /// The flips of a prefix within the radius of the table.
    flips: Vec<u32>,
    copies: Copies<C>,
    window: Window<W, C>,
    /// The pairs of a bucket that are near.
    near: Vec<Near>,
    /// The near pairs of all buckets that are still to be checked. What a check reads of a query has been prefetched.
    unchecked: Vec<Unchecked<W>>,
}

/// Consecutive rows that have been unpacked.
#[derive(Debug, Default)]
struct Window<W, C> {
    span: Span,
    /// A buffer for packed bits.
    words: Vec<u64>,
    /// The bits of the rows below the address.
    rests: Vec<W>,
    /// Those of them that are compared.
    compared: Vec<C>,
}

/// A query and a row of the window that are near in the compared bits.
#[derive(Clone, Copy, Debug)]
struct Near {
    /// The position of the query in the arrangement.
    slot: u32,
    /// The position of the row in the window.
    row: u32,
}

/// A query and a row that are near in the compared bits.
#[derive(Clone, Copy, Debug)]
struct Unchecked<W> {
    /// The position of the query in the arrangement.
    slot: u32,
    /// The number of the row, the prefix of its address, and its bits below the address.
    number: u32,
    prefix: u32,
    rest: W,
}

/// The matches of a lookup, and who receives them.
struct Matches<'m, W> {
    found: &'m mut Vec<RowMatch<W>>,
    stats: &'m mut Stats,
    receive: &'m mut dyn Receive<W>,
}

/// One table's part of a lookup, and the reader of the rows of the table.
pub(super) struct Joined<'j, W, R> {
    pub(super) job: TableLookup<'j, W>,
    pub(super) rows: R,
    pub(super) join: Join,
}

impl<W: Width, R: RowBlocks<W>> Joined<'_, W, R> {
    /// Compares the rows of every bucket with the queries near it.
    pub(super) fn run(
        &self,
        queries: &[W],
        arranged: &mut Arrangement<W>,
        buffers: &mut JoinBuffers<W>,
        stats: &mut Stats,
        receive: &mut dyn Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        let TableLookup { segment, probing, .. } = self.job;
        let table = &segment.tables[probing.table];
        arranged.sort(queries, &table.order, self.join.bits);
        stats.bytes += table.bounds_bytes(1 << self.join.bits);
        stats.bytes += segment.rows() * u64::from(table.order.rest_bits()) / 8;
        let JoinBuffers { all, low, found } = buffers;
        found.clear();
        let mut matches = Matches {
            found,
            stats,
            receive,
        };
        match self.join.compared {
            Compared::All => self.compare(|rest| rest, arranged, all, &mut matches),
            Compared::Low32 => self.compare(|rest| rest.low_u64() as u32, arranged, low, &mut matches),
        }
    }

    /// Compares rows and queries in the bits that `narrow` returns.
    fn compare<C: Width>(
        &self,
        narrow: impl Fn(W) -> C + Copy,
        arranged: &Arrangement<W>,
        comparison: &mut Comparison<W, C>,
        matches: &mut Matches<'_, W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        let bits = self.join.bits;
        comparison.begin(arranged, bits, flips::ball(bits, self.job.probing.radius), narrow);
        matches.stats.probes += (arranged.numbers.len() * comparison.flips.len()) as u64;
        let block_bits = comparison.copies.block_bits(bits, &comparison.flips);
        // Blocks that are still to be compared, the next one last.
        let mut blocks = Vec::new();
        let mut row = 0;
        for first in (0..1u32 << bits).step_by(1 << block_bits) {
            blocks.push(Block {
                first,
                bits: block_bits,
            });
            while let Some(block) = blocks.pop() {
                if !comparison.copies.count(block, &comparison.flips) {
                    blocks.extend(block.halves());
                    continue;
                }
                comparison
                    .copies
                    .fill(arranged, block, &comparison.flips, self.below());
                for prefix in block.prefixes() {
                    // Buckets are consecutive, so each begins where the one before ends.
                    let end = self.rows.end_of(self.addresses(prefix).last)?;
                    while row < end {
                        let rows = row..comparison.window.reach(&self.rows, row, narrow)?.min(end);
                        row = rows.end;
                        // The rows of later buckets are fetched a few lines at a time, beside the comparisons.
                        self.rows
                            .prefetch_rests(rows.end.saturating_add(WINDOW_ROWS), rows.len() as u32);
                        let rows = comparison.window.positions(rows);
                        let copies = comparison.copies.of((prefix - block.first) as usize);
                        let flow = self.compare_rows(prefix, rows, copies, arranged, comparison, matches)?;
                        if flow.is_break() {
                            return Ok(flow);
                        }
                    }
                }
            }
        }
        self.check(arranged, &mut comparison.unchecked, matches)?;
        matches.report(self.job.segment)
    }

    /// Compares rows of one bucket with copies of queries and with large lists.
    #[inline]
    fn compare_rows<C: Width>(
        &self,
        prefix: u32,
        rows: Range<usize>,
        copies: Range<usize>,
        arranged: &Arrangement<W>,
        comparison: &mut Comparison<W, C>,
        matches: &mut Matches<'_, W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        let k = self.job.k;
        for copies in divide(copies) {
            matches.stats.candidates += (copies.len() * rows.len()) as u64;
            comparison.compare_copies(copies, rows.clone(), k);
            let flow = self.settle(prefix, arranged, comparison, matches)?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        let lists = comparison.large_near(arranged, prefix, self.job.probing.radius);
        for queries in lists.into_iter().flat_map(divide) {
            matches.stats.candidates += (queries.len() * rows.len()) as u64;
            comparison.compare_list(queries, rows.clone(), k);
            let flow = self.settle(prefix, arranged, comparison, matches)?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The number of address bits below a prefix.
    fn below(&self) -> u32 {
        let TableLookup { segment, probing, .. } = self.job;
        segment.tables[probing.table].order.address_bits() - self.join.bits
    }

    /// The addresses of a bucket.
    fn addresses(&self, prefix: u32) -> AddressRange {
        let first = prefix << self.below();
        AddressRange {
            first,
            last: first | ((1 << self.below()) - 1),
        }
    }

    /// Takes the near pairs of a bucket, checks the gathered ones if they are many, and reports the matches if they are
    /// many.
    #[inline]
    fn settle<C: Width>(
        &self,
        prefix: u32,
        arranged: &Arrangement<W>,
        comparison: &mut Comparison<W, C>,
        matches: &mut Matches<'_, W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        comparison.gather_near(arranged, prefix);
        if comparison.unchecked.len() >= CHECKED_PAIRS {
            self.check(arranged, &mut comparison.unchecked, matches)?;
            if matches.found.len() >= REPORT_ROWS {
                return matches.report(self.job.segment);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Appends those of the near pairs to the matches that are matches which no earlier table finds, and clears them.
    fn check(
        &self,
        arranged: &Arrangement<W>,
        unchecked: &mut Vec<Unchecked<W>>,
        matches: &mut Matches<'_, W>,
    ) -> Result<(), SegmentError> {
        let TableLookup {
            segment,
            probing,
            earlier,
            k,
            ..
        } = self.job;
        let table = &segment.tables[probing.table];
        let below = self.below();
        for pair in unchecked.drain(..) {
            let Unchecked { number, prefix, .. } = pair;
            let slot = pair.slot as usize;
            let (address, rest) = (arranged.addresses[slot], arranged.rests[slot]);
            let flipped = (address >> below) ^ prefix;
            if flipped.count_ones() + rest.distance(pair.rest) > k {
                continue;
            }
            let guess = prefix << below | address & ((1 << below) - 1);
            let of_row = self.rows.address_of(number, self.addresses(prefix), guess)?;
            let of_row = table.order.join(of_row, pair.rest);
            let differing = table.order.restore(of_row ^ table.order.join(address, rest));
            let distance = differing.distance(W::default());
            // A prefix has fewer bits than the address, so it finds more than the radius of the table promises. Later
            // tables expect what the radius promises.
            let finds =
                |p: &TableProbes| flips::reaches(differing, segment.tables[p.table].address, p.radius);
            if distance <= k && finds(probing) && !earlier.iter().any(finds) {
                matches.stats.matches += 1;
                matches.found.push(RowMatch {
                    query: arranged.numbers[slot],
                    fingerprint: table.order.restore(of_row),
                    distance,
                    row: if probing.table == 0 { number } else { NO_ROW },
                });
            }
        }
        Ok(())
    }
}

impl<W: Width> Matches<'_, W> {
    /// Passes the gathered matches to the receiver, and clears them.
    fn report(&mut self, segment: &Segment<W>) -> Result<ControlFlow<()>, SegmentError> {
        if self.found.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let flow = self.receive.receive(segment, self.found)?;
        self.found.clear();
        Ok(flow)
    }
}

impl<W: Width, C: Width> Comparison<W, C> {
    /// Takes the queries and flips of a table.
    fn begin(&mut self, arranged: &Arrangement<W>, bits: u32, flips: Vec<u32>, narrow: impl Fn(W) -> C) {
        self.window.span = Span { start: 0, end: 0 };
        self.unchecked.clear();
        self.flips = flips;
        let compared = arranged.rests.iter().map(|&rest| narrow(rest));
        self.copies.take(arranged, bits, compared);
    }

    /// Returns the large lists near a prefix.
    #[inline]
    fn large_near(&self, arranged: &Arrangement<W>, prefix: u32, radius: u32) -> Vec<Range<usize>> {
        self.copies.large_near(arranged, prefix, &self.flips, radius)
    }

    /// Compares rows of the window with copies of queries.
    fn compare_copies(&mut self, range: Range<usize>, rows: Range<usize>, k: u32) {
        let Self {
            copies, window, near, ..
        } = self;
        let (copied, slots) = (&copies.copied[range.clone()], &copies.slots[range]);
        let (first, rows) = (rows.start as u32, &window.compared[rows]);
        let mut push = |copy: u32, row: u32| {
            near.push(Near {
                slot: slots[copy as usize],
                row: first + row,
            });
        };
        // The longer side fills the vectors of the kernel better.
        if copied.len() <= rows.len() {
            kernel::hamming_many_to_many(copied, rows, k, &mut |copy, row, _| push(copy, row));
        } else {
            kernel::hamming_many_to_many(rows, copied, k, &mut |row, copy, _| push(copy, row));
        }
    }

    /// Compares rows of the window with queries that follow one another in the arrangement.
    fn compare_list(&mut self, queries: Range<usize>, rows: Range<usize>, k: u32) {
        let Self {
            copies, window, near, ..
        } = self;
        let (first, rows) = (rows.start as u32, &window.compared[rows]);
        let (slot, queries) = (queries.start as u32, &copies.queries[queries]);
        kernel::hamming_many_to_many(queries, rows, k, &mut |i, row, _| {
            near.push(Near {
                slot: slot + i,
                row: first + row,
            });
        });
    }

    /// Moves the near pairs of a bucket to those that are still to be checked.
    #[inline]
    fn gather_near(&mut self, arranged: &Arrangement<W>, prefix: u32) {
        for Near { slot, row } in self.near.drain(..) {
            kernel::prefetch_read(&arranged.addresses, slot as usize);
            kernel::prefetch_read(&arranged.rests, slot as usize);
            kernel::prefetch_read(&arranged.numbers, slot as usize);
            self.unchecked.push(Unchecked {
                slot,
                number: self.window.span.start + row,
                prefix,
                rest: self.window.rests[row as usize],
            });
        }
    }
}

impl<W: Width, C> Window<W, C> {
    /// Unpacks the rows from `row` on if the window ends there. Returns the end of the window.
    #[inline]
    fn reach(
        &mut self,
        rows: &impl RowBlocks<W>,
        row: u32,
        narrow: impl Fn(W) -> C,
    ) -> Result<u32, SegmentError> {
        if row >= self.span.end {
            let end = rows.count().min(row.saturating_add(WINDOW_ROWS));
            self.span = Span { start: row, end };
            rows.read_rests(self.span, &mut self.words, &mut self.rests)?;
            self.compared.clear();
            self.compared.extend(self.rests.iter().map(|&rest| narrow(rest)));
        }
        Ok(self.span.end)
    }

    /// Returns the positions of rows in the window.
    fn positions(&self, rows: Range<u32>) -> Range<usize> {
        (rows.start - self.span.start) as usize..(rows.end - self.span.start) as usize
    }
}

/// Divides queries into parts that are compared one after the other.
fn divide(queries: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = queries.end;
    queries
        .step_by(QUERIES_TOGETHER)
        .map(move |start| start..end.min(start + QUERIES_TOGETHER))
}
