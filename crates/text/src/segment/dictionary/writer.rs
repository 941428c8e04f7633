//! Writes words and their weights as a trie in one array. This file is also part of the build script, which writes the
//! bundled dictionary.
//!
//! Characters get their codes by descending number of words that contain them, so frequent characters have neighbouring
//! codes. Nodes with many children are placed first, so that their children fit between those of others. Nodes with one
//! child follow: the child is placed near its parent, so that a search along a long word touches few cache lines.

use std::collections::BTreeMap;
use std::ops::Range;

use super::node::{MAX_NODES, Node};

/// A description of the limit that a dictionary exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge(pub(super) &'static str);

/// A dictionary in the form that [`Dictionary`](super::Dictionary) reads.
pub(super) struct DictionaryParts {
    /// The character for each code. The first element has code 1.
    pub(super) characters: Vec<char>,
    /// The weight for each weight number, ascending. The first element has number 1.
    pub(super) weights: Vec<u64>,
    /// The nodes of the trie. The root is the first.
    pub(super) nodes: Vec<Node>,
}

/// Converts words with weights into a dictionary. If a word is repeated, its last weight counts; empty words are
/// ignored. O(n log n) in the characters of all words, plus the search for free elements, which is about linear.
pub(super) fn write(words: &[(&str, u64)]) -> Result<DictionaryParts, TooLarge> {
    let characters = by_frequency(words);
    let codes: BTreeMap<char, u16> = characters.iter().copied().zip(1..u16::MAX).collect();
    if codes.len() < characters.len() {
        return Err(TooLarge("it has more than 65,534 different characters"));
    }
    let mut weights: Vec<u64> = words.iter().map(|&(_, weight)| weight).collect();
    weights.sort_unstable();
    weights.dedup();
    if weights.len() > usize::from(u16::MAX) {
        return Err(TooLarge("it has more than 65,535 different weights"));
    }
    let coded = words.iter().map(|&(word, weight)| {
        let codes: Vec<u16> = word.chars().filter_map(|c| codes.get(&c).copied()).collect();
        // Every weight is in `weights`, so the partition point is its index.
        (codes, weights.partition_point(|&other| other < weight) as u16 + 1)
    });
    let mut coded: Vec<(Vec<u16>, u16)> = coded.filter(|(codes, _)| !codes.is_empty()).collect();
    coded.sort_by(|(a, _), (b, _)| a.cmp(b));
    coded.reverse();
    coded.dedup_by(|(later, _), (kept, _)| later == kept);
    coded.reverse();
    let nodes = Placement::array(&tree(&coded), characters.len())?;
    Ok(DictionaryParts {
        characters,
        weights,
        nodes,
    })
}

/// The characters of all words, ordered by the number of words that contain them, the largest first.
fn by_frequency(words: &[(&str, u64)]) -> Vec<char> {
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    for c in words.iter().flat_map(|(word, _)| word.chars()) {
        *counts.entry(c).or_default() += 1;
    }
    let mut characters: Vec<char> = counts.keys().copied().collect();
    characters.sort_by_key(|c| std::cmp::Reverse(counts.get(c).copied()));
    characters
}

/// A node that has no position in the array yet. Its children are contiguous in the list of all nodes.
#[derive(Clone, Default)]
struct UnplacedNode {
    code: u16,
    weight: u16,
    parent: usize,
    children: Range<usize>,
}

/// Builds the trie of sorted words as a list of nodes: the root, then level by level.
fn tree(words: &[(Vec<u16>, u16)]) -> Vec<UnplacedNode> {
    let mut branches = vec![UnplacedNode::default()];
    // For each node of the current level: its words, which share their first `depth` characters.
    let mut level = vec![(0, words)];
    let mut depth = 0;
    while !level.is_empty() {
        let mut next = Vec::new();
        for (parent, below) in level {
            let first = branches.len();
            let code = |word: &(Vec<u16>, u16)| word.0.get(depth).copied();
            for group in below.chunk_by(|a, b| code(a) == code(b)) {
                let Some((code, (word, weight))) = group.first().and_then(|word| Some((code(word)?, word)))
                else {
                    continue;
                };
                let ends = word.len() == depth + 1;
                next.push((branches.len(), group));
                branches.push(UnplacedNode {
                    code,
                    weight: if ends { *weight } else { 0 },
                    parent,
                    children: 0..0,
                });
            }
            branches[parent].children = first..branches.len();
        }
        level = next;
        depth += 1;
    }
    branches
}

