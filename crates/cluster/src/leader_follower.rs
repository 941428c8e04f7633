//! Leader–follower grouping.
//!
//! Items in turn: each joins the leader of highest Jaccard among its verified duplicates (ties: smaller distance, then earlier
//! in keep order), or else it leads. An item's decision depends only on the decisions of its candidates that come
//! before it in keep order; any numbering in which these have smaller numbers gives the same groups, so callers number items such
//! that neighbours are close to one another and what is loaded is used at once.
//!
//! Items are taken in blocks. The pairs of a block with everything placed before it are verified in parallel. Inside a block, items
//! are decided level by level: an item's level is above those of all its links, so that it is known which of them lead, and
//! the items of one level are decided in parallel. The result is that of the plain sequential loop on any number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

mod gather;
mod search;

use gather::Gather;
use search::{Search, nearest_first};

/// An earlier item that may be a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The earlier item.
    pub id: u32,
    /// Its place in keep order, which settles ties.
    pub rank: u32,
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

/// Whether an item may have candidates that are not known beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Open {
    /// Its links are all.
    #[default]
    No,
    /// Any core item may be one.
    Fringe,
    /// Any fringe or core item may be one.
    Core,
}

/// Who may be a duplicate of whom.
pub trait Neighbors {
    /// Whether the item can have any candidate at all, earlier or later. Items that cannot are never loaded.
    fn connected(&self, item: u32) -> bool;
    /// Whether the item may have candidates beyond its links.
    fn open(&self, item: u32) -> Open;
    /// Appends the item's links: the smaller-numbered items from `since` on that are its candidates for certain.
    fn links(&self, item: u32, since: u32, out: &mut Vec<u32>);
    /// Appends the candidates of `item` in a range of items, all of them placed, that `wanted` lets pass. For an open item they
    /// include those of its candidates that are no links.
    fn candidates(
        &self,
        item: u32,
        range: Range<u32>,
        wanted: &dyn Fn(u32) -> bool,
        out: &mut Vec<Candidate>,
    );
    /// Tells that an open item has been placed, as leader or follower.
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
    /// The similarity of two items, or `None` when they are not duplicates or their Jaccard is below `at_least`.
    fn verify(&self, item: u32, candidate: Candidate, at_least: f64) -> Option<Similarity>;
}

/// Which candidate pairs are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Only pairs with a leader, and of these only what may be the best of its item: all that grouping needs.
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

impl Group {
    /// The group of an item that leads.
    fn leader(item: u32) -> Self {
        let similarity = Similarity {
            jaccard: 1.0,
            containment: 1.0,
        };
        Self {
            leader: item,
            distance: 0,
            similarity,
        }
    }
}

/// The groups and what it took to form them.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One entry an item, in keep order.
    pub groups: Vec<Group>,
    /// Pairs given to [`Verify::verify`].
    pub verified: u64,
    /// Of these, pairs found to be duplicates; with [`Pairs::Leaders`] each was the best of its item when it was found.
    pub duplicates: u64,
}

/// Items in a block at most.
const BLOCK_ITEMS: usize = 8192;
/// Intra-block candidates from which on one item's verification is spread over the threads.
const PARALLEL_FROM: usize = 64;
/// The nearest of these, which are verified one after another, so that the best of them spares work with the rest.
const NEAREST: usize = 8;

/// Groups items `0..n`.
///
/// `memory` bounds the bytes loaded at a time (a single item may exceed it alone). `on_pair(item, candidate, similarity)` is
/// called in [`Pairs::All`] mode for every verified pair, ordered by item, then candidate. `on_progress(items)` is called after
/// each block and stops the work by returning `false`; the outcome then covers the items placed so far.
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
    let mut start = 0;
    while start < n {
        let mut end = block_end(space, start, n, pairs, memory / 2, &mut items);
        space.begin_block(&items);
        let mut block = Block {
            range: start..end,
            pairs,
            placed: &outcome.groups,
            leads: flags(end - start),
        };
        let before = block.verify_against_placed(space, &items, memory / 2);
        if let Some(cut) = before.cut {
            end = cut;
            block.range.end = cut;
            items.truncate(items.partition_point(|&item| item < cut));
        }
        let decided = block.decide(space, &items, &before.duplicates);
        outcome.verified += before.verified;
        for item in start..end {
            outcome.groups.push(Group::leader(item));
        }
        for item in decided {
            outcome.verified += item.verified;
            outcome.duplicates += item.found.len() as u64;
            outcome.groups[item.item as usize] = item.group;
            if pairs == Pairs::All {
                for (candidate, similarity) in &item.found {
                    on_pair(item.item, *candidate, *similarity);
                }
            }
        }
        start = end;
        if !on_progress(start) {
            break;
        }
    }
    outcome
}

