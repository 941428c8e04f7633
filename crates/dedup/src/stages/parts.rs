//! Finds the partial copies between the texts of two blocks.
//!
//! The tables of both blocks are in memory, and pairs are found in them as in a run in memory. Fingerprints that many texts
//! of the run have are marked, and so are those in the passages of many texts.

use std::ops::Range;
use std::path::Path;

use twinprint_io::results::PartsReport;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::join::BlockPair;
use super::outputs::{COVERED, PART_PLACES, PARTS, PartsSummary};
use super::part_tables::{PartPlaceRow, PartRow};
use super::shared_index::SharedIndex;
use super::text_table::StoredTexts;
use crate::error::DedupError;
use crate::ids::{Id, IdVec};
use crate::parts::{
    Candidates, Covered, FingerprintIndex, Occurrence, Postings, TextId, TextPair, TextPlace, Texts,
    find_pairs,
};
use crate::rows::{Number, RowFile, RowWriter};

/// Finds the partial copies between two blocks of texts.
pub(super) fn find(job: &StagedJob<'_>, number: u32, pair: BlockPair) -> Result<PartsSummary, DedupError> {
    let task = Task::new(Stage::Parts, number);
    job.folder.run(task, |dir| find_in(job, pair, dir))
}

/// A block whose texts are in memory, with new numbers.
struct LoadedBlock {
    texts: Range<u64>,
    /// The new number of its first text.
    first: u32,
}

impl LoadedBlock {
    /// The new number of a text; `None` if the block does not have it.
    fn local(&self, text: u32) -> Option<TextId> {
        let is_here = self.texts.contains(&u64::from(text));
        is_here.then(|| TextId::new(self.first + (u64::from(text) - self.texts.start) as u32))
    }
}

/// The tables of one or two blocks.
struct BlockTables {
    blocks: Vec<LoadedBlock>,
    places: IdVec<TextId, TextPlace>,
    sizes: IdVec<TextId, u32>,
    occurrences: Vec<Occurrence>,
}

impl BlockTables {
    fn load(job: &StagedJob<'_>, index: &SharedIndex, blocks: &[Range<u64>]) -> Result<Self, DedupError> {
        let table = StoredTexts::open(job)?;
        let mut tables = Self {
            blocks: Vec::new(),
            places: IdVec::default(),
            sizes: IdVec::default(),
            occurrences: Vec::new(),
        };
        for texts in blocks {
            let block = LoadedBlock {
                texts: texts.clone(),
                first: tables.places.len() as u32,
            };
            table.load(texts.clone(), &mut tables.places)?;
            for row in index.texts.range(texts.clone()) {
                tables.sizes.push(row?.fingerprints);
            }
            for row in index.shared.range(index.positions(texts.clone())?) {
                let row = row?;
                tables.occurrences.push(Occurrence {
                    value: row.fingerprint,
                    text: block.local(row.text).ok_or_else(|| index.shared.damaged())?,
                    is_common: row.common > 0,
                });
            }
            tables.blocks.push(block);
        }
        Ok(tables)
    }
}

/// The number in the run of a text of the blocks.
fn global(blocks: &[LoadedBlock], text: TextId) -> u32 {
    let after = blocks.partition_point(|block| block.first <= text.get());
    let block = blocks[..after].last();
    block.map_or(0, |block| block.texts.start as u32 + (text.get() - block.first))
}

/// Marks the fingerprints of the blocks that are in passages of many texts.
fn covered_in(
    job: &StagedJob<'_>,
    index: &SharedIndex,
    blocks: &[LoadedBlock],
    postings: &Postings,
) -> Result<Covered, DedupError> {
    let words: RowFile<Number> = job.folder.rows(Task::only(Stage::Passages), COVERED)?;
    let mut words = words.cursor();
    let covered = Covered::none(postings.entries());
    for block in blocks {
        let positions = index.positions(block.texts.clone())?;
        let mut bits = 0;
        for (position, row) in positions.clone().zip(index.shared.range(positions.clone())) {
            let row = row?;
            if position == positions.start || position.is_multiple_of(64) {
                bits = words.get(position / 64)?.value;
            }
            if bits >> (position % 64) & 1 == 0 {
                continue;
            }
            let local = block.local(row.text).ok_or_else(|| index.shared.damaged())?;
            if let Some(position) = postings.position_of_value(local, row.fingerprint) {
                covered.set(position);
            }
        }
    }
    Ok(covered)
}

fn find_in(job: &StagedJob<'_>, pair: BlockPair, dir: &Path) -> Result<PartsSummary, DedupError> {
    let index = SharedIndex::open(job)?;
    let least = job.least_part();
    let of_run = &job.shared()?.blocks;
    let mut ranges = vec![of_run.block(pair.first)];
    if pair.second != pair.first {
        ranges.push(of_run.block(pair.second));
    }
    let BlockTables {
        blocks,
        places,
        sizes,
        occurrences,
    } = BlockTables::load(job, &index, &ranges)?;
    let postings = Postings::grouped(occurrences, sizes, PartsReport::MAX_PAIRED_TEXTS);
    let covered = covered_in(job, &index, &blocks, &postings)?;
    let mut candidates = Candidates::new(&postings, &covered, least);
    if let [_, second] = blocks.as_slice() {
        candidates = candidates.across(TextId::new(second.first));
    }
    let texts = Texts::new(&places, job.spool()?);
    let key = job.items_summary()?.key.finish();
    let mut files = PartFiles {
        pairs: RowWriter::create(&dir.join(PARTS))?,
        places: RowWriter::create(&dir.join(PART_PLACES))?,
    };
    let push = |pair: TextPair| {
        let [a, b] = [pair.a, pair.b].map(|text| global(&blocks, text));
        files.push(a, b, &pair)
    };
    let candidates = find_pairs(&texts, &candidates, key, least, push, &|| job.check_cancelled())?;
    files.pairs.finish()?;
    files.places.finish()?;
    Ok(PartsSummary { candidates })
}

/// The files of a task.
struct PartFiles {
    pairs: RowWriter<PartRow>,
    places: RowWriter<PartPlaceRow>,
}

impl PartFiles {
    /// Adds a pair of the texts `a` and `b` of the run.
    fn push(&mut self, a: u32, b: u32, pair: &TextPair) -> Result<(), DedupError> {
        self.pairs.push(PartRow {
            a,
            b,
            jaccard: pair.jaccard.to_bits(),
            containment: pair.containment.to_bits(),
            share_of_a: pair.shares[0].to_bits(),
            share_of_b: pair.shares[1].to_bits(),
        })?;
        for (number, [in_a, in_b]) in (0..).zip(&pair.passages) {
            self.places.push(PartPlaceRow {
                a,
                b,
                number,
                start_in_a: in_a.start,
                end_in_a: in_a.end,
                start_in_b: in_b.start,
                end_in_b: in_b.end,
            })?;
        }
        Ok(())
    }
}
