//! The spool: canonical texts on disk. Candidates are verified from it, so that the corpus need not fit into memory.
//!
//! Texts are gathered into blocks of about 4 KiB, and each block is compressed separately. A block is small enough that
//! reading one text decompresses little else, and large enough to compress well. Blocks are compressed in parallel and
//! written in order. The spool is deleted at the end of the run, so its format may change with any version.
//!
//! A spool may stay in memory up to a given size, so that a run over a few texts needs no file.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tempfile::{SpooledData, SpooledTempFile, spooled_tempfile_in};

use super::WorkError;
use twinprint_index::PositionedFile;

/// The largest size of a block before compression, in bytes. A longer text has a block of its own.
const BLOCK_BYTES: usize = 4 << 10;
/// The zstd level. It favours speed, because the spool is read only once or twice. At levels far below zero zstd
/// searches for few matches. A gigabyte of Chinese records is compressed to 620 MB.
const ZSTD_LEVEL: i32 = -40;

/// The position of a text in the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRef {
    /// The number of the block that contains the text.
    pub block: u32,
    /// The offset of the text in the decompressed block, in bytes.
    offset: u32,
    len: u32,
}

impl TextRef {
    /// Stands for a text that was not stored.
    pub const NOWHERE: Self = Self {
        block: u32::MAX,
        offset: 0,
        len: 0,
    };

