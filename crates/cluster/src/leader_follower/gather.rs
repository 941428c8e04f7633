//! Gathers the candidate pairs of a block's items with the items before the block, a batch at a time.
//!
//! In a crowd of similar items, each item has a pair with every other, so all pairs of a block may not fit into memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::neighbors::{Candidate, Neighbors};
use super::search::nearest_first;

/// Yields pairs in the order of the items. The pairs of an item come by increasing distance.
///
/// All pairs of an item are in the same batch. The batches may differ from run to run, but the pairs and their order do
/// not.
pub(super) struct PairGatherer<'i> {
    items: &'i [u32],
    /// The maximum number of pairs of a batch. The last item of each thread may exceed it.
    max_pairs: usize,
    /// The number of items to search in the next call: at first all, later about as many as fill half a batch.
    window: usize,
}

impl<'i> PairGatherer<'i> {
    /// Creates a gatherer for the pairs of `items`. A batch needs up to a quarter of `memory`, and another quarter
    /// while it is gathered.
    pub(super) fn new(items: &'i [u32], memory: usize) -> Self {
        Self {
            items,
            max_pairs: memory / 4 / size_of::<(u32, Candidate)>(),
            window: items.len(),
        }
    }

    /// Returns `true` if the pairs of all items have been gathered.
    pub(super) fn is_done(&self) -> bool {
        self.items.is_empty()
    }

    /// The next item whose pairs will be gathered; `None` if there are no more.
    pub(super) fn next_item(&self) -> Option<u32> {
        self.items.first().copied()
    }

    /// Gathers the next batch: appends the pairs of at least one more item to `out`. A pair is gathered if its other
    /// item is in `0..placed` and `is_wanted` accepts it.
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
            // The first item is always searched, so that each call gathers the pairs of at least one item.
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
        // The order of the items must hold, so results after the first item that was not searched are dropped. The next
        // call searches these items again.
        for (&item, candidates) in window.iter().zip(by_item.into_iter().map_while(|found| found)) {
            out.extend(candidates.iter().map(|&candidate| (item, candidate)));
            done += 1;
        }
        self.items = &self.items[done..];
        let (found, searched) = (found.into_inner().max(1), searched.into_inner());
        self.window = (self.max_pairs / 2 * searched / found).max(1);
    }
}
