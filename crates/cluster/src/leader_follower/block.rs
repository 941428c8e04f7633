//! A block of items: first its items are verified against all items before it, then they are decided level by level.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::Group;
use super::gather::PairGatherer;
use super::neighbors::{Candidate, JoinRole, Neighbors, Pairs, Similarity, Verify};
use super::search::{Search, nearest_first};

/// An item with at least this number of candidates inside the block has its verification spread over the threads.
const MIN_PARALLEL_CANDIDATES: usize = 64;
/// If the verification of an item is spread over the threads, this number of its nearest candidates is verified first,
/// one after another. The similarity of the best of them lets the verification of the others stop early.
const SEQUENTIAL_CANDIDATES: usize = 8;

/// The maximum number of items that a task decides. Most levels are short, and their items differ in the number of their
/// candidates, so longer tasks would leave threads without work at the end of each level.
const MAX_ITEMS_PER_TASK: usize = 2;

/// The items that are placed together.
pub(super) struct Block<'b> {
    pub(super) range: Range<u32>,
    pub(super) pairs: Pairs,
    /// The groups of the items before the block.
    pub(super) placed: &'b [Group],
    /// For each item of the block: true if it leads; false also until it is decided. Written only between two levels,
    /// so threads never read a flag while it changes.
    pub(super) leads: Vec<AtomicBool>,
}

/// An item, and an earlier item that it is a duplicate of, with their similarity.
pub(super) type Duplicate = (u32, Candidate, Similarity);

/// The result of verifying the items of a block against the items before the block.
pub(super) struct BlockPairs {
    pub(super) verified: u64,
    /// The pairs that are duplicates, sorted by item.
    pub(super) duplicates: Vec<Duplicate>,
    /// If the memory is full of duplicates: the item before which the block must end.
    pub(super) cut: Option<u32>,
}

/// An item of the block whose group is decided, and its verified pairs.
pub(super) struct DecidedItem {
    pub(super) item: u32,
    pub(super) group: Group,
    /// The verified duplicates of the item, sorted by their number.
    pub(super) duplicates: Vec<(Candidate, Similarity)>,
    /// Number of pairs of this item that were verified inside the block.
    pub(super) verified: u64,
}

/// Reduces `fits`, a number of pairs, so that the pairs of no item are split. Returns `fits` itself if the first item
/// alone has more pairs.
fn whole_items(pairs: &[(u32, Candidate)], fits: usize) -> usize {
    let next = pairs.get(fits).map(|pair| pair.0);
    match pairs.partition_point(|&(item, _)| Some(item) < next) {
        0 => fits,
        whole => whole,
    }
}

