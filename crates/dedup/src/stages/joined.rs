//! The rows of the join with their items and pairs.
//!
//! In memory are two bits for each row, and the sizes or the items of two blocks of rows at a time.

use std::ops::Range;
use std::path::Path;

use super::bits::Bits;
use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::join::BlockPair;
use super::outputs::{PAIRS, ROW_ENDS, ROW_ITEMS};
use super::tables::RowPair;
use crate::candidates::{affordable_degree, edge_limit, is_hot};
use crate::error::DedupError;
use crate::rows::{Number, RowFile, RowWriter, row};

row! {
    /// The number of items of other rows within the radius of a row, and the number of its own items.
    struct Degree {
        neighbors: u32,
        items: u64,
    }
}

/// The rows of the join.
pub(super) struct JoinedRows<'j> {
    job: &'j StagedJob<'j>,
    /// The items of the rows, one row after another.
    items: RowFile<Number>,
    /// The end of each row among the items.
    ends: RowFile<Number>,
    /// The pairs of each task of the join.
    pairs: Vec<(BlockPair, RowFile<RowPair>)>,
}

/// The rows that are left to the set join.
pub(super) struct HotRows {
    pub(super) hot: Bits,
    /// The rows within the radius of a hot row.
    pub(super) warm: Bits,
    /// The number of pairs of rows of which one is not hot.
    pub(super) pairs: u64,
}

impl<'j> JoinedRows<'j> {
    pub(super) fn open(job: &'j StagedJob<'j>) -> Result<Self, DedupError> {
        let parameters = |name| job.folder.rows(Task::only(Stage::Parameters), name);
        let tasks = (0..).zip(BlockPair::all(job.row_blocks()?));
        let pairs = tasks.map(|(number, blocks)| {
            let pairs = job.folder.rows(Task::new(Stage::Join, number), PAIRS)?;
            Ok((blocks, pairs))
        });
        Ok(Self {
            items: parameters(ROW_ITEMS)?,
            ends: parameters(ROW_ENDS)?,
            pairs: pairs.collect::<Result<_, DedupError>>()?,
            job,
        })
    }

    /// Finds the hot rows. Without verification every pair is a duplicate, so no row is hot. The files in `dir` are temporary.
    pub(super) fn hot(&self, dir: &Path) -> Result<HotRows, DedupError> {
        let rows = self.ends.len();
        let mut found = HotRows {
            hot: Bits::new(rows),
            warm: Bits::new(rows),
            pairs: 0,
        };
        if self.job.options.verify {
            let degrees = self.degrees(dir)?;
            // A row that cannot be read ends the iterator, and the failure is returned afterwards.
            let mut failure = None;
            let readable = degrees
                .all()
                .map_while(|row| row.map_err(|error| failure = Some(error)).ok());
            let sizes = readable.map(|row| (row.neighbors, row.items as usize));
            let most = affordable_degree(sizes, edge_limit(rows));
            if let Some(error) = failure {
                return Err(error);
            }
            for (row, degree) in (0..).zip(degrees.all()) {
                let degree = degree?;
                if is_hot((degree.neighbors, degree.items as usize), most) {
                    found.hot.set(row);
                }
            }
        }
        for (at, pair) in (0..).zip(self.pairs.iter().flat_map(|(_, pairs)| pairs.all())) {
            let RowPair { a, b } = pair?;
            self.job.check_at(at)?;
            let [a_is_hot, b_is_hot] = [a, b].map(|row| found.hot.has(row));
            if a_is_hot {
                found.warm.set(b);
            }
            if b_is_hot {
                found.warm.set(a);
            }
            found.pairs += u64::from(a != b && !(a_is_hot && b_is_hot));
        }
        Ok(found)
    }

    /// Counts the neighbours of each row, one block of rows after another.
    fn degrees(&self, dir: &Path) -> Result<RowFile<Degree>, DedupError> {
        let mut writer = RowWriter::create(&dir.join("degrees"))?;
        for block in 0..self.job.row_blocks()? {
            let own = self.sizes(block)?;
            let mut neighbors = vec![0u32; own.items.len()];
            for (blocks, pairs) in self.pairs.iter().filter(|(blocks, _)| blocks.has(block)) {
                let others = self.sizes(blocks.other(block))?;
                let mut add = |row: u64, other: u64| {
                    let Some(count) = own.position(row).and_then(|at| neighbors.get_mut(at)) else {
                        return Some(());
                    };
                    // A row with more neighbours than the limit is listed as a pair with itself.
                    let more = if row == other {
                        u32::MAX
                    } else {
                        own.of(other).or_else(|| others.of(other))?
                    };
                    *count = count.saturating_add(more);
                    Some(())
                };
                for (at, pair) in (0..).zip(pairs.all()) {
                    let RowPair { a, b } = pair?;
                    self.job.check_at(at)?;
                    let counted = add(a, b).and_then(|()| if a == b { Some(()) } else { add(b, a) });
                    counted.ok_or_else(|| pairs.damaged())?;
                }
            }
            for (&items, neighbors) in own.items.iter().zip(neighbors) {
                let items = items.into();
                writer.push(Degree { neighbors, items })?;
            }
        }
        writer.finish_without_name()
    }

