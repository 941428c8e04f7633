//! Leader–follower grouping in keep order.
//!
//! Items are numbered in keep order: item 0 is the first that deserves to be kept. Each item in turn joins the leader of
//! highest Jaccard among its verified duplicates (ties: smaller distance, then earlier), or else it leads. The result
//! is that of the plain sequential loop on any number of threads: work is done in parallel, decisions are taken in order.
//!
//! Items are taken in blocks. The pairs of a block with everything placed before it are verified in parallel; the pairs
//! inside a block are verified as its decisions fall, since only then is it known who leads.

use rayon::prelude::*;

/// An earlier item that may be a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The earlier item.
    pub id: u32,
    /// Hamming distance of the two fingerprints.
    pub distance: u32,
}

/// How similar two texts are; what a verified pair carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// Shingles in common over shingles in either, 0..=1.
    pub jaccard: f64,
    /// Shingles in common over shingles of the smaller text, 0..=1.
    pub containment: f64,
}

/// Who may be a duplicate of whom.
pub trait Neighbors {
    /// Whether the item can have any candidate at all, earlier or later. Items that cannot are never loaded.
    fn connected(&self, item: u32) -> bool;
    /// Appends the candidates of `item` among the items placed so far whose number is at least `since`.
    ///
    /// In [`Pairs::Leaders`] mode only leaders are wanted, and others may be left out.
    fn candidates(&self, item: u32, since: u32, out: &mut Vec<Candidate>);
    /// Tells that `item` has been placed, as leader or follower.
    fn place(&mut self, item: u32, leads: bool);
}

/// Whether two items are duplicates.
pub trait Verify {
    /// Bytes of memory that verifying this item takes while it is loaded.
    fn cost(&self, item: u32) -> usize;
    /// Loads what verifying the items of a block needs, and keeps it until the next call.
    fn begin_block(&mut self, items: &[u32]);
    /// Loads what verifying these pairs needs.
    fn load(&mut self, pairs: &[(u32, Candidate)]);
    /// The similarity of two items, or `None` when they are not duplicates.
    fn verify(&self, item: u32, candidate: Candidate) -> Option<Similarity>;
}

/// Which candidate pairs are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Only pairs with a leader: all that grouping needs.
    Leaders,
    /// Every candidate pair, so that every verified pair is reported.
    All,
}

/// Where an item ended up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// The leader; the item itself when it leads.
    pub leader: u32,
    /// Hamming distance to the leader.
    pub distance: u32,
    /// Similarity to the leader; 1 for the leader itself.
    pub similarity: Similarity,
}

/// The groups and what it took to form them.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One entry an item, in keep order.
    pub groups: Vec<Group>,
    /// Pairs given to [`Verify::verify`].
    pub verified: u64,
    /// Of these, pairs that are duplicates.
    pub duplicates: u64,
}

/// Items in a block at most.
const BLOCK_ITEMS: usize = 8192;
/// Intra-block candidates from which on one item's verification is spread over the threads.
const PARALLEL_FROM: usize = 64;

/// Groups items `0..n`.
///
/// `memory` bounds the bytes loaded at a time (a single item may exceed it alone). `on_pair(item, candidate, similarity)` is
/// called for every verified pair, ordered by item, then candidate. `on_progress(items)` is called after each block and stops the
/// work by returning `false`; the outcome then covers the items placed so far.
pub fn leader_follower<S: Neighbors + Verify + Sync>(
    n: u32,
    space: &mut S,
    pairs: Pairs,
    memory: usize,
    mut on_pair: impl FnMut(u32, Candidate, Similarity),
    mut on_progress: impl FnMut(u32) -> bool,
) -> Outcome {
    let mut outcome = Outcome {
        groups: Vec::with_capacity(n as usize),
        ..Outcome::default()
    };
    let mut items = Vec::new();
    let mut found = Vec::new();
    let mut start = 0;
    while start < n {
        let end = block_end(space, start, n, memory / 2, &mut items);
        space.begin_block(&items);
        let before = verify_against_placed(space, &items, memory / 2);
        outcome.verified += before.verified;
        let mut before = before.duplicates.into_iter().peekable();
        for item in start..end {
            found.clear();
            while let Some(pair) = before.next_if(|pair| pair.0 == item) {
                found.push((pair.1, pair.2));
            }
            outcome.verified += verify_inside_block(space, item, start, &mut found);
            outcome.duplicates += found.len() as u64;
            found.sort_unstable_by_key(|(candidate, _)| candidate.id);
            if pairs == Pairs::All {
                for (candidate, similarity) in &found {
                    on_pair(item, *candidate, *similarity);
                }
            }
            let group = nearest_leader(&found, &outcome.groups).unwrap_or(Group {
                leader: item,
                distance: 0,
                similarity: Similarity {
                    jaccard: 1.0,
                    containment: 1.0,
                },
            });
            space.place(item, group.leader == item);
            outcome.groups.push(group);
        }
        start = end;
        if !on_progress(start) {
            break;
        }
    }
    outcome
}

