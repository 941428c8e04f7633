//! The spool: canonical texts on disk. Candidates are verified from it, so that the corpus need not fit into memory.
//!
//! Texts are gathered into blocks of about 4 KiB, which are written in order. A block is small enough that reading one text reads
//! little else, and large enough that short texts take few reads. The blocks are not compressed: zstd at level −40 made them
//! 4 to 6 % smaller, and a level that saves more takes about as long as reading the documents. A spool is usually deleted at the end of the run. It may stay in memory up
//! to a given size, so that a run over a few texts needs no file.
//!
//! A spool that other processes read has a name and ends with the table of its blocks: for each block its size and the CRC-32 of
//! its bytes as 32-bit numbers, then the CRC-32 of the table as a 32-bit number and the number of blocks as a 64-bit number, all
//! little-endian. So a damaged file is noticed. Several such files can be [opened](Spool::open) as one spool.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::WorkError;
use super::spool_file::{Block, Piece, SpoolFile};
use twinprint_index::{OpenFiles, PositionedFile};

/// The position of a text in the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRef {
    /// The number of the block that contains the text.
    pub block: u32,
    /// The offset of the text in the block, in bytes.
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

    /// Makes the position of `len` bytes at `offset` in a block.
    pub fn new(block: u32, offset: u32, len: u32) -> Self {
        Self { block, offset, len }
    }

    /// The offset of the text in the block, in bytes.
    pub fn offset(self) -> u32 {
        self.offset
    }
}

/// Reads texts from a spool, on any thread.
pub struct Spool {
    pub(super) dir: PathBuf,
    pub(super) store: Store,
    pub(super) blocks: Vec<Block>,
    pub(super) bytes: u64,
}

/// The place of the blocks.
pub(super) enum Store {
    /// Memory, in pieces of several blocks.
    Memory(Vec<Piece>),
    Disk(BlockFiles),
}

/// The files of the blocks.
pub(super) enum BlockFiles {
    /// The file that was just written.
    Written(PositionedFile),
    /// Files whose blocks are numbered one after another.
    Opened(Vec<SpoolFile>),
}

/// The buffer with which one thread reads a spool. It contains the block that was read last.
#[derive(Default)]
pub struct BlockBuffer {
    /// The block, and what is left of longer blocks before it.
    bytes: Vec<u8>,
    loaded: Option<u32>,
}

impl Spool {
    /// Opens spools that were finished under these names as one spool. The blocks of each file are numbered after those of
    /// the files before it: [`TextRef::block`] of a text of file i grows by the number of blocks of the earlier files, which
    /// [`first_blocks`](Self::first_blocks) returns.
    ///
    /// # Errors
    /// [`WorkError::Spool`] if a file cannot be read, is damaged, or if there are 2³² blocks or more.
    ///
    /// ```
    /// use twinprint_io::work::{BlockBuffer, Spool, SpoolWriter, TextRef};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let dir = tempfile::tempdir()?;
    /// let paths = ["a", "b"].map(|name| dir.path().join(name));
    /// for path in &paths {
    ///     let mut writer = SpoolWriter::create_file(path)?;
    ///     let text = format!("the text of {}", path.display());
    ///     let len = text.len();
    ///     writer.add(text).keep(len)?;
    ///     writer.finish()?;
    /// }
    /// let spool = Spool::open(&paths)?;
    /// assert_eq!(spool.first_blocks(), [0, 1]);
    /// let second = TextRef::new(1, 0, 8);
    /// assert_eq!(spool.text(second, &mut BlockBuffer::default())?, "the text");
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(paths: &[PathBuf]) -> Result<Self, WorkError> {
        let open = Arc::new(OpenFiles::default());
        let mut files: Vec<SpoolFile> = Vec::new();
        let (mut blocks, mut bytes) = (Vec::new(), 0);
        for path in paths {
            let failed = |source| WorkError::spool(path, source);
            let mut file = SpoolFile::open(path, &open).map_err(failed)?;
            let table = file.table().map_err(failed)?;
            bytes += table.iter().map(|block| u64::from(block.size)).sum::<u64>();
            file.first = u32::try_from(blocks.len()).map_err(|error| failed(io::Error::other(error)))?;
            blocks.extend(table);
            files.push(file);
        }
        let dir = paths.first().cloned().unwrap_or_default();
        u32::try_from(blocks.len()).map_err(|error| WorkError::spool(&dir, io::Error::other(error)))?;
        Ok(Self {
            dir,
            store: Store::Disk(BlockFiles::Opened(files)),
            blocks,
            bytes,
        })
    }

