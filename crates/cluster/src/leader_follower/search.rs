//! Verifies the candidates of one item. The most promising come first, so that others can be rejected early.

use super::neighbors::{Candidate, Pairs, Similarity, Verify};

/// Sorts candidates into the order in which they are verified: by increasing distance, ties in keep order.
pub(super) fn nearest_first(candidates: &mut [Candidate]) {
    candidates.sort_unstable_by_key(|candidate| (candidate.distance, candidate.rank));
}

/// The search for the duplicates of one item among its candidates.
pub(super) struct Search<'s, S> {
    space: &'s S,
    pub(super) item: u32,
    pairs: Pairs,
    /// The minimum Jaccard of a duplicate that is still of interest. With [`Pairs::Leaders`] it is the Jaccard of the
    /// best duplicate so far, otherwise 0.
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

    /// Verifies a candidate and adds it to the duplicates if it is one.
    pub(super) fn check(&mut self, candidate: Candidate) {
        if let Some(similarity) = self.space.verify(self.item, candidate, self.at_least) {
            self.add(candidate, similarity);
        }
    }

    /// Adds a candidate that was verified to be a duplicate.
    pub(super) fn add(&mut self, candidate: Candidate, similarity: Similarity) {
        if self.pairs == Pairs::Leaders {
            self.at_least = self.at_least.max(similarity.jaccard);
        }
        self.found.push((candidate, similarity));
    }
}
