//! Candidate pairs of the join.

use rayon::prelude::*;

use crate::ids::{Id, IdVec, ItemId};

/// A candidate pair: a later item, and an earlier item whose fingerprint is within the radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) item: ItemId,
    pub(crate) earlier: ItemId,
}

/// Sorts edges between the items `0..items` by `item`, then by `earlier`. Linear, if the edges of each item are few. Takes the memory
/// of the edges once more.
pub(super) fn sort(edges: &mut Vec<Edge>, items: usize) {
    let count = u32::try_from(edges.len()).ok();
    if edges.len() < items || count.is_none() {
        // Both fields are compared as one number, which is faster.
        edges.par_sort_unstable_by_key(|edge| {
            u64::from(edge.item.get()) << 32 | u64::from(edge.earlier.get())
        });
        return;
    }
    let mut places: IdVec<ItemId, u32> = IdVec::filled(0, items);
    for edge in &*edges {
        places[edge.item] += 1;
    }
    let mut sum = 0;
    for place in places.iter_mut() {
        sum += std::mem::replace(place, sum);
    }
    let none = ItemId::new(0);
    let mut by_item = vec![
        Edge {
            item: none,
            earlier: none
        };
        edges.len()
    ];
    for &edge in &*edges {
        let place = &mut places[edge.item];
        by_item[*place as usize] = edge;
        *place += 1;
    }
    *edges = by_item;
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
