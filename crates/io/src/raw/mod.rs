//! Reads files of fingerprints without documents, and writes rows about fingerprints.
//!
//! [`RawFiles`] reads files of two formats, as consecutive ranges of fingerprints with their ids:
//!
//! * `*.u32`, `*.u64` and `*.u128`: little-endian integers of 32, 64 or 128 bits, uncompressed or compressed (`.u64.gz`,
//!   `.u64.zst` …).
//! * Parquet, with the feature `tables`: a column `fingerprint`, and optionally a column `id`. The fingerprints are
//!   signed or unsigned integers of 32 or 64 bits. Fingerprints of 128 bits are `FIXED_LEN_BYTE_ARRAY(16)`, the most
//!   significant byte first.
//!
//! All files of one reading have fingerprints of the same width.
//!
//! [`RowWriter`] writes results as rows of ids, fingerprints and distances.
//!
//! The id of a fingerprint comes from the column `id` or from a separate file of ids ([`Ids`]). If the column contains
//! strings, the fingerprints have names instead ([`RawFiles::names`]), and their ids are positions. Without either, the id
//! is the position of the fingerprint, counted through all files in the given order. In one reading either all
//! fingerprints have ids of their own or none has, because a position could equal the id of another fingerprint.

mod digest;
mod error;
#[cfg(feature = "tables")]
mod names;
mod new_file;
mod numbers;
mod row;
#[cfg(feature = "tables")]
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use twinprint_fingerprint::Width;

pub use self::digest::FingerprintDigest;
pub use self::error::RawError;
#[cfg(feature = "tables")]
pub use self::names::NameRows;
pub use self::new_file::NewFile;
pub use self::row::{Column, ColumnKind, RowError, RowFormat, RowValue, RowWriter};

use self::numbers::{NumberFile, NumberReader};
#[cfg(feature = "tables")]
use self::table::TableFile;
#[cfg(feature = "tables")]
use crate::source::{Codec, Format, NamedFormat, format_of_name};

/// The metadata key under which a Parquet file stores the profile of its fingerprints. The value is
/// [`crate::ProfileLabel::written`].
pub const PROFILE_NOTE: &str = "twinprint.profile";

/// The largest number of fingerprints that are read at a time.
const STRETCH_LENGTH: usize = 1 << 17;

/// The source of the ids of fingerprints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ids {
    /// The column `id` of each file, or positions if the files have no such column.
    #[default]
    Own,
    /// Positions, even if the files have a column `id`.
    Positions,
    /// A `*.u64` file with one id for each fingerprint, in the order of the fingerprints in all files.
    File(PathBuf),
}

/// Files of fingerprints whose formats, columns, lengths and widths have been checked.
///
/// ```
/// use twinprint_io::raw::{Ids, RawError, RawFiles};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let room = tempfile::tempdir()?;
/// let path = room.path().join("fingerprints.u64");
/// std::fs::write(&path, [7_u64, 9].map(u64::to_le_bytes).concat())?;
/// let files = RawFiles::open(&[path], &Ids::Own)?;
/// assert_eq!((files.bits(), files.len(), files.has_ids()), (64, 2, false));
/// let mut rows = Vec::new();
/// files.read(100, |fingerprints: &[u64], ids| {
///     rows.extend(ids.iter().copied().zip(fingerprints.iter().copied()));
///     Ok::<_, RawError>(())
/// })?;
/// assert_eq!(rows, [(100, 7), (101, 9)]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RawFiles {
    files: Vec<RawFile>,
    /// The separate file of ids, if one was given.
    ids: Option<NumberFile>,
    own_ids: bool,
}

/// A row of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRow<'f> {
    /// The file.
    pub path: &'f Path,
    /// The number of the row, from 1.
    pub row: u64,
}

impl fmt::Display for FileRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: row {}", self.path.display(), self.row)
    }
}

#[derive(Debug)]
enum RawFile {
    Numbers(NumberFile),
    #[cfg(feature = "tables")]
    Table(Box<TableFile>),
}

