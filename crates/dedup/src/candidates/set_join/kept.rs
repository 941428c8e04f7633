//! The prefixes of the members that later chunks of a set join need again, in a file. So the shingles of a member are made
//! from its text once, however many chunks the join has.
//!
//! ```text
//! slice   for each measure that is joined: number of members, 4 bytes | its members
//! member  item, 4 | size, 4 | postings, 8 | bitmap, 2 × 8 | number of shingles of the prefix, 4 | the shingles, 8 each
//! ```

use std::path::Path;

use rustc_hash::FxHashMap;
use tempfile::TempDir;
use twinprint_index::set::TokenBitmap;
use twinprint_io::work::WorkError;

use super::{MemberPrefix, SetJoin};
use crate::error::DedupError;
use crate::ids::{Id, ItemId};
use crate::rows::{BlockFile, BlockReader, BlockWriter};

/// The name of the file, which it loses once it is whole.
const NAME: &str = "prefixes";
const COUNT_BYTES: usize = 4;
/// The bytes of a member before its shingles.
const HEAD_BYTES: usize = 36;
const SHINGLE_BYTES: usize = 8;

/// Writes the prefixes of slices, one slice after another.
pub(super) struct PrefixWriter {
    file: BlockWriter,
    /// The folder of the file until the file has lost its name.
    _folder: TempDir,
    starts: Vec<u64>,
    end: u64,
}

/// The prefixes of slices.
pub(super) struct PrefixFile {
    file: BlockFile,
    /// The position of each slice.
    starts: Vec<u64>,
}

impl PrefixWriter {
    /// Creates the file in a folder, in which other runs may have such files.
    pub(super) fn create(folder: &Path) -> Result<Self, DedupError> {
        let own = tempfile::Builder::new().prefix(NAME).tempdir_in(folder);
        let own = own.map_err(|error| WorkError::file(folder, error))?;
        Ok(Self {
            file: BlockWriter::create(&own.path().join(NAME))?,
            _folder: own,
            starts: Vec::new(),
            end: 0,
        })
    }

    /// Adds the members of the current block of a join as the next slice.
    pub(super) fn push(&mut self, join: &SetJoin) -> Result<(), DedupError> {
        self.starts.push(self.end);
        for join in &join.joins {
            self.write(&(join.block.len() as u32).to_le_bytes())?;
            for (item, set) in &join.block {
                self.write(&item.get().to_le_bytes())?;
                self.write(&set.size.to_le_bytes())?;
                self.write(&set.postings.to_le_bytes())?;
                for word in set.bitmap.words() {
                    self.write(&word.to_le_bytes())?;
                }
                self.write(&(set.prefix.len() as u32).to_le_bytes())?;
                for shingle in &set.prefix {
                    self.write(&shingle.to_le_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), DedupError> {
        self.end += bytes.len() as u64;
        self.file.write(bytes)
    }

    /// Ends the file.
    pub(super) fn finish(self) -> Result<PrefixFile, DedupError> {
        Ok(PrefixFile {
            file: self.file.finish_without_name()?,
            starts: self.starts,
        })
    }
}

impl PrefixFile {
    /// Makes the members of a slice the current block of the join that wrote them.
    pub(super) fn begin_block(&self, slice: usize, join: &mut SetJoin) -> Result<(), DedupError> {
        let start = self.starts.get(slice).ok_or_else(|| self.file.damaged())?;
        let mut reader = BlockReader::at(&self.file, *start);
        for join in &mut join.joins {
            join.seal();
            let count = Fields(take(&mut reader, COUNT_BYTES)?).u32();
            let mut block = FxHashMap::default();
            for _ in 0..count {
                let mut head = Fields(take(&mut reader, HEAD_BYTES)?);
                let (item, size, postings) = (ItemId::new(head.u32()), head.u32(), head.u64());
                let bitmap = TokenBitmap::from_words([head.u64(), head.u64()]);
                let shingles = head.u32() as usize;
                let mut fields = Fields(take(&mut reader, shingles * SHINGLE_BYTES)?);
                let set = MemberPrefix {
                    size,
                    bitmap,
                    prefix: (0..shingles).map(|_| fields.u64()).collect(),
                    postings,
                };
                block.insert(item, set);
            }
            join.block = block;
        }
        Ok(())
    }
}

fn take<'r>(reader: &'r mut BlockReader<'_>, bytes: usize) -> Result<&'r [u8], DedupError> {
    let end = reader.position() + bytes as u64;
    reader.next(end)
}

/// Fields that follow one another.
struct Fields<'b>(&'b [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        // The caller has taken the bytes of all fields.
        let (field, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *field
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }
}
