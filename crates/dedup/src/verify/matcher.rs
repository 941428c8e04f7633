//! Supplies the grouping with candidates and verifies them on the texts: implements [`Neighbors`] and [`Verify`] of the
//! cluster crate.
//!
//! The cluster crate uses plain numbers for items; this module converts between these and [`ItemId`].

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use twinprint_cluster::{Candidate, JoinRole, Neighbors, Pairs, Similarity, Verify};
use twinprint_text::Measure;

use crate::candidates::set_join::{Member, MemoryCheck, ProbeScope, SetJoin};
use crate::candidates::{Candidates, in_set_join};
use crate::corpus::Classes;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::shingle_sets::{SetCache, SetKey};
use crate::error::DedupError;
use crate::ids::{Id, IdVec, ItemId};
use crate::recall::SampledRun;
use crate::verify::item_edges::ItemEdges;
use crate::verify::near_misses::{NearMiss, NearMisses, NotedMisses};
use crate::verify::undecided::UndecidedNeighbors;

/// The number of items of a block whose keys one task gathers.
const ITEMS_PER_TASK: usize = 64;

/// The criteria by which candidates match and are duplicates.
#[derive(Clone, Copy)]
pub(crate) struct MatchCriteria {
    /// The width of the fingerprints that distances are measured in.
    pub(crate) bits: u32,
    /// The least Jaccard of a duplicate.
    pub(crate) threshold: f64,
    /// The candidate pairs that are verified: all, or only those with a leader.
    pub(crate) pairs: Pairs,
}

/// The candidates of a run and their verification, for the grouping.
pub(crate) struct Matcher<'c> {
    classes: &'c Classes,
    keep: &'c KeepOrder,
    edges: ItemEdges<'c>,
    roles: &'c IdVec<ItemId, JoinRole>,
    search: &'c Candidates,
    /// For each item, true if it has candidates.
    connected: IdVec<ItemId, bool>,
    criteria: MatchCriteria,
    /// The cache of shingle sets; `None` in a run without verification.
    sets: Option<SetCache<'c>>,
    /// The sample by which the recall is measured; `None` if nothing is measured.
    sample: Option<&'c SampledRun<'c>>,
    /// The set join; `None` if no item takes part in it.
    join: Option<SetJoin>,
    /// Fails if a set join of the given number of bytes does not fit into memory.
    check_memory: Box<MemoryCheck<'static>>,
    /// The first connected item of the current block.
    block: ItemId,
    /// The first failure to read the spool or to get memory. After a failure no item is decided.
    failure: Mutex<Option<DedupError>>,
    probed: AtomicU64,
    near_misses: NotedMisses,
    /// For each item, true if it was decided that it follows a leader.
    follows: IdVec<ItemId, bool>,
    undecided: UndecidedNeighbors,
}

impl<'c> Matcher<'c> {
    pub(crate) fn new(
        classes: &'c Classes,
        keep: &'c KeepOrder,
        candidates: &'c Candidates,
        sets: Option<SetCache<'c>>,
        sample: Option<&'c SampledRun<'c>>,
        criteria: MatchCriteria,
    ) -> Self {
        // In a run without verification there are no sets to drop.
        let counted = if sets.is_some() {
            candidates.edges.as_slice()
        } else {
            &[]
        };
        Self {
            classes,
            keep,
            edges: ItemEdges::new(&candidates.edges, keep.len()),
            roles: &candidates.roles,
            search: candidates,
            connected: candidates.connected(),
            criteria,
            sets,
            sample,
            join: None,
            check_memory: Box::new(|_| Ok(())),
            block: ItemId::new(0),
            failure: Mutex::default(),
            probed: AtomicU64::new(0),
            near_misses: NotedMisses::below(criteria.threshold),
            follows: IdVec::filled(false, keep.len()),
            undecided: UndecidedNeighbors::new(counted, keep.len()),
        }
    }

    /// Prepares the set join of its members. Must be called before the grouping. `check_memory` is called with the size of
    /// the join in bytes before it is made and whenever it has grown.
    pub(crate) fn prepare_join(&mut self, check_memory: Box<MemoryCheck<'static>>) -> Result<(), DedupError> {
        self.check_memory = check_memory;
        if let Some(sets) = &self.sets
            && self.roles.iter().any(|&role| role != JoinRole::None)
        {
            self.join = Some(SetJoin::new(
                sets,
                self.roles,
                self.criteria.threshold,
                &*self.check_memory,
            )?);
        }
        Ok(())
    }

    /// The number of candidates of the set join that were verified.
    pub(crate) fn probed(&self) -> u64 {
        self.probed.load(Ordering::Relaxed)
    }