fn flags(n: u32) -> Vec<AtomicBool> {
    (0..n).map(|_| AtomicBool::new(false)).collect()
}

/// Collects the connected items of the block that starts at `start`; returns where it ends.
///
/// If all pairs are kept until the block is decided, they count as well: an item's links, and the open items of the block before an open one.
fn block_end<S: Neighbors + Verify>(
    space: &S,
    start: u32,
    n: u32,
    pairs: Pairs,
    memory: usize,
    items: &mut Vec<u32>,
) -> u32 {
    items.clear();
    let mut cost = 0;
    let mut end = start;
    let mut open = 0;
    let mut links = Vec::new();
    while end < n && (end == start || items.len() < BLOCK_ITEMS && cost < memory) {
        if space.connected(end) {
            cost += space.cost(end);
            if pairs == Pairs::All {
                links.clear();
                space.links(end, 0, &mut links);
                let of_open = if space.open(end) == Open::No { 0 } else { open };
                open += usize::from(space.open(end) != Open::No);
                cost += (links.len() + of_open) * size_of::<Duplicate>();
            }
            items.push(end);
        }
        end += 1;
    }
    end
}

/// The items at hand.
struct Block<'b> {
    range: Range<u32>,
    pairs: Pairs,
    /// The items before the block.
    placed: &'b [Group],
    /// Which items of the block lead, as far as they are decided. Written between levels.
    leads: Vec<AtomicBool>,
}

/// An item, and what it duplicates.
type Duplicate = (u32, Candidate, Similarity);

struct BlockPairs {
    verified: u64,
    /// Sorted by item.
    duplicates: Vec<Duplicate>,
    /// The item before which the block has to end, since no more duplicates can be held.
    cut: Option<u32>,
}

/// An item that was decided.
struct Decided {
    item: u32,
    group: Group,
    /// Its verified duplicates, by candidate.
    found: Vec<(Candidate, Similarity)>,
    /// Pairs verified inside the block.
    verified: u64,
}

/// The pairs of whole items among the first `fits`, or all of these where they are of one item.
fn whole_items(pairs: &[(u32, Candidate)], fits: usize) -> usize {
    let next = pairs.get(fits).map(|pair| pair.0);
    match pairs.partition_point(|&(item, _)| Some(item) < next) {
        0 => fits,
        whole => whole,
    }
}

