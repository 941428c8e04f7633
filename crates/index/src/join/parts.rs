//! The join by parts: for one table after the other, buckets are compared with buckets.
//!
//! The sorted rows are cut into tiles of equal length, wherever buckets begin, so one bucket with all the rows is as
//! parallel as many small ones. A tile takes its runs of equal address in turn. Each run is compared with itself, with
//! the rows after it in its own bucket, and with every bucket `address ^ flip` of a greater address, that is, for the
//! flips whose highest one is at a 0 of the address. Small buckets are first copied next to one another, so that one
//! kernel call compares many of them; large ones are compared in place.

use rayon::prelude::*;
use twinprint_fingerprint::{Width, kernel};

use super::closed::{IsClosed, NumberedRows, compare, compare_within};
use super::{Batch, JoinStats, Pair};
use crate::address::Address;
use crate::bucket::Buckets;
use crate::flips;
use crate::plan::JoinTables;

/// The number of rows of a tile, which is the unit of parallel work.
const TILE_ROWS: usize = 2048;
/// The number of rows that are copied next to one another before a kernel call. Together with the tile's run they fit
/// the first-level cache.
const GATHER_ROWS: usize = 1024;
/// The number of rows that are copied at once when small buckets are gathered.
const COPY_ROWS: usize = 8;
/// Buckets of at least this number of rows are compared in place, without copying them.
const LARGE_BUCKET_ROWS: usize = 128;
/// The number of rows of a large bucket that are compared at a time, so that they stay in the cache for all rows of the
/// run. The kernel compares that many by tables.
const STRETCH_ROWS: usize = kernel::MAX_PLANE_ROWS;

pub(super) fn join<W: Width>(
    rows: &[W],
    k: u32,
    plan: &JoinTables,
    stop: &(dyn Fn() -> bool + Sync),
    is_closed: Option<&IsClosed<'_>>,
    sink: &(impl Fn(&[Pair]) + Sync),
) -> JoinStats {
    let mut buckets = Buckets::new();
    let mut earlier: Vec<(W, u32)> = Vec::new();
    let mut stats = JoinStats {
        plan: plan.name.clone(),
        ..JoinStats::default()
    };
    for part in &plan.tables {
        if stop() {
            break;
        }
        buckets.order(rows, Address::new(part.address));
        let flips = flips::by_top(buckets.address().bits(), part.radius);
        let tiles = rows.len().div_ceil(TILE_ROWS);
        let done = (0..tiles)
            .into_par_iter()
            .map_init(
                || Walker::new(&buckets, &flips, &earlier, k, is_closed, sink),
                |walker, tile| {
                    if stop() {
                        return JoinStats::default();
                    }
                    walker.tile(tile * TILE_ROWS, ((tile + 1) * TILE_ROWS).min(rows.len()))
                },
            )
            .reduce(JoinStats::default, |a, b| a.merged(&b));
        stats = stats.merged(&done);
        earlier.push((W::truncate(part.address), part.radius));
    }
    stats
}

/// The state of one thread that joins tiles of one table.
struct Walker<'p, W, S> {
    buckets: &'p Buckets<W>,
    flips: &'p [Vec<u32>],
    k: u32,
    emit: PairEmitter<'p, W, S>,
    /// Copies of small buckets. Only the first `filled` rows are in use.
    gathered: Vec<W>,
    filled: usize,
    /// For each copied bucket, its start in `gathered` and its start in the sorted rows.
    pieces: Vec<(u32, u32)>,
}

/// Emits a pair unless an earlier table of the plan has emitted it, or both rows are closed.
struct PairEmitter<'p, W, S> {
    buckets: &'p Buckets<W>,
    earlier: &'p [(W, u32)],
    is_closed: Option<&'p IsClosed<'p>>,
    batch: Batch<'p, S>,
}

impl<W: Width, S: Fn(&[Pair]) + Sync> PairEmitter<'_, W, S> {
    /// Emits the pair of the rows at positions `x` and `y` of the sorted rows, unless an earlier table has emitted it or
    /// both rows are closed.
    #[inline]
    fn pair(&mut self, x: usize, y: usize, distance: u8) {
        let ids = &self.buckets.ids;
        if let Some(is_closed) = self.is_closed
            && is_closed(ids[x])
            && is_closed(ids[y])
        {
            return;
        }
        let differing = self.buckets.rows[x] ^ self.buckets.rows[y];
        let seen = |&(mask, radius): &(W, u32)| flips::reaches(differing, mask, radius);
        if !self.earlier.iter().any(seen) {
            self.batch.push(ids[x], ids[y], distance);
        }
    }
}