    /// Returns the first failure so far.
    pub(crate) fn check(&self) -> Result<(), DedupError> {
        match self.failure.lock().ok().and_then(|mut failure| failure.take()) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Returns the pairs just below the threshold, or the failure that ended the work.
    pub(crate) fn finish(self) -> Result<NearMisses, DedupError> {
        match self.failure.into_inner().ok().flatten() {
            Some(failure) => Err(failure),
            None => Ok(self.near_misses.finish()),
        }
    }

    fn fail(&self, error: DedupError) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
    }

    fn distance(&self, a: ItemId, b: ItemId) -> u32 {
        let class = |item: ItemId| self.keep.classes.of(item);
        self.classes.distance(class(a), class(b), self.criteria.bits)
    }

    /// True if two items are a pair of the set join.
    fn is_joined(&self, a: ItemId, b: ItemId) -> bool {
        self.join.is_some() && in_set_join(self.roles[a], self.roles[b])
    }

    /// Describes an item as a member of the set join.
    fn member(&self, item: ItemId, sets: &SetCache<'_>) -> Member {
        Member {
            item,
            measure: sets.measure(item),
            role: self.roles[item],
        }
    }

    /// The keys of the shingle sets that may be needed to decide the items of a block. Each item needs the set in its
    /// own measure and in the measures of its joins. It also needs the set by characters if a neighbour in the block is
    /// measured by characters.
    fn block_keys(&self, items: &[ItemId]) -> Vec<SetKey> {
        let Some(sets) = &self.sets else { return Vec::new() };
        let parts = items.par_chunks(ITEMS_PER_TASK);
        parts.flat_map_iter(|items| self.keys_of(items, sets)).collect()
    }

    fn keys_of(&self, items: &[ItemId], sets: &SetCache<'_>) -> Vec<SetKey> {
        let mut keys = Vec::with_capacity(items.len());
        for &item in items {
            let own = sets.measure(item);
            keys.push(SetKey { item, measure: own });
            if let (Some(join), true) = (&self.join, self.roles[item] != JoinRole::None) {
                keys.extend(join.keys(own, item));
            }
            let links = self.edges.of(item).iter().map(|edge| edge.earlier);
            for link in links.filter(|&link| link >= self.block) {
                let other = sets.measure(link);
                if other != own {
                    keys.push(SetKey {
                        item: if own == Measure::WordGrams { item } else { link },
                        measure: Measure::CharGrams,
                    });
                }
            }
        }
        keys
    }

    fn load_keys(&mut self, keys: impl Iterator<Item = SetKey>) {
        let Some(sets) = &mut self.sets else { return };
        if let Err(error) = sets.load(keys) {
            self.fail(error);
        }
    }
}

impl Neighbors for Matcher<'_> {
    fn connected(&self, item: u32) -> bool {
        self.connected[ItemId::new(item)]
    }

    fn join_role(&self, item: u32) -> JoinRole {
        self.roles[ItemId::new(item)]
    }

    fn links(&self, item: u32, since: u32, out: &mut Vec<u32>) {
        let own = self.edges.of(ItemId::new(item));
        out.extend(
            own[own.partition_point(|edge| edge.earlier < ItemId::new(since))..]
                .iter()
                .map(|edge| edge.earlier.get()),
        );
    }

    fn candidates(
        &self,
        item: u32,
        range: Range<u32>,
        wanted: &dyn Fn(u32) -> bool,
        out: &mut Vec<Candidate>,
    ) {
        let item = ItemId::new(item);
        let candidate = |other: ItemId| Candidate {
            id: other.get(),
            rank: self.keep.rank(other),
            distance: self.distance(item, other),
        };
        let own = self.edges.of(item);
        let first = own.partition_point(|edge| edge.earlier.get() < range.start);
        let links = own[first..]
            .iter()
            .map(|edge| edge.earlier)
            .take_while(|earlier| earlier.get() < range.end);
        out.extend(links.filter(|earlier| wanted(earlier.get())).map(candidate));
        if let (Some(join), Some(sets), true) = (&self.join, &self.sets, self.roles[item] != JoinRole::None) {
            let scope = if range.end <= self.block.get() {
                ProbeScope::EarlierBlocks
            } else {
                ProbeScope::CurrentBlock
            };
            let mut others = Vec::new();
            join.probe(self.member(item, sets), scope, &mut others);
            let is_found = |other: &ItemId| {
                let distance = || self.distance(item, *other);
                range.contains(&other.get()) && self.search.admits(item, *other, distance)
            };
            let found = others.into_iter().filter(is_found);
            out.extend(found.filter(|other| wanted(other.get())).map(candidate));
        }
    }

    fn place(&mut self, item: u32, leads: bool) {
        let item = ItemId::new(item);
        self.follows[item] = !leads;
        self.near_misses.decide(self.keep.rank(item).into(), leads);
        let Some(sets) = &mut self.sets else { return };
        let role = self.roles[item];
        if !leads && self.criteria.pairs == Pairs::Leaders {
            // Later items are compared with leaders only.
            sets.drop_item(item);
        } else if let Some(join) = &mut self.join
            && role != JoinRole::None
        {
            let measure = sets.measure(item);
            join.place(Member { item, measure, role });
        } else if self.undecided.has_none(item) {
            sets.drop_item(item);
        }
        for edge in self.edges.of(item) {
            if self.undecided.decide(edge.earlier) && self.roles[edge.earlier] == JoinRole::None {
                sets.drop_item(edge.earlier);
            }
        }
    }
}