impl Block<'_> {
    fn leads(&self, item: u32) -> bool {
        match item.checked_sub(self.range.start) {
            Some(inside) => self.leads[inside as usize].load(Ordering::Relaxed),
            None => self.placed[item as usize].leader == item,
        }
    }

    fn wanted(&self, item: u32) -> bool {
        self.pairs == Pairs::All || self.leads(item)
    }

    /// Verifies the block's items against everything placed before the block, in slices that fit the memory.
    fn verify_against_placed<S: Neighbors + Verify + Sync>(
        &self,
        space: &mut S,
        items: &[u32],
        memory: usize,
    ) -> BlockPairs {
        let mut gather = Gather::new(items, memory);
        let mut pairs: Vec<(u32, Candidate)> = Vec::new();
        let (mut verified, mut duplicates) = (0, Vec::<Duplicate>::new());
        let mut cut = None;
        loop {
            let mut cost = 0;
            let over = pairs.iter().position(|(_, candidate)| {
                cost += space.cost(candidate.id);
                cost > memory
            });
            if over.is_none() && !gather.is_done() {
                gather.more(self, space, &mut pairs);
                continue;
            }
            if pairs.is_empty() {
                break;
            }
            let fits = match over {
                Some(over) if self.pairs == Pairs::All => whole_items(&pairs, over),
                over => over.unwrap_or(pairs.len()),
            };
            let rest = pairs.split_off(fits.max(1));
            verified += pairs.len() as u64;
            space.load(&pairs);
            let shared: &S = space;
            let items = pairs.par_chunk_by(|a, b| a.0 == b.0);
            duplicates.par_extend(items.flat_map_iter(|pairs| {
                let mut search = Search::new(shared, pairs[0].0, self.pairs);
                for &(_, candidate) in pairs {
                    search.check(candidate);
                }
                let item = search.item;
                search
                    .found
                    .into_iter()
                    .map(move |(candidate, similarity)| (item, candidate, similarity))
            }));
            let is_full = duplicates.len() * size_of::<Duplicate>() > memory;
            let next = rest.first().map(|pair| pair.0).or(gather.next_item());
            if self.pairs == Pairs::All && is_full && next != pairs.last().map(|pair| pair.0) {
                cut = next;
                break;
            }
            pairs = rest;
        }
        BlockPairs {
            verified,
            duplicates,
            cut,
        }
    }

    /// Decides the block's connected items; sorted by item.
    fn decide<S: Neighbors + Verify + Sync>(
        &self,
        space: &mut S,
        items: &[u32],
        before: &[Duplicate],
    ) -> Vec<Decided> {
        let mut decided: Vec<Decided> = Vec::with_capacity(items.len());
        for level in self.levels(space, items) {
            let shared: &S = space;
            let first = decided.len();
            match level.as_slice() {
                [item] => decided.push(self.decide_one(shared, *item, before)),
                level => {
                    decided.par_extend(
                        level
                            .par_iter()
                            .map(|&item| self.decide_one(shared, item, before)),
                    );
                }
            }
            for one in &decided[first..] {
                self.leads[(one.item - self.range.start) as usize]
                    .store(one.group.leader == one.item, Ordering::Relaxed);
                if space.open(one.item) != Open::No {
                    space.place(one.item, one.group.leader == one.item);
                }
            }
        }
        decided.par_sort_unstable_by_key(|one| one.item);
        decided
    }

    /// The items by level, from the lowest; in a level each is above all its links inside the block, and above all
    /// earlier open items that may be its candidates.
    fn levels<S: Neighbors>(&self, space: &S, items: &[u32]) -> Vec<Vec<u32>> {
        let mut above = vec![0usize; self.range.len()];
        let (mut above_open, mut above_core) = (0, 0);
        let mut links = Vec::new();
        let mut levels: Vec<Vec<u32>> = Vec::new();
        for &item in items {
            links.clear();
            space.links(item, self.range.start, &mut links);
            let linked = links
                .iter()
                .map(|link| above[(link - self.range.start) as usize])
                .max();
            let linked = linked.unwrap_or(0);
            let level = match space.open(item) {
                Open::No => linked,
                Open::Fringe => linked.max(above_core),
                Open::Core => linked.max(above_open),
            };
            match space.open(item) {
                Open::No => {}
                Open::Fringe => above_open = above_open.max(level + 1),
                Open::Core => (above_open, above_core) = (level + 1, level + 1),
            }
            above[(item - self.range.start) as usize] = level + 1;
            if levels.len() <= level {
                levels.resize_with(level + 1, Vec::new);
            }
            levels[level].push(item);
        }
        levels
    }

    fn decide_one<S: Neighbors + Verify + Sync>(
        &self,
        space: &S,
        item: u32,
        before: &[Duplicate],
    ) -> Decided {
        let mut candidates = Vec::new();
        space.candidates(
            item,
            self.range.start..item,
            &|id| self.wanted(id),
            &mut candidates,
        );
        nearest_first(&mut candidates);
        let first = before.partition_point(|pair| pair.0 < item);
        let own = before[first..].iter().take_while(|pair| pair.0 == item);
        let mut search = Search::new(space, item, self.pairs);
        for &(_, candidate, similarity) in own {
            search.add(candidate, similarity);
        }
        if candidates.len() >= PARALLEL_FROM {
            let (nearest, rest) = candidates.split_at(NEAREST);
            for &candidate in nearest {
                search.check(candidate);
            }
            let at_least = search.at_least;
            let found = rest.par_iter().filter_map(|&candidate| {
                space
                    .verify(item, candidate, at_least)
                    .map(|similarity| (candidate, similarity))
            });
            search.found.par_extend(found);
        } else {
            for &candidate in &candidates {
                search.check(candidate);
            }
        }
        let mut found = search.found;
        found.sort_unstable_by_key(|(candidate, _)| candidate.id);
        let group = self.nearest_leader(&found).unwrap_or(Group::leader(item));
        Decided {
            item,
            group,
            found,
            verified: candidates.len() as u64,
        }
    }

    /// The leader of highest Jaccard among an item's verified duplicates; ties: smaller distance, then earlier.
    fn nearest_leader(&self, found: &[(Candidate, Similarity)]) -> Option<Group> {
        found
            .iter()
            .filter(|(candidate, _)| self.leads(candidate.id))
            .min_by(|(a, x), (b, y)| {
                y.jaccard
                    .total_cmp(&x.jaccard)
                    .then(a.distance.cmp(&b.distance))
                    .then(a.rank.cmp(&b.rank))
            })
            .map(|(candidate, similarity)| Group {
                leader: candidate.id,
                distance: candidate.distance,
                similarity: *similarity,
            })
    }
}

#[cfg(test)]
mod tests;
