//! The distinct texts of a run on disk, in input order.

use std::ops::Range;

use twinprint_io::work::TextRef;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::TEXT_ROWS;
use super::part_tables::TextRow;
use super::tables::{ItemRow, measure_of};
use crate::error::DedupError;
use crate::ids::{Id, IdVec};
use crate::parts::{TextId, TextPlace, TextPlaces};
use crate::rows::RowFile;

impl TextRow {
    /// The text of an item.
    pub(super) fn of(item: &ItemRow) -> Self {
        Self {
            representative: item.representative,
            documents: item.copies(),
            measure: item.measure,
            block: item.block,
            offset: item.offset,
            len: item.len,
        }
    }

    fn place(&self) -> TextPlace {
        TextPlace {
            text: TextRef::new(self.block, self.offset, self.len),
            measure: measure_of(self.measure),
        }
    }
}

/// The table of all texts, of which each row is read when it is needed.
pub(super) struct StoredTexts(RowFile<TextRow>);

impl StoredTexts {
    pub(super) fn open(job: &StagedJob<'_>) -> Result<Self, DedupError> {
        Ok(Self(job.folder.rows(Task::only(Stage::Items), TEXT_ROWS)?))
    }

    /// The row of a text.
    pub(super) fn row(&self, text: TextId) -> Result<TextRow, DedupError> {
        self.0.get(u64::from(text.get()))
    }

    /// Adds the places of some texts to `places`.
    pub(super) fn load(
        &self,
        texts: Range<u64>,
        places: &mut IdVec<TextId, TextPlace>,
    ) -> Result<(), DedupError> {
        for row in self.0.range(texts) {
            places.push(row?.place());
        }
        Ok(())
    }
}

impl TextPlaces for StoredTexts {
    fn len(&self) -> usize {
        self.0.len() as usize
    }

    fn place(&self, text: TextId) -> Result<TextPlace, DedupError> {
        Ok(self.row(text)?.place())
    }
}
