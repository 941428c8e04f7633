//! Joins of segments on disk: finds every pair of rows within Hamming distance k, of one segment or of one row of each
//! of two.
//!
//! Rows are read in chunks as large as memory allows. A chunk is joined with itself in memory, and with all later rows
//! in one pass, by tables over the chunk. A segment that fits into memory is read once. With the same memory, twice the
//! rows take four times the work.

#[cfg(test)]
mod tests;

use twinprint_fingerprint::Width;

use super::between::ChunkJoin;
use super::{Pair, self_join_until};
use crate::planner::plan_join;
use crate::segment::{Segment, SegmentError};

/// The number of rows that are joined with the tables of a chunk at a time.
const PASS_ROWS: usize = 1 << 20;
/// The minimum number of rows of a chunk.
const MIN_CHUNK_ROWS: usize = 1 << 12;

/// A join of segments on disk.
///
/// ```
/// use std::sync::Mutex;
///
/// use twinprint_index::Pair;
/// use twinprint_index::join::StoredJoin;
/// use twinprint_index::segment::{Builder, Options};
///
/// let directory = tempfile::tempdir()?;
/// let mut builder = Builder::new(&directory.path().join("rows.seg"), &Options::default())?;
/// for (id, fingerprint) in [0b0000_u64, 0b0011, u64::MAX].into_iter().enumerate() {
///     builder.push(fingerprint, id as u64)?;
/// }
/// let segment = builder.finish()?;
///
/// let join = StoredJoin { k: 3, memory: 64 << 20, stop: &|| false, done: &|_rows| {} };
/// let pairs = Mutex::new(Vec::new());
/// join.with_itself(&segment, &|batch: &[Pair]| pairs.lock().unwrap().extend_from_slice(batch))?;
/// assert_eq!(pairs.into_inner()?, [Pair { a: 0, b: 1, distance: 2 }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct StoredJoin<'j> {
    /// The largest Hamming distance of a pair.
    pub k: u32,
    /// The approximate limit of memory in bytes. Rows that [`Segment::stretches`] maps are not counted.
    pub memory: u64,
    /// Once this returns `true`, the join ends with [`SegmentError::Stopped`].
    pub stop: &'j (dyn Fn() -> bool + Sync),
    /// Called with the number of rows that have been read and joined since the last call.
    pub done: &'j (dyn Fn(u64) + Sync),
}

impl std::fmt::Debug for StoredJoin<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("StoredJoin");
        debug.field("k", &self.k).field("memory", &self.memory).finish()
    }
}