/// Finds free elements of the array for nodes.
struct Placement {
    /// The elements of the array that are in use.
    taken: BitSet,
    /// The bases that are in use: no two nodes may have the same base.
    bases: BitSet,
}

impl Placement {
    /// Places the nodes of a trie in an array. `codes` is the largest code.
    fn array(branches: &[UnplacedNode], codes: usize) -> Result<Vec<Node>, TooLarge> {
        let mut placement = Self {
            taken: BitSet::default(),
            bases: BitSet::default(),
        };
        let children = |branch: &UnplacedNode| &branches[branch.children.clone()];
        let mut bases = vec![0; branches.len()];
        let mut indices = vec![0; branches.len()];
        // The base of the root is 0, so the index of each of its children is the child's code.
        placement.take(0, children(&branches[0]));
        placement.taken.set(0);
        let mut many: Vec<usize> = (1..branches.len())
            .filter(|&i| children(&branches[i]).len() > 1)
            .collect();
        many.sort_by_key(|&i| std::cmp::Reverse(children(&branches[i]).len()));
        let mut from = 0;
        for pair in many.chunk_by(|&a, &b| children(&branches[a]).len() == children(&branches[b]).len()) {
            // All nodes of this loop have the same number of children. A position that had no room for the children of
            // one is not tried again for the next.
            from = placement.taken.first_free(from);
            let mut from = from;
            for &i in pair {
                let base = placement.fit(from, children(&branches[i]));
                from = base & !63;
                placement.take(base, children(&branches[i]));
                bases[i] = base;
            }
        }
        let mut from = 0;
        for (i, branch) in branches.iter().enumerate().skip(1) {
            indices[i] = bases[branch.parent] + usize::from(branch.code);
            if let [only] = children(branch) {
                // The child is placed in the first free element from the parent's cache line on, if one is near;
                // otherwise in the first free element of the whole array.
                let near = (indices[i] & !7).saturating_sub(only.code.into());
                bases[i] = placement.fit_near(near, children(branch)).unwrap_or_else(|| {
                    from = placement.taken.first_free(from);
                    placement.fit(from.saturating_sub(only.code.into()), children(branch))
                });
                placement.take(bases[i], children(branch));
            }
        }
        let max_index = bases.iter().max().copied().unwrap_or_default() + codes;
        if max_index >= MAX_NODES {
            return Err(TooLarge("it has too many words"));
        }
        let mut nodes = vec![Node::default(); max_index + 1];
        for (i, branch) in branches.iter().enumerate() {
            let below = children(branch).iter();
            let filter = below.fold(0, |bits, child| bits | Node::filter_bit(child.code));
            nodes[indices[i]] = Node::new(bases[i] as u32, branch.code, branch.weight, filter);
        }
        Ok(nodes)
    }

    /// The first base, at or after `from`, for which the elements of all children are free.
    fn fit(&self, from: usize, children: &[UnplacedNode]) -> usize {
        let mut base = from;
        loop {
            if let Some(base) = self.fit_near(base, children) {
                return base;
            }
            base += 64;
        }
    }

    /// The first of the 64 bases at and after `from` for which the elements of all children are free; `None` if there
    /// is no such base.
    fn fit_near(&self, from: usize, children: &[UnplacedNode]) -> Option<usize> {
        let mut free = !self.bases.word(from);
        for child in children {
            free &= !self.taken.word(from + usize::from(child.code));
            if free == 0 {
                return None;
            }
        }
        Some(from + free.trailing_zeros() as usize)
    }

    fn take(&mut self, base: usize, children: &[UnplacedNode]) {
        self.bases.set(base);
        for child in children {
            self.taken.set(base + usize::from(child.code));
        }
    }
}

/// A set of bits that grows as needed.
#[derive(Default)]
struct BitSet(Vec<u64>);

impl BitSet {
    fn set(&mut self, bit: usize) {
        if self.0.len() <= bit / 64 {
            self.0.resize(bit / 64 + 1, 0);
        }
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// The 64 bits from bit `start` on.
    fn word(&self, start: usize) -> u64 {
        let word = |i: usize| self.0.get(i).copied().unwrap_or_default();
        let low = word(start / 64) >> (start % 64);
        // `<< 1 << (63 - n)` is a shift by 64 - n that does not overflow for n = 0.
        low | word(start / 64 + 1) << 1 << (63 - start % 64)
    }

    /// A multiple of 64 from which a search finds the first free bit of the 64-bit word of `from`, or of a later word.
    fn first_free(&self, from: usize) -> usize {
        let mut from = from & !63;
        while self.word(from) == u64::MAX {
            from += 64;
        }
        from
    }
}
