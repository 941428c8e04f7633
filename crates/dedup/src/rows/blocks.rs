//! Files of bytes in blocks with checksums, so that damage is noticed before a number of the file is used.
//!
//! A block has 4,096 bytes, the last one less: its data, and the CRC-32 of the number of the block and of the data.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twinprint_index::{OpenFiles, ReopenedFile};
use twinprint_io::work::WorkError;

use crate::error::{DedupError, StageDamage};

/// The number of bytes of a block.
pub(super) const BLOCK_BYTES: usize = 4 << 10;
/// The number of bytes of a checksum.
const SUM_BYTES: usize = 4;
/// The number of bytes of data of a block.
const DATA_BYTES: usize = BLOCK_BYTES - SUM_BYTES;
/// The number of bytes that are written at a time.
const WRITE_BYTES: usize = 256 << 10;

/// The checksum of a block.
fn sum(number: u64, data: &[u8]) -> [u8; SUM_BYTES] {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&number.to_le_bytes());
    sum.update(data);
    sum.finalize().to_le_bytes()
}

/// Writes a new file.
pub(crate) struct BlockWriter {
    file: BufWriter<File>,
    path: PathBuf,
    /// The data of the last block.
    block: Vec<u8>,
    blocks: u64,
}

impl BlockWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, DedupError> {
        let file = File::create_new(path).map_err(|error| WorkError::file(path, error))?;
        Ok(Self {
            file: BufWriter::with_capacity(WRITE_BYTES, file),
            path: path.to_owned(),
            block: Vec::with_capacity(DATA_BYTES),
            blocks: 0,
        })
    }

    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), DedupError> {
        while !bytes.is_empty() {
            if self.block.len() == DATA_BYTES {
                self.end_block()?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(DATA_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), DedupError> {
        let sum = sum(self.blocks, &self.block);
        let written = self.file.write_all(&self.block);
        let written = written.and_then(|()| self.file.write_all(&sum));
        written.map_err(|error| WorkError::file(&self.path, error))?;
        self.blocks += 1;
        self.block.clear();
        Ok(())
    }

    /// Ends the file, and returns its path.
    pub(crate) fn finish(mut self) -> Result<PathBuf, DedupError> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let written = self.file.into_inner();
        written.map_err(|error| WorkError::file(&self.path, error.into_error()))?;
        Ok(self.path)
    }

    /// Ends the file and deletes its name, so that it exists as long as the returned value.
    pub(crate) fn finish_without_name(self) -> Result<BlockFile, DedupError> {
        let path = self.finish()?;
        let file = ReopenedFile::kept_open(&path).map_err(|error| failed(&path, error))?;
        std::fs::remove_file(&path).map_err(|error| WorkError::file(&path, error))?;
        BlockFile::of(file)
    }
}

/// Reads a file of [`BlockWriter`].
#[derive(Debug)]
pub(crate) struct BlockFile {
    file: ReopenedFile,
    /// The number of bytes of data.
    bytes: u64,
}

impl BlockFile {
    /// Finds a file, which is one of `open` while it is open.
    ///
    /// # Errors
    /// The file is missing, or its size is not that of such a file.
    pub(crate) fn open(path: &Path, open: &Arc<OpenFiles>) -> Result<Self, DedupError> {
        Self::of(ReopenedFile::new(path, open).map_err(|error| failed(path, error))?)
    }

    fn of(file: ReopenedFile) -> Result<Self, DedupError> {
        let (size, block) = (file.size(), BLOCK_BYTES as u64);
        let last = size % block;
        if (1..=SUM_BYTES as u64).contains(&last) {
            return Err(DedupError::damaged_stage(file.path(), StageDamage::Content));
        }
        Ok(Self {
            bytes: size - size.div_ceil(block) * SUM_BYTES as u64,
            file,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The number of bytes of data.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// The size of the file.
    pub(crate) fn size(&self) -> u64 {
        self.file.size()
    }

    /// The error that a number refers to something that does not exist.
    pub(crate) fn damaged(&self) -> DedupError {
        DedupError::damaged_stage(self.path(), StageDamage::Content)
    }

    /// Reads a range of the data.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or has no such range.
    pub(crate) fn read(&self, range: Range<u64>) -> Result<Vec<u8>, DedupError> {
        let mut bytes = Vec::new();
        let found = self.read_to(range, &mut bytes)?;
        bytes.truncate(found.end);
        bytes.drain(..found.start);
        Ok(bytes)
    }

    /// Reads a range of the data to `bytes`. Returns its place there: it is surrounded by the rest of its blocks.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub(super) fn read_to(&self, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<Range<usize>, DedupError> {
        bytes.clear();
        if range.start > range.end || range.end > self.bytes {
            return Err(self.damaged());
        }
        if range.is_empty() {
            return Ok(0..0);
        }
        let (data, block) = (DATA_BYTES as u64, BLOCK_BYTES as u64);
        let first = range.start / data;
        let start = first * block;
        let end = (range.end.div_ceil(data) * block).min(self.size());
        bytes.resize((end - start) as usize, 0);
        let read = self.file.read_exact_at(bytes, start);
        read.map_err(|error| failed(self.path(), error))?;
        // The data of the blocks are moved together.
        let (mut from, mut to) = (0, 0);
        let mut number = first;
        while from < bytes.len() {
            let stored = &bytes[from..bytes.len().min(from + BLOCK_BYTES)];
            let Some((data, stored_sum)) = stored.split_last_chunk::<SUM_BYTES>() else {
                return Err(self.damaged());
            };
            if sum(number, data) != *stored_sum {
                return Err(self.damaged());
            }
            let length = data.len();
            bytes.copy_within(from..from + length, to);
            from += length + SUM_BYTES;
            to += length;
            number += 1;
        }
        bytes.truncate(to);
        let skipped = (range.start - first * data) as usize;
        Ok(skipped..skipped + (range.end - range.start) as usize)
    }
}

/// The error of a file that cannot be read.
fn failed(path: &Path, error: io::Error) -> DedupError {
    match error.kind() {
        io::ErrorKind::NotFound => DedupError::damaged_stage(path, StageDamage::Missing),
        io::ErrorKind::UnexpectedEof => DedupError::damaged_stage(path, StageDamage::Content),
        _ => WorkError::file(path, error).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_damaged_byte_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let open = Arc::new(OpenFiles::default());
        for length in [
            0,
            1,
            DATA_BYTES - 1,
            DATA_BYTES,
            DATA_BYTES + 1,
            3 * DATA_BYTES,
            20_000,
        ] {
            let data: Vec<u8> = (0..length).map(|i| (i * 7 / 3) as u8).collect();
            let path = dir.path().join(length.to_string());
            let mut writer = BlockWriter::create(&path).unwrap();
            for part in data.chunks(999) {
                writer.write(part).unwrap();
            }
            writer.finish().unwrap();
            let file = BlockFile::open(&path, &open).unwrap();
            assert_eq!(file.len(), length as u64);
            for (from, to) in [
                (0, length),
                (length / 2, length),
                (length / 3, length / 2),
                (length, length),
            ] {
                assert_eq!(file.read(from as u64..to as u64).unwrap(), data[from..to]);
            }
            assert!(file.read(0..length as u64 + 1).is_err());
            let stored = fs::read(&path).unwrap();
            for at in (0..stored.len()).step_by(701) {
                let mut damaged = stored.clone();
                damaged[at] ^= 0x10;
                fs::write(&path, damaged).unwrap();
                let file = BlockFile::open(&path, &Arc::default()).unwrap();
                let error = file.read(0..file.len()).unwrap_err().to_string();
                assert!(error.contains(&length.to_string()), "{error}");
            }
        }
        assert!(BlockFile::open(&dir.path().join("none"), &open).is_err());
    }
}
