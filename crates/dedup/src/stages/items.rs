//! The third stage: numbers the classes in keep order, as items, and counts what the parameters are chosen from. If
//! partial copies are searched, it also lists the texts in input order.

use std::path::Path;

use twinprint_io::work::{Spool, TextRef};

use super::folder::{Stage, Task};
use super::job::{ITEM_BYTES, StagedJob};
use super::keep_key::{KeepKey, with_keep_key};
use super::outputs::{CLASSES, FINGERPRINTS, ITEMS, ItemsSummary, TEXT_ROWS};
use super::part_tables::TextRow;
use super::row_blocks::RowBlocks;
use super::tables::{FingerprintRow, GlobalClass, ItemRow, measure_of};
use crate::candidates::TextCounts;
use crate::corpus::shingle_sets::CorpusKey;
use crate::error::DedupError;
use crate::rows::{Merge, RowFile, RowSorter, RowWriter};

impl ItemRow {
    /// The counts of the text of the item.
    pub(super) fn counts(&self) -> TextCounts {
        TextCounts {
            features: self.features,
            shingles: self.shingles,
            measure: measure_of(self.measure),
            bytes: self.len,
        }
    }

    /// The place of the text in the spool.
    pub(super) fn text(&self) -> TextRef {
        TextRef::new(self.block, self.offset, self.len)
    }

    /// The number of documents that are duplicates of one another, see [`Classes::copies`](crate::corpus::Classes::copies).
    pub(super) fn copies(&self) -> u32 {
        if self.features == 0 { 1 } else { self.size }
    }
}

/// Numbers the items.
pub(super) fn number(job: &StagedJob<'_>) -> Result<ItemsSummary, DedupError> {
    let task = Task::only(Stage::Items);
    job.folder.run(task, |dir| {
        with_keep_key!(job.options.keep, number_items(job, dir))
    })
}

fn number_items<K: KeepKey>(job: &StagedJob<'_>, dir: &Path) -> Result<ItemsSummary, DedupError> {
    let files: Vec<RowFile<GlobalClass<K>>> =
        job.folder
            .rows_of(Stage::Classes, job.spec.hash_ranges, CLASSES)?;
    let first_blocks = job.stored_texts()?.map(Spool::first_blocks).unwrap_or_default();
    let mut items = RowWriter::create(&dir.join(ITEMS))?;
    let mut fingerprints = RowSorter::new(dir, job.sort_memory());
    let searches_parts = job.options.parts.is_some();
    let mut texts = searches_parts.then(|| RowSorter::new(dir, job.sort_memory()));
    let mut summary = ItemsSummary {
        short: 0,
        empty: 0,
        equal_texts: 0,
        key: CorpusKey::default(),
        blocks: RowBlocks::default(),
        texts: RowBlocks::default(),
    };
    let most_bytes = job.block_bytes()?;
    for class in Merge::of_files(&files, job.merge_memory()) {
        let class = class?;
        let number = summary.blocks.rows;
        job.check_at(number)?;
        let item = ItemRow {
            representative: class.representative,
            first: class.first,
            size: class.size,
            fingerprint: class.fingerprint,
            features: class.features,
            shingles: class.shingles,
            measure: class.measure,
            // A text that was not stored has no block.
            block: class
                .block
                .saturating_add(first_blocks.get(class.part as usize).copied().unwrap_or(0)),
            offset: class.offset,
            len: class.len,
        };
        summary.blocks.push(u64::from(item.len) + ITEM_BYTES, most_bytes);
        let counts = item.counts();
        summary.short += u64::from(counts.is_short(job.options));
        summary.empty += if item.features == 0 {
            u64::from(item.size)
        } else {
            0
        };
        summary.equal_texts += u64::from(item.copies().saturating_sub(1));
        summary.key.add(item.fingerprint);
        if counts.is_joined(job.options) {
            fingerprints.push(FingerprintRow {
                fingerprint: item.fingerprint,
                first: item.first,
                item: number,
            })?;
        }
        if let Some(texts) = &mut texts {
            texts.push(TextRow::of(&item))?;
        }
        items.push(item)?;
    }
    items.finish()?;
    fingerprints.write(&dir.join(FINGERPRINTS))?;
    if let Some(texts) = texts {
        summary.texts = write_texts(job, dir, texts, most_bytes)?;
    }
    Ok(summary)
}

/// Writes the texts in input order, and divides them into blocks of at most `most_bytes` bytes.
fn write_texts(
    job: &StagedJob<'_>,
    dir: &Path,
    texts: RowSorter<TextRow>,
    most_bytes: u64,
) -> Result<RowBlocks, DedupError> {
    let mut blocks = RowBlocks::default();
    let mut writer = RowWriter::create(&dir.join(TEXT_ROWS))?;
    texts.finish(|row| {
        job.check_at(blocks.rows)?;
        blocks.push(u64::from(row.len) + ITEM_BYTES, most_bytes);
        writer.push(row)
    })?;
    writer.finish()?;
    Ok(blocks)
}
