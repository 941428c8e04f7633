//! A file of a spool that other processes read, with a table of its blocks at the end.

use std::io;
use std::path::Path;
use std::sync::Arc;

use twinprint_index::{OpenFiles, ReopenedFile};

/// A block of texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) offset: u64,
    /// The size after compression, in bytes.
    pub(super) packed: u32,
    /// The size before compression, in bytes.
    pub(super) raw: u32,
}

impl Block {
    /// The size of a block's entry in the table of a file, in bytes.
    const ENTRY_BYTES: usize = 8;
}

/// A file of blocks with a name.
pub(super) struct SpoolFile {
    pub(super) file: ReopenedFile,
    /// The number of the first block of the file.
    pub(super) first: u32,
}

impl SpoolFile {
    pub(super) fn open(path: &Path, open: &Arc<OpenFiles>) -> io::Result<Self> {
        Ok(Self {
            file: ReopenedFile::new(path, open)?,
            first: 0,
        })
    }

    /// Reads the table at the end of the file.
    pub(super) fn table(&self) -> io::Result<Vec<Block>> {
        let mut tail = [0; 12];
        let end = self
            .file
            .size()
            .checked_sub(tail.len() as u64)
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        self.file.read_exact_at(&mut tail, end)?;
        let [a, b, c, d, count @ ..] = tail;
        let bytes = u64::from_le_bytes(count).saturating_mul(Block::ENTRY_BYTES as u64);
        let start = end.checked_sub(bytes).ok_or(io::ErrorKind::InvalidData)?;
        let mut table = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut table, start)?;
        if crc32fast::hash(&table) != u32::from_le_bytes([a, b, c, d]) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut offset = 0;
        let (entries, _) = table.as_chunks::<{ Block::ENTRY_BYTES }>();
        let blocks: Vec<Block> = entries
            .iter()
            .map(|&[a, b, c, d, e, f, g, h]| {
                let block = Block {
                    offset,
                    packed: u32::from_le_bytes([a, b, c, d]),
                    raw: u32::from_le_bytes([e, f, g, h]),
                };
                offset += u64::from(block.packed);
                block
            })
            .collect();
        if offset == start {
            Ok(blocks)
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}
