//! For each item, the number of its later neighbours that are not decided yet. Once a decided item has none, no further item
//! is compared with it, unless the decided item takes part in the set join. So its shingle set can be dropped.

use crate::candidates::Edge;
use crate::ids::{IdVec, ItemId};

/// The undecided later neighbours of items.
pub(super) struct UndecidedNeighbors {
    /// A count of [`u16::MAX`] may stand for more, so it stays.
    counts: IdVec<ItemId, u16>,
}

impl UndecidedNeighbors {
    /// Counts the later neighbours of `items` items. O(items + edges).
    pub(super) fn new(edges: &[Edge], items: usize) -> Self {
        let mut counts: IdVec<ItemId, u16> = IdVec::filled(0, items);
        for edge in edges {
            let count = &mut counts[edge.earlier];
            *count = count.saturating_add(1);
        }
        Self { counts }
    }

    /// True if the item has no undecided later neighbour.
    pub(super) fn has_none(&self, item: ItemId) -> bool {
        self.counts[item] == 0
    }

    /// Notes that one later neighbour of the item is decided. True if it was the last one.
    pub(super) fn decide(&mut self, item: ItemId) -> bool {
        let count = &mut self.counts[item];
        if *count == u16::MAX {
            return false;
        }
        debug_assert!(*count > 0, "an edge was decided twice");
        *count = count.saturating_sub(1);
        *count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn the_last_later_neighbor_ends_the_count() {
        let edge = |item, earlier| Edge {
            item: ItemId::new(item),
            earlier: ItemId::new(earlier),
        };
        let edges = [edge(1, 0), edge(2, 0), edge(2, 1)];
        let [zero, one, two] = [0, 1, 2].map(ItemId::new);
        let mut neighbors = UndecidedNeighbors::new(&edges, 3);
        assert!(neighbors.has_none(two) && !neighbors.has_none(zero));
        assert!(!neighbors.decide(zero));
        assert!(neighbors.decide(one));
        assert!(neighbors.decide(zero) && neighbors.has_none(zero));
    }

    #[test]
    fn an_item_with_more_neighbors_than_can_be_counted_keeps_them() {
        let count = u32::from(u16::MAX) + 5;
        let edges: Vec<Edge> = (1..count)
            .map(|item| Edge {
                item: ItemId::new(item),
                earlier: ItemId::new(0),
            })
            .collect();
        let mut neighbors = UndecidedNeighbors::new(&edges, count as usize);
        assert!(!edges.iter().any(|edge| neighbors.decide(edge.earlier)));
    }
}
