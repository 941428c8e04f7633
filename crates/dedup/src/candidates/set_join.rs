//! The exact join of shingle sets, for texts that fingerprints cannot distinguish: candidates are pairs that share a
//! rare shingle.
//!
//! Candidates are found with a [`PrefixIndex`] (Bayardo, Ma and Srikant 2007; Xiao and others 2008). A pair is measured
//! by characters if either text is, so there are two joins. The join by words has the texts that are measured by words.
//! The join by characters has all texts, and compares texts measured by words only with texts measured by characters.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use twinprint_cluster::JoinRole;
use twinprint_index::set::{PrefixIndex, TokenOrder};
use twinprint_text::Measure;

use crate::candidates::edge::Edge;
use crate::corpus::shingle_sets::{SetCache, SetKey, SharedSet};
use crate::error::DedupError;
use crate::ids::{Id, IdSlice, IdVec, ItemId};

/// The maximum number of members whose shingle sets are loaded at a time.
const MAX_SLICE_MEMBERS: usize = 8192;

/// A set belongs to a crowd if the shingles by which sets of its size find it are in at least this number of sets.
const MIN_CROWD_POSTINGS: u64 = 2048;

/// The set joins of a run, one for each measure that its members use.
pub(crate) struct SetJoin {
    joins: Vec<MeasureJoin>,
}

/// The set join in one measure, words or characters.
struct MeasureJoin {
    measure: Measure,
    /// The members whose own measure is the measure of this join.
    native: MemberIndex,
    /// The members with the other measure. This join compares them with native members only.
    foreign: MemberIndex,
    order: TokenOrder,
    /// The members of the current block, with the prefixes of their shingle sets.
    block: FxHashMap<ItemId, MemberPrefix>,
}

/// The prefix of a member's shingle set, and the size of the whole set.
struct MemberPrefix {
    size: u32,
    prefix: Vec<u64>,
    /// True if the shingles by which it is found are in so many sets that it belongs to a crowd.
    in_crowd: bool,
}

/// The limits of [`SetJoin::pairs`].
#[derive(Clone, Copy)]
pub(super) struct SetJoinLimits {
    /// The largest number of pairs to return.
    pub(super) pairs: usize,
    /// The largest number of bytes of shingle sets that are loaded at a time.
    pub(super) memory: usize,
}

/// The result of [`SetJoin::pairs`].
pub(super) struct MemberPairs {
    /// The candidate pairs of members of which at most one is in a crowd.
    pub(super) edges: Vec<Edge>,
    /// For each item, true if it is a member in a crowd.
    pub(super) in_crowd: IdVec<ItemId, bool>,
}

/// The prefix indexes of the members placed so far.
struct MemberIndex {
    core: PrefixIndex,
    /// Fringe members, which are compared with core members only.
    fringe: PrefixIndex,
}

impl MemberIndex {
    fn new(threshold: f64) -> Self {
        Self {
            core: PrefixIndex::new(threshold),
            fringe: PrefixIndex::new(threshold),
        }
    }
}

/// An item that takes part in the set join.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    pub(crate) item: ItemId,
    /// The measure of the item's own text, regardless of the text that it is compared with.
    pub(crate) measure: Measure,
    pub(crate) role: JoinRole,
}

/// The blocks whose members a probe finds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeScope {
    /// The members placed before the current block began.
    EarlierBlocks,
    /// The members placed since the current block began.
    CurrentBlock,
}

impl SetJoin {
    /// Counts the core members that have each shingle. The counts define the order of rarity, in which shingles that
    /// only fringe members have come first: such a shingle finds no pair, so a prefix of them costs least. `memory`
    /// bounds the bytes of shingle sets that are loaded at a time.
    pub(crate) fn new(
        sets: &mut SetCache<'_>,
        roles: &IdVec<ItemId, JoinRole>,
        threshold: f64,
        memory: usize,
    ) -> Result<Self, DedupError> {
        let all = members(roles.as_slice(), JoinRole::Fringe);
        let core = members(roles.as_slice(), JoinRole::Core);
        let tokens: usize = core.iter().map(|&item| sets.cost(item) / size_of::<u64>()).sum();
        let tokens = tokens as u64;
        let measures = [Measure::WordGrams, Measure::CharGrams];
        let used = measures
            .iter()
            .filter(|&&m| all.iter().any(|&item| sets.measure(item) == m));
        let join_by = |&measure: &Measure| MeasureJoin {
            measure,
            native: MemberIndex::new(threshold),
            foreign: MemberIndex::new(threshold),
            order: TokenOrder::new(tokens),
            block: FxHashMap::default(),
        };
        let join = Self {
            joins: used.map(join_by).collect(),
        };
        for slice in slices(&core, sets, memory) {
            sets.begin_block();
            let keys: Vec<SetKey> = slice
                .iter()
                .flat_map(|&item| join.keys(sets.measure(item), item))
                .collect();
            sets.load(keys.iter().copied())?;
            keys.par_iter().for_each(|key| {
                let join = join.joins.iter().find(|join| join.measure == key.measure);
                if let (Some(join), Some(set)) = (join, sets.get(*key)) {
                    join.order.count(set.shingles());
                }
            });
        }
        Ok(join)
    }

