//! The tables of some items, as a run in memory has them for a whole corpus.

use super::job::StagedJob;
use super::tables::measure_of;
use crate::corpus::item_texts::ItemTexts;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::shingle_sets::SetCache;
use crate::corpus::{Classes, TextValues};
use crate::error::DedupError;
use crate::ids::ItemId;

/// The tables of some items, which have numbers of their own. Their texts are in the spool of the run.
pub(super) struct ItemTables {
    pub(super) classes: Classes,
    pub(super) keep: KeepOrder,
}

impl ItemTables {
    /// Reads the rows of items, which are ascending.
    pub(super) fn load(job: &StagedJob<'_>, items: &[u64]) -> Result<Self, DedupError> {
        let file = job.items()?;
        let mut classes = Classes::default();
        // Items that follow one another are read together.
        for run in items.chunk_by(|a, b| b.checked_sub(1) == Some(*a)) {
            for row in file.range(run[0]..run[0].saturating_add(run.len() as u64)) {
                let row = row?;
                let text = TextValues {
                    text: row.text(),
                    features: row.features,
                    shingles: row.shingles,
                    measure: measure_of(row.measure),
                };
                classes.push(row.fingerprint, text);
            }
        }
        let count = items.len();
        Ok(Self {
            classes,
            keep: KeepOrder::of_first_documents(count),
        })
    }

    /// The cache of the shingle sets of the items.
    pub(super) fn sets<'t>(&'t self, job: &'t StagedJob<'_>) -> Result<SetCache<'t>, DedupError> {
        job.sets_of(ItemTexts::Classes {
            classes: &self.classes,
            order: &self.keep.classes,
        })
    }

    /// The Hamming distance of the fingerprints of two items, in their low `bits` bits, 64 or 128.
    pub(super) fn distance(&self, a: ItemId, b: ItemId, bits: u32) -> u32 {
        let [a, b] = [a, b].map(|item| self.keep.classes.of(item));
        self.classes.distance(a, b, bits)
    }
}
