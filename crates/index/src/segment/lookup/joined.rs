//! Lookups of very many queries: buckets of rows are joined with lists of queries.
//!
//! A probe costs a dozen nanoseconds, and a batch of many queries probes each part of a table many times. Then it is
//! cheaper to read the table once, in order. Queries are sorted by the p leading bits of their addresses, their
//! *prefix*. The rows of one prefix are a *bucket*. A bucket is unpacked once and compared with the queries of its own
//! prefix and of all prefixes within the radius of the table. The queries of many prefixes are few each, so they are
//! copied next to one another first. The comparison of many with many takes a twentieth of a nanosecond for each pair.
//!
//! Rows and queries are compared in the bits below the address, because the other bits of a row are not stored. The
//! address of a row is found in the directory if these bits are near enough.
//!
//! [`join_bits`] chooses p, or probes if they are cheaper. A shorter prefix has fewer lists of queries, a longer one
//! has fewer comparisons. This is the join of `crate::join`, with the stored table as one side.

mod cost;
#[cfg(test)]
mod tests;

use std::ops::{ControlFlow, Range};

use twinprint_fingerprint::{Width, kernel};

pub(super) use self::cost::join_bits;
use super::arrangement::Arrangement;
use super::ids::{NO_ROW, RowMatch};
use super::probes::{REPORT_ROWS, TableLookup};
use super::search::TableProbes;
use super::{Receive, Stats};
use crate::flips;
use crate::segment::SegmentError;
use crate::segment::codec::{AddressRange, RowBlocks};
use crate::segment::span::Span;

/// The number of rows of a bucket that are compared at a time. They fit the first-level cache.
const BLOCK_ROWS: u32 = 1024;
/// The number of copied queries at which they are compared. They fit the first-level cache too.
const GATHERED_QUERIES: usize = 2048;
/// A list of at least this number of queries is compared where it is, without a copy.
const LARGE_LIST: usize = 64;
/// Queries are copied in pieces of this number.
const COPY_QUERIES: usize = 8;

/// Buffers that are reused from one table to the next.
#[derive(Debug, Default)]
pub(crate) struct JoinBuffers<W> {
    words: Vec<u64>,
    /// The rows of the block.
    rows: Vec<W>,
    /// Copied queries, of which the first `filled` are valid, and the lists that they are from.
    gathered: Vec<W>,
    filled: usize,
    lists: Vec<CopiedList>,
    near: Vec<Near>,
    found: Vec<RowMatch<W>>,
}

/// A list of queries that has been copied.
#[derive(Clone, Copy, Debug)]
struct CopiedList {
    /// The position of the first query among the copies.
    at: u32,
    /// Its position in the arrangement.
    slot: u32,
}

/// A query and a row that are near in the bits below the address.
#[derive(Clone, Copy, Debug)]
struct Near {
    /// The position of the query in the arrangement.
    slot: u32,
    /// The position of the row in the block.
    row: u32,
    /// The distance of the bits below the address.
    distance: u32,
}

/// Consecutive rows of one bucket.
#[derive(Clone, Copy)]
struct Block {
    prefix: u32,
    addresses: AddressRange,
    /// The number of the first row.
    first: u32,
}

/// One table's part of a lookup, and the reader of the rows of the table.
pub(super) struct Joined<'j, W, R> {
    pub(super) job: TableLookup<'j, W>,
    pub(super) rows: R,
    /// The number of bits of a prefix, at most the number of address bits.
    pub(super) bits: u32,
}

