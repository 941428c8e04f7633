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
        /// The operation that failed, as part of the message.
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The directory does not exist.
    #[error("{} does not exist; name the directory of an index", path.display())]
    NoDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// There is no index in the directory.
    #[error("{} is not an index: there is no file \"manifest\" in it", path.display())]
    NotAnIndex {
        /// The directory.
        path: PathBuf,
    },
    /// The build of the index has not finished.
    #[error(
        "{} is not an index yet: its build has not finished; if it was interrupted, run the same build again, \
         which keeps the tables that are complete",
        path.display()
    )]
    Unfinished {
        /// The directory.
        path: PathBuf,
    },
    /// There is an index in the directory that a new index should be created in.
    #[error("{} is an index already; name another directory, or add to this index", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The directory contains a file that the manifest does not name and that no interrupted writer of the index left.
    #[error(
        "{} contains {}, which its manifest does not name; the manifest may be that of another index or an \
         earlier one of this index; restore the whole directory from a backup, or move that file to another \
         directory (nothing was removed)",
        path.display(), file.file_name().unwrap_or_default().display()
    )]
    Unnamed {
        /// The directory.
        path: PathBuf,
        /// A segment or a file of deleted ids.
        file: PathBuf,
    },
    /// The directory for a new index has no manifest, but contains files of an index.
    #[error(
        "{} has no manifest, but contains a file of an index, {}; restore the manifest from a backup, or name \
         another directory (nothing was removed)",
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
        /// The mismatch, as part of the message.
        what: &'static str,
    },
    /// A file is complete, but it is not the one that the manifest names.
    #[error(
        "{} is not the file that the manifest names, but one of another index or of another state of this \
         one; restore the whole directory from a backup, or build the index again",
        path.display()
    )]
    OtherFile {
        /// The file.
        path: PathBuf,
    },
    /// A file has another version of the format.
    #[error(
        "{} has format version {got}, but this program reads versions up to {expected}; use the version of \
         the program that wrote the index",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        got: u32,
        /// The latest version that this program reads.
        expected: u32,
    },
    /// The fingerprints of the index have another width.
    #[error("{} contains fingerprints of {got} bits, but was opened for {expected} bits; open it with the width of its fingerprints", path.display())]
    Width {
        /// The directory.
        path: PathBuf,
        /// The width of the fingerprints of the index, in bits.
        got: u32,
        /// The expected width, in bits.
        expected: u32,
    },
    /// Names are to be added to an index whose ids are numbers.
    #[error("the ids of {} are numbers, so they cannot have names; add fingerprints with numbers as ids", path.display())]
    NoNames {
        /// The directory.
        path: PathBuf,
    },
    /// The label of the index is too long.
    #[error("the label of the index has {got} bytes, but at most {limit} are allowed; choose a shorter one")]
    Label {
        /// The maximum length in bytes.
        limit: usize,
        /// The length of the label in bytes.
        got: usize,
    },
    /// An earlier write or sync failed, so changes are refused. The content of the disk is not known after such a
    /// failure, and a second sync would not report it.
    #[error(
        "{} refuses changes because a write failed ({because}); repair the disk and open the index again",
        path.display()
    )]
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
