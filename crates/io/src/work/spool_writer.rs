//! Writes a [spool](super::Spool).

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tempfile::{SpooledData, SpooledTempFile, spooled_tempfile_in};
use twinprint_index::PositionedFile;

use super::WorkError;
use super::spool::{Spool, Store, TextRef};
use super::spool_file::{Block, SpoolFile};

/// The largest size of a block, in bytes. A longer text has a block of its own.
const BLOCK_BYTES: usize = 4 << 10;
/// The number of bytes that are written at a time. Linux took up to eight times as long for 16 MiB at a time.
const WRITE_BYTES: usize = 1 << 20;

/// The place that a spool is written to.
enum Target {
    /// Memory, or beyond a size a file without a name.
    Unnamed(SpooledTempFile),
    /// A file with a name.
    Named(File),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unnamed(file) => file.write(bytes),
            Self::Named(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Unnamed(file) => file.flush(),
            Self::Named(file) => file.flush(),
        }
    }
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
    target: Target,
    /// The texts that are not written yet.
    pending: Vec<u8>,
    /// The ends of the full blocks in `pending`. The last block, which is not full, begins at the last of them.
    ends: Vec<usize>,
    /// The blocks that are written.
    blocks: Vec<Block>,
    bytes: u64,
    /// True once a write has failed. What is in the file then is not known.
    failed: bool,
}

impl SpoolWriter {
    /// Creates a spool. Beyond `in_memory` bytes it becomes a file in `dir`. The file has no name, so nothing is left of
    /// it after any end of the program.
    pub fn create(dir: &Path, in_memory: usize) -> Self {
        Self::on(dir, Target::Unnamed(spooled_tempfile_in(in_memory, dir)))
    }

    /// Creates the file `path`, which other processes can [open](Spool::open) once it is finished.
    ///
    /// # Errors
    /// [`WorkError::Spool`] if the file cannot be created.
    pub fn create_file(path: &Path) -> Result<Self, WorkError> {
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|source| WorkError::spool(path, source))?;
        Ok(Self::on(path, Target::Named(file)))
    }

    fn on(dir: &Path, target: Target) -> Self {
        Self {
            dir: dir.to_owned(),
            target,
            pending: Vec::new(),
            ends: Vec::new(),
            blocks: Vec::new(),
            bytes: 0,
            failed: false,
        }
    }

    /// The position in `pending` at which the last block begins.
    fn last_start(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Adds a text and returns its position. The next [`flush`](Self::flush) or [`finish`](Self::finish) writes it to
    /// disk.
    pub fn push(&mut self, text: &str) -> TextRef {
        let size = self.pending.len() - self.last_start();
        if size > 0 && size + text.len() > BLOCK_BYTES {
            self.ends.push(self.pending.len());
        }
        let block = self.blocks.len() + self.ends.len();
        let offset = self.pending.len() - self.last_start();
        let position = TextRef::new(block as u32, offset as u32, text.len() as u32);
        self.pending.extend_from_slice(text.as_bytes());
        position
    }

    /// Writes all full blocks.
    ///
    /// # Errors
    /// [`WorkError::Spool`], usually because the disk is full.
    pub fn flush(&mut self) -> Result<(), WorkError> {
        let failed = |source| WorkError::spool(&self.dir, source);
        if std::mem::replace(&mut self.failed, true) {
            return Err(failed(io::Error::other("an earlier write failed")));
        }
        let written = self.last_start();
        let (ends, pending) = (&self.ends, &self.pending);
        for piece in pending[..written].chunks(WRITE_BYTES) {
            self.target.write_all(piece).map_err(failed)?;
        }
        let is_named = matches!(self.target, Target::Named(_));
        let starts = [0].into_par_iter().chain(ends.par_iter().copied());
        let first = self.bytes;
        let block = |(start, &end): (usize, &usize)| {
            let bytes = &pending[start..end];
            Ok(Block {
                offset: first + start as u64,
                size: u32::try_from(bytes.len()).map_err(io::Error::other)?,
                sum: if is_named { crc32fast::hash(bytes) } else { 0 },
            })
        };
        let blocks: io::Result<Vec<Block>> = starts.zip(ends).map(block).collect();
        self.blocks.extend(blocks.map_err(failed)?);
        self.bytes += written as u64;
        self.pending.drain(..written);
        self.ends.clear();
        self.failed = false;
        Ok(())
    }

    /// Writes the remaining texts and opens the spool for reading.
    ///
    /// # Errors
    /// The same as for [`flush`](Self::flush).
    pub fn finish(mut self) -> Result<Spool, WorkError> {
        if self.pending.len() > self.last_start() {
            self.ends.push(self.pending.len());
        }
        self.flush()?;
        let Self {
            dir,
            mut target,
            blocks,
            bytes,
            ..
        } = self;
        let failed = |source| WorkError::spool(&dir, source);
        if let Target::Named(file) = &mut target {
            file.write_all(&SpoolFile::table_of(&blocks)).map_err(failed)?;
        }
        let store = match target {
            Target::Unnamed(file) => match file.into_inner() {
                SpooledData::InMemory(cursor) => Store::Memory(cursor.into_inner()),
                SpooledData::OnDisk(file) => Store::File(PositionedFile::new(file)),
            },
            Target::Named(file) => Store::File(PositionedFile::new(file)),
        };
        Ok(Spool {
            dir,
            store,
            blocks,
            bytes,
        })
    }
}
