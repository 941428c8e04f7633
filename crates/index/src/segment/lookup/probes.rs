//! The probes of one table, block by block; the module `lookup` describes how they are pipelined.

use std::ops::ControlFlow;

use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::RowRange;

use super::ids::{NO_ROW, RowMatch};
use super::search::TableProbes;
use super::{Receive, Stats};
use crate::flips;
use crate::segment::codec::{Buckets, Probe, Probed, Workspace};
use crate::segment::span::Span;
use crate::segment::{Segment, SegmentError};

/// The maximum number of queries that are sorted and probed together.
pub(super) const MAX_BATCH_QUERIES: usize = 1 << 20;
/// The number of queries that are probed together, flip by flip. The part of the table that they touch should fit the
/// first-level cache.
const GROUP_QUERIES: usize = 512;
/// The number of probes of a block: enough that the first prefetch has completed when the last one is issued.
const BLOCK_PROBES: usize = 64;
/// The number of matches that are gathered before they are passed on.
const REPORT_ROWS: usize = 64;
/// The minimum number of queries that are sorted by address before they are probed. Sorting fewer is not worth its
/// cost.
const MIN_ORDERED_QUERIES: usize = 2048;
/// log₂ of the number of address ranges by which queries are sorted.
const ORDER_BITS: u32 = 12;

/// Buffers that are reused from one table to the next.
#[derive(Debug, Default)]
pub(crate) struct ProbeBuffers<W> {
    /// The number of each query and its permuted form, in the order in which the queries are probed.
    order: Vec<(u32, W)>,
    /// The address of each query; `rests` has the bits below it.
    addresses: Vec<u32>,
    rests: Vec<W>,
    /// The block that is being filled. `prefetched` is the block whose bounds have been prefetched, `resolved` the
    /// block whose rows have been prefetched.
    filling: ProbeBlock,
    prefetched: ProbeBlock,
    resolved: ProbeBlock,
    workspace: Workspace<W>,
    found: Vec<RowMatch<W>>,
}

impl<W> ProbeBuffers<W> {
    /// Returns the number of bytes of the pages that were decoded since the last call.
    pub(super) fn take_page_bytes(&mut self) -> u64 {
        self.workspace.take_page_bytes()
    }
}

/// A block of probes.
#[derive(Debug, Default)]
struct ProbeBlock {
    probes: Vec<Probe>,
    /// The rows or pages of each probe, depending on the codec.
    runs: Vec<RowRange>,
}

impl ProbeBlock {
    fn clear(&mut self) {
        self.probes.clear();
        self.runs.clear();
    }
}

/// One table's part of a lookup.
pub(super) struct TableLookup<'j, W> {
    pub(super) segment: &'j Segment<W>,
    pub(super) probing: &'j TableProbes,
    pub(super) earlier: &'j [TableProbes],
    pub(super) k: u32,
    /// True if matches are passed on as soon as they are found.
    pub(super) eager: bool,
}

/// One table's part of a lookup, and the reader of the rows of the table.
pub(super) struct Probes<'j, W, R> {
    pub(super) job: TableLookup<'j, W>,
    pub(super) rows: R,
}

