//! A scan: one pass over all stored rows, joined with tables over the queries. Its answers are those of lookups; it is cheaper for very many
//! queries or a slow disk.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use twinprint_fingerprint::Width;

use super::view::Snapshot;
use super::{ScanStats, StoreError};
use crate::join::{ChunkJoin, Pair};
use crate::segment::SegmentError;

/// The number of rows joined with the tables at a time.
pub(super) const PASS_ROWS: usize = 1 << 20;

impl<W: Width> Snapshot<W> {
    /// Calls `hit(q, id, distance)` for every query number q and every id within `k` of it, each pair once, in no particular order, as
    /// [`Snapshot::lookup_batch`] does, but reads all stored rows once. Takes 50 to 150 bytes of memory for each query, and all threads of the
    /// current rayon pool. `done` is called with the number of rows of each step.
    ///
    /// # Errors
    /// A file is damaged; `Stopped` of the segment's errors once `stop` is set.
    ///
    /// # Panics
    /// With 2³² queries or more.
    pub fn scan(
        &self,
        queries: &[W],
        k: u32,
        stop: &AtomicBool,
        done: &dyn Fn(u64),
        mut hit: impl FnMut(usize, u64, u32),
    ) -> Result<ScanStats, StoreError> {
        let mut scan = ScanJoin {
            tables: ChunkJoin::new(queries, PASS_ROWS, k).map_err(SegmentError::from)?,
            scanned: ScanStats::default(),
            stop,
            done,
        };
        let mut rows: Vec<W> = Vec::with_capacity(PASS_ROWS);
        for live in &self.view.segments {
            let mut base = 0;
            let mut flush = |rows: &mut Vec<W>, base: &mut u32| -> Result<(), StoreError> {
                for pair in scan.pairs(rows)? {
                    let (query, row) = (pair.a as usize, *base + pair.b);
                    live.segment.ids_at(row, |id| {
                        if !live.tombstones.holds(id, self.stamp) {
                            scan.scanned.matches += 1;
                            hit(query, id, pair.distance.into());
                        }
                    })?;
                }
                *base += rows.len() as u32;
                rows.clear();
                Ok(())
            };
            live.segment.stretches(|_, stretch| {
                rows.extend_from_slice(stretch);
                if rows.len() >= PASS_ROWS {
                    flush(&mut rows, &mut base)?;
                }
                Ok::<_, StoreError>(())
            })?;
            flush(&mut rows, &mut base)?;
        }
        for (memtable, entries) in self.memtables() {
            let living = memtable.living(entries, self.stamp);
            let rows: Vec<W> = living.iter().map(|&(row, _)| row).collect();
            for pair in scan.pairs(&rows)? {
                if let Some(&(_, id)) = living.get(pair.b as usize) {
                    scan.scanned.matches += 1;
                    hit(pair.a as usize, id, pair.distance.into());
                }
            }
        }
        Ok(scan.scanned)
    }
}

/// Tables over the queries, and the statistics so far.
struct ScanJoin<'s, W> {
    tables: ChunkJoin<W>,
    scanned: ScanStats,
    stop: &'s AtomicBool,
    done: &'s dyn Fn(u64),
}

impl<W: Width> ScanJoin<'_, W> {
    /// The pairs of a query and one of the rows.
    fn pairs(&mut self, rows: &[W]) -> Result<Vec<Pair>, SegmentError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(SegmentError::Stopped);
        }
        let pairs = Mutex::new(Vec::new());
        self.scanned.compared += self.tables.join_parallel(rows, &|some: &[Pair]| {
            // A panic of another thread leaves the gathered pairs complete.
            let mut pairs = pairs.lock().unwrap_or_else(PoisonError::into_inner);
            pairs.extend_from_slice(some);
        });
        self.scanned.rows += rows.len() as u64;
        (self.done)(rows.len() as u64);
        let mut pairs = pairs.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Sorted by row, because adjacent rows have their ids near one another.
        pairs.sort_unstable_by_key(|pair| pair.b);
        Ok(pairs)
    }
}
