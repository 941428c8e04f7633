//! The thresholds in force, and the sample of items from which they are estimated.
//!
//! The sample has the first items of a stream. The thresholds are estimated again whenever the sample has doubled, and
//! for the last time when it has [`MAX_SAMPLE`] items. The sample is then dropped. Until the first estimate, and if the
//! sample has too few distinct items for one, the thresholds are [`FIRST_THRESHOLD`] and [`FIRST_MERGE`].
//!
//! Invariant: the thresholds that an item is placed with depend only on the items counted or placed before it, and on
//! the item itself. So they are the same in a run that was interrupted and resumed from the stored state.

use serde::{Deserialize, Serialize};

use super::estimate::{Estimate, MIN_ITEMS};
use super::options::{StoryOptions, Threshold};

/// The number of items of a complete sample.
pub const MAX_SAMPLE: usize = 2000;
/// The maximum number of terms that the sample keeps of an item, so that its size is bounded. They are the heaviest by
/// the counts of the moment. They are more than the terms of a vector, because the weights change until the estimate.
pub(super) const MAX_SAMPLED_TERMS: usize = 512;
/// The threshold before the first estimate: only documents that share much join a story.
const FIRST_THRESHOLD: f64 = 0.3;
/// The cosine of centres at which stories merge, before the first estimate.
const FIRST_MERGE: f64 = 0.65;

/// The thresholds in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The minimum cosine between an item and the centre of the story that it joins.
    pub join: f64,
    /// The minimum cosine of the centres of two stories that merge; `None` if stories never merge.
    pub merge: Option<f64>,
}

/// The heaviest terms of an item, at most [`MAX_SAMPLED_TERMS`], each with its number of occurrences.
pub(super) type SampledItem = Vec<(u32, u32)>;

/// The sample and the latest estimate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sample {
    /// The items of the sample. Empty once the sample is complete.
    pub(super) items: Vec<SampledItem>,
    /// The number of items of the sample at the latest estimate; 0 before the first.
    pub(super) estimated_at: u64,
    pub(super) estimate: Option<Estimate>,
}

impl Sample {
    /// True if no item is added any more.
    pub(super) fn is_complete(&self) -> bool {
        self.estimated_at >= MAX_SAMPLE as u64
    }

    /// Adds an item, unless the sample is complete.
    pub(super) fn add(&mut self, item: SampledItem) {
        if !self.is_complete() && self.items.len() < MAX_SAMPLE {
            self.items.push(item);
        }
    }

    /// Removes the terms that are not `known`: their numbers may soon be those of other words.
    pub(super) fn retain(&mut self, known: impl Fn(u32) -> bool) {
        for item in &mut self.items {
            item.retain(|&(term, _)| known(term));
        }
    }

    /// True if the sample has grown enough for a new estimate.
    pub(super) fn is_due(&self) -> bool {
        let items = self.items.len() as u64;
        let doubled = items >= MIN_ITEMS as u64 && items >= 2 * self.estimated_at;
        !self.is_complete() && (doubled || items == MAX_SAMPLE as u64)
    }

    /// Stores an estimate from the present items. The items are dropped if the sample is complete.
    pub(super) fn set(&mut self, estimate: Option<Estimate>) {
        self.estimated_at = self.items.len() as u64;
        self.estimate = estimate.or(self.estimate.take());
        if self.is_complete() {
            self.items = Vec::new();
        }
    }

    /// The thresholds in force: those that the options give, otherwise those of the latest estimate. An estimated cosine
    /// of centres is at least the threshold of joining, even if that one is given.
    pub(super) fn thresholds(&self, options: &StoryOptions) -> Thresholds {
        let estimate = self.estimate.as_ref();
        let join = match options.threshold {
            Threshold::Given(cosine) => cosine,
            Threshold::Estimated => estimate.map_or(FIRST_THRESHOLD, |estimate| estimate.threshold),
        };
        let merge = options.merge.map(|merge| match merge {
            Threshold::Given(cosine) => cosine,
            Threshold::Estimated => estimate.map_or(FIRST_MERGE, |estimate| estimate.merge).max(join),
        });
        Thresholds { join, merge }
    }
}
