//! Verification of one item's candidates, the most promising first, so that the others can be rejected early.

use super::neighbors::{Candidate, Pairs, Similarity, Verify};

/// Sorts candidates into the order in which they are verified: the nearest first, ties in keep order.
pub(super) fn nearest_first(candidates: &mut [Candidate]) {
    candidates.sort_unstable_by_key(|candidate| (candidate.distance, candidate.rank));
}

/// The search for one item's duplicates.
pub(super) struct Search<'s, S> {
    space: &'s S,
    pub(super) item: u32,
    pairs: Pairs,
    /// The minimum Jaccard of further duplicates: with [`Pairs::Leaders`] that of the best duplicate so far, else 0.
    pub(super) at_least: f64,
    pub(super) found: Vec<(Candidate, Similarity)>,
}

impl<'s, S: Verify> Search<'s, S> {
    pub(super) fn new(space: &'s S, item: u32, pairs: Pairs) -> Self {
        Self {
            space,
            item,
            pairs,
            at_least: 0.0,
            found: Vec::new(),
        }
    }

    /// Verifies a candidate.
    pub(super) fn check(&mut self, candidate: Candidate) {
        if let Some(similarity) = self.space.verify(self.item, candidate, self.at_least) {
            self.add(candidate, similarity);
        }
    }

    /// Adds a verified duplicate.
    pub(super) fn add(&mut self, candidate: Candidate, similarity: Similarity) {
        if self.pairs == Pairs::Leaders {
            self.at_least = self.at_least.max(similarity.jaccard);
        }
        self.found.push((candidate, similarity));
    }
}