impl StoredJoin<'_> {
    /// Returns the approximate minimum memory in bytes of a join within `k`. `rows` is the number of rows of the
    /// segment that is joined with itself, or the two numbers of rows of the segments that are joined with each other.
    pub fn least_memory<W: Width>(k: u32, rows: &[u64]) -> u64 {
        let in_memory_bytes = match rows {
            [rows] => in_memory_bytes::<W>(*rows),
            _ => u64::MAX,
        };
        let few = rows.iter().copied().min().unwrap_or_default();
        let chunk = few.min(MIN_CHUNK_ROWS as u64);
        let tables = ChunkJoin::<W>::tables_for(chunk as usize, PASS_ROWS, k);
        let passing = rows.iter().copied().max().unwrap_or_default();
        let row = u64::from(W::BITS / 8) + ChunkJoin::<W>::bytes_a_row(tables);
        let by_chunks = passing_bytes::<W>(passing) + chunk * row;
        in_memory_bytes.min(by_chunks)
    }

    /// Returns the total number of rows that [`done`](Self::done) is called with when a segment of `rows` rows is
    /// joined with itself.
    pub fn work_with_itself<W: Width>(&self, rows: u64) -> u64 {
        let chunk = self.self_chunk::<W>(rows) as u64;
        (0..rows.div_ceil(chunk)).map(|c| rows - c * chunk).sum()
    }

    /// Like [`StoredJoin::work_with_itself`], but for the join of two segments of `a` and `b` rows.
    pub fn work_between<W: Width>(&self, a: u64, b: u64) -> u64 {
        let (few, many) = (a.min(b), a.max(b));
        many * few.div_ceil(self.chunk::<W>(few) as u64)
    }

    /// Joins a segment with itself. `sink` gets pairs of row numbers, which are those of [`Segment::stretches`], with
    /// the smaller one first: each pair once, in batches from several threads at once, in no particular order.
    ///
    /// # Errors
    /// `Damaged` if the file is damaged; `Stopped` once `stop` returns `true`.
    pub fn with_itself<W: Width>(
        &self,
        segment: &Segment<W>,
        sink: &(impl Fn(&[Pair]) + Sync),
    ) -> Result<(), SegmentError> {
        let rows = segment.rows();
        let chunk = self.self_chunk::<W>(rows);
        for from in (0..rows).step_by(chunk) {
            let to = (from + chunk as u64).min(rows);
            let mut chunk_rows = Chunk::new(from..to);
            let mut passing = PassingRows::new(to, false);
            segment.stretches(|first, stretch| {
                self.check_stop()?;
                let rest = chunk_rows.take(first, stretch);
                if rest.is_empty() {
                    return Ok(());
                }
                passing.add(self, &chunk_rows, rest, sink)
            })?;
            self.check_stop()?;
            let base = from as u32;
            let plan = plan_join(&chunk_rows.rows, self.k).plan;
            self_join_until(&chunk_rows.rows, self.k, &plan, self.stop, &|pairs: &[Pair]| {
                sink(&moved(pairs, base, base));
            });
            (self.done)(to - from);
            passing.flush(self, &chunk_rows, sink)?;
        }
        self.check_stop()
    }

    /// Joins two segments. `sink` gets pairs of a row number of `a` and a row number of `b`, in batches as from
    /// [`StoredJoin::with_itself`].
    ///
    /// # Errors
    /// The same as for [`StoredJoin::with_itself`].
    pub fn between<W: Width>(
        &self,
        a: &Segment<W>,
        b: &Segment<W>,
        sink: &(impl Fn(&[Pair]) + Sync),
    ) -> Result<(), SegmentError> {
        let swapped = a.rows() > b.rows();
        let (few, many) = if swapped { (b, a) } else { (a, b) };
        let chunk = self.chunk::<W>(few.rows());
        for from in (0..few.rows()).step_by(chunk) {
            let to = (from + chunk as u64).min(few.rows());
            let mut chunk_rows = Chunk::new(from..to);
            few.stretches(|first, stretch| {
                self.check_stop()?;
                chunk_rows.take(first, stretch);
                Ok::<_, SegmentError>(())
            })?;
            let mut passing = PassingRows::new(0, swapped);
            many.stretches(|_, stretch| {
                self.check_stop()?;
                passing.add(self, &chunk_rows, stretch, sink)
            })?;
            passing.flush(self, &chunk_rows, sink)?;
        }
        self.check_stop()
    }

    /// The number of rows of a chunk when a segment of `rows` rows is joined with itself.
    fn self_chunk<W: Width>(&self, rows: u64) -> usize {
        if in_memory_bytes::<W>(rows) <= self.memory {
            return (rows as usize).max(1);
        }
        self.chunk::<W>(rows)
    }

    /// The number of rows of a chunk whose tables fit into the memory.
    fn chunk<W: Width>(&self, rows: u64) -> usize {
        let row = u64::from(W::BITS / 8);
        let left = self.memory.saturating_sub(passing_bytes::<W>(u64::MAX));
        let mut chunk = rows as usize;
        // The number of tables depends on the number of rows and the other way round; two rounds are enough.
        for _ in 0..2 {
            let tables = ChunkJoin::<W>::tables_for(chunk, PASS_ROWS, self.k);
            let fit = left / (row + ChunkJoin::<W>::bytes_a_row(tables));
            chunk = usize::try_from(fit.min(rows))
                .unwrap_or(usize::MAX)
                .max(MIN_CHUNK_ROWS);
        }
        chunk
    }

    fn check_stop(&self) -> Result<(), SegmentError> {
        if (self.stop)() {
            Err(SegmentError::Stopped)
        } else {
            Ok(())
        }
    }
}