    /// The sizes of the rows of a block.
    pub(super) fn sizes(&self, block: u32) -> Result<RowSizes, DedupError> {
        let rows = self.job.row_block(block, self.ends.len())?;
        let mut start = self.start(rows.start)?;
        let mut items = Vec::with_capacity((rows.end - rows.start) as usize);
        for end in self.ends.range(rows.clone()) {
            let end = end?.value;
            items.push(u32::try_from(end.saturating_sub(start)).unwrap_or(u32::MAX));
            start = end;
        }
        Ok(RowSizes {
            first: rows.start,
            items,
        })
    }

    /// The position of the first item of a row.
    fn start(&self, row: u64) -> Result<u64, DedupError> {
        match row {
            0 => Ok(0),
            row => Ok(self.ends.get(row - 1)?.value),
        }
    }

    /// Calls `each` with every row and the positions of its items.
    pub(super) fn each_row(
        &self,
        mut each: impl FnMut(u64, Range<u64>) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        let mut start = 0;
        for (row, end) in (0..).zip(self.ends.all()) {
            let end = end?.value;
            self.job.check_at(row)?;
            if end < start {
                return Err(self.ends.damaged());
            }
            each(row, start..end)?;
            start = end;
        }
        Ok(())
    }

    /// The items of the rows, one row after another.
    pub(super) fn items(&self) -> &RowFile<Number> {
        &self.items
    }

    /// Calls `each` with the items of both rows of every pair without a hot row.
    pub(super) fn each_pair(
        &self,
        hot: &Bits,
        mut each: impl FnMut(&[u64], &[u64]) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        for (blocks, pairs) in &self.pairs {
            let first = self.row_items(blocks.first, hot)?;
            let second = match blocks.second {
                second if second == blocks.first => None,
                second => Some(self.row_items(second, hot)?),
            };
            let second = second.as_ref().unwrap_or(&first);
            for (at, pair) in (0..).zip(pairs.all()) {
                let RowPair { a, b } = pair?;
                self.job.check_at(at)?;
                if a == b || hot.has(a) || hot.has(b) {
                    continue;
                }
                let items = |row| {
                    first
                        .of(row)
                        .or_else(|| second.of(row))
                        .ok_or_else(|| pairs.damaged())
                };
                each(items(a)?, items(b)?)?;
            }
        }
        Ok(())
    }

    /// The items of the rows of a block that are not hot.
    fn row_items(&self, block: u32, hot: &Bits) -> Result<RowItems, DedupError> {
        let rows = self.job.row_block(block, self.ends.len())?;
        let mut found = RowItems {
            first: rows.start,
            ends: Vec::with_capacity((rows.end - rows.start) as usize),
            items: Vec::new(),
        };
        let mut cursor = self.items.cursor();
        let mut start = self.start(rows.start)?;
        for (row, end) in (rows.start..).zip(self.ends.range(rows)) {
            let end = end?.value;
            if !hot.has(row) {
                for position in start..end {
                    found.items.push(cursor.get(position)?.value);
                }
            }
            found.ends.push(found.items.len());
            start = end;
        }
        Ok(found)
    }
}

/// The numbers of items of the rows of a block.
pub(super) struct RowSizes {
    first: u64,
    items: Vec<u32>,
}

impl RowSizes {
    /// The position of a row in the block; `None` if it is in another block.
    fn position(&self, row: u64) -> Option<usize> {
        let position = usize::try_from(row.checked_sub(self.first)?).ok()?;
        (position < self.items.len()).then_some(position)
    }

    /// The number of items of a row; `None` if it is in another block.
    pub(super) fn of(&self, row: u64) -> Option<u32> {
        Some(self.items[self.position(row)?])
    }
}

/// The items of the rows of a block.
struct RowItems {
    first: u64,
    /// The end of each row among the items.
    ends: Vec<usize>,
    items: Vec<u64>,
}

impl RowItems {
    /// The items of a row, ascending; `None` if the row is in another block.
    fn of(&self, row: u64) -> Option<&[u64]> {
        let position = usize::try_from(row.checked_sub(self.first)?).ok()?;
        let start = match position {
            0 => 0,
            position => *self.ends.get(position - 1)?,
        };
        self.items.get(start..*self.ends.get(position)?)
    }
}
