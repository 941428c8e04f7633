//! The division of a join's memory, and the least memory that a join takes.

use twinprint_index::join::StoredJoin;
use twinprint_index::plan::Plan;
use twinprint_index::segment::{self, SegmentError};

use super::{JoinOptions, Side};

impl JoinOptions {
    /// For the join itself; the rest is for the pairs.
    pub(super) fn for_join(&self) -> u64 {
        self.memory - self.memory / 4
    }

    /// The options for making one segment of a side. Nothing is looked up in it, so a single table is enough.
    pub(super) fn gathering(&self, side: &Side) -> Result<segment::Options, SegmentError> {
        let ids_below = match side {
            Side::Index(_) => None,
            Side::Files(files) => (!files.has_ids()).then(|| files.len()),
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
    /// `Memory` with the least that it takes.
    pub(super) fn check_memory(&self, sides: &[&Side]) -> Result<(), SegmentError> {
        let rows: Vec<u64> = sides.iter().map(|side| side.len()).collect();
        let join = StoredJoin::least_memory::<u64>(self.k, &rows);
        let mut needed = join.saturating_add(join.div_ceil(3));
        for side in sides.iter().filter(|side| side.stored().is_none()) {
            needed = needed.max(self.gathering(side)?.least_memory::<u64>(side.len())?);
        }
        SegmentError::check_memory(needed, self.memory)
    }
}