impl RawFiles {
    /// Opens files and checks their names, lengths and columns. A compressed file is decompressed once to measure its
    /// length.
    ///
    /// # Errors
    /// The error of the first file that cannot be read as fingerprints; [`RawError::Widths`] if the fingerprints of two
    /// files have different widths; [`RawError::Mixed`] if only some files have ids; [`RawError::IdKind`] or
    /// [`RawError::IdCount`] if the file of ids has no 64-bit integers or another length.
    pub fn open(paths: &[PathBuf], ids: &Ids) -> Result<Self, RawError> {
        let files = paths
            .iter()
            .map(|path| RawFile::open(path, *ids == Ids::Own))
            .collect::<Result<Vec<_>, _>>()?;
        let mut raw = Self {
            own_ids: files.first().is_some_and(RawFile::has_ids),
            files,
            ids: None,
        };
        let bits = raw.bits();
        let other = raw.files.iter().find(|file| file.bits() != bits);
        if let (Some(first), Some(other)) = (raw.files.first(), other) {
            return Err(RawError::Widths {
                path: first.path().to_owned(),
                bits,
                other: other.path().to_owned(),
                other_bits: other.bits(),
            });
        }
        let other = raw.files.iter().find(|file| file.has_ids() != raw.own_ids);
        if let (Some(first), Some(other)) = (raw.files.first(), other) {
            let (with, without) = if raw.own_ids {
                (first, other)
            } else {
                (other, first)
            };
            return Err(RawError::Mixed {
                with: with.path().to_owned(),
                without: without.path().to_owned(),
            });
        }
        let named = raw.has_names();
        let other = raw.files.iter().find(|file| file.has_names() != named);
        if let (Some(first), Some(other)) = (raw.files.first(), other) {
            let (names, numbers) = if named { (first, other) } else { (other, first) };
            return Err(RawError::MixedNames {
                names: names.path().to_owned(),
                numbers: numbers.path().to_owned(),
            });
        }
        if let Ids::File(path) = ids {
            let ids = NumberFile::open(path).map_err(|error| match error {
                RawError::Kind { path } => RawError::IdKind { path },
                error => error,
            })?;
            if ids.bits() != u64::BITS {
                return Err(RawError::IdKind { path: path.clone() });
            }
            if ids.len() != raw.len() {
                return Err(RawError::IdCount {
                    path: path.clone(),
                    ids: ids.len(),
                    fingerprints: raw.len(),
                });
            }
            raw.own_ids = true;
            raw.ids = Some(ids);
        }
        Ok(raw)
    }

    /// The width of the fingerprints, in bits: 32, 64 or 128. Without any file it is 64.
    pub fn bits(&self) -> u32 {
        self.files.first().map_or(u64::BITS, RawFile::bits)
    }

    /// Checks that the fingerprints have `expected` bits.
    ///
    /// # Errors
    /// [`RawError::Width`] with the first file, if they have another width.
    pub fn check_bits(&self, expected: u32) -> Result<(), RawError> {
        match self.files.first() {
            Some(file) if file.bits() != expected => Err(RawError::Width {
                path: file.path().to_owned(),
                got: file.bits(),
                expected,
            }),
            _ => Ok(()),
        }
    }

    /// The number of fingerprints in all files.
    pub fn len(&self) -> u64 {
        self.files.iter().map(RawFile::len).sum()
    }

    /// Returns true if the files contain no fingerprint.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if the fingerprints have ids of their own. Otherwise their positions are the ids.
    pub fn has_ids(&self) -> bool {
        self.own_ids
    }

    /// Finds the row that has the id of the fingerprint at a position, counted from 0 through all files: in the separate
    /// file of ids, or else in the file of the fingerprint. `None` if there is no such fingerprint.
    pub fn row_of_id(&self, position: u64) -> Option<FileRow<'_>> {
        if position >= self.len() {
            return None;
        }
        if let Some(ids) = &self.ids {
            return Some(FileRow {
                path: ids.path(),
                row: position + 1,
            });
        }
        let mut row = position;
        for file in &self.files {
            if row < file.len() {
                return Some(FileRow {
                    path: file.path(),
                    row: row + 1,
                });
            }
            row -= file.len();
        }
        None
    }

    /// Returns true if the fingerprints have names: strings in the column of ids.
    pub fn has_names(&self) -> bool {
        self.files.first().is_some_and(RawFile::has_names)
    }

    /// Opens a reader of the names, in the order of the fingerprints.
    #[cfg(feature = "tables")]
    pub fn names(&self) -> NameRows<'_> {
        NameRows::new(&self.files)
    }

    /// Lists the files that record the profile of their fingerprints, each with the recorded label.
    pub fn profiles(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files
            .iter()
            .filter_map(|file| Some((file.path(), file.profile()?)))
    }

    /// Calls `each(fingerprints, ids)` for consecutive ranges of the fingerprints. If the ids are positions, the first
    /// one is `first`. An error of `each` ends the reading.
    ///
    /// # Errors
    /// [`RawError::Width`] if the fingerprints have another width than `W`; a file cannot be read, has become shorter
    /// since it was opened, or contains nulls; or `each` returns an error.
    pub fn read<W: Width, E: From<RawError>>(
        &self,
        first: u64,
        mut each: impl FnMut(&[W], &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_bits(W::BITS)?;
        let mut given_ids = self.ids.as_ref().map(NumberFile::numbers).transpose()?;
        let mut position = first;
        let (mut fingerprints, mut ids) = (Vec::new(), Vec::new());
        for file in &self.files {
            let mut stretches = file.stretches()?;
            loop {
                fingerprints.clear();
                ids.clear();
                stretches.fill(&mut fingerprints, &mut ids)?;
                if fingerprints.is_empty() {
                    break;
                }
                let count = fingerprints.len();
                if let Some(given) = &mut given_ids {
                    ids.clear();
                    given.fill(&mut ids, count)?;
                } else if !self.own_ids {
                    ids.extend((position..).take(count));
                }
                position = position.saturating_add(count as u64);
                each(&fingerprints, &ids)?;
            }
        }
        Ok(())
    }
}

