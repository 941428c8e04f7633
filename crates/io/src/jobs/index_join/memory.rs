//! The division of a join's memory, and the minimum memory that a join needs.

use twinprint_index::join::StoredJoin;
use twinprint_index::plan::Plan;
use twinprint_index::segment::{self, SegmentError};

use super::{JoinOptions, JoinSide};

impl JoinOptions {
    /// The memory of the join itself, in bytes. The rest is for the sort of the pairs.
    pub(super) fn for_join(&self) -> u64 {
        self.memory - self.memory / 4
    }

    /// The options of the segment that is built of a side. It is never searched, so a single table is enough.
    pub(super) fn gathering(&self, side: &JoinSide) -> Result<segment::Options, SegmentError> {
        let ids_below = match side {
            JoinSide::Index(_) => None,
            JoinSide::Files(files) => (!files.has_ids()).then(|| files.len()),
        };
        Ok(segment::Options {
            plan: Some(Plan::one_table(u64::BITS, 0)?),
            memory: self.memory,
            ids_below,
            ..segment::Options::default()
        })
    }

    /// Checks that the memory is enough for joining these sides. The need is an estimate.
    ///
    /// # Errors
    /// [`SegmentError::Memory`] with the minimum memory that is enough.
    pub(super) fn check_memory(&self, sides: &[&JoinSide]) -> Result<(), SegmentError> {
        let rows: Vec<u64> = sides.iter().map(|side| side.len()).collect();
        let join = StoredJoin::least_memory::<u64>(self.k, &rows);
        let mut needed = join.saturating_add(join.div_ceil(3));
        for side in sides.iter().filter(|side| side.stored().is_none()) {
            needed = needed.max(self.gathering(side)?.least_memory::<u64>(side.len())?);
        }
        SegmentError::check_memory(needed, self.memory)
    }
}
