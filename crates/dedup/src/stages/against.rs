//! The fourth stage: looks up the texts of a block of items in the index or the collection that the run is compared with.
//!
//! A known text is removed and takes no part in the search, so later stages leave it out.

use std::path::Path;

use twinprint_io::runs::KnownDocument;

use super::bits::Bits;
use super::folder::{Stage, Task};
use super::item_tables::ItemTables;
use super::job::StagedJob;
use super::outputs::{AgainstSummary, KNOWN, KNOWN_IDS};
use super::tables::KnownRow;
use crate::error::DedupError;
use crate::ids::{ClassId, Id};
use crate::known::{KnownDuplicate, LookedUpTexts};
use crate::rows::{BlockFile, BlockWriter, RowFile, RowWriter};

/// Looks up the texts of a block of items.
pub(super) fn look_up(job: &StagedJob<'_>, block: u32) -> Result<AgainstSummary, DedupError> {
    let task = Task::new(Stage::Against, block);
    job.folder.run(task, |dir| look_up_block(job, block, dir))
}

fn look_up_block(job: &StagedJob<'_>, block: u32, dir: &Path) -> Result<AgainstSummary, DedupError> {
    let mut rows = RowWriter::create(&dir.join(KNOWN))?;
    let mut ids = BlockWriter::create(&dir.join(KNOWN_IDS))?;
    let (mut id_end, mut summary) = (0, AgainstSummary::default());
    if let Some(against) = job.against {
        let items: Vec<u64> = job.items_of_block(block)?.collect();
        let tables = ItemTables::load(job, &items)?;
        let all: Vec<ClassId> = tables.classes.class_ids().collect();
        let texts = LookedUpTexts {
            classes: &tables.classes,
            spool: job.stored_texts()?,
            wanted: &all,
        };
        let cancelled = || job.check_cancelled();
        let known = against
            .store
            .look_up(against.path, texts, job.progress, &cancelled)?;
        let known = known.at_least(job.options.threshold);
        for (class, known) in known.iter() {
            ids.write(known.id.as_bytes())?;
            id_end += known.id.len() as u64;
            summary.known += 1;
            summary.unverified += u64::from(known.jaccard.is_none());
            rows.push(KnownRow {
                item: items[class.index()],
                hamming: known.hamming,
                jaccard: known.jaccard.unwrap_or(f64::NAN).to_bits(),
                id_end,
            })?;
        }
    }
    rows.finish()?;
    ids.finish()?;
    Ok(summary)
}

/// The known items of all blocks. They are numbered from 0, in the order of the items.
pub(super) struct KnownItems {
    blocks: Vec<KnownBlock>,
}

/// The known items of a block.
struct KnownBlock {
    /// The number of the first of them.
    first: u64,
    rows: RowFile<KnownRow>,
    ids: BlockFile,
}

impl KnownItems {
    pub(super) fn open(job: &StagedJob<'_>) -> Result<Self, DedupError> {
        let mut blocks = Vec::new();
        let mut first = 0;
        for number in 0..job.tasks(Stage::Against)?.unwrap_or(0) {
            let task = Task::new(Stage::Against, number);
            let rows: RowFile<KnownRow> = job.folder.rows(task, KNOWN)?;
            let after = first + rows.len();
            blocks.push(KnownBlock {
                first,
                rows,
                ids: job.folder.blocks(task, KNOWN_IDS)?,
            });
            first = after;
        }
        Ok(Self { blocks })
    }

    /// The known items, ascending.
    pub(super) fn items(&self) -> impl Iterator<Item = Result<u64, DedupError>> {
        let rows = self.blocks.iter().flat_map(|block| block.rows.all());
        rows.map(|row| Ok(row?.item))
    }

    /// The known items as a set, one bit for each item of the run.
    pub(super) fn bits(&self, job: &StagedJob<'_>) -> Result<Bits, DedupError> {
        let mut known = Bits::new(job.items()?.len());
        for item in self.items() {
            known.set(item?);
        }
        Ok(known)
    }

    /// The known document of a number.
    pub(super) fn get(&self, number: u64) -> Result<Option<KnownDuplicate>, DedupError> {
        let after = self.blocks.partition_point(|block| block.first <= number);
        let Some(block) = self.blocks[..after].last() else {
            return Ok(None);
        };
        let position = number - block.first;
        let row = block.rows.get(position)?;
        let id_start = match position {
            0 => 0,
            after => block.rows.get(after - 1)?.id_end,
        };
        let id = block.ids.read(id_start..row.id_end)?;
        let document = KnownDocument {
            id: String::from_utf8(id).map_err(|_| block.ids.damaged())?,
            hamming: row.hamming,
            jaccard: Some(f64::from_bits(row.jaccard)).filter(|jaccard| !jaccard.is_nan()),
        };
        Ok(Some(KnownDuplicate::new(document, false)))
    }
}

impl StagedJob<'_> {
    /// The counts of the known texts of all blocks.
    pub(crate) fn known(&self) -> Result<AgainstSummary, DedupError> {
        let mut sum = AgainstSummary::default();
        for number in 0..self.tasks(Stage::Against)?.unwrap_or(0) {
            let summary: AgainstSummary = self.folder.summary(Task::new(Stage::Against, number))?;
            sum.known += summary.known;
            sum.unverified += summary.unverified;
        }
        Ok(sum)
    }
}
