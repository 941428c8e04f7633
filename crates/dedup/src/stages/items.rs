//! The third stage: numbers the classes in keep order, as items, and counts what the parameters are chosen from.

use std::path::Path;

use twinprint_io::work::{Spool, TextRef};

use super::folder::{Stage, Task};
use super::job::{ITEM_BYTES, StagedJob};
use super::keep_key::{KeepKey, with_keep_key};
use super::outputs::{CLASSES, FINGERPRINTS, ITEMS, ItemsSummary};
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
    let mut summary = ItemsSummary {
        items: 0,
        short: 0,
        empty: 0,
        equal_texts: 0,
        key: CorpusKey::default(),
        blocks: Vec::new(),
    };
    let most_bytes = job.block_bytes()?;
    let mut block_bytes = u64::MAX;
    for class in Merge::of_files(&files, job.merge_memory()) {
        let class = class?;
        job.check_at(summary.items)?;
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
        if block_bytes > most_bytes {
            summary.blocks.push(summary.items);
            block_bytes = 0;
        }
        block_bytes = block_bytes.saturating_add(u64::from(item.len) + ITEM_BYTES);
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
                item: summary.items,
            })?;
        }
        items.push(item)?;
        summary.items += 1;
    }
    items.finish()?;
    fingerprints.write(&dir.join(FINGERPRINTS))?;
    Ok(summary)
}
