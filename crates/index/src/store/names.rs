//! Names of ids. The ids of a named index are 0, 1, 2, …, and each has a name, a string. A file lists all names in the
//! order of the ids. It is immutable: when names are added, a new file with all names replaces it, in the commit of the
//! fingerprints that use them. `FORMAT.md` of the crate specifies it byte by byte.
//!
//! Invariants: names are only appended, so an id keeps its name for the life of the index, even if it is deleted; every
//! committed id has a name; a file is verified completely when it is opened.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::StoreError;
use super::manifest::NamesFile;
use crate::bytes::Reader;
use crate::digest::Digest;
use crate::segment::Mapping;
use crate::storage::RawFile;

/// The first eight bytes of a file of names.
const MAGIC: [u8; 8] = *b"twinnam\n";
/// The version that is written and read.
const VERSION: u32 = 1;
/// The number of bytes before the names: magic, version, zeros.
const HEADER_BYTES: usize = 16;
/// The number of bytes after the offsets: the number of names and the checksum.
const TAIL_BYTES: usize = 12;
/// The file has the offset of every name whose id is a multiple of this number.
const STRIDE: u64 = 64;

/// The names of the ids of an index.
///
/// ```
/// use twinprint_index::segment::{self, Builder, Codec};
/// use twinprint_index::store::{Options, Settings, StoreError, create_named_from, read};
///
/// let directory = tempfile::tempdir()?;
/// let settings = Settings {
///     radius: 3,
///     codec: Codec::default(),
///     label: "my fingerprints".to_owned(),
/// };
/// create_named_from(
///     directory.path(),
///     &settings,
///     &Options::default(),
///     |names| {
///         names.push("first.html")?;
///         names.push("second.html")
///     },
///     |path| {
///         let mut builder = Builder::new(path, &segment::Options::default())?;
///         builder.push(0xff_u64, 0)?;
///         builder.push(0xfff, 1)?;
///         Ok::<_, StoreError>((builder.finish()?, 2))
///     },
/// )?;
/// let committed = read::<u64>(directory.path())?;
/// let names = committed.names.ok_or("the index has names")?;
/// assert_eq!((names.len(), names.get(1), names.get(2)), (2, Some("second.html"), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Names {
    data: Mapping,
    count: u64,
    digest: Digest,
}

impl Names {
    /// Opens and verifies a complete file.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let data = Mapping::map_in_order(path)?;
        let count = verified(&data).ok_or_else(|| StoreError::Damaged {
            path: path.to_owned(),
            what: "it is not a whole file of names",
        })?;
        let digest = Digest::of(&data);
        Ok(Self { data, count, digest })
    }

    /// Opens the file that a manifest names.
    pub(super) fn open_named(path: PathBuf, named: &NamesFile) -> Result<Self, StoreError> {
        let names = Self::open(&path)?;
        if names.is_content_of(named) {
            Ok(names)
        } else {
            Err(StoreError::OtherFile { path })
        }
    }

    /// Returns `true` if a manifest's entry describes these names.
    pub(super) fn is_content_of(&self, named: &NamesFile) -> bool {
        (named.count, named.digest) == (self.count, self.digest)
    }

    /// The manifest's entry for the file, if it has this number.
    pub(super) fn entry(&self, number: u64) -> NamesFile {
        NamesFile {
            number,
            count: self.count,
            digest: self.digest,
        }
    }

    /// The number of names.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns `true` if there are no names.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the name of an id, or `None` if the id has none.
    pub fn get(&self, id: u64) -> Option<&str> {
        if id >= self.count {
            return None;
        }
        let table = self.data.len() - TAIL_BYTES - 8 * self.count.div_ceil(STRIDE) as usize;
        let at = table + 8 * (id / STRIDE) as usize;
        let start = Reader(self.data.get(at..)?).u64()?;
        let mut names = NameReader(self.data.get(usize::try_from(start).ok()?..table)?);
        names.nth((id % STRIDE) as usize)
    }

    /// Iterates over all names, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let table = self.data.len() - TAIL_BYTES - 8 * self.count.div_ceil(STRIDE) as usize;
        NameReader(&self.data[HEADER_BYTES..table])
    }
}

