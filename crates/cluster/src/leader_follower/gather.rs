//! The pairs of a block's items with what was placed before, in pieces: in a crowd every item has as many as there are items.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::search::nearest_first;
use super::{Block, Candidate, Neighbors, Verify};

/// Gives the pairs in the order of the items, each item's nearest first. The pieces hold whole items, and are not the same in every run; the
/// pairs and their order are.
pub(super) struct Gather<'i> {
    items: &'i [u32],
    /// Pairs of a piece at most, but for the last item of each thread.
    most: usize,
    /// Items to look at next: all at first, then about as many as will fill half a piece.
    next: usize,
}

impl<'i> Gather<'i> {
    /// Pieces of a quarter of `memory`; another quarter is taken while one is put together.
    pub(super) fn new(items: &'i [u32], memory: usize) -> Self {
        Self {
            items,
            most: memory / 4 / size_of::<(u32, Candidate)>(),
            next: items.len(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.items.is_empty()
    }

    /// The item whose pairs come next.
    pub(super) fn next_item(&self) -> Option<u32> {
        self.items.first().copied()
    }

    /// Appends the pairs of at least one more item.
    pub(super) fn more<S: Neighbors + Verify + Sync>(
        &mut self,
        block: &Block<'_>,
        space: &S,
        out: &mut Vec<(u32, Candidate)>,
    ) {
        let found = AtomicUsize::new(0);
        let looked_at = AtomicUsize::new(0);
        let window = &self.items[..self.next.min(self.items.len())];
        let of_item = |met: &mut Vec<Candidate>, (at, &item): (usize, &u32)| {
            // The first is always looked at, so that each call gets on.
            if at > 0 && found.load(Ordering::Relaxed) > self.most {
                return None;
            }
            met.clear();
            space.candidates(item, 0..block.range.start, &|id| block.wanted(id), met);
            nearest_first(met);
            found.fetch_add(met.len(), Ordering::Relaxed);
            looked_at.fetch_add(1, Ordering::Relaxed);
            Some(met.as_slice().into())
        };
        let of_items: Vec<Option<Box<[Candidate]>>> = window
            .par_iter()
            .enumerate()
            .with_min_len(64)
            .map_init(Vec::new, of_item)
            .collect();
        let mut done = 0;
        // The items after one that was not looked at are looked at again: the order must hold.
        for (&item, candidates) in window.iter().zip(of_items.into_iter().map_while(|found| found)) {
            out.extend(candidates.iter().map(|&candidate| (item, candidate)));
            done += 1;
        }
        self.items = &self.items[done..];
        let (found, looked_at) = (found.into_inner().max(1), looked_at.into_inner());
        self.next = (self.most / 2 * looked_at / found).max(1);
    }
}
