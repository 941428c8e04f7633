//! Wires the candidates and the texts to the grouping: answers who may be a duplicate of whom, and who is.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cluster::{Candidate, Neighbors, Open, Pairs, Similarity, Verify};
use fingerprint::Width;
use index::set::{PrefixIndex, TokenOrder};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use text::Measure;
use text::overlap::overlap_at_least;

use crate::candidates::{Candidates, Edge};
use crate::corpus::Classes;
use crate::error::DedupError;
use crate::keep::KeepOrder;
use crate::sets::{Set, SetKey, Sets};

/// One measure's part of the set join.
struct SetJoin {
    measure: Measure,
    /// Items whose own measure this is.
    native: Indexed,
    /// Items of the other measure, which only a native item is compared with in this one.
    foreign: Indexed,
    order: TokenOrder,
    /// Size and prefix of the block's members.
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
    fn new(measure: Measure, threshold: f64) -> Self {
        Self {
            measure,
            native: Indexed::new(threshold),
            foreign: Indexed::new(threshold),
            order: TokenOrder::new(),
            block: FxHashMap::default(),
        }
    }

    /// The placed members that an item's pairs in this measure may be with.
    fn partners(&self, own: Measure, open: Open) -> impl Iterator<Item = &PrefixIndex> {
        let indexed = std::iter::once(&self.native).chain((own == self.measure).then_some(&self.foreign));
        indexed.flat_map(move |i| std::iter::once(&i.core).chain((open == Open::Core).then_some(&i.fringe)))
    }

    fn seal(&mut self) {
        for indexed in [&mut self.native, &mut self.foreign] {
            indexed.core.seal();
            indexed.fringe.seal();
        }
    }

    fn prefix(&self, set: &Set) -> (u32, Vec<u64>) {
        let mut prefix = Vec::new();
        self.order
            .sort_prefix(set, self.native.core.prefix_len(set.len()), &mut prefix);
        (set.len() as u32, prefix)
    }
}

pub(crate) struct Matcher<'c> {
    classes: &'c Classes,
    keep: &'c KeepOrder,
    edges: &'c [Edge],
    /// Where each item's edges begin, and the end.
    starts: Vec<u64>,
    member: &'c [Open],
    connected: Vec<bool>,
    bits: u32,
    threshold: f64,
    pairs: Pairs,
    /// Absent when nothing is verified.
    sets: Option<Sets<'c>>,
    joins: Vec<SetJoin>,
    /// The first connected item of the block.
    block: u32,
    /// The first failure of the spool; nothing is decided after it.
    failure: Mutex<Option<DedupError>>,
    probed: AtomicU64,
}

