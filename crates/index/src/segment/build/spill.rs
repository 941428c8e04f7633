//! Records divided by their leading bits: in memory as long as they fit, and the others on disk.
//!
//! All divisions of all tables share one file, of blocks of equal length. Blocks that have been read are overwritten,
//! so the file is never larger than the records that wait at one time.

use std::path::{Path, PathBuf};

use crate::positioned::PositionedFile;
use crate::segment::SegmentError;

/// The approximate size of a block in bytes. Records do not cross blocks.
const BLOCK_BYTES: usize = 1 << 16;
/// log₂ of the number of divisions of a table.
pub(super) const DIVISION_BITS: u32 = 8;
/// The size in bytes of the last blocks of all divisions of one table. They stay in memory, whatever the budget is.
pub(super) const OPEN_BLOCK_BYTES: u64 = (BLOCK_BYTES as u64) << DIVISION_BITS;

/// A store of blocks of records. Blocks beyond a memory budget are in one unnamed file.
#[derive(Debug)]
pub(super) struct Spill {
    directory: PathBuf,
    /// The number of bytes that may stay in memory.
    budget: usize,
    held: usize,
    /// Free blocks for reuse. New blocks from the allocator could be adjacent to blocks that another thread fills.
    spare: Vec<Vec<u8>>,
    file: Option<PositionedFile>,
    free: Vec<u64>,
    end: u64,
}

/// Records of one length, divided by their leading bits.
#[derive(Debug)]
pub(super) struct DividedRecords {
    record: usize,
    divisions: Vec<SpillDivision>,
}

#[derive(Debug, Default)]
struct SpillDivision {
    sealed: Vec<SpillBlock>,
    open: Vec<u8>,
}

#[derive(Debug)]
enum SpillBlock {
    Held(Vec<u8>),
    Stored { at: u64, length: usize },
}

impl SpillBlock {
    fn len(&self) -> usize {
        match self {
            Self::Held(bytes) => bytes.len(),
            Self::Stored { length, .. } => *length,
        }
    }
}

impl Spill {
    /// Creates a store that keeps up to `budget` bytes in memory and further blocks in an unnamed file in `directory`.
    pub(super) fn new(directory: &Path, budget: usize) -> Self {
        Self {
            directory: directory.to_owned(),
            budget,
            held: 0,
            spare: Vec::new(),
            file: None,
            free: Vec::new(),
            end: 0,
        }
    }

    /// The largest number of bytes that were on disk at a time.
    #[cfg(test)]
    pub(super) fn on_disk(&self) -> u64 {
        self.end
    }

    fn seal(&mut self, bytes: Vec<u8>) -> Result<SpillBlock, SegmentError> {
        if self.held + bytes.len() <= self.budget {
            self.held += bytes.len();
            return Ok(SpillBlock::Held(bytes));
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file =
                    tempfile::tempfile_in(&self.directory).map_err(SegmentError::io(&self.directory))?;
                none.insert(PositionedFile::new(file))
            }
        };
        let at = self.free.pop().unwrap_or(self.end);
        self.end = self.end.max(at + BLOCK_BYTES as u64);
        file.write_all_at(&bytes, at)
            .map_err(SegmentError::io(&self.directory))?;
        let length = bytes.len();
        self.spare.push(bytes);
        Ok(SpillBlock::Stored { at, length })
    }

    fn empty_block(&mut self) -> Vec<u8> {
        let mut block = self
            .spare
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(BLOCK_BYTES));
        block.clear();
        block
    }

    /// Returns the bytes of blocks, one after the other. The blocks are reused only after
    /// [`release`](DividedRecords::release).
    fn read(&self, blocks: &[SpillBlock]) -> Result<Vec<u8>, SegmentError> {
        // The capacity includes one open block and the bytes that decoding appends.
        let mut out = Vec::with_capacity(blocks.iter().map(SpillBlock::len).sum::<usize>() + 2 * BLOCK_BYTES);
        for block in blocks {
            match block {
                SpillBlock::Held(bytes) => out.extend_from_slice(bytes),
                SpillBlock::Stored { at, length } => {
                    let from = out.len();
                    out.resize(from + length, 0);
                    if let Some(file) = &self.file {
                        file.read_exact_at(&mut out[from..], *at)
                            .map_err(SegmentError::io(&self.directory))?;
                    }
                }
            }
        }
        Ok(out)
    }

    fn release(&mut self, blocks: Vec<SpillBlock>) {
        for block in blocks {
            match block {
                SpillBlock::Held(bytes) => {
                    self.held -= bytes.len();
                    self.spare.push(bytes);
                }
                SpillBlock::Stored { at, .. } => self.free.push(at),
            }
        }
    }
}

impl DividedRecords {
    /// Creates empty divisions for records of `record` bytes each.
    pub(super) fn new(record: usize) -> Self {
        Self {
            record,
            divisions: (0..1 << DIVISION_BITS)
                .map(|_| SpillDivision::default())
                .collect(),
        }
    }

    /// Appends a record to a division.
    #[inline]
    pub(super) fn push(
        &mut self,
        division: usize,
        record: &[u8],
        spill: &mut Spill,
    ) -> Result<(), SegmentError> {
        let d = &mut self.divisions[division];
        if d.open.len() + record.len() > BLOCK_BYTES {
            let full = std::mem::replace(&mut d.open, spill.empty_block());
            let block = spill.seal(full)?;
            d.sealed.push(block);
        }
        d.open.extend_from_slice(record);
        Ok(())
    }

    /// The number of records of a division.
    pub(super) fn len(&self, division: usize) -> usize {
        let d = &self.divisions[division];
        let sealed: usize = d.sealed.iter().map(SpillBlock::len).sum();
        (sealed + d.open.len()) / self.record
    }

    /// Returns the bytes of all records of a division, one after the other.
    pub(super) fn read(&self, division: usize, spill: &Spill) -> Result<Vec<u8>, SegmentError> {
        let d = &self.divisions[division];
        let mut bytes = spill.read(&d.sealed)?;
        bytes.extend_from_slice(&d.open);
        Ok(bytes)
    }

    /// Frees the blocks of a division, whose records are then gone.
    pub(super) fn release(&mut self, division: usize, spill: &mut Spill) {
        let d = std::mem::take(&mut self.divisions[division]);
        spill.release(d.sealed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_back_from_memory_and_from_disk() {
        let directory = tempfile::tempdir().unwrap();
        for budget in [0, 3 * BLOCK_BYTES, usize::MAX] {
            let mut spill = Spill::new(directory.path(), budget);
            let mut largest = 0;
            for round in 0..3u64 {
                let mut divided = DividedRecords::new(8);
                let mut expected = vec![Vec::new(); 3];
                for i in 0..60_000u64 {
                    let record = (i + round).to_le_bytes();
                    divided.push((i % 3) as usize, &record, &mut spill).unwrap();
                    expected[(i % 3) as usize].extend(record);
                }
                for (division, expected) in expected.iter().enumerate() {
                    assert_eq!(divided.len(division), 20_000);
                    assert!(divided.read(division, &spill).unwrap() == *expected);
                    divided.release(division, &mut spill);
                    assert_eq!(divided.len(division), 0);
                }
                // Freed space is reused: later rounds do not enlarge the file.
                assert!(round == 0 || spill.on_disk() == largest);
                largest = spill.on_disk();
            }
            assert_eq!(largest > 0, budget < usize::MAX);
        }
    }
}
