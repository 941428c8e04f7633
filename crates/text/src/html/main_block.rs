//! The choice of the block of a page that is its main content.
//!
//! Words in links do not count, nor do blocks marked as navigation, advertisement or similar. If a block is marked as the content and
//! has a fair share of the words that count, it is chosen; otherwise the innermost block that has nearly all of them is. The bound
//! is high, because two copies of a page that fall on different sides of it must still be near-duplicates of each other.

use super::page::{Block, Landmark};

/// Largest share of the words that count, in per cent, of a block that is left out because it is marked as not content.
const MAX_CHROME_PERCENT: u64 = 60;
/// Smallest share, in per cent, of a block that is chosen because it is marked as the content.
const MIN_LANDMARK_PERCENT: u64 = 40;
/// Smallest share, in per cent, for which a block replaces the block around it.
const MIN_INNER_PERCENT: u64 = 90;

/// The block that was chosen.
#[derive(Debug)]
pub(super) struct ChosenBlock {
    /// Index of the block.
    pub(super) block: usize,
    /// Number of visible words of the page.
    pub(super) visible: u64,
    /// Number of words of the block, without the blocks in it that are left out.
    pub(super) words: u64,
}

/// Sums over the subtrees of blocks, and the blocks that are left out. The buffers are reused.
#[derive(Debug, Default)]
pub(super) struct MainBlock {
    /// Number of words that count, by block.
    counted: Vec<u64>,
    /// Number of words, by block.
    words: Vec<u64>,
    /// True if a block is left out.
    pub(super) out: Vec<bool>,
}

impl MainBlock {
    /// Chooses one of `blocks`, which are in the order parents first and not empty. Linear.
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

    /// The block that is marked as the content, or the whole page.
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

    /// Sums the words in each block, without the blocks for which `out` is true.
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
