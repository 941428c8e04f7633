//! Files of fingerprints without documents, and of rows about them.
//!
//! Read are `*.u64`, numbers of 64 bits, little-endian, one after the other, plain or packed (`.u64.gz`, `.u64.zst` …), and, with the feature
//! `tables`, Parquet with a column `fingerprint` of 64-bit whole numbers, of either sign, the bits of which count, and perhaps a column `id`.
//! [`RawFiles`] reads either as stretches of fingerprints with their ids; [`RowWriter`] writes what was found.
//!
//! The id of a fingerprint is its own, from the column or a file of ids ([`Ids`]), or else its position, counted through all files in the order
//! given. Either all fingerprints of one reading have ids of their own or none has: else positions could be ids of others.

mod digest;
mod error;
mod new_file;
mod numbers;
mod row;
#[cfg(feature = "tables")]
mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use self::digest::InputDigest;
pub use self::error::RawError;
pub use self::new_file::NewFile;
pub use self::row::{Column, Kind, RowError, RowForm, RowWriter, Value};

use self::numbers::{NumberFile, Numbers};
#[cfg(feature = "tables")]
use self::table::TableFile;
#[cfg(feature = "tables")]
use crate::source::{Codec, Format};
use crate::source::{NamedFormat, format_of_name};

/// The key in a Parquet file's metadata under which the profile of its fingerprints stands, as [`crate::ProfileLabel`] writes it.
pub const PROFILE_NOTE: &str = "twinprint.profile";

/// Fingerprints given at once.
const STRETCH: usize = 1 << 17;

/// Where ids come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ids {
    /// The files themselves, where they have them.
    #[default]
    Own,
    /// Positions, whatever the files have.
    Positions,
    /// A file of numbers like those of fingerprints, one for each fingerprint of all files together.
    File(PathBuf),
}

/// Files whose kind, columns and lengths are right.
#[derive(Debug)]
pub struct RawFiles {
    files: Vec<RawFile>,
    /// Ids in a file of their own.
    ids: Option<NumberFile>,
    own_ids: bool,
}

#[derive(Debug)]
enum RawFile {
    Numbers(NumberFile),
    #[cfg(feature = "tables")]
    Table(Box<TableFile>),
}

impl RawFiles {
    /// Looks at files: their names, lengths and columns. A packed file is unpacked once, since its length cannot be told otherwise.
    ///
    /// # Errors
    /// The first file that is none of fingerprints; files with ids among files without.
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
        if let Ids::File(path) = ids {
            let ids = NumberFile::open(path)?;
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

    /// How many fingerprints there are.
    pub fn len(&self) -> u64 {
        self.files.iter().map(RawFile::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the fingerprints have ids of their own; else positions are their ids.
    pub fn has_ids(&self) -> bool {
        self.own_ids
    }

    /// What files say of the profile that made their fingerprints, each with its file.
    pub fn profiles(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files
            .iter()
            .filter_map(|file| Some((file.path(), file.profile()?)))
    }

    /// Calls `each(fingerprints, ids)` with consecutive stretches, positions counted from `first`; what it returns ends the reading.
    ///
    /// # Errors
    /// A file that cannot be read, has become shorter, or has nulls; whatever `each` gives.
    pub fn read<E: From<RawError>>(
        &self,
        first: u64,
        mut each: impl FnMut(&[u64], &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
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
    /// `ids`: whether a column of ids counts.
    fn open(
        path: &Path,
        #[cfg_attr(
            not(feature = "tables"),
            expect(unused_variables, reason = "only tables have ids")
        )]
        ids: bool,
    ) -> Result<Self, RawError> {
        match format_of_name(path, &[]) {
            #[cfg(feature = "tables")]
            NamedFormat::Known(Format::Parquet, Codec::Plain) => {
                let table = TableFile::open(path, ids)?;
                Ok(Self::Table(Box::new(table)))
            }
            #[cfg(feature = "tables")]
            NamedFormat::Known(Format::Parquet, _) => Err(RawError::PackedTable {
                path: path.to_owned(),
            }),
            NamedFormat::Unknown(_, Some(ending)) if ending == "u64" => {
                NumberFile::open(path).map(Self::Numbers)
            }
            _ => Err(RawError::Kind {
                path: path.to_owned(),
            }),
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

    fn profile(&self) -> Option<&str> {
        match self {
            Self::Numbers(_) => None,
            #[cfg(feature = "tables")]
            Self::Table(file) => file.note(PROFILE_NOTE),
        }
    }

    fn stretches(&self) -> Result<Stretches<'_>, RawError> {
        Ok(match self {
            Self::Numbers(file) => Stretches::Numbers {
                left: file.len(),
                numbers: file.numbers()?,
            },
            #[cfg(feature = "tables")]
            Self::Table(file) => Stretches::Table(Box::new(file.rows())),
        })
    }
}

/// A file on its way.
enum Stretches<'f> {
    Numbers {
        numbers: Numbers<'f>,
        left: u64,
    },
    #[cfg(feature = "tables")]
    Table(Box<table::Rows<'f>>),
}

impl Stretches<'_> {
    /// Appends what comes next; nothing at the end.
    fn fill(
        &mut self,
        fingerprints: &mut Vec<u64>,
        #[cfg_attr(
            not(feature = "tables"),
            expect(unused_variables, clippy::ptr_arg, reason = "only tables have ids")
        )]
        ids: &mut Vec<u64>,
    ) -> Result<(), RawError> {
        match self {
            Self::Numbers { numbers, left } => {
                let count = (*left).min(STRETCH as u64);
                *left -= count;
                numbers.fill(fingerprints, count as usize)
            }
            #[cfg(feature = "tables")]
            Self::Table(rows) => rows.fill(fingerprints, ids),
        }
    }
}
