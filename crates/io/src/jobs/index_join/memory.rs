//! Divides the memory of a join between its steps, and estimates the minimum memory that a join needs.

use twinprint_fingerprint::Width;
use twinprint_index::join::StoredJoin;
use twinprint_index::plan::Plan;
use twinprint_index::segment::{self, SegmentError};

use super::{JoinOptions, JoinSide};

impl JoinOptions {
    /// The memory of the join without the caller's part, in bytes.
    fn own(&self) -> u64 {
        self.memory.saturating_sub(self.held)
    }

    /// The memory for the search of pairs, in bytes.
    pub(super) fn for_join(&self) -> u64 {
        self.own() - self.for_pairs()
    }

    /// The memory for sorting the pairs, in bytes.
    pub(super) fn for_pairs(&self) -> u64 {
        self.own() / 4
    }

    /// The options with which a side is written to a segment. The segment needs only one table, because it is joined
    /// but never searched.
    pub(super) fn gathering<W: Width>(&self, side: &JoinSide<W>) -> Result<segment::Options, SegmentError> {
        let ids_below = match side {
            JoinSide::Index(_) => None,
            JoinSide::Files(files) => (!files.has_ids()).then(|| files.len()),
        };
        Ok(segment::Options {
            plan: Some(Plan::one_table(W::BITS, 0)?),
            memory: self.own(),
            ids_below,
            ..segment::Options::default()
        })
    }

    /// Checks that the memory is enough to join these sides. The memory that is needed is an estimate.
    ///
    /// # Errors
    /// [`SegmentError::Memory`] with the estimated minimum, if the memory is too small.
    pub(super) fn check_memory<W: Width>(&self, sides: &[&JoinSide<W>]) -> Result<(), SegmentError> {
        let rows: Vec<u64> = sides.iter().map(|side| side.len()).collect();
        let join = StoredJoin::least_memory::<W>(self.k, &rows);
        let mut needed = join.saturating_add(join.div_ceil(3));
        for side in sides.iter().filter(|side| side.stored().is_none()) {
            needed = needed.max(self.gathering(side)?.least_memory::<W>(side.len())?);
        }
        SegmentError::check_memory(needed.saturating_add(self.held), self.memory)
    }
}