/// Reads names from bytes that end with a name.
struct NameReader<'n>(&'n [u8]);

impl<'n> Iterator for NameReader<'n> {
    type Item = &'n str;

    fn next(&mut self) -> Option<&'n str> {
        let (mut length, mut shift) = (0u64, 0);
        loop {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            length |= u64::from(byte & 0x7F).checked_shl(shift)?;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        let (name, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        str::from_utf8(name).ok()
    }
}

/// Returns the number of names of a complete file; `None` for other bytes. O(bytes) time.
fn verified(bytes: &[u8]) -> Option<u64> {
    let body = crate::bytes::unsealed(bytes)?;
    let mut from = Reader(body);
    let begins = from.take(MAGIC.len())? == MAGIC && (from.u32()?, from.u32()?) == (VERSION, 0);
    let (before, count) = body.split_last_chunk::<8>()?;
    let count = u64::from_le_bytes(*count);
    let offsets = usize::try_from(count.div_ceil(STRIDE)).ok()?.checked_mul(8)?;
    let (before, offsets) = before.split_at_checked(before.len().checked_sub(offsets)?)?;
    let mut offsets = offsets.as_chunks::<8>().0.iter();
    let mut names = NameReader(before.get(HEADER_BYTES..)?);
    for id in 0..count {
        let at = before.len() - names.0.len();
        if id % STRIDE == 0 && u64::from_le_bytes(*offsets.next()?) != at as u64 {
            return None;
        }
        names.next()?;
    }
    (begins && names.0.is_empty()).then_some(count)
}

/// Writes the names of ids, in the order of the ids.
pub struct NameWriter<'w> {
    file: BufWriter<Box<dyn RawFile>>,
    path: &'w Path,
    sum: crc32fast::Hasher,
    offset: u64,
    offsets: Vec<u64>,
    count: u64,
}

impl std::fmt::Debug for NameWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NameWriter")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl<'w> NameWriter<'w> {
    /// Begins a file. `path` is the path for errors.
    pub(super) fn begin(file: Box<dyn RawFile>, path: &'w Path) -> Result<Self, StoreError> {
        let mut writer = Self {
            file: BufWriter::with_capacity(1 << 16, file),
            path,
            sum: crc32fast::Hasher::new(),
            offset: 0,
            offsets: Vec::new(),
            count: 0,
        };
        let mut header = MAGIC.to_vec();
        header.extend(VERSION.to_le_bytes());
        header.extend([0; 4]);
        writer.bytes(&header)?;
        Ok(writer)
    }

    /// Appends the name of the next id.
    ///
    /// # Errors
    /// `Io`.
    pub fn push(&mut self, name: &str) -> Result<(), StoreError> {
        if self.count.is_multiple_of(STRIDE) {
            self.offsets.push(self.offset);
        }
        let mut length = name.len() as u64;
        let mut prefix = Vec::with_capacity(10);
        while length >= 0x80 {
            prefix.push(length as u8 | 0x80);
            length >>= 7;
        }
        prefix.push(length as u8);
        self.bytes(&prefix)?;
        self.bytes(name.as_bytes())?;
        self.count += 1;
        Ok(())
    }

    /// The id of the next name.
    pub fn next_id(&self) -> u64 {
        self.count
    }

    /// Completes the file, and makes its content durable.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        for offset in std::mem::take(&mut self.offsets) {
            self.bytes(&offset.to_le_bytes())?;
        }
        self.bytes(&self.count.to_le_bytes())?;
        let sum = self.sum.clone().finalize();
        self.bytes(&sum.to_le_bytes())?;
        let synced = self.file.flush().and_then(|()| self.file.get_mut().sync());
        synced.map_err(self.failed())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.sum.update(bytes);
        self.offset += bytes.len() as u64;
        let written = self.file.write_all(bytes);
        written.map_err(self.failed())
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> StoreError + use<'w> {
        StoreError::io(self.path, "write it")
    }
}
