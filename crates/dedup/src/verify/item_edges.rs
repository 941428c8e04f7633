//! The edges of each item, among edges that are sorted by item.

use crate::candidates::Edge;
use crate::ids::{Id, ItemId, ids};
use crate::packed::PackedNumbers;

/// The edges of each item to earlier items.
pub(super) struct ItemEdges<'e> {
    edges: &'e [Edge],
    /// For each item, the end of its edges in `edges`.
    ends: PackedNumbers<ItemId>,
}

impl<'e> ItemEdges<'e> {
    /// The edges of `items` items. `edges` are sorted by item. O(items + edges).
    pub(super) fn new(edges: &'e [Edge], items: usize) -> Self {
        let (mut ends, mut end) = (PackedNumbers::default(), 0);
        for item in ids::<ItemId>(items) {
            end += edges[end..].iter().take_while(|edge| edge.item == item).count();
            ends.push([end as u64]);
        }
        Self { edges, ends }
    }

    /// The edges from an item to earlier items, ascending.
    pub(super) fn of(&self, item: ItemId) -> &'e [Edge] {
        let end = |item: ItemId| self.ends.get(item, 0) as usize;
        let start = item
            .get()
            .checked_sub(1)
            .map_or(0, |before| end(ItemId::new(before)));
        &self.edges[start..end(item)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_has_its_own_edges() {
        let edge = |item, earlier| Edge {
            item: ItemId::new(item),
            earlier: ItemId::new(earlier),
        };
        let all = [edge(1, 0), edge(3, 0), edge(3, 2), edge(4, 1)];
        let edges = ItemEdges::new(&all, 6);
        let earlier = |item| -> Vec<u32> {
            let own = edges.of(ItemId::new(item)).iter();
            own.map(|edge| edge.earlier.get()).collect()
        };
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(earlier),
            [vec![], vec![0], vec![], vec![0, 2], vec![1], vec![]]
        );
    }
}
