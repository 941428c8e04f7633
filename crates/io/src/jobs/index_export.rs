//! Exports the ids and fingerprints of an index, ordered by id.
//!
//! The segments of an index are ordered by fingerprint, so the export sorts the rows by id, on disk if they do not fit
//! into memory.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use twinprint_fingerprint::Width;
use twinprint_index::segment::SegmentError;
use twinprint_index::sort::{IdRow, Sorter};
use twinprint_index::store::{Snapshot, StoreError};

use crate::progress::{Progress, Unit};

/// Number of rows between two checks whether the job is cancelled.
const CHECK_INTERVAL: u64 = 1 << 16;

/// The memory limit and the temporary directory of an external sort.
#[derive(Clone, Copy, Debug)]
pub struct SortSpace<'s> {
    /// The directory in which an unnamed temporary file is created.
    pub directory: &'s Path,
    /// The approximate memory for the sort, in bytes. Rows that do not fit are written to the temporary file.
    pub memory: u64,
}

/// Calls `each(id, fingerprint)` for every row that is not deleted, in ascending order of ids.
///
/// # Errors
/// An index file is damaged; [`SegmentError::Memory`] if `space.memory` is too small; [`SegmentError::Stopped`] once
/// `cancel` is set; or `each` returns an error.
///
/// ```
/// use std::sync::atomic::AtomicBool;
///
/// use twinprint_index::segment::Codec;
/// use twinprint_index::store::{Index, Options, Settings, read};
/// use twinprint_io::jobs::index_export::{SortSpace, export};
/// use twinprint_io::progress::Silent;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let directory = tempfile::tempdir()?;
/// let settings = Settings {
///     radius: 3,
///     codec: Codec::default(),
///     label: "my fingerprints".to_owned(),
/// };
/// let index = Index::<u64>::create(directory.path(), &settings, &Options::default())?;
/// index.add(18, 0xff)?;
/// index.add(17, 0xfff)?;
/// index.commit()?;
///
/// let committed = read::<u64>(directory.path())?;
/// let temporary = std::env::temp_dir();
/// let space = SortSpace {
///     directory: &temporary,
///     memory: 64 << 20,
/// };
/// let mut rows = Vec::new();
/// export(&committed.snapshot, space, &Silent, &AtomicBool::new(false), |id, fingerprint| {
///     rows.push((id, fingerprint));
///     Ok::<_, Box<dyn std::error::Error>>(())
/// })?;
/// assert_eq!(rows, [(17, 0xfff), (18, 0xff)]);
/// # Ok(())
/// # }
/// ```
pub fn export<W: Width, E: From<StoreError> + From<SegmentError>>(
    snapshot: &Snapshot<W>,
    space: SortSpace<'_>,
    progress: &dyn Progress,
    cancel: &AtomicBool,
    mut each: impl FnMut(u64, W) -> Result<(), E>,
) -> Result<(), E> {
    let check_cancelled = || {
        if cancel.load(Ordering::Relaxed) {
            return Err(SegmentError::Stopped);
        }
        Ok(())
    };
    let needed = Sorter::<IdRow<W>>::least_memory(snapshot.rows());
    SegmentError::check_memory(needed, space.memory)?;
    let mut sorter = Sorter::new(space.directory, IdRow::<W>::largest(), space.memory);
    let mut count = 0;
    progress.stage("read", snapshot.rows(), Unit::Fingerprints);
    for row in snapshot.iter() {
        let (fingerprint, id) = row?;
        sorter.push(IdRow { id, fingerprint })?;
        count += 1;
        if count % CHECK_INTERVAL == 0 {
            check_cancelled()?;
            progress.advance(CHECK_INTERVAL);
        }
    }
    progress.advance(count % CHECK_INTERVAL);
    progress.stage("write", count, Unit::Fingerprints);
    sorter.finish(|rows| {
        check_cancelled()?;
        for &row in rows {
            each(row.id, row.fingerprint)?;
        }
        progress.advance(rows.len() as u64);
        Ok(())
    })
}