    /// The memory of the join in bytes: its counters, and its indexes of placed members.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |join: &MeasureJoin| {
            let indexes = [&join.native, &join.foreign];
            let indexes = indexes.map(|index| index.core.bytes() + index.fringe.bytes());
            join.order.bytes() + indexes.iter().sum::<usize>()
        };
        self.joins.iter().map(bytes).sum::<usize>() as u64
    }

    /// The keys of the shingle sets that the joins need for an item. `own` is the measure of the item's own text.
    pub(crate) fn keys(&self, own: Measure, item: ItemId) -> impl Iterator<Item = SetKey> + '_ {
        let joined = self
            .joins
            .iter()
            .filter(move |join| own.with(join.measure) == join.measure);
        joined.map(move |join| SetKey {
            item,
            measure: join.measure,
        })
    }

    /// Begins a block of members, whose shingle sets must be loaded. Members placed earlier now belong to
    /// [`ProbeScope::EarlierBlocks`].
    pub(crate) fn begin_block(&mut self, sets: &SetCache<'_>, items: &[ItemId]) {
        for join in &mut self.joins {
            for index in [&mut join.native, &mut join.foreign] {
                index.core.seal();
                index.fringe.seal();
            }
            let shared: &MeasureJoin = join;
            let block: Vec<_> = items
                .par_iter()
                .filter_map(|&item| {
                    let measure = shared.measure;
                    sets.get(SetKey { item, measure })
                        .map(|set| (item, shared.prefix(set)))
                })
                .collect();
            join.block = block.into_iter().collect();
        }
    }

    /// Appends the candidates of a member of the block among the members placed in `scope`.
    pub(crate) fn probe(&self, member: Member, scope: ProbeScope, out: &mut Vec<ItemId>) {
        let mut numbers = Vec::new();
        for join in &self.joins {
            let Some(MemberPrefix {
                size,
                prefix,
                in_crowd,
            }) = join.block.get(&member.item)
            else {
                continue;
            };
            let is_native = member.measure == join.measure;
            let indexes = std::iter::once(&join.native).chain(is_native.then_some(&join.foreign));
            for index in indexes {
                let partners = [
                    Some(&index.core),
                    (member.role == JoinRole::Core).then_some(&index.fringe),
                ];
                for partners in partners.into_iter().flatten() {
                    match scope {
                        ProbeScope::EarlierBlocks => {
                            partners.probe_sealed(*size, prefix, *in_crowd, &mut numbers);
                        }
                        ProbeScope::CurrentBlock => {
                            partners.probe_young(*size, prefix, *in_crowd, &mut numbers);
                        }
                    }
                    out.extend(numbers.iter().copied().map(ItemId::new));
                }
            }
        }
    }

    /// Adds a member of the block to the index, so that later members find it.
    pub(crate) fn place(&mut self, member: Member) {
        for join in &mut self.joins {
            let Some(MemberPrefix { size, prefix, .. }) = join.block.get(&member.item) else {
                continue;
            };
            let index = if member.measure == join.measure {
                &mut join.native
            } else {
                &mut join.foreign
            };
            let index = if member.role == JoinRole::Core {
                &mut index.core
            } else {
                &mut index.fringe
            };
            index.insert(member.item.get(), *size, prefix);
        }
    }

    /// Finds the candidate pairs of which at most one member is in a crowd. The pairs inside crowds are left to the
    /// grouping, which searches them among leaders only. Returns `None` if the pairs are more than the limit, or if the join does
    /// not fit into memory: then the grouping must find all pairs. Fringe members are compared with core members and are
    /// not indexed.
    ///
    /// A member outside crowds reads few postings, because few members have its rarest shingles. A member of a crowd is
    /// compared with members outside crowds only, and each of these has few postings too. So the work is proportional to
    /// the members, however large the crowds are.
    ///
    /// Pairs are counted while they are found, so the pairs in memory exceed the limit by few.
    pub(super) fn pairs(
        mut self,
        sets: &mut SetCache<'_>,
        roles: &IdVec<ItemId, JoinRole>,
        limits: SetJoinLimits,
        fits: impl Fn(u64) -> bool,
    ) -> Result<Option<MemberPairs>, DedupError> {
        let core = members(roles.as_slice(), JoinRole::Core);
        let mut fringe = members(roles.as_slice(), JoinRole::Fringe);
        fringe.retain(|&item| roles[item] == JoinRole::Fringe);
        let mut edges = Vec::new();
        let mut in_crowd = IdVec::filled(false, roles.len());
        for slice in
            slices(&core, sets, limits.memory)
                .into_iter()
                .chain(slices(&fringe, sets, limits.memory))
        {
            sets.begin_block();
            let keys: Vec<SetKey> = slice
                .iter()
                .flat_map(|&item| self.keys(sets.measure(item), item))
                .collect();
            sets.load(keys.into_iter())?;
            self.begin_block(sets, slice);
            let (shared, loaded) = (&self, &*sets);
            let found = AtomicUsize::new(edges.len());
            // Members in crowds meet only members outside, as fringe members meet only core members.
            let member = |item: ItemId, in_crowd: bool| Member {
                item,
                measure: loaded.measure(item),
                role: if in_crowd {
                    JoinRole::Fringe
                } else {
                    JoinRole::Core
                },
            };
            let probe = |item: ItemId| {
                let mut others = Vec::new();
                if found.load(Ordering::Relaxed) <= limits.pairs {
                    let member = member(item, shared.is_in_crowd(item));
                    shared.probe(member, ProbeScope::EarlierBlocks, &mut others);
                    found.fetch_add(others.len(), Ordering::Relaxed);
                }
                others.into_iter().map(move |other| Edge::between(item, other))
            };
            edges.par_extend(slice.par_iter().flat_map_iter(|&item| probe(item)));
            for &item in slice {
                in_crowd[item] = self.is_in_crowd(item);
                if roles[item] != JoinRole::Core {
                    continue;
                }
                if edges.len() > limits.pairs {
                    return Ok(None);
                }
                let member = member(item, in_crowd[item]);
                let mut others = Vec::new();
                self.probe(member, ProbeScope::CurrentBlock, &mut others);
                edges.extend(others.into_iter().map(|other| Edge::between(item, other)));
                self.place(member);
            }
            if edges.len() > limits.pairs || !fits(self.bytes()) {
                return Ok(None);
            }
        }
        Ok(Some(MemberPairs { edges, in_crowd }))
    }

    /// True if a member of the block is in a crowd, in any measure.
    fn is_in_crowd(&self, item: ItemId) -> bool {
        let mut prefixes = self.joins.iter().filter_map(|join| join.block.get(&item));
        prefixes.any(|prefix| prefix.in_crowd)
    }
}

