//! Candidate pairs of the join.

use rayon::prelude::*;

use crate::ids::{Id, ItemId, Lists, ids};

/// A candidate pair: a later item, and an earlier item whose fingerprint is within the radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) item: ItemId,
    pub(crate) earlier: ItemId,
}

/// Sorts edges between the items `0..items` by `item`, then by `earlier`. Linear, if the edges of each item are few. Takes half the
/// memory of the edges.
pub(super) fn sort(edges: &mut [Edge], items: usize) {
    if edges.len() < items || u32::try_from(edges.len()).is_err() {
        // Both fields are compared as one number, which is faster.
        edges.par_sort_unstable_by_key(|edge| {
            u64::from(edge.item.get()) << 32 | u64::from(edge.earlier.get())
        });
        return;
    }
    let lists: Lists<ItemId, ItemId, u32> =
        Lists::group(items, || edges.iter().map(|edge| (edge.item, edge.earlier)));
    let mut rest = &mut *edges;
    for item in ids(items) {
        let own = lists.of(item);
        let (first, others) = rest.split_at_mut(own.len());
        for (edge, &earlier) in first.iter_mut().zip(own) {
            *edge = Edge { item, earlier };
        }
        rest = others;
    }
    edges
        .par_chunk_by_mut(|a, b| a.item == b.item)
        .for_each(|own| own.sort_unstable_by_key(|edge| edge.earlier));
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn edges_are_sorted(pairs in prop::collection::vec((0u32..30, 0u32..30), 0..200)) {
            let mut edges: Vec<Edge> =
                pairs.into_iter().map(|(a, b)| Edge::between(ItemId::new(a), ItemId::new(b))).collect();
            let mut expected = edges.clone();
            expected.sort_unstable();
            sort(&mut edges, 30);
            prop_assert_eq!(edges, expected);
        }
    }
}
