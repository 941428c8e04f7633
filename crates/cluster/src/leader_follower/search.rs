//! Verifying one item's candidates, such that the likeliest are looked at first and spare work with the others.

use super::{Candidate, Pairs, Similarity, Verify};

/// Candidates in the order in which they are verified: the likeliest first.
pub(super) fn nearest_first(candidates: &mut [Candidate]) {
    candidates.sort_unstable_by_key(|candidate| (candidate.distance, candidate.rank));
}

/// The search for one item's duplicates.
pub(super) struct Search<'s, S> {
    space: &'s S,
    pub(super) item: u32,
    pairs: Pairs,
    /// What a duplicate must reach to count: the best so far where only the best is wanted.
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

    pub(super) fn check(&mut self, candidate: Candidate) {
        if let Some(similarity) = self.space.verify(self.item, candidate, self.at_least) {
            self.add(candidate, similarity);
        }
    }

    pub(super) fn add(&mut self, candidate: Candidate, similarity: Similarity) {
        if self.pairs == Pairs::Leaders {
            self.at_least = self.at_least.max(similarity.jaccard);
        }
        self.found.push((candidate, similarity));
    }
}