impl RawFile {
    /// Opens a file of fingerprints. Its column `id` is read only if `ids` is true.
    fn open(
        path: &Path,
        #[cfg_attr(
            not(feature = "tables"),
            expect(unused_variables, reason = "only tables have ids")
        )]
        ids: bool,
    ) -> Result<Self, RawError> {
        #[cfg(feature = "tables")]
        match format_of_name(path, &[]) {
            NamedFormat::Known(Format::Parquet, Codec::Plain) => {
                let table = TableFile::open(path, ids)?;
                return Ok(Self::Table(Box::new(table)));
            }
            NamedFormat::Known(Format::Parquet, _) => {
                return Err(RawError::PackedTable {
                    path: path.to_owned(),
                });
            }
            _ => {}
        }
        NumberFile::open(path).map(Self::Numbers)
    }

    fn bits(&self) -> u32 {
        match self {
            Self::Numbers(file) => file.bits(),
            #[cfg(feature = "tables")]
            Self::Table(file) => file.bits(),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Numbers(file) => file.path(),
            #[cfg(feature = "tables")]
            Self::Table(file) => file.path(),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Numbers(file) => file.len(),
            #[cfg(feature = "tables")]
            Self::Table(file) => file.len(),
        }
    }

    fn has_ids(&self) -> bool {
        match self {
            Self::Numbers(_) => false,
            #[cfg(feature = "tables")]
            Self::Table(file) => file.has_ids(),
        }
    }

    fn has_names(&self) -> bool {
        match self {
            Self::Numbers(_) => false,
            #[cfg(feature = "tables")]
            Self::Table(file) => file.has_names(),
        }
    }

    fn profile(&self) -> Option<&str> {
        match self {
            Self::Numbers(_) => None,
            #[cfg(feature = "tables")]
            Self::Table(file) => file.note(PROFILE_NOTE),
        }
    }

    fn stretches(&self) -> Result<RawReader<'_>, RawError> {
        Ok(match self {
            Self::Numbers(file) => RawReader::Numbers {
                left: file.len(),
                numbers: file.numbers()?,
            },
            #[cfg(feature = "tables")]
            Self::Table(file) => RawReader::Table(Box::new(file.rows())),
        })
    }
}

/// Reads consecutive ranges of one file of fingerprints.
enum RawReader<'f> {
    Numbers {
        numbers: NumberReader<'f>,
        left: u64,
    },
    #[cfg(feature = "tables")]
    Table(Box<table::TableRows<'f>>),
}

impl RawReader<'_> {
    /// Appends the next range of fingerprints, and their ids if the file has ids. Appends nothing at the end of the
    /// file.
    fn fill<W: Width>(
        &mut self,
        fingerprints: &mut Vec<W>,
        #[cfg_attr(
            not(feature = "tables"),
            expect(unused_variables, clippy::ptr_arg, reason = "only tables have ids")
        )]
        ids: &mut Vec<u64>,
    ) -> Result<(), RawError> {
        match self {
            Self::Numbers { numbers, left } => {
                let count = (*left).min(STRETCH_LENGTH as u64);
                *left -= count;
                numbers.fill(fingerprints, count as usize)
            }
            #[cfg(feature = "tables")]
            Self::Table(rows) => rows.fill(fingerprints, ids),
        }
    }
}
