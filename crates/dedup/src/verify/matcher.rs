//! Wires the candidates and the texts to the grouping: answers who may be a duplicate of whom, and who is.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use twinprint_cluster::{Candidate, JoinRole, Neighbors, Pairs, Similarity, Verify};
use twinprint_fingerprint::Width;
use twinprint_text::Measure;

use crate::candidates::set_join::SetJoin;
use crate::candidates::{Candidates, Edge};
use crate::corpus::Classes;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::shingle_sets::{SetKey, Sets};
use crate::error::DedupError;
use crate::verify::near_misses::NearMisses;

/// Refuses so many bytes where there is no memory for them.
pub(crate) type Fits = Box<dyn Fn(u64) -> Result<(), DedupError> + Sync>;

/// What the grouping asks.
pub(crate) struct Matcher<'c> {
    classes: &'c Classes,
    keep: &'c KeepOrder,
    edges: &'c [Edge],
    /// Where each item's edges begin, and the end.
    starts: Vec<u64>,
    member: &'c [JoinRole],
    connected: Vec<bool>,
    bits: u32,
    threshold: f64,
    pairs: Pairs,
    /// Absent when nothing is verified.
    sets: Option<Sets<'c>>,
    /// Absent when no item is open.
    join: Option<SetJoin>,
    /// Refuses a join of so many bytes where there is no memory for it.
    fits: Fits,
    /// The first connected item of the block.
    block: u32,
    /// The first failure of the spool; nothing is decided after it.
    failure: Mutex<Option<DedupError>>,
    probed: AtomicU64,
    near_misses: NearMisses,
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
        let mut connected: Vec<bool> = candidates
            .member
            .iter()
            .map(|&open| open != JoinRole::None)
            .collect();
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
            join: None,
            fits: Box::new(|_| Ok(())),
            block: 0,
            failure: Mutex::default(),
            probed: AtomicU64::new(0),
            near_misses: NearMisses::below(threshold),
        }
    }

    /// Prepares the set join of the open items; `fits` is asked about its bytes as it grows. Must come before grouping.
    pub(crate) fn join_open(&mut self, memory: usize, fits: Fits) -> Result<(), DedupError> {
        self.fits = fits;
        if let Some(sets) = &mut self.sets
            && self.member.iter().any(|&open| open != JoinRole::None)
        {
            self.join = Some(SetJoin::new(sets, self.member, self.threshold, memory)?);
        }
        Ok(())
    }

    /// True if a pair is found by the set join; it is no edge then.
    fn is_left_to_the_join(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.member[a as usize], self.member[b as usize]);
        a.min(b) != JoinRole::None && a.max(b) == JoinRole::Core
    }

    /// Set-join candidates verified so far.
    pub(crate) fn probed(&self) -> u64 {
        self.probed.load(Ordering::Relaxed)
    }

    /// The pairs that just missed the threshold, unless a failure ended the work.
    pub(crate) fn finish(self) -> Result<NearMisses, DedupError> {
        match self.failure.into_inner().ok().flatten() {
            Some(failure) => Err(failure),
            None => Ok(self.near_misses),
        }
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
            if let (Some(join), true) = (&self.join, self.member[item as usize] != JoinRole::None) {
                keys.extend(join.keys(own, item));
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

impl Neighbors for Matcher<'_> {
    fn connected(&self, item: u32) -> bool {
        self.connected[item as usize]
    }

    fn join_role(&self, item: u32) -> JoinRole {
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
        let open = self.member[item as usize];
        if let (Some(join), Some(sets), true) = (&self.join, &self.sets, open != JoinRole::None) {
            let mut ids = Vec::new();
            join.probe(item, sets.measure(item), open, range.end <= self.block, &mut ids);
            let new = |id: &u32| range.contains(id) && wanted(*id);
            out.extend(ids.into_iter().filter(new).map(candidate));
        }
    }

    fn place(&mut self, item: u32, leads: bool) {
        if let (Some(join), Some(sets)) = (&mut self.join, &self.sets)
            && (leads || self.pairs == Pairs::All)
        {
            join.place(item, sets.measure(item), self.member[item as usize]);
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
        if let (Some(join), Some(sets)) = (&mut self.join, &self.sets) {
            let open = |&item: &u32| self.member[item as usize] != JoinRole::None;
            let members: Vec<u32> = items.iter().copied().filter(open).collect();
            join.begin_block(sets, &members);
            if let Err(error) = (self.fits)(join.bytes()) {
                self.fail(error);
                // Nothing is decided any more, and the join must not grow.
                self.join = None;
            }
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

    fn verify(&self, item: u32, candidate: Candidate, at_least: f64) -> Option<Similarity> {
        let Some(sets) = &self.sets else {
            // Nothing to verify on: within the radius is all that is asked.
            return Some(Similarity {
                jaccard: f64::NAN,
                containment: f64::NAN,
            });
        };
        // Counted here: a pair may be asked for more than once, and is verified once.
        if self.join.is_some() && self.is_left_to_the_join(item, candidate.id) {
            self.probed.fetch_add(1, Ordering::Relaxed);
        }
        let measure = sets.measure(item).with(sets.measure(candidate.id));
        let set = |item: u32| match sets.get((item, measure)) {
            Some(set) => Ok(Cow::Borrowed(set)),
            None => sets.load_one((item, measure)).map(Cow::Owned),
        };
        // What just misses the threshold is of interest as long as the item has no duplicate at all.
        let least = if at_least > 0.0 {
            self.threshold.max(at_least)
        } else {
            self.near_misses.least()
        };
        let overlap = match set(item).and_then(|a| Ok((a, set(candidate.id)?))) {
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
        if similarity.jaccard < self.threshold {
            self.near_misses.note(candidate, item, similarity);
            return None;
        }
        Some(similarity)
    }
}