    /// For each file, the number of its first block.
    pub fn first_blocks(&self) -> Vec<u32> {
        match &self.store {
            Store::Disk(BlockFiles::Opened(files)) => files.iter().map(|file| file.first).collect(),
            Store::Disk(BlockFiles::Written(_)) | Store::Memory(_) => vec![0],
        }
    }

    /// The size of all blocks, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the text at the position `text`. Its block stays in `buffer`, so the next text of the same block needs no
    /// read.
    ///
    /// # Errors
    /// [`WorkError::Spool`] if the file cannot be read or was changed.
    pub fn text<'b>(&'b self, text: TextRef, buffer: &'b mut BlockBuffer) -> Result<&'b str, WorkError> {
        if text.len == 0 {
            // If all texts of a block are empty, the block may never have been written, so it must not be read.
            return Ok("");
        }
        let failed = |source: io::ErrorKind| WorkError::spool(self.path_of(text.block), source.into());
        let (start, end) = (text.offset as usize, text.offset as usize + text.len());
        let block = self.blocks.get(text.block as usize).copied();
        let block = block.ok_or_else(|| failed(io::ErrorKind::InvalidInput))?;
        let read = match &self.store {
            Store::Memory(pieces) => block.texts_in(pieces).and_then(|texts| texts.get(start..end)),
            Store::Disk(files) => {
                let bytes = files.block(text.block, block, buffer);
                let bytes = bytes.map_err(|source| WorkError::spool(self.path_of(text.block), source))?;
                let bytes = bytes.get(start..end);
                bytes.and_then(|bytes| simdutf8::basic::from_utf8(bytes).ok())
            }
        };
        read.ok_or_else(|| failed(io::ErrorKind::InvalidData))
    }

    /// The file that contains a block, or the directory of a spool without a name.
    fn path_of(&self, block: u32) -> &Path {
        let Store::Disk(BlockFiles::Opened(files)) = &self.store else {
            return &self.dir;
        };
        let after = files.partition_point(|file| file.first <= block);
        files
            .get(after.saturating_sub(1))
            .map_or(&self.dir, |file| file.file.path())
    }
}

impl BlockFiles {
    /// Returns the bytes of a block, which are read unless they are in `buffer`.
    fn block<'b>(&self, number: u32, block: Block, buffer: &'b mut BlockBuffer) -> io::Result<&'b [u8]> {
        let BlockBuffer { bytes, loaded } = buffer;
        let size = block.size as usize;
        if bytes.len() < size {
            bytes.resize(size, 0);
        }
        let bytes = &mut bytes[..size];
        if *loaded != Some(number) {
            *loaded = None;
            self.read(number, block, bytes)?;
            *loaded = Some(number);
        }
        Ok(bytes)
    }

    /// Reads a block.
    fn read(&self, number: u32, Block { offset, sum, .. }: Block, bytes: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Written(file) => file.read_exact_at(bytes, offset),
            Self::Opened(files) => {
                let after = files.partition_point(|file| file.first <= number);
                let file = files
                    .get(after.saturating_sub(1))
                    .ok_or(io::ErrorKind::InvalidInput)?;
                file.file.read_exact_at(bytes, offset)?;
                if crc32fast::hash(bytes) != sum {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                Ok(())
            }
        }
    }
}
