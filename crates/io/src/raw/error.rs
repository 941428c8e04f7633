//! Errors of reading files of fingerprints.

use std::io;
use std::path::{Path, PathBuf};

use crate::source::RejectReason;

/// A file of fingerprints that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RawError {
    /// The file cannot be opened or read.
    #[error("{}: it cannot be read ({source})", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is a pipe or a device.
    #[error("{} is not a regular file; its length must be known", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// The ending of the file name is unknown.
    #[error(
        "{}: a file of fingerprints is named *.u64 (numbers of 64 bits, little-endian; also packed, as .u64.gz or .u64.zst) or *.parquet (a column \"fingerprint\")",
        path.display()
    )]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// The file is a packed Parquet file. Tables are read at random positions.
    #[error("{}: a Parquet file that is packed as a whole cannot be read; unpack it first", path.display())]
    PackedTable {
        /// The file.
        path: PathBuf,
    },
    /// The length of the file is not a multiple of 8 bytes.
    #[error("{}: its {bytes} bytes are not a whole number of 8-byte numbers; the file was cut off or has another format", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its unpacked length.
        bytes: u64,
    },
    /// The contents are damaged.
    #[error("{}: {reason}; write it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        reason: RejectReason,
    },
    /// The column of fingerprints is missing or has another type.
    #[error("{}: {what}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The problem and its fix.
        what: String,
    },
    /// The column of ids has another type.
    #[error(
        "{}: its column \"{column}\" holds {found}, and ids are whole numbers; use the positions of the rows as ids",
        path.display()
    )]
    IdColumn {
        /// The file.
        path: PathBuf,
        /// The name of the column.
        column: &'static str,
        /// The type found.
        found: String,
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
    #[error("{}: row {row} has the id {id}; ids are numbers from 0; use the positions of the rows as ids", path.display())]
    NegativeId {
        /// The file.
        path: PathBuf,
        /// The row, from 1.
        row: u64,
        /// The id.
        id: i64,
    },
    /// Only some of the files have ids.
    #[error(
        "{} has ids and {} has none; read them in separate runs, or use the positions of the rows as ids",
        with.display(), without.display()
    )]
    Mixed {
        /// A file with ids.
        with: PathBuf,
        /// A file without ids.
        without: PathBuf,
    },
    /// The number of ids differs from the number of fingerprints.
    #[error("{}: it has {ids} ids for {fingerprints} fingerprints; there must be one for each", path.display())]
    IdCount {
        /// The file of ids.
        path: PathBuf,
        /// The number of ids in it.
        ids: u64,
        /// The number of fingerprints in all files.
        fingerprints: u64,
    },
}

impl RawError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}
