//! The probes of one table, block by block; the module `lookup` describes how they are pipelined.

use std::ops::{ControlFlow, Range};

use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::RowRange;

use super::arrangement::Arrangement;
use super::ids::{NO_ROW, RowMatch};
use super::search::TableProbes;
use super::{Receive, Stats};
use crate::flips;
use crate::segment::codec::{Buckets, Probed, Workspace};
use crate::segment::layout::SectionKind;
use crate::segment::span::Span;
use crate::segment::{Segment, SegmentError};

/// The maximum number of queries that are sorted and probed together.
pub(super) const MAX_BATCH_QUERIES: usize = 1 << 20;
/// The number of probes of a block: enough that the first prefetch has completed when the last one is issued.
const BLOCK_PROBES: usize = 64;
/// The number of matches that are gathered before they are passed on.
pub(super) const REPORT_ROWS: usize = 64;

/// Buffers that are reused from one table to the next.
#[derive(Debug, Default)]
pub(crate) struct ProbeBuffers<W> {
    pub(super) queries: Arrangement<W>,
    /// The block that is being filled. `prefetched` is the block whose bounds have been prefetched, `resolved` the
    /// block whose rows have been prefetched.
    filling: Box<ProbeBlock>,
    prefetched: Box<ProbeBlock>,
    resolved: Box<ProbeBlock>,
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
#[derive(Debug)]
struct ProbeBlock {
    len: usize,
    addresses: [u32; BLOCK_PROBES],
    /// The rows or pages of each probe, depending on the codec. `query` is the position of the query in the
    /// arrangement.
    runs: [RowRange; BLOCK_PROBES],
}

impl Default for ProbeBlock {
    fn default() -> Self {
        Self {
            len: 0,
            addresses: [0; BLOCK_PROBES],
            runs: [RowRange::default(); BLOCK_PROBES],
        }
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
        receive: &mut dyn Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        let TableLookup { segment, probing, .. } = self.job;
        let table = &segment.tables[probing.table];
        buffers.queries.arrange(queries, &table.order);
        buffers.workspace.begin(buffers.queries.is_sorted());
        stats.probes += (queries.len() * probing.flips.len()) as u64;
        for block in [
            &mut buffers.filling,
            &mut buffers.prefetched,
            &mut buffers.resolved,
        ] {
            block.len = 0;
        }
        let rows = segment.footer.range(SectionKind::Rows, probing.table);
        let bytes = rows.map_or(0, |rows| rows.len());
        for pass in buffers.queries.passes(&probing.flips, bytes) {
            for i in 0..buffers.queries.stretches() {
                let stretch = buffers.queries.stretch(&pass, i);
                for &flip in pass.flips.iter() {
                    if self
                        .probe(stretch.clone(), flip, buffers, stats, receive)?
                        .is_break()
                    {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
        }
        // Three more steps finish the last block and the two before it.
        for _ in 0..3 {
            if self.step(buffers, stats, receive)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.report_matches(buffers, receive)
    }

    /// Probes the address of each query of a stretch with some of its bits flipped.
    #[inline]
    fn probe(
        &self,
        stretch: Range<usize>,
        flip: u32,
        buffers: &mut ProbeBuffers<W>,
        stats: &mut Stats,
        receive: &mut dyn Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        let mut slot = stretch.start;
        while slot < stretch.end {
            let block = &mut buffers.filling;
            let from = block.len;
            let take = (BLOCK_PROBES - from).min(stretch.end - slot);
            let probes = block.addresses[from..].iter_mut().zip(&mut block.runs[from..]);
            let queries = (slot as u32..).zip(&buffers.queries.addresses[slot..slot + take]);
            for ((address, run), (number, &of)) in probes.zip(queries) {
                *address = of ^ flip;
                run.query = number;
                self.rows.prefetch(*address);
            }
            block.len += take;
            slot += take;
            if block.len == BLOCK_PROBES && self.step(buffers, stats, receive)?.is_break() {
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
        buffers: &mut ProbeBuffers<W>,
        stats: &mut Stats,
        receive: &mut dyn Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        self.compare(buffers, stats)?;
        self.resolve(&mut buffers.prefetched)?;
        buffers.resolved.len = 0;
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
        let addresses = &block.addresses[..block.len];
        if !self.job.segment.sectors.all() {
            for &address in addresses {
                self.rows.verify_bounds(address)?;
                self.rows.verify_rows(self.rows.locate(address))?;
            }
        }
        for (run, &address) in block.runs.iter_mut().zip(addresses) {
            Span {
                start: run.start,
                end: run.end,
            } = self.rows.locate(address);
        }
        Ok(())
    }

    /// Compares the queries with the rows of the resolved block, and appends the matches to `found`.
    #[inline]
    fn compare(&self, buffers: &mut ProbeBuffers<W>, stats: &mut Stats) -> Result<(), SegmentError> {
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
            addresses: &block.addresses[..block.len],
            runs: &block.runs[..block.len],
            rests: &buffers.queries.rests,
        };
        let (queries, found) = (&buffers.queries, &mut buffers.found);
        let seen = |differing: W| {
            let by = |p: &TableProbes| flips::reaches(differing, segment.tables[p.table].address, p.radius);
            earlier.iter().any(by)
        };
        let compared = self
            .rows
            .within(&probed, k, &mut buffers.workspace, |probe, row, rest| {
                let address = block.addresses[probe as usize];
                let slot = block.runs[probe as usize].query as usize;
                let permuted = table.order.join(address, rest);
                let query = queries.numbers[slot];
                let permuted_query = table.order.join(queries.addresses[slot], queries.rests[slot]);
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
        receive: &mut dyn Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        if buffers.found.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let flow = receive.receive(self.job.segment, &mut buffers.found)?;
        buffers.found.clear();
        Ok(flow)
    }
}
