//! The candidate pairs of a block's items with the placed items, gathered in pieces.
//!
//! In a crowd of similar items each item has pairs with all others, so the pairs of a block may not fit into memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::neighbors::{Candidate, Neighbors};
use super::search::nearest_first;

/// Yields the pairs in the order of the items, each item's nearest first.
///
/// A piece holds the pairs of whole items. The pieces may differ from run to run; the pairs and their order do not.
pub(super) struct PairGatherer<'i> {
    items: &'i [u32],
    /// The maximum number of pairs of a piece, not counting the last item of each thread.
    max_pairs: usize,
    /// The number of items to search next: all at first, then about as many as fill half a piece.
    window: usize,
}

impl<'i> PairGatherer<'i> {
    /// Gathers pieces of a quarter of `memory`; building one takes another quarter.
    pub(super) fn new(items: &'i [u32], memory: usize) -> Self {
        Self {
            items,
            max_pairs: memory / 4 / size_of::<(u32, Candidate)>(),
            window: items.len(),
        }
    }

    /// Returns whether the pairs of all items have been gathered.
    pub(super) fn is_done(&self) -> bool {
        self.items.is_empty()
    }

    /// The item whose pairs come next.
    pub(super) fn next_item(&self) -> Option<u32> {
        self.items.first().copied()
    }

    /// Appends the pairs of at least one more item with the items `0..placed` that `is_wanted` accepts.
    pub(super) fn more<S: Neighbors + Sync>(
        &mut self,
        space: &S,
        placed: u32,
        is_wanted: &(impl Fn(u32) -> bool + Sync),
        out: &mut Vec<(u32, Candidate)>,
    ) {
        let found = AtomicUsize::new(0);
        let searched = AtomicUsize::new(0);
        let window = &self.items[..self.window.min(self.items.len())];
        let search = |candidates: &mut Vec<Candidate>, (position, &item): (usize, &u32)| {
            // The first item is always searched, so that each call makes progress.
            if position > 0 && found.load(Ordering::Relaxed) > self.max_pairs {
                return None;
            }
            candidates.clear();
            space.candidates(item, 0..placed, is_wanted, candidates);
            nearest_first(candidates);
            found.fetch_add(candidates.len(), Ordering::Relaxed);
            searched.fetch_add(1, Ordering::Relaxed);
            Some(candidates.as_slice().into())
        };
        let by_item: Vec<Option<Box<[Candidate]>>> = window
            .par_iter()
            .enumerate()
            .with_min_len(64)
            .map_init(Vec::new, search)
            .collect();
        let mut done = 0;
        // Items after one that was not searched are searched again, because the order must hold.
        for (&item, candidates) in window.iter().zip(by_item.into_iter().map_while(|found| found)) {
            out.extend(candidates.iter().map(|&candidate| (item, candidate)));
            done += 1;
        }
        self.items = &self.items[done..];
        let (found, searched) = (found.into_inner().max(1), searched.into_inner());
        self.window = (self.max_pairs / 2 * searched / found).max(1);
    }
}
