//! The fifth stage: joins the rows, block against block.
//!
//! Each pair of blocks is a task, so each pair of rows arises in one task. A task closes a row once it has counted more
//! than [`HOT_ROW_MIN_NEIGHBORS`] neighbours of it, and leaves out pairs of two closed rows: both are hot in any case. So a
//! task writes few pairs of a crowd, and the number of neighbours of a row that no task closes is exact.

use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use twinprint_fingerprint::Width;
use twinprint_index::join::{Pair, join_sets, self_join_of_open};
use twinprint_index::planner::plan_join;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::{JoinSummary, PAIRS, ROW_ENDS, ROWS};
use super::tables::{JoinRow, RowPair};
use crate::candidates::HOT_ROW_MIN_NEIGHBORS;
use crate::error::DedupError;
use crate::rows::{Number, RowWriter};

/// Two blocks of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockPair {
    pub(super) first: u32,
    /// At least `first`.
    pub(super) second: u32,
}

impl BlockPair {
    /// All pairs of `blocks` blocks, in the order of their tasks.
    pub(super) fn all(blocks: u32) -> impl Iterator<Item = Self> {
        (0..blocks).flat_map(move |first| (first..blocks).map(move |second| Self { first, second }))
    }

    /// True if a block is one of the two.
    pub(super) fn has(self, block: u32) -> bool {
        block == self.first || block == self.second
    }

    /// The block that is joined with one of the two.
    pub(super) fn other(self, block: u32) -> u32 {
        if block == self.first {
            self.second
        } else {
            self.first
        }
    }
}

/// Joins two blocks of rows.
pub(super) fn join(job: &StagedJob<'_>, number: u32, pair: BlockPair) -> Result<JoinSummary, DedupError> {
    let task = Task::new(Stage::Join, number);
    job.folder.run(task, |dir| match job.parameters()?.radius.bits {
        64 => join_blocks::<u64>(job, pair, dir),
        _ => join_blocks::<u128>(job, pair, dir),
    })
}

/// The rows of a block, with the number of items and the number of neighbours of each.
struct RowBlock<W> {
    first: u64,
    fingerprints: Vec<W>,
    items: Vec<u32>,
    neighbors: Vec<AtomicU32>,
    /// True if rows with many neighbours are closed. Without verification every pair is a duplicate, so none is.
    closes: bool,
}

impl<W: Width> RowBlock<W> {
    fn read(job: &StagedJob<'_>, range: Range<u64>) -> Result<Self, DedupError> {
        let task = Task::only(Stage::Parameters);
        let rows = job.folder.rows::<JoinRow>(task, ROWS)?;
        let ends = job.folder.rows::<Number>(task, ROW_ENDS)?;
        let fingerprints: Vec<W> = rows
            .range(range.clone())
            .map(|row| Ok(W::truncate(row?.fingerprint)))
            .collect::<Result<_, DedupError>>()?;
        let mut start = match range.start {
            0 => 0,
            first => ends.get(first - 1)?.value,
        };
        let mut items = Vec::with_capacity(fingerprints.len());
        for end in ends.range(range.clone()) {
            let end = end?.value;
            let count = end.checked_sub(start).and_then(|count| u32::try_from(count).ok());
            items.push(count.ok_or_else(|| ends.damaged())?);
            start = end;
        }
        Ok(Self {
            first: range.start,
            closes: job.options.verify,
            neighbors: fingerprints.iter().map(|_| AtomicU32::new(0)).collect(),
            fingerprints,
            items,
        })
    }

    /// True if a row is closed, so that its pairs with other closed rows are left out.
    fn is_closed(&self, row: u32) -> bool {
        self.closes && self.neighbors[row as usize].load(Ordering::Relaxed) > HOT_ROW_MIN_NEIGHBORS
    }

    fn add(&self, row: u32, neighbors: u32) {
        self.neighbors[row as usize].fetch_add(neighbors, Ordering::Relaxed);
    }

    fn number(&self, row: u32) -> u64 {
        self.first + u64::from(row)
    }
}

/// The pairs of a task, which several threads write.
struct PairFile {
    writer: Mutex<Option<RowWriter<RowPair>>>,
    failure: Mutex<Option<DedupError>>,
}

impl PairFile {
    fn push(&self, pairs: impl Iterator<Item = RowPair>) {
        let Ok(mut writer) = self.writer.lock() else {
            return;
        };
        let Some(open) = writer.as_mut() else { return };
        for pair in pairs {
            if let Err(error) = open.push(pair) {
                *writer = None;
                if let Ok(mut failure) = self.failure.lock() {
                    failure.get_or_insert(error);
                }
                return;
            }
        }
    }
}

fn join_blocks<W: Width>(
    job: &StagedJob<'_>,
    pair: BlockPair,
    dir: &Path,
) -> Result<JoinSummary, DedupError> {
    let parameters = job.parameters()?;
    let (k, rows) = (parameters.radius.k, parameters.rows);
    let a = RowBlock::<W>::read(job, job.row_block(pair.first, rows)?)?;
    let file = PairFile {
        writer: Mutex::new(Some(RowWriter::create(&dir.join(PAIRS))?)),
        failure: Mutex::default(),
    };
    let is_stopped = || job.is_cancelled() || file.failure.lock().is_ok_and(|failure| failure.is_some());
    let plan = if pair.first == pair.second {
        let choice = plan_join(&a.fingerprints, k);
        let stats = self_join_of_open(
            &a.fingerprints,
            k,
            &choice.plan,
            &|row| a.is_closed(row),
            &|batch: &[Pair]| write(&file, &a, &a, batch),
        );
        close(&file, &a);
        stats.plan
    } else {
        let b = RowBlock::<W>::read(job, job.row_block(pair.second, rows)?)?;
        join_sets(
            &a.fingerprints,
            &b.fingerprints,
            k,
            &is_stopped,
            &|batch: &[Pair]| {
                write(&file, &a, &b, batch);
            },
        );
        close(&file, &a);
        close(&file, &b);
        "tables".to_owned()
    };
    job.check_cancelled()?;
    if let Some(error) = file.failure.into_inner().ok().flatten() {
        return Err(error);
    }
    if let Some(writer) = file.writer.into_inner().ok().flatten() {
        writer.finish()?;
    }
    Ok(JoinSummary { plan })
}

/// Counts the neighbours of a batch of pairs, and writes those pairs of which a row is open.
fn write<W: Width>(file: &PairFile, a: &RowBlock<W>, b: &RowBlock<W>, batch: &[Pair]) {
    let open = batch.iter().filter(|pair| {
        let were_closed = a.is_closed(pair.a) && b.is_closed(pair.b);
        a.add(pair.a, b.items[pair.b as usize]);
        b.add(pair.b, a.items[pair.a as usize]);
        !were_closed
    });
    file.push(open.map(|pair| RowPair {
        a: a.number(pair.a),
        b: b.number(pair.b),
    }));
}

/// Lists the closed rows of a block.
fn close<W: Width>(file: &PairFile, block: &RowBlock<W>) {
    let closed = (0..block.fingerprints.len() as u32).filter(|&row| block.is_closed(row));
    file.push(closed.map(|row| RowPair {
        a: block.number(row),
        b: block.number(row),
    }));
}
