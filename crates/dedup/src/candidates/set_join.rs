//! The exact join of shingle sets, for what fingerprints cannot tell apart: candidates are pairs that share a rare shingle.
//!
//! A pair is measured by characters when either text is, so there are two joins: one by words, for texts measured by words, and one by
//! characters, where these meet only texts measured by characters.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use twinprint_cluster::JoinRole;
use twinprint_index::set::{PrefixIndex, TokenOrder};
use twinprint_text::Measure;

use crate::candidates::edge::Edge;
use crate::corpus::shingle_sets::{Set, SetKey, Sets};
use crate::error::DedupError;

/// Members handled at a time.
const SLICE: usize = 8192;

/// Both joins, over the members of a run.
pub(crate) struct SetJoin {
    parts: Vec<Part>,
}

/// The join of one measure.
struct Part {
    measure: Measure,
    /// Items whose own measure this is.
    native: Indexed,
    /// Items of the other measure, which only a native item is compared with here.
    foreign: Indexed,
    order: TokenOrder,
    /// Size and prefix of the members at hand.
    block: FxHashMap<u32, (u32, Vec<u64>)>,
}

/// The prefixes of placed members.
struct Indexed {
    core: PrefixIndex,
    /// Only a core member is compared with these.
    fringe: PrefixIndex,
}

impl Indexed {
    fn new(threshold: f64) -> Self {
        Self {
            core: PrefixIndex::new(threshold),
            fringe: PrefixIndex::new(threshold),
        }
    }
}

impl SetJoin {
    /// Counts the shingles of the core members, which fixes the order of rarity: shingles that only fringe members have find nobody, so
    /// they do well to come first. `memory` bounds what is loaded at a time.
    pub(crate) fn new(
        sets: &mut Sets<'_>,
        member: &[JoinRole],
        threshold: f64,
        memory: usize,
    ) -> Result<Self, DedupError> {
        let open = members(member, JoinRole::Fringe);
        let measures = [Measure::WordGrams, Measure::CharGrams];
        let there = measures
            .iter()
            .filter(|&&m| open.iter().any(|&item| sets.measure(item) == m));
        let part = |&measure: &Measure| Part {
            measure,
            native: Indexed::new(threshold),
            foreign: Indexed::new(threshold),
            order: TokenOrder::new(),
            block: FxHashMap::default(),
        };
        let join = Self {
            parts: there.map(part).collect(),
        };
        for slice in slices(&members(member, JoinRole::Core), sets, memory) {
            sets.begin_block();
            let keys: Vec<SetKey> = slice
                .iter()
                .flat_map(|&item| join.keys(sets.measure(item), item))
                .collect();
            sets.load(keys.iter().copied())?;
            keys.par_iter().for_each(|key| {
                let part = join.parts.iter().find(|part| part.measure == key.1);
                if let (Some(part), Some(set)) = (part, sets.get(*key)) {
                    part.order.count(set.shingles());
                }
            });
        }
        Ok(join)
    }

    /// Bytes of the counters and of the members placed.
    pub(crate) fn bytes(&self) -> u64 {
        let part = |part: &Part| {
            let indexed = [&part.native, &part.foreign];
            let indexes = indexed.map(|indexed| indexed.core.bytes() + indexed.fringe.bytes());
            part.order.bytes() + indexes.iter().sum::<usize>()
        };
        self.parts.iter().map(part).sum::<usize>() as u64
    }

