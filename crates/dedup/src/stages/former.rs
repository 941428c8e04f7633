//! The candidates that an earlier run over the first files of the input has verified.
//!
//! When files are added, the texts of the earlier files stay the same. So a candidate that the earlier run verified is not
//! verified again. Which pairs are candidates is decided again, because the radius may change. Items have other numbers then,
//! but each keeps its first document, because added documents come after it.

use std::path::Path;

use super::folder::{Stage, StageFolder, Task};
use super::job::StagedJob;
use super::outputs::{BELOW, COMPARED, CandidatesSummary, EDGES, ITEMS, ItemsSummary, VERIFIED};
use super::tables::{ComparedRow, EdgeRow, ItemRow, VerifiedRow};
use crate::error::DedupError;
use crate::rows::{Number, RowFile, RowSorter, RowWriter, next_if, row};

/// An earlier run that has verified all of its candidates.
pub(super) struct Former<'j> {
    job: &'j StagedJob<'j>,
    folder: StageFolder,
    items: ItemsSummary,
    candidates: CandidatesSummary,
}

row! {
    /// An item by its first document.
    struct FirstRow {
        first: u64,
        item: u64,
    }
}

row! {
    /// The number that an item of the earlier run has now.
    struct RenumberedRow {
        former: u64,
        item: u64,
    }
}

impl<'j> Former<'j> {
    /// True if a run has verified all of its candidates.
    pub(super) fn is_whole(folder: &StageFolder) -> Result<bool, DedupError> {
        let [items, candidates] = [Stage::Items, Stage::Candidates].map(Task::only);
        if !folder.is_whole(items) || !folder.is_whole(candidates) {
            return Ok(false);
        }
        let candidates: CandidatesSummary = folder.summary(candidates)?;
        let mut tasks = 0..candidates.blocks.len() as u32;
        Ok(tasks.all(|number| folder.is_whole(Task::new(Stage::Verify, number))))
    }

    /// Opens the earlier run; `None` if there is none, or if its distances are those of another width.
    pub(super) fn open(job: &'j StagedJob<'j>) -> Result<Option<Self>, DedupError> {
        let Some(run) = &job.spec.former else {
            return Ok(None);
        };
        let folder = job.folder.of_run(run);
        if !Self::is_whole(&folder)? {
            return Ok(None);
        }
        let former = Self {
            job,
            items: folder.summary(Task::only(Stage::Items))?,
            candidates: folder.summary(Task::only(Stage::Candidates))?,
            folder,
        };
        // The distances of verified pairs are measured in the width of the fingerprints.
        let same_width = former.candidates.bits == job.parameters()?.radius.bits;
        Ok(Some(former).filter(|_| same_width))
    }

    /// Writes the verified candidates to a file in `dir`, with the numbers that the items have now.
    pub(super) fn write_compared(&self, dir: &Path) -> Result<(), DedupError> {
        let numbers = self.numbers(dir)?;
        let mut sorter = RowSorter::new(dir, self.job.sort_memory());
        let edges = self
            .folder
            .rows::<EdgeRow>(Task::only(Stage::Candidates), EDGES)?;
        for (task, blocks) in (0..).zip(&self.candidates.blocks) {
            let task = Task::new(Stage::Verify, task);
            let files = [VERIFIED, BELOW].map(|name| self.folder.rows::<VerifiedRow>(task, name));
            let [verified, below] = files;
            let (verified, below) = (verified?, below?);
            let mut rows = [verified.all().peekable(), below.all().peekable()];
            let own = self.numbers_of_block(&numbers, blocks.item_block)?;
            let other = self.numbers_of_block(&numbers, blocks.earlier_block)?;
            for (at, edge) in (0..).zip(edges.range(blocks.from..blocks.to)) {
                let edge = edge?;
                self.job.check_at(at)?;
                let mut similar = None;
                for rows in &mut rows {
                    let of_edge = |row: &VerifiedRow| (row.item, row.earlier) == (edge.item, edge.earlier);
                    similar = similar.or(next_if(rows, of_edge)?);
                }
                let (Some(a), Some(b)) = (own.of(edge.item), other.of(edge.earlier)) else {
                    return Err(edges.damaged());
                };
                sorter.push(ComparedRow::new(self.job.edge(a, b)?, similar))?;
            }
        }
        sorter.write(&dir.join(COMPARED))?;
        Ok(())
    }

