//! Which block of a page is its content.
//!
//! Words in links, and blocks that call themselves navigation, advertisement and the like, do not count. Where a block
//! calls itself the content and holds a fair share of the words that count, it is; else the innermost block that
//! holds nearly all of them. Nearly all, because two copies of a page that fall on different sides of the bound must
//! still be near-duplicates of one another.

use super::page::{Block, Landmark};

/// In per cent of the words that count: a block that calls itself no content is believed up to here.
const CHROME: u64 = 60;
/// A block that calls itself the content is believed from here on.
const LANDMARK: u64 = 40;
/// A block stands for the one around it from here on.
const NEARLY_ALL: u64 = 90;

/// What was chosen.
#[derive(Debug)]
pub(super) struct Choice {
    /// The block.
    pub(super) block: usize,
    /// Words of the page, and of the block without what is left out of it.
    pub(super) visible: u64,
    pub(super) words: u64,
}

/// Sums over the subtrees of blocks, and what is left out; kept to be used again.
#[derive(Debug, Default)]
pub(super) struct MainBlock {
    /// Words that count.
    counted: Vec<u64>,
    /// All words.
    words: Vec<u64>,
    /// The block is left out.
    pub(super) out: Vec<bool>,
}

impl MainBlock {
    /// Chooses among `blocks`, which come parents first and are at least one. Linear.
    pub(super) fn choose(&mut self, blocks: &[Block]) -> Choice {
        self.sum(blocks, |_| false);
        let (visible, total) = (at(&self.words, 0), at(&self.counted, 0));
        self.out.clear();
        for (i, block) in blocks.iter().enumerate() {
            let within = i > 0 && self.out.get(block.parent as usize).copied().unwrap_or(false);
            let little = at(&self.counted, i) * 100 <= total * CHROME;
            self.out.push(within || (block.chrome && little));
        }
        let out = std::mem::take(&mut self.out);
        self.sum(blocks, |i| out.get(i).copied().unwrap_or(false));
        self.out = out;

        let mut chosen = self.landmark(blocks);
        let all = at(&self.counted, chosen);
        for (i, block) in blocks.iter().enumerate().skip(chosen + 1) {
            let inside = block.parent as usize == chosen && !block.paragraph;
            if inside && all > 0 && at(&self.counted, i) * 100 >= all * NEARLY_ALL {
                chosen = i;
            }
        }
        Choice {
            block: chosen,
            visible,
            words: at(&self.words, chosen),
        }
    }

    /// The block that calls itself the content, or the whole page.
    fn landmark(&self, blocks: &[Block]) -> usize {
        let total = at(&self.counted, 0);
        let mut best = (Landmark::None, 0, 0);
        for (i, block) in blocks.iter().enumerate() {
            let counted = at(&self.counted, i);
            let fair = total > 0 && counted * 100 >= total * LANDMARK;
            if block.landmark > Landmark::None && fair && (block.landmark, counted) > (best.0, best.1) {
                best = (block.landmark, counted, i);
            }
        }
        best.2
    }

    /// Sums what is in each block, but for those left out.
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

fn at(sums: &[u64], i: usize) -> u64 {
    sums.get(i).copied().unwrap_or(0)
}
