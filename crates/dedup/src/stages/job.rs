//! A staged run: its specification, its folder, and the outputs of the stages that later stages read.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use twinprint_io::progress::Progress;
use twinprint_io::source::Sources;
use twinprint_io::work::Spool;

use super::folder::{Stage, StageFolder, Task};
use super::outputs::{CandidatesSummary, ITEMS, ItemsSummary, Parameters, PartSummary, SharedSummary, TEXTS};
use super::size::TaskBytes;
use super::tables::{EdgeRow, ItemRow};
use crate::corpus::ClassHasher;
use crate::corpus::item_texts::ItemTexts;
use crate::corpus::shingle_sets::SetCache;
use crate::error::DedupError;
use crate::known::KnownStore;
use crate::memory::Budget;
use crate::options::DedupOptions;
use crate::rows::RowFile;

/// The specification of a staged run. It is fixed before the first stage, and every task reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Specification {
    /// The version of the program that wrote the folder.
    pub(super) version: String,
    /// A digest of the options.
    pub(super) options: String,
    /// The parts of the input.
    pub(super) input: Vec<InputPart>,
    /// The name of the folder of the stages after `analyse`; empty if they are beside it.
    pub(super) run: String,
    /// That folder of the run before files were added, if there was one.
    pub(super) former: Option<String>,
    /// The number of ranges of text hashes.
    pub(super) hash_ranges: u32,
    /// The key of the text hashes.
    pub(super) key: [u64; 2],
    /// The memory of a task in bytes. The numbers of tasks follow it, so a resumed run keeps it.
    pub(super) memory: u64,
    /// The least number of blocks of rows, and about the least number of blocks of items.
    pub(super) blocks: u32,
}

/// A part of the input, which one task analyses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InputPart {
    /// The files, by their numbers.
    pub(super) files: Range<u32>,
    /// A digest of the names, sizes and times of the files.
    pub(super) digest: String,
}

impl Specification {
    /// The numbers of the parts of the input.
    pub(super) fn parts(&self) -> Range<u32> {
        0..self.input.len() as u32
    }

    /// The files of a part.
    pub(super) fn part(&self, part: u32) -> Range<u32> {
        let part = self.input.get(part as usize);
        part.map_or(0..0, |part| part.files.clone())
    }

    /// The ranges of text hashes.
    pub(super) fn ranges(&self) -> Range<u32> {
        0..self.hash_ranges
    }

    /// The range that a text hash is in. Ranges ascend with the hashes.
    pub(super) fn range_of(&self, text_hash: u128) -> u32 {
        (((text_hash >> 96) * u128::from(self.hash_ranges)) >> 32) as u32
    }

    /// The hasher of texts.
    pub(super) fn hasher(&self) -> ClassHasher {
        ClassHasher::stored(self.key)
    }
}

/// A staged run, as its tasks see it.
pub(crate) struct StagedJob<'j> {
    pub(super) folder: StageFolder,
    pub(super) spec: Specification,
    pub(super) sources: &'j Sources,
    pub(super) options: &'j DedupOptions,
    pub(super) against: Option<&'j KnownStore<'j>>,
    pub(super) budget: Budget,
    pub(super) progress: &'j dyn Progress,
    pub(super) cancel: &'j AtomicBool,
    pub(super) outputs: Outputs,
}

/// The outputs of stages that several others read, opened when they are first needed.
#[derive(Default)]
pub(super) struct Outputs {
    parts: Vec<OnceLock<PartSummary>>,
    spool: OnceLock<Spool>,
    items: OnceLock<RowFile<ItemRow>>,
    items_summary: OnceLock<ItemsSummary>,
    parameters: OnceLock<Parameters>,
    candidates: OnceLock<CandidatesSummary>,
    shared: OnceLock<SharedSummary>,
}

impl Outputs {
    pub(super) fn of(parts: usize) -> Self {
        Self {
            parts: (0..parts).map(|_| OnceLock::new()).collect(),
            ..Self::default()
        }
    }
}

/// Returns the value of a cell, which `make` makes if it is empty.
fn get_or_try<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, DedupError>) -> Result<&T, DedupError> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