/// The memory in bytes for joining all rows of a segment with one another at once: the rows, and two copies of rows and
/// ids with a directory while they are sorted.
fn in_memory_bytes<W: Width>(rows: u64) -> u64 {
    let row = u64::from(W::BITS / 8);
    rows.saturating_mul(row + 2 * (row + 4) + 8)
}

/// The memory in bytes for the rows that are joined with the tables of a chunk at a time, if there are `rows` rows in
/// total.
fn passing_bytes<W: Width>(rows: u64) -> u64 {
    let row = u64::from(W::BITS / 8);
    rows.min(PASS_ROWS as u64) * (row + 2 * (row + 4))
}

/// The rows of a chunk in memory, with their row numbers.
struct Chunk<W> {
    numbers: std::ops::Range<u64>,
    rows: Vec<W>,
}

impl<W: Width> Chunk<W> {
    fn new(numbers: std::ops::Range<u64>) -> Self {
        Self {
            rows: Vec::with_capacity((numbers.end - numbers.start) as usize),
            numbers,
        }
    }

    /// Takes the rows of a stretch that belong to the chunk, and returns the rows of the stretch after them. `first` is
    /// the row number of the first row of the stretch.
    fn take<'s>(&mut self, first: u32, stretch: &'s [W]) -> &'s [W] {
        let at = |number: u64| {
            let before = number.saturating_sub(first.into());
            usize::try_from(before).unwrap_or(usize::MAX).min(stretch.len())
        };
        let (from, to) = (at(self.numbers.start), at(self.numbers.end));
        self.rows.extend_from_slice(&stretch[from..to]);
        &stretch[to..]
    }
}

/// A buffer of consecutive rows to be joined with the tables of a chunk.
struct PassingRows<W> {
    /// The tables of the chunk, built when the first rows are joined with them. The chunk is complete then.
    tables: Option<ChunkJoin<W>>,
    rows: Vec<W>,
    /// The row number of the first row in the buffer.
    first: u32,
    /// True if the chunk has the rows of segment `b`, so that the two row numbers of each pair must be swapped.
    swapped: bool,
}

impl<W: Width> PassingRows<W> {
    fn new(first: u64, swapped: bool) -> Self {
        Self {
            tables: None,
            rows: Vec::new(),
            first: first as u32,
            swapped,
        }
    }

    fn add(
        &mut self,
        join: &StoredJoin<'_>,
        chunk_rows: &Chunk<W>,
        rows: &[W],
        sink: &(impl Fn(&[Pair]) + Sync),
    ) -> Result<(), SegmentError> {
        self.rows.extend_from_slice(rows);
        if self.rows.len() >= PASS_ROWS {
            self.flush(join, chunk_rows, sink)?;
        }
        Ok(())
    }

    fn flush(
        &mut self,
        join: &StoredJoin<'_>,
        chunk_rows: &Chunk<W>,
        sink: &(impl Fn(&[Pair]) + Sync),
    ) -> Result<(), SegmentError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let tables = match &mut self.tables {
            Some(tables) => tables,
            none => none.insert(ChunkJoin::new(&chunk_rows.rows, PASS_ROWS, join.k)?),
        };
        let (base, first, swapped) = (chunk_rows.numbers.start as u32, self.first, self.swapped);
        tables.join_parallel(&self.rows, &|pairs: &[Pair]| {
            let mut pairs = moved(pairs, base, first);
            if swapped {
                for pair in &mut pairs {
                    (pair.a, pair.b) = (pair.b, pair.a);
                }
            }
            sink(&pairs);
        });
        self.first += self.rows.len() as u32;
        (join.done)(self.rows.len() as u64);
        self.rows.clear();
        Ok(())
    }
}

/// Adds `a` to the first row number of each pair, and `b` to the second.
fn moved(pairs: &[Pair], a: u32, b: u32) -> Vec<Pair> {
    let moved = |pair: &Pair| Pair {
        a: pair.a + a,
        b: pair.b + b,
        distance: pair.distance,
    };
    pairs.iter().map(moved).collect()
}