impl<'p, W: Width, S: Fn(&[Pair]) + Sync> Walker<'p, W, S> {
    fn new(
        buckets: &'p Buckets<W>,
        flips: &'p [Vec<u32>],
        earlier: &'p [(W, u32)],
        k: u32,
        is_closed: Option<&'p IsClosed<'p>>,
        sink: &'p S,
    ) -> Self {
        Self {
            buckets,
            flips,
            k,
            emit: PairEmitter {
                buckets,
                earlier,
                is_closed,
                batch: Batch::new(sink),
            },
            gathered: vec![W::default(); GATHER_ROWS + LARGE_BUCKET_ROWS + COPY_ROWS],
            filled: 0,
            pieces: Vec::new(),
        }
    }

    /// Compares the sorted rows at positions `start..end`, run by run, with the rows after them in their bucket and
    /// with the buckets of greater addresses within the table's radius.
    fn tile(&mut self, mut start: usize, end: usize) -> JoinStats {
        let mut stats = JoinStats::default();
        let buckets = self.buckets;
        self.emit.batch.sent = 0;
        while start < end {
            let address = buckets.address().of(buckets.rows[start]);
            let bucket_end = buckets.bucket(address).end;
            let run_end = bucket_end.min(end);
            let run = &buckets.rows[start..run_end];
            let len = run.len() as u64;
            let mut met = 0;

            let emit = &mut self.emit;
            let numbered = NumberedRows {
                rows: run,
                ids: &buckets.ids[start..run_end],
            };
            let is_closed = emit.is_closed;
            compare_within(numbered, self.k, is_closed, &mut |i, j, d| {
                emit.pair(start + i as usize, start + j as usize, d);
            });
            self.compare_run(start, run, run_end, bucket_end);
            met += bucket_end - run_end;

            for (t, patterns) in self.flips.iter().enumerate() {
                if address >> t & 1 == 1 {
                    continue;
                }
                stats.bucket_pairs += patterns.len() as u64;
                for &pattern in patterns {
                    let partner = buckets.bucket(address ^ pattern);
                    met += partner.len();
                    if partner.len() >= LARGE_BUCKET_ROWS {
                        self.compare_run(start, run, partner.start, partner.end);
                    } else if !partner.is_empty() {
                        self.gather(partner);
                        if self.filled >= GATHER_ROWS {
                            self.meet_gathered(start, run);
                        }
                    }
                }
            }
            self.meet_gathered(start, run);
            stats.comparisons += len * (len - 1) / 2 + len * met as u64;
            start = run_end;
        }
        self.emit.batch.send();
        stats.pairs = self.emit.batch.sent;
        stats
    }

    /// Compares a run with the sorted rows at positions `from..to`.
    fn compare_run(&mut self, start: usize, run: &[W], from: usize, to: usize) {
        let (emit, k, buckets) = (&mut self.emit, self.k, self.buckets);
        let is_closed = emit.is_closed;
        let run = NumberedRows {
            rows: run,
            ids: &buckets.ids[start..start + run.len()],
        };
        for at in (from..to).step_by(STRETCH_ROWS) {
            let end = (at + STRETCH_ROWS).min(to);
            let stretch = NumberedRows {
                rows: &buckets.rows[at..end],
                ids: &buckets.ids[at..end],
            };
            compare(run, stretch, k, is_closed, &mut |i, j, d| {
                emit.pair(start + i as usize, at + j as usize, d);
            });
        }
    }

    /// Copies a bucket of fewer than [`LARGE_BUCKET_ROWS`] rows to the end of the rows gathered so far.
    #[inline]
    fn gather(&mut self, bucket: std::ops::Range<usize>) {
        self.pieces.push((self.filled as u32, bucket.start as u32));
        let rows = &self.buckets.rows;
        let (mut to, mut from) = (self.filled, bucket.start);
        self.filled += bucket.len();
        // Copying pieces of fixed length, even past the end of the bucket, is far cheaper than copying exact lengths.
        while from < bucket.end && from + COPY_ROWS <= rows.len() {
            self.gathered[to..to + COPY_ROWS].copy_from_slice(&rows[from..from + COPY_ROWS]);
            to += COPY_ROWS;
            from += COPY_ROWS;
        }
        if from < bucket.end {
            self.gathered[to..to + bucket.end - from].copy_from_slice(&rows[from..bucket.end]);
        }
    }

    /// Compares a run with the copied buckets, and clears the copies.
    fn meet_gathered(&mut self, start: usize, run: &[W]) {
        let (emit, pieces) = (&mut self.emit, &self.pieces);
        kernel::hamming_many_to_many(run, &self.gathered[..self.filled], self.k, &mut |i, j, d| {
            // The first copied bucket starts at 0, so some bucket starts at or before j.
            let piece = pieces.partition_point(|&(at, _)| at <= j).saturating_sub(1);
            if let Some(&(at, position)) = pieces.get(piece) {
                emit.pair(start + i as usize, (position + (j - at)) as usize, d);
            }
        });
        self.filled = 0;
        self.pieces.clear();
    }
}