impl MeasureJoin {
    fn prefix(&self, set: &SharedSet) -> MemberPrefix {
        let mut prefix = Vec::new();
        let length = self.native.core.prefix_len(set.shingles().len());
        self.order.sort_prefix(set.shingles(), length, &mut prefix);
        // Counts of all members decide, not the postings read, so the candidates do not depend on the order in which
        // members are placed, nor on memory.
        let size = set.shingles().len() as u32;
        let finding = prefix
            .iter()
            .enumerate()
            .take_while(|&(at, _)| self.native.core.admits(size, at, size));
        let postings: u64 = finding
            .map(|(_, &shingle)| u64::from(self.order.frequency(shingle)))
            .sum();
        MemberPrefix {
            size,
            prefix,
            in_crowd: postings >= MIN_CROWD_POSTINGS,
        }
    }
}

/// The items whose role in the set join is `least` or stronger.
fn members(roles: IdSlice<'_, ItemId, JoinRole>, least: JoinRole) -> Vec<ItemId> {
    let members = roles.entries().filter(|&(_, &role)| role >= least);
    members.map(|(item, _)| item).collect()
}

/// Divides members into slices. By either measure, the shingle sets of one slice fit into `memory` bytes.
fn slices<'m>(members: &'m [ItemId], sets: &SetCache<'_>, memory: usize) -> Vec<&'m [ItemId]> {
    let mut slices = Vec::new();
    let mut rest = members;
    while !rest.is_empty() {
        let mut cost = 0;
        let fits = rest.iter().take(MAX_SLICE_MEMBERS).take_while(|&&item| {
            cost += 2 * sets.cost(item);
            cost <= memory
        });
        let (slice, after) = rest.split_at(fits.count().max(1));
        slices.push(slice);
        rest = after;
    }
    slices
}
