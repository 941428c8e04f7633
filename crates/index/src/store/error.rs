//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use crate::plan::PlanError;
use crate::segment::SegmentError;

/// The reason why an index cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file system operation failed.
    #[error("{}: cannot {action} ({source})", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operation that failed.
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no index in the directory.
    #[error("{} is not an index: there is no file \"manifest\" in it", path.display())]
    NotAnIndex {
        /// The directory.
        path: PathBuf,
    },
    /// The build of the index has not finished.
    #[error("{} is not an index yet: its build has not finished; if it was interrupted, build it again from the same input to resume it", path.display())]
    Unfinished {
        /// The directory.
        path: PathBuf,
    },
    /// A new index would overwrite one.
    #[error("{} is an index already", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// A file that the manifest does not name, and that no interrupted writer of the index left.
    #[error(
        "{} holds {}, which its manifest does not name; the manifest may be that of another index or an earlier one of this index; restore the whole directory \
         from a backup, or move that file to another directory (nothing was removed)",
        path.display(), file.file_name().unwrap_or_default().display()
    )]
    Unnamed {
        /// The directory.
        path: PathBuf,
        /// A segment or a file of deleted ids.
        file: PathBuf,
    },
    /// A directory for a new index without a manifest but with files of an index.
    #[error(
        "{} has no manifest but holds a file of an index, {}; restore the manifest from a backup, or name another directory (nothing was removed)",
        path.display(), file.file_name().unwrap_or_default().display()
    )]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// A segment or a file of deleted ids.
        file: PathBuf,
    },
    /// Another process writes to the index.
    #[error("{} is being written by another process; wait for it to end", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// A file is damaged.
    #[error("{} is damaged: {what}; restore it from a backup, or build the index again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The mismatch.
        what: &'static str,
    },
    /// A complete file is not the one that the manifest names.
    #[error(
        "{} is not the file that the manifest names, but one of another index or of another state of this one; restore the whole directory from a backup, or build \
         the index again",
        path.display()
    )]
    OtherFile {
        /// The file.
        path: PathBuf,
    },
    /// Written by another version of the format.
    #[error("{} is of format version {got}, this program reads version {expected}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        got: u32,
        /// The version that is read.
        expected: u32,
    },
    /// The fingerprints have another width.
    #[error("{} holds fingerprints of {got} bits, not of {expected}", path.display())]
    Width {
        /// The directory.
        path: PathBuf,
        /// Bits of its fingerprints.
        got: u32,
        /// Bits asked for.
        expected: u32,
    },
    /// A label is too long.
    #[error("a label has at most {limit} bytes, not {got}")]
    Label {
        /// The limit.
        limit: usize,
        /// Bytes of the label.
        got: usize,
    },
    /// A write or a sync failed before. The content of the disk is not known after that, and a second sync would not report it.
    #[error("{} takes no changes since a write failed ({because}); repair the disk and open it again", path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// The error of the failed write.
        because: String,
    },
    /// A segment cannot be read or written.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// There is no plan for fingerprints of this width.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl StoreError {
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}
