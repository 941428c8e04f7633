//! A durable index on disk that changes: a directory of segments, and memtables of recent additions.
//!
//! [`Index`] is the only writer of a directory; [`Index::snapshot`] is its state at one moment for readers, and [`read`] opens the last commit
//! in other processes. Additions go to a memtable, which is searched while it grows; when it is full, and at every [`Index::commit`], it becomes a
//! segment (`flush`). Segments that together outweigh a larger one are merged with it (`compaction`), so that their number is about
//! log₂ of the number of memtables flushed. Deleted ids are tombstones, one set for each segment, until a compaction drops them.
//!
//! **Durability.** [`Index::commit`] makes all earlier changes durable: it returns when segments, tombstones and manifest are on disk. Other
//! changes are in memory only; there is no write-ahead log. A full memtable commits by itself, so a reopened index may contain more than the
//! last explicit commit, but never a part of a change: it is exactly as it was at some moment between that commit and the crash.
//! [`Index::mark`] stores the caller's position with that moment, so that the caller can repeat the changes after it. Changes are idempotent.
//!
//! **Moments.** Every change has a stamp, one more than the last. A deletion or replacement is the stamp written to a tombstone, an addition is
//! an entry of the memtable; nothing that a reader may see is removed. A reader, a commit and a compaction are each bound to a stamp
//! and ignore later ones. A compaction drops only ids that were deleted before the last commit, so its output can replace its
//! inputs in the manifest without committing anything else.
//!
//! **Adding an id again** replaces its fingerprint in one step, so living ids are distinct.
//!
//! **Failure.** After a failed write or sync the content of the disk is unknown. The index then refuses changes with the reason, and continues
//! to answer lookups; opened again, it is as it was last committed.
//!
//! [`Snapshot::scan`] answers very many queries in one pass over all stored rows; [`scan_is_cheaper`] decides when.
//!
//! Log-structured merging: O'Neil, Cheng, Gawlick, O'Neil 1996.

mod background;
mod bulk;
mod check;
mod compaction;
mod error;
mod file_names;
mod files;
mod flush;
mod locks;
mod manifest;
mod marker;
mod marker_guard;
mod memtable;
mod open;
mod scan;
mod scan_cost;
mod structure;
#[cfg(test)]
mod tests;
mod tombstones;
mod view;
mod wakeup;
mod writing;

use std::fmt::Debug;
use std::fs::File;
use std::sync::Arc;

pub use check::{CheckReport, check};
pub use error::StoreError;
pub use open::{Committed, create_from, read, segment_options, width_of};
pub use scan_cost::scan_is_cheaper;
pub use view::Snapshot;

use self::background::Background;
use self::writing::Shared;
use crate::segment::Codec;
use crate::storage::{Disk, Storage};

/// The settings that an index is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The radius that lookups are planned for; larger ones are answered by comparing more.
    pub radius: u32,
    /// The storage format of rows.
    pub codec: Codec,
    /// A label of the caller, such as the name of the profile that made the fingerprints: at most 255 bytes.
    pub label: String,
}

/// Statistics of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// Stored fingerprints that were read.
    pub rows: u64,
    /// Fingerprints compared with one another.
    pub compared: u64,
    /// Pairs of a query and an id within the radius.
    pub matches: u64,
}

/// The options of a process that writes to an index.
#[derive(Clone, Debug)]
pub struct Options {
    /// The capacity of a memtable in entries of 50 to 80 bytes each. A full memtable is committed.
    pub memtable: u32,
    /// The thread that flushes and merges.
    pub upkeep: Upkeep,
    /// The file system to write to.
    pub storage: Arc<dyn Storage>,
}

/// The thread that flushes full memtables and merges segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// A thread of the index. Changes wait for it only when it falls behind by several memtables; lookups never.
    Background,
    /// The thread whose change fills a memtable, or that commits.
    Caller,
    /// Memtables are flushed by the caller; segments are merged by [`Index::compact`] only.
    FlushOnly,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memtable: 1 << 18,
            upkeep: Upkeep::Background,
            storage: Arc::new(Disk),
        }
    }
}

/// The writer of an index. All methods take `&self`, and changes from several threads follow one another.
///
/// Dropping it ends its thread; changes that were not committed are lost.
///
/// ```
/// use twinprint_index::segment::{Codec, Scratch};
/// use twinprint_index::store::{Index, Options, Settings, read};
///
/// let directory = tempfile::tempdir()?;
/// let settings = Settings {
///     radius: 3,
///     codec: Codec::default(),
///     label: "my fingerprints".to_owned(),
/// };
/// let index = Index::<u64>::create(directory.path(), &settings, &Options::default())?;
/// index.add(17, 0b0000)?;
/// index.add(18, u64::MAX)?;
/// index.delete(18)?;
/// index.commit()?;
///
/// let committed = read::<u64>(directory.path())?;
/// let mut found = Vec::new();
/// let mut scratch = Scratch::default();
/// committed
///     .snapshot
///     .lookup(0b0101, 3, &mut scratch, |id, _fingerprint, distance| found.push((id, distance)))?;
/// assert_eq!(found, [(17, 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Index<W: twinprint_fingerprint::Width> {
    shared: Arc<Shared<W>>,
    /// The background thread, which ends when this is dropped.
    background: Option<Background>,
}

/// The lock of a directory whose writer has ended.
#[derive(Debug)]
pub struct Lock {
    _file: Option<File>,
}
