//! Writes words and their weights as a trie in one array. The build script shares this file, for the bundled dictionary.
//!
//! Codes of characters are in the order of the number of words that have them, so common characters are neighbours. Nodes with many
//! children are placed first, where their children fit between others. Nodes with one child follow; the child is placed near its
//! parent, so that walking down a long word touches few cache lines.

use std::collections::BTreeMap;
use std::ops::Range;

use super::node::{MAX_NODES, Node};

/// A description of the limit that a dictionary exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge(pub(super) &'static str);

/// A dictionary as the reader needs it.
pub(super) struct DictionaryParts {
    /// The character of each code, from code 1.
    pub(super) characters: Vec<char>,
    /// The weight of each weight number, from number 1, ascending.
    pub(super) weights: Vec<u64>,
    /// The trie; the root is the first node.
    pub(super) nodes: Vec<Node>,
}

/// Writes a dictionary. For repeated words the last weight counts; empty words are ignored. O(n log n) in the characters of all words,
/// plus the search for free places, which is about linear.
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

/// All characters, the most frequent first.
fn by_frequency(words: &[(&str, u64)]) -> Vec<char> {
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    for c in words.iter().flat_map(|(word, _)| word.chars()) {
        *counts.entry(c).or_default() += 1;
    }
    let mut characters: Vec<char> = counts.keys().copied().collect();
    characters.sort_by_key(|c| std::cmp::Reverse(counts.get(c).copied()));
    characters
}

/// A node that is not placed yet. Its children are contiguous in the list of all nodes.
#[derive(Clone, Default)]
struct UnplacedNode {
    code: u16,
    weight: u16,
    parent: usize,
    children: Range<usize>,
}

/// The trie of sorted words, the root first, level by level.
fn tree(words: &[(Vec<u16>, u16)]) -> Vec<UnplacedNode> {
    let mut branches = vec![UnplacedNode::default()];
    // The words below each node of one level. They share their first `depth` characters.
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

/// The search for free elements of the array.
struct Placement {
    /// Elements that hold a node.
    taken: BitSet,
    /// Bases that a node has.
    bases: BitSet,
}

impl Placement {
    /// The array of a tree whose codes are at most `codes`.
    fn array(branches: &[UnplacedNode], codes: usize) -> Result<Vec<Node>, TooLarge> {
        let mut placement = Self {
            taken: BitSet::default(),
            bases: BitSet::default(),
        };
        let children = |branch: &UnplacedNode| &branches[branch.children.clone()];
        let mut bases = vec![0; branches.len()];
        let mut indices = vec![0; branches.len()];
        // The base of the root is 0: its children are at their codes.
        placement.take(0, children(&branches[0]));
        placement.taken.set(0);
        let mut many: Vec<usize> = (1..branches.len())
            .filter(|&i| children(&branches[i]).len() > 1)
            .collect();
        many.sort_by_key(|&i| std::cmp::Reverse(children(&branches[i]).len()));
        let mut from = 0;
        for pair in many.chunk_by(|&a, &b| children(&branches[a]).len() == children(&branches[b]).len()) {
            // Positions that had no room for this number of children are not searched again.
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
                // The first free element near the parent, from its cache line on; if there is none, the first free
                // element anywhere.
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

    /// The first base from `from` on for which the elements of all children are free.
    fn fit(&self, from: usize, children: &[UnplacedNode]) -> usize {
        let mut base = from;
        loop {
            if let Some(base) = self.fit_near(base, children) {
                return base;
            }
            base += 64;
        }
    }

    /// The first of 64 bases from `from` on for which the elements of all children are free.
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

/// A growing set of bits.
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
        // The shift is in two steps, because a shift by 64 overflows.
        low | word(start / 64 + 1) << 1 << (63 - start % 64)
    }

    /// A multiple of 64 at or below the first free bit from `from` on.
    fn first_free(&self, from: usize) -> usize {
        let mut from = from & !63;
        while self.word(from) == u64::MAX {
            from += 64;
        }
        from
    }
}
