//! The order in which items are decided.
//!
//! Every order in which each item comes after its earlier neighbours gives the same groups. This order keeps neighbours
//! together, so that the shingle sets of similar documents are used soon after they are loaded, wherever the documents
//! are in the input.

use twinprint_cluster::JoinRole;

use crate::candidates::Edge;
use crate::ids::{IdVec, ItemId, Lists, Offset, ids};

/// Returns the order in which items are decided: a topological order along the edges. Items are numbered by rank in
/// keep order, and each has one of the `roles`.
///
/// The order is depth first: an item is followed by those of its later neighbours that wait for no other item, the
/// earliest first. Two members of the set join, of which at least one is a core member, may turn out to be neighbours,
/// so they keep their order. `edges` are sorted by item. O(items + edges).
pub(crate) fn schedule(edges: &[Edge], roles: &IdVec<ItemId, JoinRole>) -> IdVec<ItemId, ItemId> {
    // Smaller positions stay in the cache of a core.
    match u32::try_from(edges.len()) {
        Ok(_) => depth_first::<u32>(edges, roles),
        Err(_) => depth_first::<u64>(edges, roles),
    }
}

/// See [`schedule`]. `N` is the type of a position among the edges.
fn depth_first<N: Offset>(edges: &[Edge], roles: &IdVec<ItemId, JoinRole>) -> IdVec<ItemId, ItemId> {
    /// The value in `waits` of an item that is ready or already in the order.
    const DECIDED: u32 = u32::MAX;
    let items = roles.len();
    let member_order = MemberOrder::new(roles);
    let later = || Lists::<_, _, N>::group(items, || edges.iter().map(|edge| (edge.earlier, edge.item)));
    // For each item, the number of items that it waits for.
    let waits = || {
        let mut waits: IdVec<ItemId, u32> = IdVec::filled(0, items);
        for edge in edges {
            waits[edge.item] += 1;
        }
        for &item in &member_order.members {
            for &next in member_order.after(item, roles) {
                waits[next] += 1;
            }
        }
        waits
    };
    let (later, mut waits) = rayon::join(later, waits);
    let mut order = Vec::with_capacity(items);
    let mut ready = Vec::new();
    for root in ids(items) {
        // The walk starts from items that wait for no other item. The walk reaches all other items from the items that
        // they wait for.
        if waits[root] == 0 {
            waits[root] = DECIDED;
            ready.push(root);
        }
        while let Some(item) = ready.pop() {
            order.push(item);
            for &next in member_order
                .after(item, roles)
                .iter()
                .rev()
                .chain(later.of(item).iter().rev())
            {
                let waits = &mut waits[next];
                *waits -= 1;
                if *waits == 0 {
                    *waits = DECIDED;
                    ready.push(next);
                }
            }
        }
    }
    order.into()
}

/// Keeps the members of the set join in order. A core member waits for the core member before it and for all members
/// between the two. A fringe member waits for the core member before it.
struct MemberOrder {
    /// The members of the set join, ascending.
    members: Vec<ItemId>,
    /// For each item, its position among the members.
    position: IdVec<ItemId, u32>,
    /// For each member, the position of the next core member; past the last core member, the number of members.
    next_core: Vec<u32>,
}

impl MemberOrder {
    fn new(roles: &IdVec<ItemId, JoinRole>) -> Self {
        let members = roles.entries().filter(|&(_, &role)| role != JoinRole::None);
        let members: Vec<ItemId> = members.map(|(item, _)| item).collect();
        let mut position = IdVec::filled(0, roles.len());
        let mut next_core = vec![members.len() as u32; members.len()];
        let mut next = members.len() as u32;
        for (i, &item) in members.iter().enumerate().rev() {
            position[item] = i as u32;
            next_core[i] = next;
            if roles[item] == JoinRole::Core {
                next = i as u32;
            }
        }
        Self {
            members,
            position,
            next_core,
        }
    }

    /// The members that wait for `item`, ascending.
    fn after(&self, item: ItemId, roles: &IdVec<ItemId, JoinRole>) -> &[ItemId] {
        let here = self.position[item] as usize;
        let last = match roles[item] {
            JoinRole::None => return &[],
            JoinRole::Fringe | JoinRole::Core => self.next_core[here] as usize,
        };
        let first = if roles[item] == JoinRole::Core {
            here + 1
        } else {
            last
        };
        &self.members[first..(last + 1).min(self.members.len())]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::Id;

    fn edge((item, earlier): (u32, u32)) -> Edge {
        Edge {
            item: ItemId::new(item),
            earlier: ItemId::new(earlier),
        }
    }

    proptest! {
        #[test]
        fn neighbours_and_members_keep_their_order(
            pairs in prop::collection::btree_set((0u32..40, 0u32..40), 0..80),
            open in prop::collection::vec(prop::sample::select(vec![JoinRole::None, JoinRole::Fringe, JoinRole::Core]), 40),
        ) {
            let mut edges: Vec<Edge> = pairs
                .iter()
                .filter(|(a, b)| a > b)
                .map(|&pair| edge(pair))
                .collect();
            edges.sort_unstable();
            let order = schedule(&edges, &IdVec::from(open.clone()));
            prop_assert_eq!(&order, &depth_first::<u64>(&edges, &IdVec::from(open.clone())));
            let mut position = vec![usize::MAX; 40];
            for (i, &item) in order.iter().enumerate() {
                prop_assert_eq!(position[item.index()], usize::MAX, "an item occurs twice");
                position[item.index()] = i;
            }
            prop_assert_eq!(order.len(), 40);
            for edge in &edges {
                prop_assert!(position[edge.earlier.index()] < position[edge.item.index()]);
            }
            for a in 0..40 {
                for b in a + 1..40 {
                    if open[a].min(open[b]) != JoinRole::None && open[a].max(open[b]) == JoinRole::Core {
                        prop_assert!(position[a] < position[b], "{} and {} are not in order", a, b);
                    }
                }
            }
        }
    }

    #[test]
    fn similar_items_stay_together() {
        // Two sets of similar items alternate in the input: 0 2 4 6 and 1 3 5 7.
        let mut edges = Vec::new();
        for item in 2..8u32 {
            for earlier in (0..item).filter(|earlier| earlier % 2 == item % 2) {
                edges.push(edge((item, earlier)));
            }
        }
        edges.sort_unstable();
        let order = schedule(&edges, &IdVec::filled(JoinRole::None, 8));
        assert_eq!(
            order,
            [0, 2, 4, 6, 1, 3, 5, 7].map(ItemId::new).into_iter().collect()
        );
    }
}
