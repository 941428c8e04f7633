//! Why files of fingerprints cannot be read.

use std::io;
use std::path::{Path, PathBuf};

use crate::source::RejectReason;

/// Why files of fingerprints cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RawError {
    /// The system refused.
    #[error("{}: it cannot be read ({source})", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A pipe or a device.
    #[error("{} is no regular file; its length must be known", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// The name does not tell what is in it.
    #[error(
        "{}: a file of fingerprints is named *.u64 (numbers of 64 bits, little-endian; also packed, as .u64.gz or .u64.zst) or *.parquet (a column \"fingerprint\")",
        path.display()
    )]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// Tables are read at random places.
    #[error("{}: a Parquet file that is packed as a whole cannot be read; unpack it first", path.display())]
    PackedTable {
        /// The file.
        path: PathBuf,
    },
    /// The length is no multiple of that of a number.
    #[error("{}: its {bytes} bytes are no whole number of 8-byte numbers; it was cut off, or is something else", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length, unpacked.
        bytes: u64,
    },
    /// What is in it cannot be had.
    #[error("{}: {reason}; write it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: RejectReason,
    },
    /// A column is missing or holds something else.
    #[error("{}: {what}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the way out.
        what: String,
    },
    /// A row without a value.
    #[error("{}: row {row} has no {column}; leave such rows out", path.display())]
    Null {
        /// The file.
        path: PathBuf,
        /// The row, from 1.
        row: u64,
        /// The column.
        column: &'static str,
    },
    /// An id below zero.
    #[error("{}: row {row} has the id {id}; ids are numbers from 0 on (--positions takes positions instead)", path.display())]
    NegativeId {
        /// The file.
        path: PathBuf,
        /// The row, from 1.
        row: u64,
        /// The id.
        id: i64,
    },
    /// Ids in some files only.
    #[error(
        "{} has ids and {} has none; take them one after the other, or the position of each with --positions",
        with.display(), without.display()
    )]
    Mixed {
        /// A file with ids.
        with: PathBuf,
        /// A file without.
        without: PathBuf,
    },
    /// Not one id for each fingerprint.
    #[error("{}: it has {ids} ids for {fingerprints} fingerprints; there must be one for each", path.display())]
    IdCount {
        /// The file of ids.
        path: PathBuf,
        /// Its ids.
        ids: u64,
        /// The fingerprints they are for.
        fingerprints: u64,
    },
}

impl RawError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}
