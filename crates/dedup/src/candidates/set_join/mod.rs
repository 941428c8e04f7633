//! The exact join of shingle sets, for texts that fingerprints cannot distinguish: candidates are pairs that share a
//! rare shingle.
//!
//! Candidates are found with a [prefix index](twinprint_index::set) (Bayardo, Ma and Srikant 2007; Xiao and others
//! 2008), and bitmaps exclude most of those below the threshold (Sandes, Teodoro and Melo 2020). A pair is measured
//! by characters if either text is, so there are two joins. The join by words has the texts that are measured by words.
//! The join by characters has the texts that are measured by characters, its *native* members, and those of the others
//! that have enough shingles of native members, its *foreign* members. It compares foreign members with native members
//! only.

mod build;
mod kept;
mod pairs;
mod placed;

use std::ops::RangeInclusive;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use twinprint_cluster::JoinRole;
use twinprint_index::set::{PrefixFilter, TokenBitmap, TokenOrder, TokenPresence, least_distinct};
use twinprint_text::Measure;

pub(crate) use self::pairs::JoinWatch;
use self::placed::PlacedMembers;
use crate::corpus::shingle_sets::{SetCache, SetKey};
use crate::error::DedupError;
use crate::ids::{IdSlice, ItemId};

/// The number of members whose pairs are found at a time; few in tests, so that small corpora have several slices.
const MAX_SLICE_MEMBERS: usize = if cfg!(test) { 512 } else { 8192 };

/// A set belongs to a crowd if the shingles by which sets of its size find it are in at least this number of sets.
const MIN_CROWD_POSTINGS: u64 = 2048;

/// A check that fails if a set join of the given number of bytes does not fit into memory.
pub(crate) type MemoryCheck<'c> = dyn Fn(u64) -> Result<(), DedupError> + Sync + 'c;

/// The set joins of a run, one for each measure that its members use.
pub(crate) struct SetJoin {
    joins: Vec<MeasureJoin>,
    threshold: f64,
}

/// The set join in one measure, words or characters.
struct MeasureJoin {
    measure: Measure,
    filter: PrefixFilter,
    /// The members whose own measure is the measure of this join.
    native: MemberIndex,
    /// The foreign members.
    foreign: MemberIndex,
    /// The items of the foreign members.
    foreign_items: FxHashSet<ItemId>,
    order: TokenOrder,
    /// The shingles by which fringe members are chosen; `None` if there are none.
    core_shingles: Option<CoreShingles>,
    /// The members of the current block, with the prefixes of their shingle sets.
    block: FxHashMap<ItemId, MemberPrefix>,
}

/// The shingles of all core members. Fringe members that share too few of them need not be looked up.
struct CoreShingles {
    shingles: TokenPresence,
    /// The filter at the Jaccard of near misses.
    filter: PrefixFilter,
}

impl CoreShingles {
    /// True if a set may be a duplicate or a near miss of a core member.
    fn may_match(&self, shingles: &[u64]) -> bool {
        self.shingles.most_present(shingles) >= self.filter.least_overlap(shingles.len())
    }

    /// The same for the shingles of a text in any order, with repeats. Never false where [`may_match`](Self::may_match) is true of
    /// the set, but true for a few texts more.
    fn may_match_with_repeats(&self, grams: &[u64]) -> bool {
        self.shingles.most_present(grams) >= self.filter.least_overlap(least_distinct(grams))
    }
}

/// The prefix of a member's shingle set, with the size and the bitmap of the whole set.
struct MemberPrefix {
    size: u32,
    bitmap: TokenBitmap,
    prefix: Vec<u64>,
    /// The number of sets that have the shingles by which sets of its size find it, repeats included.
    postings: u64,
}

impl MemberPrefix {
    /// True if the shingles are in so many sets that the member belongs to a crowd.
    fn is_in_crowd(&self) -> bool {
        self.postings >= MIN_CROWD_POSTINGS
    }
}

/// The members placed so far.
struct MemberIndex {
    core: PlacedMembers,
    /// Fringe members, which are compared with core members only.
    fringe: PlacedMembers,
}

