//! From words and their weights to a trie in one array. Shared with the build script, which does so for the shipped dictionary.
//!
//! Codes are given to characters by how many words have them, so that common ones are neighbours. Nodes with many children are placed
//! first, where their children fit between others'; then those with one child, which gets a place near its parent, so that walking
//! down a long word stays within few cache lines.

use std::collections::BTreeMap;

use super::node::{MOST_NODES, Node};

/// Why a dictionary does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge(pub(super) &'static str);

/// What a reader needs.
pub(super) struct Written {
    /// The character of each code, from code 1.
    pub(super) characters: Vec<char>,
    /// The weight of each number, from number 1, ascending.
    pub(super) weights: Vec<u64>,
    /// The trie; the root is the first.
    pub(super) nodes: Vec<Node>,
}

/// Writes a dictionary; of equal words the last counts. An empty word is ignored. O(n log n) in the characters of all words, and
/// about linear in the places looked at.
pub(super) fn write(words: &[(&str, u64)]) -> Result<Written, TooLarge> {
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
        // Found, since it is one of them.
        (codes, weights.partition_point(|&other| other < weight) as u16 + 1)
    });
    let mut coded: Vec<(Vec<u16>, u16)> = coded.filter(|(codes, _)| !codes.is_empty()).collect();
    coded.sort_by(|(a, _), (b, _)| a.cmp(b));
    coded.reverse();
    coded.dedup_by(|(later, _), (kept, _)| later == kept);
    coded.reverse();
    let nodes = Places::of(&tree(&coded), characters.len())?;
    Ok(Written {
        characters,
        weights,
        nodes,
    })
}

/// All characters, those of most words first.
fn by_frequency(words: &[(&str, u64)]) -> Vec<char> {
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    for c in words.iter().flat_map(|(word, _)| word.chars()) {
        *counts.entry(c).or_default() += 1;
    }
    let mut characters: Vec<char> = counts.keys().copied().collect();
    characters.sort_by_key(|c| std::cmp::Reverse(counts.get(c).copied()));
    characters
}

/// A node before it has a place; its children stand in one stretch of the list of all nodes.
#[derive(Clone, Copy, Default)]
struct Branch {
    code: u16,
    weight: u16,
    parent: usize,
    children: (usize, usize),
}

/// The trie of sorted words, the root first, level by level.
fn tree(words: &[(Vec<u16>, u16)]) -> Vec<Branch> {
    let mut branches = vec![Branch::default()];
    // The words below each node of a level; what they share is as long as the level is deep.
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
                branches.push(Branch {
                    code,
                    weight: if ends { *weight } else { 0 },
                    parent,
                    children: (0, 0),
                });
            }
            branches[parent].children = (first, branches.len());
        }
        level = next;
        depth += 1;
    }
    branches
}

/// Which places are taken and which bases given, a bit each.
struct Places {
    taken: Bits,
    bases: Bits,
}

impl Places {
    /// The array of a tree whose codes are at most `codes`.
    fn of(branches: &[Branch], codes: usize) -> Result<Vec<Node>, TooLarge> {
        let mut places = Self {
            taken: Bits::default(),
            bases: Bits::default(),
        };
        let children = |branch: &Branch| &branches[branch.children.0..branch.children.1];
        let mut bases = vec![0; branches.len()];
        let mut at = vec![0; branches.len()];
        // The root, whose children are found by their codes alone.
        places.take(0, children(&branches[0]));
        places.taken.set(0);
        let mut many: Vec<usize> = (1..branches.len())
            .filter(|&i| children(&branches[i]).len() > 1)
            .collect();
        many.sort_by_key(|&i| std::cmp::Reverse(children(&branches[i]).len()));
        let mut from = 0;
        for pair in many.chunk_by(|&a, &b| children(&branches[a]).len() == children(&branches[b]).len()) {
            // What has been passed over once for as many children is not looked at again.
            from = places.taken.first_free(from);
            let mut from = from;
            for &i in pair {
                let base = places.fit(from, children(&branches[i]));
                from = base & !63;
                places.take(base, children(&branches[i]));
                bases[i] = base;
            }
        }
        let mut from = 0;
        for (i, branch) in branches.iter().enumerate().skip(1) {
            at[i] = bases[branch.parent] + usize::from(branch.code);
            if let [only] = children(branch) {
                // From the parent's cache line on where there is room, else wherever there is.
                let near = (at[i] & !7).saturating_sub(only.code.into());
                bases[i] = places.fit_near(near, children(branch)).unwrap_or_else(|| {
                    from = places.taken.first_free(from);
                    places.fit(from.saturating_sub(only.code.into()), children(branch))
                });
                places.take(bases[i], children(branch));
            }
        }
        let most = bases.iter().max().copied().unwrap_or_default() + codes;
        if most >= MOST_NODES {
            return Err(TooLarge("it has too many words"));
        }
        let mut nodes = vec![Node::default(); most + 1];
        for (i, branch) in branches.iter().enumerate() {
            let below = children(branch).iter();
            let filter = below.fold(0, |bits, child| bits | Node::child(child.code));
            nodes[at[i]] = Node::new(bases[i] as u32, branch.code, branch.weight, filter);
        }
        Ok(nodes)
    }

    /// The first base from `from` on at which all children find free places.
    fn fit(&self, from: usize, children: &[Branch]) -> usize {
        let mut base = from;
        loop {
            if let Some(base) = self.fit_near(base, children) {
                return base;
            }
            base += 64;
        }
    }

    /// The first of 64 bases from `from` on at which all children find free places.
    fn fit_near(&self, from: usize, children: &[Branch]) -> Option<usize> {
        let mut free = !self.bases.word(from);
        for child in children {
            free &= !self.taken.word(from + usize::from(child.code));
            if free == 0 {
                return None;
            }
        }
        Some(from + free.trailing_zeros() as usize)
    }

    fn take(&mut self, base: usize, children: &[Branch]) {
        self.bases.set(base);
        for child in children {
            self.taken.set(base + usize::from(child.code));
        }
    }
}

/// Bits without an end, the later ones zero.
#[derive(Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, at: usize) {
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
    }

    /// The 64 bits from `at` on.
    fn word(&self, at: usize) -> u64 {
        let word = |i: usize| self.0.get(i).copied().unwrap_or_default();
        let low = word(at / 64) >> (at % 64);
        // Shifted in two steps, since none may be by 64.
        low | word(at / 64 + 1) << 1 << (63 - at % 64)
    }

    /// A multiple of 64 before which, from `from` on, no bit is free.
    fn first_free(&self, from: usize) -> usize {
        let mut from = from & !63;
        while self.word(from) == u64::MAX {
            from += 64;
        }
        from
    }
}