impl<W: Width, R: Buckets<W>> Probes<'_, W, R> {
    /// Probes the table for every query.
    pub(super) fn run(
        &self,
        queries: &[W],
        buffers: &mut ProbeBuffers<W>,
        stats: &mut Stats,
        receive: &mut impl Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        self.arrange(queries, buffers);
        buffers.workspace.begin(queries.len() >= MIN_ORDERED_QUERIES);
        stats.probes += (queries.len() * self.job.probing.flips.len()) as u64;
        let order = &self.job.segment.tables[self.job.probing.table].order;
        for from in (0..queries.len()).step_by(GROUP_QUERIES) {
            let to = (from + GROUP_QUERIES).min(queries.len());
            buffers.addresses.clear();
            buffers.rests.clear();
            for &(_, permuted) in &buffers.order[from..to] {
                buffers.addresses.push(order.address(permuted));
                buffers.rests.push(order.rest(permuted));
            }
            if self.probe_together(from, buffers, stats, receive)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.report_matches(buffers, receive)
    }

    /// Sorts the queries by the leading bits of their addresses, if there are at least [`MIN_ORDERED_QUERIES`].
    fn arrange(&self, queries: &[W], buffers: &mut ProbeBuffers<W>) {
        let order = &self.job.segment.tables[self.job.probing.table].order;
        buffers.order.clear();
        if queries.len() < MIN_ORDERED_QUERIES {
            let permuted = queries.iter().map(|&q| order.permute(q));
            buffers.order.extend((0..).zip(permuted));
            return;
        }
        let shift = order.address_bits().saturating_sub(ORDER_BITS);
        let mut starts = vec![0u32; (1 << ORDER_BITS) + 1];
        for &query in queries {
            let stretch = order.address(order.permute(query)) >> shift;
            starts[stretch as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        buffers.order.resize(queries.len(), (0, W::default()));
        for (number, &query) in (0u32..).zip(queries) {
            let permuted = order.permute(query);
            let at = &mut starts[(order.address(permuted) >> shift) as usize];
            buffers.order[*at as usize] = (number, permuted);
            *at += 1;
        }
    }

    /// Probes the table for one group of queries, of which the first is at position `from` of the probing order.
    fn probe_together(
        &self,
        from: usize,
        buffers: &mut ProbeBuffers<W>,
        stats: &mut Stats,
        receive: &mut impl Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        for block in [
            &mut buffers.filling,
            &mut buffers.prefetched,
            &mut buffers.resolved,
        ] {
            block.clear();
        }
        for &flip in &self.job.probing.flips {
            for slot in 0..buffers.addresses.len() {
                let address = buffers.addresses[slot] ^ flip;
                self.rows.prefetch(address);
                buffers.filling.probes.push(Probe {
                    address,
                    slot: slot as u32,
                });
                if buffers.filling.probes.len() == BLOCK_PROBES
                    && self.step(from, buffers, stats, receive)?.is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        // Three more steps finish the last block and the two before it.
        for _ in 0..3 {
            if self.step(from, buffers, stats, receive)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Advances the pipeline: compares the rows of the oldest block, prefetches the rows of the next one, and begins to
    /// fill another.
    #[inline]
    fn step(
        &self,
        from: usize,
        buffers: &mut ProbeBuffers<W>,
        stats: &mut Stats,
        receive: &mut impl Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        self.compare(from, buffers, stats)?;
        self.resolve(&mut buffers.prefetched)?;
        buffers.resolved.clear();
        std::mem::swap(&mut buffers.resolved, &mut buffers.prefetched);
        std::mem::swap(&mut buffers.prefetched, &mut buffers.filling);
        if buffers.found.len() >= REPORT_ROWS || self.job.eager {
            return self.report_matches(buffers, receive);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Locates the rows of the probes of a block, and prefetches them.
    #[inline]
    fn resolve(&self, block: &mut ProbeBlock) -> Result<(), SegmentError> {
        let ProbeBlock { probes, runs } = block;
        if !self.job.segment.sectors.all() {
            for &Probe { address, .. } in &*probes {
                self.rows.verify_bounds(address)?;
                self.rows.verify_rows(self.rows.locate(address))?;
            }
        }
        runs.extend(probes.iter().map(|&Probe { address, slot }| {
            let Span { start, end } = self.rows.locate(address);
            RowRange {
                start,
                end,
                query: slot,
            }
        }));
        Ok(())
    }

    /// Compares the queries with the rows of the resolved block, and appends the matches to `found`.
    #[inline]
    fn compare(
        &self,
        from: usize,
        buffers: &mut ProbeBuffers<W>,
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
        let block = &buffers.resolved;
        let probed = Probed {
            probes: &block.probes,
            runs: &block.runs,
            rests: &buffers.rests,
        };
        let (ordered, found) = (&buffers.order, &mut buffers.found);
        let seen = |differing: W| {
            let by = |p: &TableProbes| flips::reaches(differing, segment.tables[p.table].address, p.radius);
            earlier.iter().any(by)
        };
        let compared = self
            .rows
            .within(&probed, k, &mut buffers.workspace, |probe, row, rest| {
                let Probe { address, slot } = block.probes[probe as usize];
                let permuted = table.order.join(address, rest);
                let (query, permuted_query) = ordered[from + slot as usize];
                let differing = table.order.restore(permuted ^ permuted_query);
                let distance = differing.distance(W::default());
                if distance <= k && !seen(differing) {
                    stats.matches += 1;
                    found.push(RowMatch {
                        query,
                        fingerprint: table.order.restore(permuted),
                        distance,
                        row: if probing.table == 0 { row } else { NO_ROW },
                    });
                }
            })?;
        stats.candidates += compared;
        Ok(())
    }

    /// Passes the gathered matches to `receive`, and clears them.
    fn report_matches(
        &self,
        buffers: &mut ProbeBuffers<W>,
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
