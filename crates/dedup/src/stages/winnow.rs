//! Winnows a block of texts, in a run that searches partial copies.

use std::ops::Range;
use std::path::Path;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::{SIZES, WINNOWED, WinnowSummary};
use super::part_tables::{TextSizeRow, WinnowedRow};
use super::text_table::StoredTexts;
use crate::error::DedupError;
use crate::ids::{Id, IdVec};
use crate::parts::{TextId, TextPlace, Texts, fingerprints};
use crate::rows::{RowSorter, RowWriter};

/// The number of bytes of texts that are winnowed at a time.
const BATCH_BYTES: usize = 8 << 20;

/// Winnows a block of texts.
pub(super) fn winnow(job: &StagedJob<'_>, block: u32) -> Result<WinnowSummary, DedupError> {
    let task = Task::new(Stage::Winnow, block);
    job.folder.run(task, |dir| winnow_block(job, block, dir))
}

fn winnow_block(job: &StagedJob<'_>, block: u32, dir: &Path) -> Result<WinnowSummary, DedupError> {
    let summary = job.items_summary()?;
    let (range, key) = (summary.texts.block(block), summary.key.finish());
    let mut places = IdVec::default();
    StoredTexts::open(job)?.load(range.clone(), &mut places)?;
    let texts = Texts::new(&places, job.spool()?);
    let mut winnowed = RowSorter::new(dir, job.sort_memory());
    let mut sizes = RowWriter::create(&dir.join(SIZES))?;
    let mut all = 0;
    for batch in batches(&places) {
        let of_texts = fingerprints(&texts, batch.clone(), key, &|| job.check_cancelled())?;
        job.progress.advance(of_texts.len() as u64);
        for (text, of) in batch.zip(of_texts) {
            all += of.len() as u64;
            sizes.push(TextSizeRow {
                fingerprints: of.len() as u32,
            })?;
            for fingerprint in of {
                winnowed.push(WinnowedRow {
                    fingerprint,
                    text: range.start as u32 + text,
                })?;
            }
        }
    }
    sizes.finish()?;
    winnowed.write(&dir.join(WINNOWED))?;
    Ok(WinnowSummary { fingerprints: all })
}

/// Divides texts into batches of about [`BATCH_BYTES`].
fn batches(places: &IdVec<TextId, TextPlace>) -> Vec<Range<u32>> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (text, place) in places.entries() {
        bytes += place.bytes();
        let end = text.get() + 1;
        if bytes >= BATCH_BYTES || end as usize == places.len() {
            batches.push(start..end);
            (start, bytes) = (end, 0);
        }
    }
    batches
}
