//! An index that changes: a directory of segments, and memtables for what was added since.
//!
//! [`Index`] is the one writer of a directory; [`Index::snapshot`] gives readers one moment of it, and [`read`] opens what was committed for
//! readers elsewhere. Adding goes to a memtable, which is searched as it grows; when it is full, and at every [`Index::commit`], it becomes a
//! segment (`flush`). Segments that together outweigh a larger one are merged with it (`compaction`), so that there are about log₂ of
//! them. Deleted ids are tombstones, one set a segment, until a compaction leaves them out.
//!
//! **What is durable.** What was added, deleted and marked before a successful [`Index::commit`]: it returns when segments, tombstones and manifest
//! are on disk. Before that it is in memory only; there is no log. A full memtable commits by itself, so that more than what was
//! committed may be there after a crash, but never a part: a reopened index is exactly as it was at some moment between the last commit
//! and the crash. [`Index::mark`] says how far the caller had come at that moment, so that it knows what to do again; all changes may be
//! repeated without harm.
//!
//! **Moments.** Every change has a stamp, one more than the last. A deletion or replacement is the stamp written to a tombstone, an addition is
//! an entry of the memtable; nothing is taken away from what a reader may see. A reader, a commit and a compaction are each bound to a stamp
//! and ignore later ones. A compaction leaves out only what was deleted before the last commit, so its output can replace its
//! inputs in the manifest without committing anything else.
//!
//! **Adding an id again** replaces it: the old fingerprint is gone from the moment the new one is there. So ids are distinct among what lives.
//!
//! **Failure.** After a write or a sync that failed, what the disk holds is not known. The index then refuses changes with the reason, and goes on
//! answering; opened again, it is as it was last committed.
//!
//! Very many queries may be answered by one pass over all that is stored (`scan`).
//!
//! Log-structured merging: O'Neil, Cheng, Gawlick, O'Neil 1996.

mod background;
mod bulk;
mod check;
mod compaction;
mod error;
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

pub use check::{Checked, check};
pub use error::StoreError;
pub use open::{Committed, create_from, read, segment_options, width_of};
pub use scan_cost::scan_is_cheaper;
pub use view::Snapshot;

use self::background::Background;
use self::writing::Shared;
use crate::segment::Codec;
use crate::storage::{Disk, Storage};

/// What is decided when an index is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The radius that lookups are planned for; larger ones are answered by comparing more.
    pub radius: u32,
    /// How rows are stored.
    pub codec: Codec,
    /// What the caller wants to find again, such as the name of the profile that made the fingerprints: at most 255 bytes.
    pub label: String,
}

/// What a scan did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Stored fingerprints that were read.
    pub rows: u64,
    /// Fingerprints compared with one another.
    pub compared: u64,
    /// Pairs of a query and an id that were given.
    pub matches: u64,
}

/// How an index is used by one process.
#[derive(Clone, Debug)]
pub struct Options {
    /// Entries of a memtable; 50 to 80 bytes each are held. When it is full it is committed.
    pub memtable: u32,
    /// Who flushes and merges.
    pub upkeep: Upkeep,
    /// Where files are written.
    pub storage: Arc<dyn Storage>,
}

/// Who flushes full memtables and merges segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// A thread of the index. Changes wait for it only when it falls behind by several memtables; lookups never.
    Background,
    /// Whoever adds what fills a memtable or commits.
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
/// Dropped, it ends its thread and forgets what was not committed.
#[derive(Debug)]
pub struct Index<W: twinprint_fingerprint::Width> {
    shared: Arc<Shared<W>>,
    /// Ends with this.
    background: Option<Background>,
}

/// The lock of a directory whose writer has ended.
#[derive(Debug)]
pub struct Lock {
    _file: Option<File>,
}