    /// The sets of an item that the joins need.
    pub(crate) fn keys(&self, own: Measure, item: u32) -> impl Iterator<Item = SetKey> + '_ {
        let joined = self
            .parts
            .iter()
            .filter(move |part| own.with(part.measure) == part.measure);
        joined.map(move |part| (item, part.measure))
    }

    /// Takes the members of a block at hand, whose sets are loaded; what was placed before is sealed.
    pub(crate) fn begin_block(&mut self, sets: &Sets<'_>, items: &[u32]) {
        for part in &mut self.parts {
            for indexed in [&mut part.native, &mut part.foreign] {
                indexed.core.seal();
                indexed.fringe.seal();
            }
            let shared: &Part = part;
            let block: Vec<_> = items
                .par_iter()
                .filter_map(|&item| {
                    sets.get((item, shared.measure))
                        .map(|set| (item, shared.prefix(set)))
                })
                .collect();
            part.block = block.into_iter().collect();
        }
    }

    /// Appends the candidates of a member at hand among those placed before the block (`sealed`) or in it.
    pub(crate) fn probe(&self, item: u32, own: Measure, open: JoinRole, sealed: bool, out: &mut Vec<u32>) {
        let mut ids = Vec::new();
        for part in &self.parts {
            let Some((size, prefix)) = part.block.get(&item) else {
                continue;
            };
            let indexed = std::iter::once(&part.native).chain((own == part.measure).then_some(&part.foreign));
            for indexed in indexed {
                let partners = [
                    Some(&indexed.core),
                    (open == JoinRole::Core).then_some(&indexed.fringe),
                ];
                for index in partners.into_iter().flatten() {
                    if sealed {
                        index.probe_sealed(*size, prefix, &mut ids);
                    } else {
                        index.probe_young(*size, prefix, &mut ids);
                    }
                    out.extend_from_slice(&ids);
                }
            }
        }
    }

    /// Lets later members find this one.
    pub(crate) fn place(&mut self, item: u32, own: Measure, open: JoinRole) {
        for part in &mut self.parts {
            let Some((size, prefix)) = part.block.get(&item) else {
                continue;
            };
            let indexed = if own == part.measure {
                &mut part.native
            } else {
                &mut part.foreign
            };
            let index = if open == JoinRole::Core {
                &mut indexed.core
            } else {
                &mut indexed.fringe
            };
            index.insert(item, *size, prefix);
        }
    }

    /// All candidate pairs at once, or `None` when there are more than `limit`, or the join's own bytes do not `fit`: a crowd that only
    /// indexing leaders alone can cope with. Fringe members look for core members and are not indexed themselves.
    ///
    /// Hardly more than `limit` pairs are held: one slice of a crowd could have eight thousand times the members, so the pairs are counted as
    /// they are found.
    pub(crate) fn pairs(
        mut self,
        sets: &mut Sets<'_>,
        member: &[JoinRole],
        limit: usize,
        memory: usize,
        fit: impl Fn(u64) -> bool,
    ) -> Result<Option<Vec<Edge>>, DedupError> {
        let (core, mut fringe) = (members(member, JoinRole::Core), members(member, JoinRole::Fringe));
        fringe.retain(|&item| member[item as usize] == JoinRole::Fringe);
        let mut edges = Vec::new();
        for slice in slices(&core, sets, memory)
            .into_iter()
            .chain(slices(&fringe, sets, memory))
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
            let probe = |item: u32| {
                let mut ids = Vec::new();
                if found.load(Ordering::Relaxed) <= limit {
                    shared.probe(item, loaded.measure(item), JoinRole::Fringe, true, &mut ids);
                    found.fetch_add(ids.len(), Ordering::Relaxed);
                }
                ids.into_iter().map(move |other| Edge::between(item, other))
            };
            edges.par_extend(slice.par_iter().flat_map_iter(|&item| probe(item)));
            for &item in slice
                .iter()
                .filter(|&&item| member[item as usize] == JoinRole::Core)
            {
                if edges.len() > limit {
                    return Ok(None);
                }
                let own = sets.measure(item);
                let mut ids = Vec::new();
                self.probe(item, own, JoinRole::Fringe, false, &mut ids);
                edges.extend(ids.into_iter().map(|other| Edge::between(item, other)));
                self.place(item, own, JoinRole::Core);
            }
            if edges.len() > limit || !fit(self.bytes()) {
                return Ok(None);
            }
        }
        Ok(Some(edges))
    }
}

impl Part {
    fn prefix(&self, set: &Set) -> (u32, Vec<u64>) {
        let mut prefix = Vec::new();
        let length = self.native.core.prefix_len(set.shingles().len());
        self.order.sort_prefix(set.shingles(), length, &mut prefix);
        (set.shingles().len() as u32, prefix)
    }
}

/// The members that are open at least so far.
fn members(member: &[JoinRole], least: JoinRole) -> Vec<u32> {
    (0..member.len() as u32)
        .filter(|&item| member[item as usize] >= least)
        .collect()
}

/// Cuts members into slices whose sets fit the memory, by either measure.
fn slices<'m>(members: &'m [u32], sets: &Sets<'_>, memory: usize) -> Vec<&'m [u32]> {
    let mut slices = Vec::new();
    let mut rest = members;
    while !rest.is_empty() {
        let mut cost = 0;
        let fits = rest.iter().take(SLICE).take_while(|&&item| {
            cost += 2 * sets.cost(item);
            cost <= memory
        });
        let (slice, after) = rest.split_at(fits.count().max(1));
        slices.push(slice);
        rest = after;
    }
    slices
}
