//! Finds the fingerprints of parts that several texts have: merges those of all blocks, and sorts them by text.

use std::path::Path;

use twinprint_io::results::PartsReport;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::{
    COMMON_ENDS, COMMON_TEXTS, REFERENCES, SHARED, SHARED_TEXTS, SIZES, SharedSummary, WINNOWED,
};
use super::part_tables::{CommonTextRow, ReferenceRow, SharedRow, SharedTextRow, TextSizeRow, WinnowedRow};
use super::row_blocks::RowBlocks;
use crate::error::{DedupError, StageDamage};
use crate::parts::{FINGERPRINT_BYTES, MIN_SHARED, TEXT_BYTES};
use crate::rows::{Merge, Number, RowFile, RowSorter, RowWriter};

/// Finds the fingerprints that several texts have.
pub(super) fn find(job: &StagedJob<'_>) -> Result<SharedSummary, DedupError> {
    job.folder
        .run(Task::only(Stage::Shared), |dir| find_shared(job, dir))
}

fn find_shared(job: &StagedJob<'_>, dir: &Path) -> Result<SharedSummary, DedupError> {
    let tasks = job.items_summary()?.texts.len();
    let files: Vec<RowFile<WinnowedRow>> = job.folder.rows_of(Stage::Winnow, tasks, WINNOWED)?;
    let mut lists = TextLists::create(job, dir)?;
    for (at, row) in (0..).zip(Merge::of_files(&files, job.merge_memory())) {
        job.check_at(at)?;
        lists.push(row?)?;
    }
    let (shared, common) = lists.finish()?;
    let mut by_text = TextWriter::create(job, dir)?;
    let sizes: Vec<RowFile<TextSizeRow>> = job.folder.rows_of(Stage::Winnow, tasks, SIZES)?;
    let mut sizes = sizes.iter().flat_map(RowFile::all);
    let mut text = 0;
    shared.finish(|row| {
        job.check_at(by_text.shared.rows())?;
        while text < row.text {
            let size = sizes.next().ok_or_else(|| unknown_text(job))?;
            by_text.end(text, size?)?;
            text += 1;
        }
        by_text.push(row)
    })?;
    for size in sizes {
        by_text.end(text, size?)?;
        text += 1;
    }
    by_text.finish(dir, common)
}

/// The error that a fingerprint names a text that does not exist.
fn unknown_text(job: &StagedJob<'_>) -> DedupError {
    let winnowed = job.folder.path(Task::only(Stage::Winnow)).join(WINNOWED);
    DedupError::damaged_stage(&winnowed, StageDamage::Content)
}

/// Collects the texts of each fingerprint, which come in the order of the fingerprints.
struct TextLists {
    /// The fingerprints that several texts have.
    shared: RowSorter<SharedRow>,
    common_texts: RowWriter<CommonTextRow>,
    common_ends: RowWriter<Number>,
    fingerprint: u64,
    /// The texts that have the fingerprint, while they are few.
    few: Vec<u32>,
    /// True if the fingerprint is common.
    is_common: bool,
}

impl TextLists {
    fn create(job: &StagedJob<'_>, dir: &Path) -> Result<Self, DedupError> {
        Ok(Self {
            shared: RowSorter::new(dir, job.sort_memory()),
            common_texts: RowWriter::create(&dir.join(COMMON_TEXTS))?,
            common_ends: RowWriter::create(&dir.join(COMMON_ENDS))?,
            fingerprint: 0,
            few: Vec::new(),
            is_common: false,
        })
    }

    fn push(&mut self, WinnowedRow { fingerprint, text }: WinnowedRow) -> Result<(), DedupError> {
        if fingerprint != self.fingerprint {
            self.end()?;
            self.fingerprint = fingerprint;
        }
        if self.is_common {
            return self.push_common(text);
        }
        self.few.push(text);
        if self.few.len() > PartsReport::MAX_PAIRED_TEXTS {
            self.is_common = true;
            let few = std::mem::take(&mut self.few);
            few.into_iter().try_for_each(|text| self.push_common(text))?;
        }
        Ok(())
    }

    fn push_common(&mut self, text: u32) -> Result<(), DedupError> {
        self.common_texts.push(CommonTextRow { text })?;
        self.shared.push(SharedRow {
            text,
            fingerprint: self.fingerprint,
            common: self.common_ends.rows() as u32 + 1,
        })
    }

    /// Ends the list of a fingerprint.
    fn end(&mut self) -> Result<(), DedupError> {
        if self.is_common {
            self.is_common = false;
            return self.common_ends.push(Number {
                value: self.common_texts.rows(),
            });
        }
        if self.few.len() > 1 {
            for &text in &self.few {
                self.shared.push(SharedRow {
                    text,
                    fingerprint: self.fingerprint,
                    common: 0,
                })?;
            }
        }
        self.few.clear();
        Ok(())
    }

    /// Returns the fingerprints that several texts have, and the number of the common ones.
    fn finish(mut self) -> Result<(RowSorter<SharedRow>, u64), DedupError> {
        self.end()?;
        let common = self.common_ends.rows();
        self.common_texts.finish()?;
        self.common_ends.finish()?;
        Ok((self.shared, common))
    }
}

/// Writes the fingerprints of each text, one text after another.
struct TextWriter {
    shared: RowWriter<SharedRow>,
    texts: RowWriter<SharedTextRow>,
    references: RowSorter<ReferenceRow>,
    blocks: RowBlocks,
    /// The largest number of bytes of a block.
    block_bytes: u64,
    /// The numbers of shared and of common fingerprints of the text.
    own: u64,
    own_common: u32,
    /// The number of fingerprints of all texts.
    fingerprints: u64,
}

impl TextWriter {
    fn create(job: &StagedJob<'_>, dir: &Path) -> Result<Self, DedupError> {
        Ok(Self {
            shared: RowWriter::create(&dir.join(SHARED))?,
            texts: RowWriter::create(&dir.join(SHARED_TEXTS))?,
            references: RowSorter::new(dir, job.sort_memory()),
            blocks: RowBlocks::default(),
            // Two blocks are in memory together.
            block_bytes: job.spec.memory / 4,
            own: 0,
            own_common: 0,
            fingerprints: 0,
        })
    }

    fn push(&mut self, row: SharedRow) -> Result<(), DedupError> {
        self.own += 1;
        self.own_common += u32::from(row.common > 0);
        self.shared.push(row)
    }

    /// Ends a text with all of its fingerprints.
    fn end(&mut self, text: u32, TextSizeRow { fingerprints }: TextSizeRow) -> Result<(), DedupError> {
        self.texts.push(SharedTextRow {
            end: self.shared.rows(),
            fingerprints,
        })?;
        if self.own_common >= MIN_SHARED {
            self.references.push(ReferenceRow {
                rank: u32::MAX - self.own_common,
                fingerprints,
                text,
            })?;
        }
        self.fingerprints += u64::from(fingerprints);
        self.blocks
            .push(TEXT_BYTES + self.own * FINGERPRINT_BYTES, self.block_bytes);
        (self.own, self.own_common) = (0, 0);
        Ok(())
    }

    fn finish(self, dir: &Path, common: u64) -> Result<SharedSummary, DedupError> {
        self.shared.finish()?;
        self.texts.finish()?;
        self.references.write(&dir.join(REFERENCES))?;
        Ok(SharedSummary {
            fingerprints: self.fingerprints,
            common,
            blocks: self.blocks,
        })
    }
}
