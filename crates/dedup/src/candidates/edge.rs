//! Candidate pairs of the join.

use rayon::prelude::*;

/// A later item and an earlier one within the radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) item: u32,
    pub(crate) earlier: u32,
}

/// Sorts by item, then earlier: by both as one number, which is compared at once.
pub(super) fn sort(edges: &mut [Edge]) {
    edges.par_sort_unstable_by_key(|edge| u64::from(edge.item) << 32 | u64::from(edge.earlier));
}

impl Edge {
    /// The edge between two items.
    pub(crate) fn between(a: u32, b: u32) -> Self {
        Self {
            item: a.max(b),
            earlier: a.min(b),
        }
    }
}
