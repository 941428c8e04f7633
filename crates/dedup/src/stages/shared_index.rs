//! The fingerprints of parts that several texts have, as the search for passages and pairs reads them.

use std::ops::Range;

use twinprint_io::results::PartsReport;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::{COMMON_ENDS, COMMON_TEXTS, SHARED, SHARED_TEXTS};
use super::part_tables::{CommonTextRow, SharedRow, SharedTextRow};
use crate::error::DedupError;
use crate::ids::Id;
use crate::parts::{FingerprintId, FingerprintIndex, TextFingerprint, TextId};
use crate::rows::{Number, RowFile};

/// The output of the stage `shared`.
pub(super) struct SharedIndex {
    pub(super) shared: RowFile<SharedRow>,
    pub(super) texts: RowFile<SharedTextRow>,
    common_texts: RowFile<CommonTextRow>,
    common_ends: RowFile<Number>,
}

impl SharedIndex {
    pub(super) fn open(job: &StagedJob<'_>) -> Result<Self, DedupError> {
        let task = Task::only(Stage::Shared);
        Ok(Self {
            shared: job.folder.rows(task, SHARED)?,
            texts: job.folder.rows(task, SHARED_TEXTS)?,
            common_texts: job.folder.rows(task, COMMON_TEXTS)?,
            common_ends: job.folder.rows(task, COMMON_ENDS)?,
        })
    }

    /// The positions of the fingerprints of consecutive texts.
    pub(super) fn positions(&self, texts: Range<u64>) -> Result<Range<u64>, DedupError> {
        let end_before = |text: u64| match text {
            0 => Ok(0),
            text => Ok::<_, DedupError>(self.texts.get(text - 1)?.end),
        };
        Ok(end_before(texts.start)?..end_before(texts.end)?)
    }

    /// The number of the common fingerprint of a row; `None` if its fingerprint is not common.
    fn common(&self, row: SharedRow) -> Result<Option<FingerprintId>, DedupError> {
        if u64::from(row.common) > self.common_ends.len() {
            return Err(self.shared.damaged());
        }
        Ok(row.common.checked_sub(1).map(FingerprintId::new))
    }
}

impl FingerprintIndex for SharedIndex {
    fn many(&self) -> usize {
        PartsReport::MAX_PAIRED_TEXTS
    }

    fn numbers(&self) -> usize {
        self.common_ends.len() as usize
    }

    fn entries(&self) -> u64 {
        self.shared.len()
    }

    fn of_text(&self, text: TextId) -> Result<Vec<TextFingerprint>, DedupError> {
        let text = u64::from(text.get());
        let positions = self.positions(text..text + 1)?;
        let rows = positions.clone().zip(self.shared.range(positions));
        let fingerprints = rows.map(|(position, row)| {
            let row = row?;
            Ok(TextFingerprint {
                value: row.fingerprint,
                position,
                common: self.common(row)?,
            })
        });
        fingerprints.collect()
    }

    fn add_texts(&self, common: FingerprintId, texts: &mut Vec<TextId>) -> Result<(), DedupError> {
        let number = u64::from(common.get());
        let start = match number {
            0 => 0,
            number => self.common_ends.get(number - 1)?.value,
        };
        let end = self.common_ends.get(number)?.value;
        for row in self.common_texts.range(start..end) {
            texts.push(TextId::new(row?.text));
        }
        Ok(())
    }

    fn each_common(&self, f: &mut dyn FnMut(u64, FingerprintId)) -> Result<(), DedupError> {
        for (position, row) in (0..).zip(self.shared.all()) {
            if let Some(common) = self.common(row?)? {
                f(position, common);
            }
        }
        Ok(())
    }
}