    /// The number that each item of the earlier run has now, in a file without a name in `dir`.
    fn numbers(&self, dir: &Path) -> Result<RowFile<Number>, DedupError> {
        let former: RowFile<ItemRow> = self.folder.rows(Task::only(Stage::Items), ITEMS)?;
        let former_firsts = self.by_first(&former, dir)?;
        let firsts = self.by_first(self.job.items()?, dir)?;
        let mut firsts = firsts.all();
        let mut sorter = RowSorter::new(dir, self.job.sort_memory());
        for (at, row) in (0..).zip(former_firsts.all()) {
            let row = row?;
            self.job.check_at(at)?;
            let item = loop {
                let now: FirstRow = firsts.next().ok_or_else(|| former.damaged())??;
                if now.first == row.first {
                    break now.item;
                }
            };
            sorter.push(RenumberedRow {
                former: row.item,
                item,
            })?;
        }
        let mut numbers = RowWriter::create(&dir.join("numbers"))?;
        sorter.finish(|row| numbers.push(Number { value: row.item }))?;
        numbers.finish_without_name()
    }

    /// The items, sorted by their first documents, in a file without a name in `dir`.
    fn by_first(&self, items: &RowFile<ItemRow>, dir: &Path) -> Result<RowFile<FirstRow>, DedupError> {
        let mut sorter = RowSorter::new(dir, self.job.sort_memory());
        for (item, row) in (0..).zip(items.all()) {
            self.job.check_at(item)?;
            sorter.push(FirstRow {
                first: row?.first,
                item,
            })?;
        }
        let mut firsts = RowWriter::create(&dir.join("firsts"))?;
        sorter.finish(|row| firsts.push(row))?;
        firsts.finish_without_name()
    }

    /// Reads the numbers of the items of a block of the earlier run.
    fn numbers_of_block(&self, numbers: &RowFile<Number>, block: u32) -> Result<BlockNumbers, DedupError> {
        let range = self.items.blocks.block(block);
        let rows = numbers.range(range.clone()).map(|row| Ok(row?.value));
        Ok(BlockNumbers {
            first: range.start,
            numbers: rows.collect::<Result<_, DedupError>>()?,
        })
    }
}

/// The numbers that the items of a block of the earlier run have now.
struct BlockNumbers {
    first: u64,
    numbers: Vec<u64>,
}

impl BlockNumbers {
    /// The number that an item has now; `None` if it is in another block.
    fn of(&self, former: u64) -> Option<u64> {
        let position = usize::try_from(former.checked_sub(self.first)?).ok()?;
        self.numbers.get(position).copied()
    }
}

/// Splits the candidates of a task, which are sorted, into those that are verified now and those that were verified earlier.
pub(super) fn split(
    job: &StagedJob<'_>,
    edges: Vec<EdgeRow>,
) -> Result<(Vec<EdgeRow>, Vec<ComparedRow>), DedupError> {
    if !job.candidates()?.has_compared {
        return Ok((edges, Vec::new()));
    }
    let file = job
        .folder
        .rows::<ComparedRow>(Task::only(Stage::Candidates), COMPARED)?;
    let Some(&first) = edges.first() else {
        return Ok((edges, Vec::new()));
    };
    let from = file.partition_point(|row| row.edge() < first)?;
    let mut compared = file.range(from..file.len()).peekable();
    let mut settled = Vec::new();
    let mut open = Vec::new();
    for edge in edges {
        while next_if(&mut compared, |row| row.edge() < edge)?.is_some() {}
        match next_if(&mut compared, |row| row.edge() == edge)? {
            Some(row) => settled.push(row),
            None => open.push(edge),
        }
    }
    Ok((open, settled))
}
