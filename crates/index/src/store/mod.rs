//! A durable index on disk that can be changed: a directory of segments, and memtables of recent additions.
//!
//! [`Index`] is the only writer of a directory. [`Index::snapshot`] is a reader's view of its state at one stamp, and
//! [`read`] opens the last commit in other processes. Additions go to a memtable, which is searched while it grows;
//! when it is full, and at every [`Index::commit`], it becomes a segment (`flush`). Segments that together are larger
//! than a larger one are merged with it (`compaction`), so that their number is about log₂ of the number of memtables
//! flushed. Deleted ids are tombstones, one set for each segment, until a compaction drops them.
//!
//! **Durability.** [`Index::commit`] makes all earlier changes durable: it returns when segments, files of deleted ids
//! and the manifest are on disk. Later changes are in memory only; there is no write-ahead log. A full memtable is
//! committed without a call, so a reopened index may contain more than the last explicit commit, but never a part of a
//! change: its state is that after some change between the last explicit commit and the crash. [`Index::mark`] stores
//! the caller's position in its own log of changes. It is committed with the changes, so the caller can repeat those
//! after it. Changes are idempotent.
//!
//! **Stamps.** Every change has a stamp, one more than the change before. A deletion or replacement writes its stamp to
//! a tombstone, and an addition is an entry of the memtable; nothing that a reader may see is removed. A reader, a
//! commit and a compaction are each bound to a stamp and ignore later changes. A compaction drops only ids that were
//! deleted before the last commit, so its output can replace its inputs in the manifest without committing anything
//! else.
//!
//! **Names.** Ids are numbers, or names of the caller that are numbered from 0 on ([`Names`]).
//!
//! **Adding an id again** replaces its fingerprint in one step, so no id has two living fingerprints.
//!
//! **Failure.** After a failed write or sync the content of the disk is unknown. The index then refuses changes, states
//! the reason, and continues to answer lookups. When it is opened again, it has the state of the last commit.
//!
//! [`Snapshot::scan`] answers very many queries in one pass over all stored rows; [`scan_is_cheaper`] decides if that
//! is faster.
//!
//! Log-structured merging: O'Neil, Cheng, Gawlick, O'Neil 1996.

mod background;
mod bulk;
mod check;
mod compaction;
mod create;
mod error;
mod file_names;
mod files;
mod flush;
mod left_over;
mod locks;
mod manifest;
mod marker;
mod marker_guard;
mod memtable;
mod names;
mod open;
mod scan;
mod scan_cost;
mod structure;
mod tables;
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
pub use create::{create_from, create_named_from};
pub use error::StoreError;
pub use names::{NameWriter, Names};
pub use open::{Committed, read, width_of};
pub use scan_cost::{MissingPages, scan_is_cheaper};
pub use tables::{segment_options, segment_options_of};
pub use view::Snapshot;

use self::background::Background;
use self::writing::Shared;
use crate::segment::Codec;
use crate::storage::{Disk, Storage};

/// The settings that an index is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The radius that lookups are planned for. A lookup with a greater radius compares more rows.
    pub radius: u32,
    /// The storage format of the rows of segments.
    pub codec: Codec,
    /// A label that the caller chooses, such as the name of the profile that made the fingerprints: at most 255 bytes.
    pub label: String,
}

/// Statistics of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// The number of stored fingerprints that were read.
    pub rows: u64,
    /// The number of bytes of the tables that were read, without ids.
    pub bytes: u64,
    /// The number of comparisons of two fingerprints.
    pub compared: u64,
    /// The number of pairs of a query and an id within the radius.
    pub matches: u64,
}

/// The options of a process that writes to an index.
#[derive(Clone, Debug)]
pub struct Options {
    /// The maximum number of entries of a memtable; an entry takes 50 to 80 bytes. A full memtable is committed.
    pub memtable: u32,
    /// The thread that flushes full memtables and merges segments.
    pub upkeep: Upkeep,
    /// The file system to write to.
    pub storage: Arc<dyn Storage>,
}

/// The thread that flushes full memtables and merges segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// A background thread of the index. Changes wait for it only if it falls behind by several memtables; lookups
    /// never wait.
    Background,
    /// The calling thread, when its change fills a memtable or it commits.
    Caller,
    /// The calling thread flushes memtables. Segments are merged by [`Index::compact`] only.
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

/// The writer of an index. All methods take `&self`; changes from several threads are made one after the other.
///
/// When it is dropped, its background thread ends, and changes that were not committed are lost.
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

/// Keeps the directory of an index locked after its writer has ended, until this value is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: Option<File>,
}