impl<'c> Matcher<'c> {
    pub(crate) fn new(
        classes: &'c Classes,
        keep: &'c KeepOrder,
        candidates: &'c Candidates,
        sets: Option<Sets<'c>>,
        bits: u32,
        threshold: f64,
        pairs: Pairs,
    ) -> Self {
        let n = keep.classes.len();
        let mut connected: Vec<bool> = candidates.member.iter().map(|&open| open != Open::No).collect();
        let mut starts = vec![0u64; n + 1];
        for edge in &candidates.edges {
            connected[edge.item as usize] = true;
            connected[edge.earlier as usize] = true;
            starts[edge.item as usize + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        Self {
            classes,
            keep,
            edges: &candidates.edges,
            starts,
            member: &candidates.member,
            connected,
            bits,
            threshold,
            pairs,
            sets,
            joins: Vec::new(),
            block: 0,
            failure: Mutex::default(),
            probed: AtomicU64::new(0),
        }
    }

    /// Counts the shingles of all members, which fixes the order of the set join. Must come before grouping.
    pub(crate) fn count_members(&mut self, memory: usize) -> Result<(), DedupError> {
        let members: Vec<u32> = (0..self.member.len() as u32)
            .filter(|&i| self.member[i as usize] != Open::No)
            .collect();
        let Some(sets) = &mut self.sets else { return Ok(()) };
        if members.is_empty() {
            return Ok(());
        }
        let by = |measure| members.iter().any(|&item| sets.measure(item) == measure);
        // A pair is measured by characters when either text is, so beside such a text every other is too.
        let measures = [
            (Measure::WordGrams, by(Measure::WordGrams)),
            (Measure::CharGrams, by(Measure::CharGrams)),
        ];
        self.joins = measures
            .iter()
            .filter(|m| m.1)
            .map(|m| SetJoin::new(m.0, self.threshold))
            .collect();
        let mut rest = members.as_slice();
        while !rest.is_empty() {
            let mut cost = 0;
            let fits = rest.iter().take_while(|&&item| {
                cost += sets.cost(item);
                cost <= memory
            });
            let (slice, after) = rest.split_at(fits.count().max(1));
            rest = after;
            for join in &self.joins {
                let keys = || {
                    slice
                        .iter()
                        .filter_map(|&item| set_key(sets.measure(item), join.measure, item))
                };
                let keys: Vec<SetKey> = keys().collect();
                sets.begin_block();
                sets.load(keys.iter().copied())?;
                keys.par_iter().for_each(|&key| {
                    if let Some(set) = sets.get(key) {
                        join.order.count(set);
                    }
                });
            }
        }
        Ok(())
    }

    /// Set-join candidates found so far.
    pub(crate) fn probed(&self) -> u64 {
        self.probed.load(Ordering::Relaxed)
    }

    /// The failure that ended the work, if one did.
    pub(crate) fn failure(self) -> Option<DedupError> {
        self.failure.into_inner().ok().flatten()
    }

    fn fail(&self, error: DedupError) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
    }

    pub(crate) fn distance(&self, a: u32, b: u32) -> u32 {
        let at = |item: u32| self.classes.fingerprint[self.keep.classes[item as usize] as usize];
        if self.bits == 64 {
            (at(a) as u64).distance(at(b) as u64)
        } else {
            at(a).distance(at(b))
        }
    }

    fn own_edges(&self, item: u32) -> &[Edge] {
        &self.edges[self.starts[item as usize] as usize..self.starts[item as usize + 1] as usize]
    }

    /// The sets that deciding the items of a block may need: each by its own measure, by those of the joins it takes part in, and by
    /// characters where an item it is linked to in the block is measured so.
    fn block_keys(&self, items: &[u32]) -> Vec<SetKey> {
        let Some(sets) = &self.sets else { return Vec::new() };
        let mut keys = Vec::with_capacity(items.len());
        for &item in items {
            let own = sets.measure(item);
            keys.push((item, own));
            if self.member[item as usize] != Open::No {
                keys.extend(
                    self.joins
                        .iter()
                        .filter_map(|join| set_key(own, join.measure, item)),
                );
            }
            let links = self.own_edges(item).iter().map(|edge| edge.earlier);
            for link in links.filter(|&link| link >= self.block) {
                let other = sets.measure(link);
                if other != own {
                    keys.push((
                        if own == Measure::WordGrams { item } else { link },
                        Measure::CharGrams,
                    ));
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

/// The key under which an item takes part in a join: texts measured by characters have no place among words.
fn set_key(own: Measure, join: Measure, item: u32) -> Option<SetKey> {
    (own.with(join) == join).then_some((item, join))
}

impl Neighbors for Matcher<'_> {
    fn connected(&self, item: u32) -> bool {
        self.connected[item as usize]
    }

    fn open(&self, item: u32) -> Open {
        self.member[item as usize]
    }

    fn links(&self, item: u32, since: u32, out: &mut Vec<u32>) {
        let own = self.own_edges(item);
        out.extend(
            own[own.partition_point(|edge| edge.earlier < since)..]
                .iter()
                .map(|edge| edge.earlier),
        );
    }

    fn candidates(
        &self,
        item: u32,
        range: Range<u32>,
        wanted: &dyn Fn(u32) -> bool,
        out: &mut Vec<Candidate>,
    ) {
        let candidate = |id: u32| Candidate {
            id,
            rank: self.keep.rank[id as usize],
            distance: self.distance(item, id),
        };
        let own = self.own_edges(item);
        let first = own.partition_point(|edge| edge.earlier < range.start);
        let links = own[first..]
            .iter()
            .map(|edge| edge.earlier)
            .take_while(|&earlier| earlier < range.end);
        out.extend(links.filter(|&earlier| wanted(earlier)).map(candidate));
        if self.member[item as usize] == Open::No {
            return;
        }
        let Some(own) = self.sets.as_ref().map(|sets| sets.measure(item)) else {
            return;
        };
        let before = out.len();
        let mut ids = Vec::new();
        for join in &self.joins {
            let Some((size, prefix)) = join.block.get(&item) else {
                continue;
            };
            for partners in join.partners(own, self.member[item as usize]) {
                // What was placed before the block is sealed.
                if range.end <= self.block {
                    partners.probe_sealed(*size, prefix, &mut ids);
                } else {
                    partners.probe_young(*size, prefix, &mut ids);
                }
                let new = |id: &u32| range.contains(id) && wanted(*id);
                out.extend(ids.iter().copied().filter(new).map(candidate));
            }
        }
        self.probed
            .fetch_add((out.len() - before) as u64, Ordering::Relaxed);
    }

    fn place(&mut self, item: u32, leads: bool) {
        let own = self.sets.as_ref().map(|sets| sets.measure(item));
        if leads || self.pairs == Pairs::All {
            for join in &mut self.joins {
                if let Some((size, prefix)) = join.block.get(&item) {
                    let native = own == Some(join.measure);
                    let indexed = if native {
                        &mut join.native
                    } else {
                        &mut join.foreign
                    };
                    let core = self.member[item as usize] == Open::Core;
                    let index = if core {
                        &mut indexed.core
                    } else {
                        &mut indexed.fringe
                    };
                    index.insert(item, *size, prefix);
                }
            }
        }
    }
}

impl Verify for Matcher<'_> {
    fn cost(&self, item: u32) -> usize {
        self.sets.as_ref().map_or(0, |sets| sets.cost(item))
    }

    fn begin_block(&mut self, items: &[u32]) {
        self.block = items.first().copied().unwrap_or(self.block);
        let keys = self.block_keys(items);
        if let Some(sets) = &mut self.sets {
            sets.begin_block();
        }
        self.load_keys(keys.into_iter());
        let Some(sets) = &self.sets else { return };
        let members: Vec<u32> = items
            .iter()
            .copied()
            .filter(|&item| self.member[item as usize] != Open::No)
            .collect();
        for join in &mut self.joins {
            join.seal();
            let shared: &SetJoin = join;
            let block = members
                .par_iter()
                .filter_map(|&item| {
                    let key = set_key(sets.measure(item), shared.measure, item)?;
                    Some((item, shared.prefix(sets.get(key)?)))
                })
                .collect::<Vec<_>>();
            join.block = block.into_iter().collect();
        }
    }

    fn load(&mut self, pairs: &[(u32, Candidate)]) {
        let Some(sets) = &self.sets else { return };
        let keys: Vec<SetKey> = pairs
            .iter()
            .flat_map(|&(item, candidate)| {
                let measure = sets.measure(item).with(sets.measure(candidate.id));
                [(item, measure), (candidate.id, measure)]
            })
            .collect();
        self.load_keys(keys.into_iter());
    }

    fn verify(&self, item: u32, candidate: Candidate) -> Option<Similarity> {
        let Some(sets) = &self.sets else {
            // Nothing to verify on: within the radius is all that is asked.
            return Some(Similarity {
                jaccard: f64::NAN,
                containment: f64::NAN,
            });
        };
        let measure = sets.measure(item).with(sets.measure(candidate.id));
        let set = |item: u32| match sets.get((item, measure)) {
            Some(set) => Ok(Set::clone(set)),
            None => sets.load_one((item, measure)),
        };
        let overlap = match set(item).and_then(|a| Ok((a, set(candidate.id)?))) {
            Ok((a, b)) => overlap_at_least(&a, &b, self.threshold)?,
            Err(error) => {
                self.fail(error);
                return None;
            }
        };
        Some(Similarity {
            jaccard: overlap.jaccard(),
            containment: overlap.containment(),
        })
    }
}