impl<W: Width, R: RowBlocks<W>> Joined<'_, W, R> {
    /// Compares the rows of every bucket with the queries near it.
    pub(super) fn run(
        &self,
        queries: &[W],
        arranged: &mut Arrangement<W>,
        buffers: &mut JoinBuffers<W>,
        stats: &mut Stats,
        receive: &mut impl Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        let TableLookup { segment, probing, .. } = self.job;
        let table = &segment.tables[probing.table];
        let patterns = flips::ball(self.bits, probing.radius);
        arranged.sort(queries, &table.order, self.bits);
        buffers.found.clear();
        stats.probes += (queries.len() * patterns.len()) as u64;
        stats.bytes += table.bounds_bytes(2 << self.bits);
        let below = self.below();
        for prefix in 0..1u32 << self.bits {
            let first = prefix << below;
            let addresses = AddressRange {
                first,
                last: first | ((1 << below) - 1),
            };
            let bucket = self.rows.rows_between(addresses)?;
            stats.bytes += u64::from(bucket.end - bucket.start) * u64::from(table.order.rest_bits()) / 8;
            for first in (bucket.start..bucket.end).step_by(BLOCK_ROWS as usize) {
                let end = bucket.end.min(first.saturating_add(BLOCK_ROWS));
                let rows = Span { start: first, end };
                self.rows
                    .read_rests(rows, &mut buffers.words, &mut buffers.rows)?;
                let block = Block {
                    prefix,
                    addresses,
                    first,
                };
                for &pattern in &patterns {
                    let list = arranged.list(prefix ^ pattern);
                    stats.candidates += (list.len() * buffers.rows.len()) as u64;
                    if list.len() >= LARGE_LIST {
                        self.compare_list(arranged, list, block, buffers, stats)?;
                    } else if !list.is_empty() {
                        buffers.gather(arranged, list);
                        if buffers.filled >= GATHERED_QUERIES {
                            self.compare_gathered(arranged, block, buffers, stats)?;
                        }
                    }
                }
                self.compare_gathered(arranged, block, buffers, stats)?;
            }
            if buffers.found.len() >= REPORT_ROWS && self.report_matches(buffers, receive)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.report_matches(buffers, receive)
    }

    /// The number of address bits below the prefix.
    fn below(&self) -> u32 {
        let TableLookup { segment, probing, .. } = self.job;
        segment.tables[probing.table].order.address_bits() - self.bits
    }

    /// Compares a block of rows with a list of queries.
    fn compare_list(
        &self,
        arranged: &Arrangement<W>,
        list: Range<usize>,
        block: Block,
        buffers: &mut JoinBuffers<W>,
        stats: &mut Stats,
    ) -> Result<(), SegmentError> {
        let near = &mut buffers.near;
        let queries = &arranged.rests[list.clone()];
        kernel::hamming_many_to_many(queries, &buffers.rows, self.job.k, &mut |i, row, distance| {
            near.push(Near {
                slot: list.start as u32 + i,
                row,
                distance: distance.into(),
            });
        });
        self.check_near(arranged, block, buffers, stats)
    }

    /// Compares a block of rows with the copied queries, and clears the copies.
    fn compare_gathered(
        &self,
        arranged: &Arrangement<W>,
        block: Block,
        buffers: &mut JoinBuffers<W>,
        stats: &mut Stats,
    ) -> Result<(), SegmentError> {
        let (near, lists) = (&mut buffers.near, &buffers.lists);
        let queries = &buffers.gathered[..buffers.filled];
        kernel::hamming_many_to_many(queries, &buffers.rows, self.job.k, &mut |i, row, distance| {
            // The first list begins at 0, so some list begins at or before i.
            let list = lists.partition_point(|list| list.at <= i).saturating_sub(1);
            if let Some(list) = lists.get(list) {
                near.push(Near {
                    slot: list.slot + (i - list.at),
                    row,
                    distance: distance.into(),
                });
            }
        });
        buffers.filled = 0;
        buffers.lists.clear();
        self.check_near(arranged, block, buffers, stats)
    }

    /// Appends those of the near pairs to `found` that are matches which no earlier table finds, and clears them.
    fn check_near(
        &self,
        arranged: &Arrangement<W>,
        block: Block,
        buffers: &mut JoinBuffers<W>,
        stats: &mut Stats,
    ) -> Result<(), SegmentError> {
        let TableLookup {
            segment,
            probing,
            earlier,
            k,
            ..
        } = self.job;
        let table = &segment.tables[probing.table];
        for Near { slot, row, distance } in buffers.near.drain(..) {
            let (address, rest) = (arranged.addresses[slot as usize], arranged.rests[slot as usize]);
            let flipped = (address >> self.below()) ^ block.prefix;
            if flipped.count_ones() + distance > k {
                continue;
            }
            let number = block.first + row;
            let of_row = self.rows.address_of(number, block.addresses)?;
            let permuted = table.order.join(of_row, buffers.rows[row as usize]);
            let differing = table.order.restore(permuted ^ table.order.join(address, rest));
            let distance = differing.distance(W::default());
            // A prefix has fewer bits than the address, so it finds more than the radius of the table promises. Later
            // tables expect what the radius promises.
            let finds =
                |p: &TableProbes| flips::reaches(differing, segment.tables[p.table].address, p.radius);
            if distance <= k && finds(probing) && !earlier.iter().any(finds) {
                stats.matches += 1;
                buffers.found.push(RowMatch {
                    query: arranged.numbers[slot as usize],
                    fingerprint: table.order.restore(permuted),
                    distance,
                    row: if probing.table == 0 { number } else { NO_ROW },
                });
            }
        }
        Ok(())
    }

    /// Passes the gathered matches to `receive`, and clears them.
    fn report_matches(
        &self,
        buffers: &mut JoinBuffers<W>,
        receive: &mut impl Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        if buffers.found.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let flow = receive.receive(self.job.segment, &mut buffers.found)?;
        buffers.found.clear();
        Ok(flow)
    }
}

impl<W: Width> JoinBuffers<W> {
    /// Copies a list of fewer than [`LARGE_LIST`] queries to the end of the queries copied so far.
    #[inline]
    fn gather(&mut self, arranged: &Arrangement<W>, list: Range<usize>) {
        if self.gathered.is_empty() {
            self.gathered
                .resize(GATHERED_QUERIES + LARGE_LIST + COPY_QUERIES, W::default());
        }
        self.lists.push(CopiedList {
            at: self.filled as u32,
            slot: list.start as u32,
        });
        let queries = &arranged.rests;
        let (mut to, mut from) = (self.filled, list.start);
        self.filled += list.len();
        // Copying pieces of fixed length, even past the end of the list, is far cheaper than copying exact lengths.
        while from < list.end && from + COPY_QUERIES <= queries.len() {
            self.gathered[to..to + COPY_QUERIES].copy_from_slice(&queries[from..from + COPY_QUERIES]);
            to += COPY_QUERIES;
            from += COPY_QUERIES;
        }
        if from < list.end {
            self.gathered[to..to + list.end - from].copy_from_slice(&queries[from..list.end]);
        }
    }
}
