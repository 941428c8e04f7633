//! The blocks of a spool, in memory, and in a file that other processes read, with a table of its blocks at the end.

use std::io;
use std::path::Path;
use std::sync::Arc;

use twinprint_index::{OpenFiles, ReopenedFile};

/// A block of texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) offset: u64,
    /// The size in bytes.
    pub(super) size: u32,
    /// The CRC-32 of the bytes; 0 in a spool without a name, which no other process can change.
    pub(super) sum: u32,
}

impl Block {
    /// The size of a block's entry in the table of a file, in bytes.
    const ENTRY_BYTES: usize = 8;

    /// The texts of the block, which are in one of `pieces`.
    pub(super) fn texts_in(self, pieces: &[Piece]) -> Option<&str> {
        let after = pieces.partition_point(|piece| piece.offset <= self.offset);
        let piece = &pieces[after.checked_sub(1)?];
        let start = usize::try_from(self.offset - piece.offset).ok()?;
        piece.texts.get(start..start + self.size as usize)
    }
}

/// The texts of consecutive blocks, one after another.
pub(super) struct Piece {
    /// The offset of the first byte in the spool.
    pub(super) offset: u64,
    pub(super) texts: String,
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

    /// Returns the table of blocks with which a file ends.
    pub(super) fn table_of(blocks: &[Block]) -> Vec<u8> {
        let entries = blocks
            .iter()
            .map(|block| [block.size.to_le_bytes(), block.sum.to_le_bytes()]);
        let mut table: Vec<u8> = entries.flatten().flatten().collect();
        let sum = crc32fast::hash(&table);
        table.extend(sum.to_le_bytes());
        table.extend((blocks.len() as u64).to_le_bytes());
        table
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
                    size: u32::from_le_bytes([a, b, c, d]),
                    sum: u32::from_le_bytes([e, f, g, h]),
                };
                offset += u64::from(block.size);
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