impl MemberIndex {
    fn new(threshold: f64) -> Self {
        Self {
            core: PlacedMembers::new(threshold),
            fringe: PlacedMembers::new(threshold),
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

/// The memory of a set join in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JoinBytes {
    /// The counters of shingles and the shingles of core members. They follow the corpus.
    pub(crate) counters: u64,
    /// The indexes of placed members. A join in chunks limits them.
    pub(crate) indexes: u64,
}

impl JoinBytes {
    pub(crate) fn total(self) -> u64 {
        self.counters + self.indexes
    }
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
    /// The memory of the join.
    pub(crate) fn bytes(&self) -> JoinBytes {
        let mut bytes = JoinBytes::default();
        for join in &self.joins {
            bytes.counters += join.order.bytes() as u64;
            let core = join.core_shingles.as_ref();
            bytes.counters += core.map_or(0, |core| core.shingles.bytes()) as u64;
            for index in [&join.native, &join.foreign] {
                bytes.indexes += (index.core.bytes() + index.fringe.bytes()) as u64;
            }
        }
        bytes
    }

    /// Removes all placed members.
    fn clear(&mut self) {
        for join in &mut self.joins {
            join.native = MemberIndex::new(self.threshold);
            join.foreign = MemberIndex::new(self.threshold);
        }
    }

    /// The keys of the shingle sets that the joins need for an item. `own` is the measure of the item's own text.
    pub(crate) fn keys(&self, own: Measure, item: ItemId) -> impl Iterator<Item = SetKey> + '_ {
        self.joins.iter().filter_map(move |join| join.key(own, item))
    }

    /// Begins a block of members, whose shingle sets must be cached. Members placed earlier now belong to
    /// [`ProbeScope::EarlierBlocks`].
    pub(crate) fn begin_block(&mut self, sets: &SetCache<'_>, items: &[ItemId]) {
        for join in &mut self.joins {
            join.seal();
            let measure = join.measure;
            let prefix = |&item: &ItemId| {
                let set = sets.get(SetKey { item, measure })?;
                Some((item, join.prefix(set.shingles())))
            };
            let block: Vec<_> = items.par_iter().filter_map(prefix).collect();
            join.block = block.into_iter().collect();
        }
    }

    /// Like [`SetJoin::begin_block`], but makes the shingle sets from the texts, one at a time. In a join whose members are all
    /// counted in the order, those that are shown to have no candidate are left out. If the members will never be placed,
    /// those that find no core member are left out.
    fn begin_block_of_texts(
        &mut self,
        sets: &SetCache<'_>,
        items: &[ItemId],
        may_be_placed: bool,
    ) -> Result<(), DedupError> {
        for join in &mut self.joins {
            join.seal();
            let keys = items
                .iter()
                .filter_map(|&item| join.key(sets.measure(item), item));
            let core = join.core_shingles.as_ref().filter(|_| !may_be_placed);
            let is_wanted = |grams: &[u64]| match core {
                Some(core) => core.may_match_with_repeats(grams),
                None => !join.is_of_counted_members() || join.may_match_with_repeats(grams),
            };
            let prefix = |SetKey { item, .. }, shingles: &[u64]| {
                let found = core.is_none_or(|core| core.may_match(shingles));
                found.then(|| (item, join.prefix(shingles)))
            };
            let block = sets.each_of(keys.collect(), is_wanted, prefix)?;
            join.block = block.into_iter().collect();
        }
        Ok(())
    }

    /// Appends the candidates of a member of the block among the members placed in `scope`.
    pub(crate) fn probe(&self, member: Member, scope: ProbeScope, out: &mut Vec<ItemId>) {
        let mut numbers = Vec::new();
        for join in &self.joins {
            let Some(set) = join.block.get(&member.item) else {
                continue;
            };
            let is_native = member.measure == join.measure;
            let indexes = std::iter::once(&join.native).chain(is_native.then_some(&join.foreign));
            for index in indexes {
                index.core.probe(set, scope, &mut numbers, out);
                if member.role == JoinRole::Core {
                    index.fringe.probe(set, scope, &mut numbers, out);
                }
            }
        }
    }

    /// Adds a member of the block to the index, so that later members find it.
    pub(crate) fn place(&mut self, member: Member) {
        for join in &mut self.joins {
            let Some(set) = join.block.get(&member.item) else {
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
            index.insert(member.item, set);
        }
    }

    /// True if an item is a member of the block, in any measure.
    fn is_in_block(&self, item: ItemId) -> bool {
        self.joins.iter().any(|join| join.block.contains_key(&item))
    }

    /// True if a member of the block is in a crowd, in any measure.
    fn is_in_crowd(&self, item: ItemId) -> bool {
        let mut prefixes = self.joins.iter().filter_map(|join| join.block.get(&item));
        prefixes.any(MemberPrefix::is_in_crowd)
    }
}

impl MeasureJoin {
    /// The key of the shingle set by which an item takes part in this join; `None` if it does not.
    fn key(&self, own: Measure, item: ItemId) -> Option<SetKey> {
        let measure = self.measure;
        let joined = own == measure || self.foreign_items.contains(&item);
        joined.then_some(SetKey { item, measure })
    }

    /// True if every member is one whose shingles the order counted.
    fn is_of_counted_members(&self) -> bool {
        self.core_shingles.is_none() && self.foreign_items.is_empty()
    }

    /// True if a member may have a candidate, in a join whose members are all counted in the order. `grams` are its shingles
    /// in any order, with repeats. If it is false, then all shingles of the member's prefix are in no other member.
    fn may_match_with_repeats(&self, grams: &[u64]) -> bool {
        self.order.most_shared(grams) >= self.filter.least_overlap(least_distinct(grams))
    }

    /// Makes the members placed so far those of earlier blocks.
    fn seal(&mut self) {
        for index in [&mut self.native, &mut self.foreign] {
            index.core.seal();
            index.fringe.seal();
        }
    }

    fn prefix(&self, shingles: &[u64]) -> MemberPrefix {
        let size = shingles.len() as u32;
        let mut prefix = Vec::new();
        self.order
            .sort_prefix(shingles, self.filter.prefix_len(shingles.len()), &mut prefix);
        // Counts of all members decide, not the postings read, so the candidates do not depend on the order in which
        // members are placed, nor on memory.
        let finding = prefix
            .iter()
            .enumerate()
            .take_while(|&(at, _)| self.filter.admits(size, at, size));
        let postings: u64 = finding
            .map(|(_, &shingle)| u64::from(self.order.frequency(shingle)))
            .sum();
        MemberPrefix {
            size,
            bitmap: TokenBitmap::of(shingles),
            prefix,
            postings,
        }
    }
}

/// The items whose role in the set join is one of `wanted`.
fn members(roles: IdSlice<'_, ItemId, JoinRole>, wanted: RangeInclusive<JoinRole>) -> Vec<ItemId> {
    let found = roles.entries().filter(|&(_, role)| wanted.contains(role));
    let found = found.map(|(item, _)| item);
    // A vector that grows as it is filled may take twice the memory.
    let mut members = Vec::with_capacity(found.clone().count());
    members.extend(found);
    members
}

#[cfg(test)]
mod tests;
