//! Errors of reading files of fingerprints.

use std::io;
use std::path::{Path, PathBuf};

use crate::source::RejectReason;

/// A file of fingerprints cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RawError {
    /// The file cannot be opened or read.
    #[error("{}: the file cannot be read ({source})", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The file is a pipe or a device, whose length is unknown.
    #[error("{} is not a regular file, so its length is unknown; write the fingerprints to a file first", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// The file name has no known extension.
    #[error(
        "{}: the name is not that of a file of fingerprints; use *.u32, *.u64 or *.u128 for little-endian integers of that many bits (compressed: *.u64.gz or *.u64.zst), or *.parquet for a table with a column \"fingerprint\"",
        path.display()
    )]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// The file is a Parquet file that was compressed as a whole. Parquet needs random access, which a compressed file
    /// does not allow.
    #[error("{}: a Parquet file that is compressed as a whole cannot be read; decompress it first", path.display())]
    PackedTable {
        /// The file.
        path: PathBuf,
    },
    /// The name of the file of ids is not that of a file of 64-bit integers.
    #[error("{}: the name is not that of a file of ids; use *.u64 for 64-bit little-endian integers (compressed: *.u64.gz or *.u64.zst)", path.display())]
    IdKind {
        /// The file of ids.
        path: PathBuf,
    },
    /// The length of the decompressed file is not a multiple of the length of an integer.
    #[error(
        "{}: the length of {bytes} bytes is not a multiple of {}, so the file is truncated or does not contain {bits}-bit integers; write the file again",
        path.display(), bits / 8
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// The length of the decompressed file in bytes.
        bytes: u64,
        /// The width of the integers in bits, as the name of the file states it.
        bits: u32,
    },
    /// The fingerprints of two files have different widths.
    #[error(
        "{} has fingerprints of {bits} bits, but {} has fingerprints of {other_bits} bits, and fingerprints of different widths cannot be compared; read the two files in separate runs",
        path.display(), other.display()
    )]
    Widths {
        /// The first file.
        path: PathBuf,
        /// The width of the fingerprints of the first file, in bits.
        bits: u32,
        /// A file with fingerprints of another width.
        other: PathBuf,
        /// The width of the fingerprints of the other file, in bits.
        other_bits: u32,
    },
    /// The fingerprints of a file have another width than expected.
    #[error("{} has fingerprints of {got} bits, but {expected} bits are expected; make fingerprints of {expected} bits", path.display())]
    Width {
        /// The file.
        path: PathBuf,
        /// The width of the fingerprints of the file, in bits.
        got: u32,
        /// The expected width, in bits.
        expected: u32,
    },
    /// The file is damaged.
    #[error("{}: {reason}; write the file again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        reason: RejectReason,
    },
    /// The column `fingerprint` is missing or has an unsuitable type.
    #[error("{}: {what}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The fault of the column, and how to fix it.
        what: String,
    },
    /// The column of ids contains neither integers nor strings.
    #[error(
        "{}: the column \"{column}\" contains {found} and not integers or strings, so its values cannot be ids; use the positions of the rows as ids",
        path.display()
    )]
    IdColumn {
        /// The file.
        path: PathBuf,
        /// The name of the id column.
        column: &'static str,
        /// The type of its values.
        found: String,
    },
    /// A row has no fingerprint or no id.
    #[error("{}: row {row} has no value in the column \"{column}\"; remove the rows without a value", path.display())]
    Null {
        /// The file.
        path: PathBuf,
        /// The number of the row, from 1.
        row: u64,
        /// The name of the column without a value.
        column: &'static str,
    },
    /// A row has a negative id.
    #[error("{}: row {row} has the negative id {id}; ids must be at least 0; use the positions of the rows as ids", path.display())]
    NegativeId {
        /// The file.
        path: PathBuf,
        /// The number of the row, from 1.
        row: u64,
        /// The negative id.
        id: i64,
    },
    /// Some of the files have ids and others have none.
    #[error(
        "{} has a column of ids, but {} has none; read the two files in separate runs, or use the positions of the rows as ids",
        with.display(), without.display()
    )]
    Mixed {
        /// A file that has ids.
        with: PathBuf,
        /// A file that has none.
        without: PathBuf,
    },
    /// Some of the files have names as ids and others have numbers.
    #[error(
        "the ids of {} are names, but those of {} are numbers; read the two files in separate runs, or use the positions of the rows as ids",
        names.display(), numbers.display()
    )]
    MixedNames {
        /// A file whose ids are names.
        names: PathBuf,
        /// A file whose ids are numbers or positions.
        numbers: PathBuf,
    },
    /// The file of ids does not contain one id for each fingerprint.
    #[error("{}: the file has {ids} ids for {fingerprints} fingerprints; it must have one id for each fingerprint", path.display())]
    IdCount {
        /// The file of ids.
        path: PathBuf,
        /// The number of ids in that file.
        ids: u64,
        /// The number of fingerprints in all files together.
        fingerprints: u64,
    },
}

impl RawError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}
