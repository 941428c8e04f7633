//! Blocks of texts: consecutive texts that a task reads together.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The blocks into which the texts of a run are divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextBlocks {
    /// The number of texts.
    pub(super) texts: u64,
    /// The first text of each block.
    firsts: Vec<u64>,
    /// The bytes of the last block, while texts are added.
    #[serde(skip)]
    bytes: u64,
}

impl TextBlocks {
    /// Adds a text of `bytes` bytes. It is in a new block if the last block would exceed `most` bytes.
    pub(super) fn push(&mut self, bytes: u64, most: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.firsts.is_empty() || self.bytes > most {
            self.firsts.push(self.texts);
            self.bytes = bytes;
        }
        self.texts += 1;
    }

    /// The number of blocks.
    pub(super) fn len(&self) -> u32 {
        self.firsts.len() as u32
    }

    /// The texts of a block.
    pub(super) fn block(&self, block: u32) -> Range<u64> {
        let start = |block: usize| self.firsts.get(block).copied().unwrap_or(self.texts);
        start(block as usize)..start(block as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_few_bytes_or_one_text() {
        let mut blocks = TextBlocks::default();
        assert_eq!((blocks.len(), blocks.block(0)), (0, 0..0));
        for bytes in [4, 5, 2, 30, 1, 9, 1] {
            blocks.push(bytes, 10);
        }
        let found: Vec<Range<u64>> = (0..blocks.len()).map(|block| blocks.block(block)).collect();
        assert_eq!(found, [0..2, 2..3, 3..4, 4..6, 6..7]);
    }
}
