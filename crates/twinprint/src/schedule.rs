//! The order in which items are decided: any in which an item comes after its earlier neighbours gives the same groups, so the
//! one taken keeps neighbours together. What is loaded for a family of near-duplicates is then used at once, wherever in the input
//! its documents stand.

use crate::candidates::Edge;

/// A topological order of items `0..n` (ranks in keep order) along the edges, depth first: after an item come, if nothing else they wait
/// for is missing, its later neighbours, the earliest first. Members of the set join keep their order among one another,
/// since any earlier member may prove a neighbour. O(n + edges).
pub(crate) fn schedule(n: u32, edges: &[Edge], member: &[bool]) -> Vec<u32> {
    let later = Later::new(n, edges);
    let mut waits = vec![0u32; n as usize];
    for edge in edges {
        waits[edge.item as usize] += 1;
    }
    let mut members = (0..n).filter(|&item| member[item as usize]).peekable();
    let mut next_member = vec![u32::MAX; n as usize];
    while let Some(item) = members.next() {
        if let Some(&next) = members.peek() {
            next_member[item as usize] = next;
            waits[next as usize] += 1;
        }
    }
    let mut order = Vec::with_capacity(n as usize);
    let mut ready = Vec::new();
    for root in 0..n {
        // Only what waits for nothing from the start begins here; the rest is reached from what it waits for.
        if waits[root as usize] == 0 {
            waits[root as usize] = u32::MAX;
            ready.push(root);
        }
        while let Some(item) = ready.pop() {
            order.push(item);
            let next = Some(next_member[item as usize]).filter(|&next| next != u32::MAX);
            for later in next.into_iter().chain(later.of(item).iter().rev().copied()) {
                let waits = &mut waits[later as usize];
                *waits -= 1;
                if *waits == 0 {
                    *waits = u32::MAX;
                    ready.push(later);
                }
            }
        }
    }
    order
}

/// Each item's later neighbours, ascending.
struct Later {
    starts: Vec<u64>,
    items: Vec<u32>,
}

impl Later {
    /// `edges` sorted by item.
    fn new(n: u32, edges: &[Edge]) -> Self {
        let mut starts = vec![0u64; n as usize + 1];
        for edge in edges {
            starts[edge.earlier as usize + 1] += 1;
        }
        for i in 0..n as usize {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut items = vec![0; edges.len()];
        for edge in edges {
            let slot = &mut next[edge.earlier as usize];
            items[*slot as usize] = edge.item;
            *slot += 1;
        }
        Self { starts, items }
    }

    fn of(&self, item: u32) -> &[u32] {
        &self.items[self.starts[item as usize] as usize..self.starts[item as usize + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn neighbours_and_members_keep_their_order(
            pairs in prop::collection::btree_set((0u32..40, 0u32..40), 0..80),
            member in prop::collection::vec(any::<bool>(), 40),
        ) {
            let mut edges: Vec<Edge> = pairs
                .iter()
                .filter(|(a, b)| a > b)
                .map(|&(item, earlier)| Edge { item, earlier })
                .collect();
            edges.sort_unstable();
            let order = schedule(40, &edges, &member);
            let mut position = vec![usize::MAX; 40];
            for (i, &item) in order.iter().enumerate() {
                prop_assert_eq!(position[item as usize], usize::MAX, "no item twice");
                position[item as usize] = i;
            }
            prop_assert_eq!(order.len(), 40);
            for edge in &edges {
                prop_assert!(position[edge.earlier as usize] < position[edge.item as usize]);
            }
            let members: Vec<usize> = (0..40).filter(|&i| member[i]).map(|i| position[i]).collect();
            prop_assert!(members.is_sorted());
        }
    }

    #[test]
    fn families_stay_together() {
        // Two families interleaved in the input: 0 2 4 6 and 1 3 5 7.
        let mut edges = Vec::new();
        for item in 2..8u32 {
            for earlier in (0..item).filter(|earlier| earlier % 2 == item % 2) {
                edges.push(Edge { item, earlier });
            }
        }
        edges.sort_unstable();
        assert_eq!(schedule(8, &edges, &[false; 8]), [0, 2, 4, 6, 1, 3, 5, 7]);
    }
}
