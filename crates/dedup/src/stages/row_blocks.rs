//! Blocks of items or texts: consecutive rows that a task reads together.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The blocks into which the items or the texts of a run are divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RowBlocks {
    /// The number of rows.
    pub(super) rows: u64,
    /// The first row of each block.
    firsts: Vec<u64>,
    /// The bytes of the last block, while rows are added.
    #[serde(skip)]
    bytes: u64,
}

impl RowBlocks {
    /// Adds a row of `bytes` bytes. It is in a new block if the last block would exceed `most` bytes.
    pub(super) fn push(&mut self, bytes: u64, most: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.firsts.is_empty() || self.bytes > most {
            self.firsts.push(self.rows);
            self.bytes = bytes;
        }
        self.rows += 1;
    }

    /// The number of blocks.
    pub(super) fn len(&self) -> u32 {
        self.firsts.len() as u32
    }

    /// The rows of a block.
    pub(super) fn block(&self, block: u32) -> Range<u64> {
        let start = |block: usize| self.firsts.get(block).copied().unwrap_or(self.rows);
        start(block as usize)..start(block as usize + 1)
    }

    /// The block of a row.
    pub(super) fn block_of(&self, row: u64) -> u32 {
        let after = self.firsts.partition_point(|&first| first <= row);
        after.saturating_sub(1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_few_bytes_or_one_row() {
        let mut blocks = RowBlocks::default();
        assert_eq!((blocks.len(), blocks.block(0)), (0, 0..0));
        for bytes in [4, 5, 2, 30, 1, 9, 1] {
            blocks.push(bytes, 10);
        }
        let found: Vec<Range<u64>> = (0..blocks.len()).map(|block| blocks.block(block)).collect();
        assert_eq!(found, [0..2, 2..3, 3..4, 4..6, 6..7]);
        let of_rows: Vec<u32> = (0..blocks.rows).map(|row| blocks.block_of(row)).collect();
        assert_eq!(of_rows, [0, 0, 1, 2, 3, 3, 4]);
    }
}