/// Collects the connected items of the block that starts at `start`; returns where it ends.
fn block_end<S: Neighbors + Verify>(
    space: &S,
    start: u32,
    n: u32,
    memory: usize,
    items: &mut Vec<u32>,
) -> u32 {
    items.clear();
    let mut cost = 0;
    let mut end = start;
    while end < n && (end == start || items.len() < BLOCK_ITEMS && cost < memory) {
        if space.connected(end) {
            cost += space.cost(end);
            items.push(end);
        }
        end += 1;
    }
    end
}

struct BlockPairs {
    verified: u64,
    /// Sorted by item, candidate.
    duplicates: Vec<(u32, Candidate, Similarity)>,
}

/// Verifies the block's items against everything placed before the block, in slices that fit the memory.
fn verify_against_placed<S: Neighbors + Verify + Sync>(
    space: &mut S,
    items: &[u32],
    memory: usize,
) -> BlockPairs {
    let shared: &S = space;
    let mut pairs: Vec<(u32, Candidate)> = items
        .par_iter()
        .with_min_len(64)
        .map_init(Vec::new, |out, &item| {
            out.clear();
            shared.candidates(item, 0, out);
            out.sort_unstable_by_key(|candidate| candidate.id);
            out.iter().map(|&candidate| (item, candidate)).collect::<Vec<_>>()
        })
        .flatten_iter()
        .collect();
    let verified = pairs.len() as u64;
    let mut duplicates = Vec::new();
    while !pairs.is_empty() {
        let mut cost = 0;
        let fits = pairs
            .iter()
            .position(|(_, candidate)| {
                cost += space.cost(candidate.id);
                cost > memory
            })
            .map_or(pairs.len(), |over| over.max(1));
        let rest = pairs.split_off(fits);
        space.load(&pairs);
        let shared: &S = space;
        duplicates.par_extend(pairs.par_iter().filter_map(|&(item, candidate)| {
            shared
                .verify(item, candidate)
                .map(|similarity| (item, candidate, similarity))
        }));
        pairs = rest;
    }
    BlockPairs { verified, duplicates }
}

/// Verifies one item against the items of its own block that are placed already.
fn verify_inside_block<S: Neighbors + Verify + Sync>(
    space: &S,
    item: u32,
    since: u32,
    found: &mut Vec<(Candidate, Similarity)>,
) -> u64 {
    if !space.connected(item) {
        return 0;
    }
    let mut candidates = Vec::new();
    space.candidates(item, since, &mut candidates);
    let check = |&candidate: &Candidate| {
        space
            .verify(item, candidate)
            .map(|similarity| (candidate, similarity))
    };
    if candidates.len() >= PARALLEL_FROM {
        found.par_extend(candidates.par_iter().filter_map(check));
    } else {
        found.extend(candidates.iter().filter_map(check));
    }
    candidates.len() as u64
}

/// The leader of highest Jaccard among an item's verified duplicates; ties: smaller distance, then earlier.
fn nearest_leader(found: &[(Candidate, Similarity)], groups: &[Group]) -> Option<Group> {
    found
        .iter()
        .filter(|(candidate, _)| groups[candidate.id as usize].leader == candidate.id)
        .min_by(|(a, x), (b, y)| {
            y.jaccard
                .total_cmp(&x.jaccard)
                .then(a.distance.cmp(&b.distance))
                .then(a.id.cmp(&b.id))
        })
        .map(|(candidate, similarity)| Group {
            leader: candidate.id,
            distance: candidate.distance,
            similarity: *similarity,
        })
}

#[cfg(test)]
mod tests;