impl Block<'_> {
    /// Returns `true` if the item leads. The item must be placed or decided.
    fn leads(&self, item: u32) -> bool {
        match item.checked_sub(self.range.start) {
            Some(inside) => self.leads[inside as usize].load(Ordering::Relaxed),
            None => self.placed[item as usize].leader == item,
        }
    }

    /// Returns `true` if pairs with the earlier item `item` must be verified: it leads, or all pairs are wanted.
    fn is_wanted(&self, item: u32) -> bool {
        self.pairs == Pairs::All || self.leads(item)
    }

    /// Verifies the items of the block against all items before the block, in batches that fit into `memory`.
    pub(super) fn verify_against_placed<S: Neighbors + Verify + Sync>(
        &self,
        space: &mut S,
        items: &[u32],
        memory: usize,
    ) -> BlockPairs {
        let mut gather = PairGatherer::new(items, memory);
        // The pairs from `start` on wait for verification.
        let (mut pairs, mut start) = (Vec::<(u32, Candidate)>::new(), 0);
        let (mut verified, mut duplicates) = (0, Vec::<Duplicate>::new());
        let mut cut = None;
        loop {
            let mut cost = 0;
            let waiting = &pairs[start..];
            let over = waiting.iter().position(|(_, candidate)| {
                cost += space.cost(candidate.id);
                cost > memory
            });
            if over.is_none() && !gather.is_done() {
                pairs.drain(..std::mem::take(&mut start));
                gather.more(space, self.range.start, &|id| self.is_wanted(id), &mut pairs);
                continue;
            }
            if waiting.is_empty() {
                break;
            }
            let fits = match over {
                Some(over) if self.pairs == Pairs::All => whole_items(waiting, over),
                over => over.unwrap_or(waiting.len()),
            };
            let (batch, rest) = waiting.split_at(fits.max(1));
            verified += batch.len() as u64;
            let shared: &S = space;
            let near: Vec<(u32, Candidate)> = batch
                .par_iter()
                .copied()
                .filter(|&(item, candidate)| !shared.is_apart(item, candidate.id))
                .collect();
            space.load(&near);
            let shared: &S = space;
            let items = near.par_chunk_by(|a, b| a.0 == b.0);
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
            if self.pairs == Pairs::All && is_full && next != batch.last().map(|pair| pair.0) {
                cut = next;
                break;
            }
            start += batch.len();
        }
        BlockPairs {
            verified,
            duplicates,
            cut,
        }
    }

    /// Decides the groups of the block's connected items. `before` are their duplicates among the items before the
    /// block. The result is sorted by item.
    pub(super) fn decide<S: Neighbors + Verify + Sync>(
        &self,
        space: &mut S,
        items: &[u32],
        before: &[Duplicate],
    ) -> Vec<DecidedItem> {
        let mut decided: Vec<DecidedItem> = Vec::with_capacity(items.len());
        for level in self.levels(space, items) {
            let shared: &S = space;
            let first = decided.len();
            match level.as_slice() {
                [item] => decided.push(self.decide_one(shared, *item, before)),
                level => {
                    let items = level.par_iter().with_max_len(MAX_ITEMS_PER_TASK);
                    decided.par_extend(items.map(|&item| self.decide_one(shared, item, before)));
                }
            }
            for one in &decided[first..] {
                self.leads[(one.item - self.range.start) as usize]
                    .store(one.group.leader == one.item, Ordering::Relaxed);
                space.place(one.item, one.group.leader == one.item);
            }
        }
        decided.par_sort_unstable_by_key(|one| one.item);
        decided
    }

    /// Sorts the items into levels, the lowest first. The level of an item is higher than the levels of all its links
    /// inside the block, and of all earlier open items that may be its candidates.
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
            let level = match space.join_role(item) {
                JoinRole::None => linked,
                JoinRole::Fringe => linked.max(above_core),
                JoinRole::Core => linked.max(above_open),
            };
            match space.join_role(item) {
                JoinRole::None => {}
                JoinRole::Fringe => above_open = above_open.max(level + 1),
                JoinRole::Core => (above_open, above_core) = (level + 1, level + 1),
            }
            above[(item - self.range.start) as usize] = level + 1;
            if levels.len() <= level {
                levels.resize_with(level + 1, Vec::new);
            }
            levels[level].push(item);
        }
        levels
    }

    /// Decides the group of one item: verifies its candidates inside the block and chooses its leader.
    fn decide_one<S: Neighbors + Verify + Sync>(
        &self,
        space: &S,
        item: u32,
        before: &[Duplicate],
    ) -> DecidedItem {
        let mut candidates = Vec::new();
        space.candidates(
            item,
            self.range.start..item,
            &|id| self.is_wanted(id),
            &mut candidates,
        );
        nearest_first(&mut candidates);
        let first = before.partition_point(|pair| pair.0 < item);
        let own = before[first..].iter().take_while(|pair| pair.0 == item);
        let mut search = Search::new(space, item, self.pairs);
        for &(_, candidate, similarity) in own {
            search.add(candidate, similarity);
        }
        if candidates.len() >= MIN_PARALLEL_CANDIDATES {
            let (nearest, rest) = candidates.split_at(SEQUENTIAL_CANDIDATES);
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
        DecidedItem {
            item,
            group,
            duplicates: found,
            verified: candidates.len() as u64,
        }
    }

    /// The leader with the highest Jaccard among the verified duplicates `found` of an item. Ties: the smaller
    /// distance, then the earlier in keep order. `None` if no duplicate leads.
    fn nearest_leader(&self, found: &[(Candidate, Similarity)]) -> Option<Group> {
        found
            .iter()
            .filter(|(candidate, _)| self.leads(candidate.id))
            .map(|(candidate, similarity)| {
                let group = Group::follower(candidate.id, candidate.distance, *similarity);
                (group, candidate.rank)
            })
            .min_by(|(a, a_rank), (b, b_rank)| a.cmp_nearest(b).then(a_rank.cmp(b_rank)))
            .map(|(group, _)| group)
    }
}
