//! What an index holds, out again: ids and fingerprints, ordered by id.
//!
//! A segment is ordered by fingerprint, so everything is sorted once more, on disk where it is more than memory holds.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use twinprint_index::segment::SegmentError;
use twinprint_index::sort::Sorter;
use twinprint_index::store::{Snapshot, StoreError};

use crate::progress::{Progress, Unit};

/// Rows between two looks whether to go on.
const STRETCH: u64 = 1 << 16;

/// Calls `each(id, fingerprint)` with everything that is not deleted, ascending by id, within about `memory` bytes; what does not fit
/// goes to a file without a name in `directory` meanwhile.
///
/// # Errors
/// A damaged file; `Memory` of the segment's errors where there is too little; `Stopped` once `cancel` is set; whatever `each` gives.
pub fn export<E: From<StoreError> + From<SegmentError>>(
    snapshot: &Snapshot<u64>,
    (directory, memory): (&Path, u64),
    progress: &dyn Progress,
    cancel: &AtomicBool,
    mut each: impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<(), E> {
    let go_on = || {
        if cancel.load(Ordering::Relaxed) {
            return Err(SegmentError::Stopped);
        }
        Ok(())
    };
    SegmentError::check_memory(Sorter::least_memory(snapshot.rows()), memory)?;
    let mut sorter = Sorter::new(directory, u128::MAX, memory);
    let mut count = 0;
    progress.stage("read", snapshot.rows(), Unit::Fingerprints);
    for row in snapshot.iter() {
        let (fingerprint, id) = row?;
        sorter.push(u128::from(id) << 64 | u128::from(fingerprint))?;
        count += 1;
        if count % STRETCH == 0 {
            go_on()?;
            progress.advance(STRETCH);
        }
    }
    progress.advance(count % STRETCH);
    progress.stage("write", count, Unit::Fingerprints);
    sorter.finish(|rows| {
        go_on()?;
        for &row in rows {
            each((row >> 64) as u64, row as u64)?;
        }
        progress.advance(rows.len() as u64);
        Ok(())
    })
}
