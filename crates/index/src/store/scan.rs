//! A scan reads all stored rows once and joins them with tables over the queries. It gives the same answers as lookups,
//! and is cheaper for very many queries or a slow disk.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use twinprint_fingerprint::Width;

use super::view::Snapshot;
use super::{ScanStats, StoreError};
use crate::join::{ChunkJoin, Pair};
use crate::segment::SegmentError;

/// The number of stored rows that are joined with the tables at a time.
pub(super) const PASS_ROWS: usize = 1 << 20;

impl<W: Width> Snapshot<W> {
    /// Calls `hit(q, id, distance)` for every query number q and every id within `k` of that query, each pair once, in
    /// no particular order. The answers are those of [`Snapshot::lookup_batch`], but all stored rows are read once.
    /// Takes 50 to 150 bytes of memory for each query, and all threads of the current rayon pool. After each step,
    /// `done` is called with the number of rows that were read.
    ///
    /// # Errors
    /// `Damaged` if a file is damaged; [`SegmentError::Stopped`] once `stop` is set.
    ///
    /// # Panics
    /// If there are 2³² queries or more.
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
            scan.scanned.bytes += live.segment.scanned_bytes();
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

/// The tables over the queries of a scan, and its statistics so far.
struct ScanJoin<'s, W> {
    tables: ChunkJoin<W>,
    scanned: ScanStats,
    stop: &'s AtomicBool,
    done: &'s dyn Fn(u64),
}

impl<W: Width> ScanJoin<'_, W> {
    /// Returns the pairs of a query and one of the rows within the radius.
    fn pairs(&mut self, rows: &[W]) -> Result<Vec<Pair>, SegmentError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(SegmentError::Stopped);
        }
        let pairs = Mutex::new(Vec::new());
        self.scanned.compared += self.tables.join_parallel(rows, &|some: &[Pair]| {
            // If another thread panicked, the pairs gathered so far are still complete.
            let mut pairs = pairs.lock().unwrap_or_else(PoisonError::into_inner);
            pairs.extend_from_slice(some);
        });
        self.scanned.rows += rows.len() as u64;
        (self.done)(rows.len() as u64);
        let mut pairs = pairs.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Pairs are sorted by row, because the ids of adjacent rows are near one another in the file.
        pairs.sort_unstable_by_key(|pair| pair.b);
        Ok(pairs)
    }
}
