//! Candidate pairs of the join.

use rayon::prelude::*;

use crate::ids::{Id, ItemId};

/// A candidate pair: a later item, and an earlier item whose fingerprint is within the radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) item: ItemId,
    pub(crate) earlier: ItemId,
}

/// Sorts edges by `item`, then by `earlier`. Both fields are compared as one number, which is faster.
pub(super) fn sort(edges: &mut [Edge]) {
    edges.par_sort_unstable_by_key(|edge| u64::from(edge.item.get()) << 32 | u64::from(edge.earlier.get()));
}

impl Edge {
    /// Makes the edge between two items, given in any order.
    pub(crate) fn between(a: ItemId, b: ItemId) -> Self {
        Self {
            item: a.max(b),
            earlier: a.min(b),
        }
    }
}
