//! Chooses the block of a page that is its main content.
//!
//! Words in links do not count, and neither do words in blocks that are marked as navigation, advertisement or similar.
//! If a block is marked as the content and has at least 40 per cent of the words that count, it is chosen. Otherwise
//! the innermost block that has at least 90 per cent of them is chosen. This bound is high, because two copies of a
//! page whose shares are just above and just below it must still be near-duplicates.

use super::page::{Block, Landmark};

/// A block marked as not content is left out only if it has at most this share, in per cent, of the words that count.
const MAX_CHROME_PERCENT: u64 = 60;
/// A block marked as the content is chosen only if it has at least this share, in per cent, of the words that count.
const MIN_LANDMARK_PERCENT: u64 = 40;
/// A block is chosen instead of the block around it if it has at least this share, in per cent, of that block's words.
const MIN_INNER_PERCENT: u64 = 90;

/// The block that was chosen.
#[derive(Debug)]
pub(super) struct ChosenBlock {
    /// Index of the chosen block.
    pub(super) block: usize,
    /// Number of visible words on the whole page.
    pub(super) visible: u64,
    /// Number of words of the chosen block. Blocks inside it that are left out do not count.
    pub(super) words: u64,
}

/// Chooses the main block of one page after another. Reuses its buffers.
#[derive(Debug, Default)]
pub(super) struct MainBlock {
    /// For each block: the number of its words, including the blocks in it, that count as content.
    counted: Vec<u64>,
    /// For each block: the number of its words, including the blocks in it.
    words: Vec<u64>,
    /// For each block: true if it is left out of the extracted text.
    pub(super) out: Vec<bool>,
}

impl MainBlock {
    /// Chooses one of `blocks`, of which there is at least one. A parent comes before its children. Linear.
    pub(super) fn choose(&mut self, blocks: &[Block]) -> ChosenBlock {
        self.sum(blocks, |_| false);
        let (visible, total) = (sum_of(&self.words, 0), sum_of(&self.counted, 0));
        self.out.clear();
        for (i, block) in blocks.iter().enumerate() {
            let within = i > 0 && self.out.get(block.parent as usize).copied().unwrap_or(false);
            let little = sum_of(&self.counted, i) * 100 <= total * MAX_CHROME_PERCENT;
            self.out.push(within || (block.chrome && little));
        }
        let out = std::mem::take(&mut self.out);
        self.sum(blocks, |i| out.get(i).copied().unwrap_or(false));
        self.out = out;

        let mut chosen = self.landmark(blocks);
        let all = sum_of(&self.counted, chosen);
        for (i, block) in blocks.iter().enumerate().skip(chosen + 1) {
            let inside = block.parent as usize == chosen && !block.paragraph;
            if inside && all > 0 && sum_of(&self.counted, i) * 100 >= all * MIN_INNER_PERCENT {
                chosen = i;
            }
        }
        ChosenBlock {
            block: chosen,
            visible,
            words: sum_of(&self.words, chosen),
        }
    }

    /// The block that is marked as the content and has enough words; the whole page if no block is.
    fn landmark(&self, blocks: &[Block]) -> usize {
        let total = sum_of(&self.counted, 0);
        let mut best = (Landmark::None, 0, 0);
        for (i, block) in blocks.iter().enumerate() {
            let counted = sum_of(&self.counted, i);
            let fair = total > 0 && counted * 100 >= total * MIN_LANDMARK_PERCENT;
            if block.landmark > Landmark::None && fair && (block.landmark, counted) > (best.0, best.1) {
                best = (block.landmark, counted, i);
            }
        }
        best.2
    }

    /// Computes the number of words in each block, including the blocks in it. Blocks for which `out` returns true do
    /// not count.
    fn sum(&mut self, blocks: &[Block], out: impl Fn(usize) -> bool) {
        self.counted.clear();
        self.words.clear();
        for (i, block) in blocks.iter().enumerate() {
            let (words, linked) = (u64::from(block.words), u64::from(block.linked));
            let shown = !out(i);
            self.words.push(if shown { words } else { 0 });
            self.counted.push(if shown && 2 * linked <= words {
                words - linked
            } else {
                0
            });
        }
        for (i, block) in blocks.iter().enumerate().skip(1).rev() {
            for sums in [&mut self.counted, &mut self.words] {
                let below = sums.get(i).copied().unwrap_or(0);
                if let Some(above) = sums.get_mut(block.parent as usize) {
                    *above += below;
                }
            }
        }
    }
}

fn sum_of(sums: &[u64], i: usize) -> u64 {
    sums.get(i).copied().unwrap_or(0)
}