impl Verify for Matcher<'_> {
    fn cost(&self, item: u32) -> usize {
        let item = ItemId::new(item);
        self.sets.as_ref().map_or(0, |sets| sets.cost(item))
    }

    fn begin_block(&mut self, items: &[u32]) {
        let items: Vec<ItemId> = items.iter().copied().map(ItemId::new).collect();
        self.block = items.first().copied().unwrap_or(self.block);
        self.near_misses.drop_undecided();
        let keys = self.block_keys(&items);
        if let Some(sets) = &mut self.sets {
            sets.begin_block();
        }
        self.load_keys(keys.into_iter());
        if let (Some(sample), Some(sets)) = (self.sample, &self.sets) {
            sample.join_sets(&items, sets);
        }
        if let (Some(join), Some(sets)) = (&mut self.join, &self.sets) {
            let is_member = |&item: &ItemId| self.roles[item] != JoinRole::None;
            let members: Vec<ItemId> = items.into_iter().filter(is_member).collect();
            join.begin_block(sets, &members);
            if let Err(error) = (self.check_memory)(join.bytes().total()) {
                self.fail(error);
                // After a failure no more items are decided, so the join is dropped.
                self.join = None;
            }
        }
    }

    fn is_apart(&self, item: u32, earlier: u32) -> bool {
        let (item, earlier) = (ItemId::new(item), ItemId::new(earlier));
        // Pairs of the set join are counted when they are verified.
        self.sets.as_ref().is_some_and(|sets| {
            !self.is_joined(item, earlier)
                && sets.are_apart(sets.pair_keys(item, earlier), self.near_misses.least())
        })
    }

    fn load(&mut self, pairs: &[(u32, Candidate)]) {
        let Some(sets) = &self.sets else { return };
        let keys: Vec<SetKey> = pairs
            .iter()
            .flat_map(|&(item, candidate)| sets.pair_keys(ItemId::new(item), ItemId::new(candidate.id)))
            .collect();
        self.load_keys(keys.into_iter());
    }

    fn verify(&self, item: u32, candidate: Candidate, at_least: f64) -> Option<Similarity> {
        let Some(sets) = &self.sets else {
            // A run without verification has no texts: every pair within the radius is a duplicate.
            return Some(Similarity {
                jaccard: f64::NAN,
                containment: f64::NAN,
            });
        };
        let (item, other) = (ItemId::new(item), ItemId::new(candidate.id));
        // Pairs of the set join are counted here, because the join may return a pair more than once, but the pair is
        // verified once.
        if self.is_joined(item, other) {
            self.probed.fetch_add(1, Ordering::Relaxed);
        }
        let set = |key: SetKey| match sets.get(key) {
            Some(set) => Ok(Cow::Borrowed(set)),
            None => sets.load_one(key).map(Cow::Owned),
        };
        // An item of which a duplicate is found follows a leader, so it has no near misses.
        let least = if at_least > 0.0 {
            self.criteria.threshold.max(at_least)
        } else {
            self.near_misses.least()
        };
        let [a, b] = sets.pair_keys(item, other);
        let overlap = match set(a).and_then(|a| Ok((a, set(b)?))) {
            Ok((a, b)) => a.overlap_at_least(&b, least)?,
            Err(error) => {
                self.fail(error);
                return None;
            }
        };
        let similarity = Similarity {
            jaccard: overlap.jaccard(),
            containment: overlap.containment(),
        };
        if similarity.jaccard < self.criteria.threshold {
            if !self.follows[other] {
                self.near_misses.note(NearMiss {
                    earlier: self.keep.rank(other).into(),
                    item: self.keep.rank(item).into(),
                    distance: candidate.distance,
                    similarity,
                });
            }
            return None;
        }
        Some(similarity)
    }
}