    /// The length of the text in bytes.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Returns true if the text is empty or was not stored.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

#[derive(Clone, Copy, Debug)]
struct Block {
    offset: u64,
    packed: u32,
    raw: u32,
}

/// Writes texts to a spool, in order.
///
/// ```
/// use twinprint_io::work::{BlockBuffer, SpoolWriter, WorkDir};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let work = WorkDir::temporary()?;
/// let mut writer = SpoolWriter::create(work.path(), 0);
/// let first = writer.push("the first text");
/// let second = writer.push("the second text");
/// let spool = writer.finish()?;
/// let mut buffer = BlockBuffer::default();
/// assert_eq!(spool.text(second, &mut buffer)?, "the second text");
/// assert_eq!(spool.text(first, &mut buffer)?, "the first text");
/// # Ok(())
/// # }
/// ```
pub struct SpoolWriter {
    dir: PathBuf,
    file: BufWriter<SpooledTempFile>,
    pending: Vec<u8>,
    sealed: Vec<Vec<u8>>,
    blocks: Vec<Block>,
    bytes: u64,
}

impl SpoolWriter {
    /// Creates a spool. Beyond `in_memory` bytes it becomes a file in `dir`. The file has no name, so nothing is left of
    /// it after any end of the program.
    pub fn create(dir: &Path, in_memory: usize) -> Self {
        Self {
            dir: dir.to_owned(),
            file: BufWriter::with_capacity(1 << 20, spooled_tempfile_in(in_memory, dir)),
            pending: Vec::with_capacity(2 * BLOCK_BYTES),
            sealed: Vec::new(),
            blocks: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds a text and returns its position. The next [`flush`](Self::flush) or [`finish`](Self::finish) writes it to
    /// disk.
    pub fn push(&mut self, text: &str) -> TextRef {
        if !self.pending.is_empty() && self.pending.len() + text.len() > BLOCK_BYTES {
            self.seal();
        }
        let block = (self.blocks.len() + self.sealed.len()) as u32;
        let offset = self.pending.len() as u32;
        self.pending.extend_from_slice(text.as_bytes());
        TextRef {
            block,
            offset,
            len: text.len() as u32,
        }
    }

    fn seal(&mut self) {
        self.sealed.push(std::mem::replace(
            &mut self.pending,
            Vec::with_capacity(2 * BLOCK_BYTES),
        ));
    }

    /// Compresses all full blocks, in parallel, and writes them.
    ///
    /// # Errors
    /// [`WorkError::Spool`], usually because the disk is full.
    pub fn flush(&mut self) -> Result<(), WorkError> {
        let packed: Vec<std::io::Result<Vec<u8>>> = self
            .sealed
            .par_iter()
            .map_init(
                || zstd::bulk::Compressor::new(ZSTD_LEVEL),
                |compressor, raw| match compressor {
                    Ok(compressor) => compressor.compress(raw),
                    Err(error) => Err(std::io::Error::other(error.to_string())),
                },
            )
            .collect();
        for (packed, raw) in packed.into_iter().zip(self.sealed.drain(..)) {
            let packed = packed
                .and_then(|packed| self.file.write_all(&packed).map(|()| packed))
                .map_err(|source| WorkError::spool(&self.dir, source))?;
            self.blocks.push(Block {
                offset: self.bytes,
                packed: packed.len() as u32,
                raw: raw.len() as u32,
            });
            self.bytes += packed.len() as u64;
        }
        Ok(())
    }

    /// Writes the remaining texts and opens the spool for reading.
    ///
    /// # Errors
    /// The same as for [`flush`](Self::flush).
    pub fn finish(mut self) -> Result<Spool, WorkError> {
        if !self.pending.is_empty() {
            self.seal();
        }
        self.flush()?;
        let file = self.file.into_inner();
        let file = file.map_err(|error| WorkError::spool(&self.dir, error.into_error()))?;
        let store = match file.into_inner() {
            SpooledData::InMemory(cursor) => Store::Memory(cursor.into_inner()),
            SpooledData::OnDisk(file) => Store::File(PositionedFile::new(file)),
        };
        Ok(Spool {
            dir: self.dir,
            store,
            blocks: self.blocks,
            bytes: self.bytes,
        })
    }
}

/// Reads texts from a spool, on any thread.
pub struct Spool {
    dir: PathBuf,
    store: Store,
    blocks: Vec<Block>,
    bytes: u64,
}

/// The place of the blocks.
enum Store {
    Memory(Vec<u8>),
    File(PositionedFile),
}

/// The buffers with which one thread reads a spool. They contain the block that was read last.
#[derive(Default)]
pub struct BlockBuffer {
    packed: Vec<u8>,
    raw: Vec<u8>,
    loaded: Option<u32>,
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

impl Spool {
    /// The size of all compressed blocks, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the text at the position `text`. Its block stays in `buffer`, so the next text of the same block needs no
    /// read.
    ///
    /// # Errors
    /// [`WorkError::Spool`] if the file cannot be read or was changed.
    pub fn text<'b>(&self, text: TextRef, buffer: &'b mut BlockBuffer) -> Result<&'b str, WorkError> {
        if text.len == 0 {
            // If all texts of a block are empty, the block may never have been written, so it must not be read.
            return Ok("");
        }
        if buffer.loaded != Some(text.block) {
            buffer.loaded = None;
            self.load(text.block, buffer)
                .map_err(|source| WorkError::spool(&self.dir, source))?;
            buffer.loaded = Some(text.block);
        }
        let (start, end) = (text.offset as usize, text.offset as usize + text.len());
        buffer
            .raw
            .get(start..end)
            .and_then(|bytes| simdutf8::basic::from_utf8(bytes).ok())
            .ok_or_else(|| WorkError::spool(&self.dir, std::io::ErrorKind::InvalidData.into()))
    }

    fn load(&self, block: u32, buffer: &mut BlockBuffer) -> std::io::Result<()> {
        let Block { offset, packed, raw } = *self
            .blocks
            .get(block as usize)
            .ok_or(std::io::ErrorKind::InvalidInput)?;
        let packed = match &self.store {
            Store::Memory(bytes) => {
                let start = offset as usize;
                let block = bytes.get(start..start + packed as usize);
                block.ok_or(std::io::ErrorKind::UnexpectedEof)?
            }
            Store::File(file) => {
                buffer.packed.resize(packed as usize, 0);
                file.read_exact_at(&mut buffer.packed, offset)?;
                &buffer.packed
            }
        };
        buffer.raw.clear();
        buffer.raw.reserve(raw as usize);
        if buffer.decompressor.is_none() {
            buffer.decompressor = Some(zstd::bulk::Decompressor::new()?);
        }
        if let Some(decompressor) = &mut buffer.decompressor {
            decompressor.decompress_to_buffer(packed, &mut buffer.raw)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_are_read_back_from_memory_and_from_disk() {
        for in_memory in [0, 4096, usize::MAX] {
            let dir = tempfile::tempdir().unwrap();
            let texts: Vec<String> = (0..300)
                .map(|i| "wort ".repeat([0, 1, 7, 900, 40_000][i % 5]) + &i.to_string())
                .collect();
            let mut writer = SpoolWriter::create(dir.path(), in_memory);
            let mut places = Vec::new();
            for (i, text) in texts.iter().enumerate() {
                places.push(writer.push(text));
                if i % 70 == 0 {
                    writer.flush().unwrap();
                }
            }
            let spool = writer.finish().unwrap();
            assert_eq!(matches!(spool.store, Store::Memory(_)), in_memory == usize::MAX);
            let mut buffer = BlockBuffer::default();
            for i in (0..300).rev().chain(0..300) {
                assert_eq!(spool.text(places[i], &mut buffer).unwrap(), texts[i]);
            }
            assert!(spool.bytes() > 0);
            assert_eq!(dir.path().read_dir().unwrap().count(), 0, "the file has no name");
        }
    }
}