impl StagedJob<'_> {
    /// The bytes of the input files.
    pub(crate) fn input_bytes(&self) -> u64 {
        self.sources.total_bytes()
    }

    /// Deletes the folder after the result is written. An incremental run keeps what a later run over more files uses.
    pub(crate) fn end(self) -> Result<(), DedupError> {
        if self.options.incremental {
            self.folder.keep_for_later()
        } else {
            self.folder.remove()
        }
    }

    /// The summary of a part. Its analysis must be whole.
    pub(super) fn part(&self, part: u32) -> Result<&PartSummary, DedupError> {
        get_or_try(&self.outputs.parts[part as usize], || {
            self.folder.summary(Task::new(Stage::Analyse, part))
        })
    }

    /// The texts of all parts.
    pub(super) fn spool(&self) -> Result<&Spool, DedupError> {
        get_or_try(&self.outputs.spool, || {
            let path = |part| self.folder.file(Task::new(Stage::Analyse, part), TEXTS);
            let paths: Vec<PathBuf> = self.spec.parts().map(path).collect::<Result<_, _>>()?;
            Ok(Spool::open(&paths)?)
        })
    }

    /// The items.
    pub(super) fn items(&self) -> Result<&RowFile<ItemRow>, DedupError> {
        get_or_try(&self.outputs.items, || {
            self.folder.rows(Task::only(Stage::Items), ITEMS)
        })
    }

    pub(super) fn items_summary(&self) -> Result<&ItemsSummary, DedupError> {
        get_or_try(&self.outputs.items_summary, || {
            self.folder.summary(Task::only(Stage::Items))
        })
    }

    pub(super) fn parameters(&self) -> Result<&Parameters, DedupError> {
        get_or_try(&self.outputs.parameters, || {
            self.folder.summary(Task::only(Stage::Parameters))
        })
    }

    pub(super) fn candidates(&self) -> Result<&CandidatesSummary, DedupError> {
        get_or_try(&self.outputs.candidates, || {
            self.folder.summary(Task::only(Stage::Candidates))
        })
    }

    /// The summary of the fingerprints of parts that several texts have.
    pub(super) fn shared(&self) -> Result<&SharedSummary, DedupError> {
        get_or_try(&self.outputs.shared, || {
            self.folder.summary(Task::only(Stage::Shared))
        })
    }

    /// The smallest share that a partial copy contains.
    pub(super) fn least_part(&self) -> f64 {
        self.options.parts.unwrap_or(1.0)
    }

    /// The spool of the texts; `None` in a run without verification, which stores none.
    pub(super) fn stored_texts(&self) -> Result<Option<&Spool>, DedupError> {
        self.options.verify.then(|| self.spool()).transpose()
    }

    /// The items of a block.
    pub(super) fn items_of_block(&self, block: u32) -> Result<Range<u64>, DedupError> {
        Ok(self.items_summary()?.blocks.block(block))
    }

    /// The block of an item.
    pub(super) fn item_block(&self, item: u64) -> Result<u32, DedupError> {
        Ok(self.items_summary()?.blocks.block_of(item))
    }

    /// The candidate pair of two items.
    pub(super) fn edge(&self, a: u64, b: u64) -> Result<EdgeRow, DedupError> {
        let (item, earlier) = (a.max(b), a.min(b));
        Ok(EdgeRow {
            item_block: self.item_block(item)?,
            earlier_block: self.item_block(earlier)?,
            item,
            earlier,
        })
    }

    /// The number of blocks of rows of the join.
    pub(super) fn row_blocks(&self) -> Result<u32, DedupError> {
        let rows = self.parameters()?.rows;
        let in_block = (self.spec.memory / 2 / ROW_BYTES).max(MIN_BLOCK_ROWS);
        let blocks = rows.div_ceil(in_block).max(u64::from(self.spec.blocks));
        Ok(blocks.min(rows).max(1) as u32)
    }

    /// The rows of a block, out of `rows` rows.
    pub(super) fn row_block(&self, block: u32, rows: u64) -> Result<Range<u64>, DedupError> {
        let blocks = u64::from(self.row_blocks()?);
        let start = |block: u64| rows * block / blocks;
        Ok(start(block.into())..start(u64::from(block) + 1))
    }

    /// The memory of an external sort, in bytes.
    pub(super) fn sort_memory(&self) -> u64 {
        TaskBytes::of(self.spec.memory).sort
    }

    /// The memory of the buffers of a merge, in bytes.
    pub(super) fn merge_memory(&self) -> u64 {
        self.spec.memory / 4
    }

    /// The bytes of a block of items: of the texts, and [`ITEM_BYTES`] for each.
    pub(super) fn block_bytes(&self) -> Result<u64, DedupError> {
        let mut bytes = 0;
        for part in self.spec.parts() {
            let part = self.part(part)?;
            let documents: u64 = part.slices.iter().map(|slice| u64::from(slice.documents)).sum();
            bytes += part.text_bytes + documents * ITEM_BYTES;
        }
        Ok((bytes / u64::from(self.spec.blocks)).min(self.spec.memory / 2))
    }

    /// The bytes of shingle sets in memory.
    pub(super) fn set_bytes(&self) -> usize {
        self.budget.sets(self.spec.memory / 2)
    }

    /// The cache of the shingle sets of some items.
    pub(super) fn sets_of<'t>(&'t self, texts: ItemTexts<'t>) -> Result<SetCache<'t>, DedupError> {
        let key = self.items_summary()?.key.finish();
        let (spool, capacity) = (self.spool()?, self.set_bytes());
        Ok(SetCache::with_key(key, spool, texts, capacity, self.cancel))
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Fails if the run is cancelled, which is looked up for one row in many.
    pub(super) fn check_at(&self, row: u64) -> Result<(), DedupError> {
        if row.is_multiple_of(ROWS_PER_CHECK) {
            self.check_cancelled()
        } else {
            Ok(())
        }
    }

    pub(super) fn check_cancelled(&self) -> Result<(), DedupError> {
        if self.is_cancelled() {
            Err(DedupError::cancelled())
        } else {
            Ok(())
        }
    }
}

/// The bytes of a row while its block is joined: the row, two copies with their numbers while they are sorted, and the
/// counts of its items and neighbours.
const ROW_BYTES: u64 = 72;
/// The number of rows after which a stage looks whether the run is cancelled.
const ROWS_PER_CHECK: u64 = 1 << 16;
/// The bytes of the tables of an item while its block is verified.
pub(super) const ITEM_BYTES: u64 = 200;
/// The smallest number of rows of a block that the memory limit makes.
const MIN_BLOCK_ROWS: u64 = 1 << 10;
