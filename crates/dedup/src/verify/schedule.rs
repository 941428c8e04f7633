//! The order in which items are decided: any in which an item comes after its earlier neighbours gives the same groups, so the
//! one taken keeps neighbours together. What is loaded for a family of near-duplicates is then used at once, wherever in the input
//! its documents stand.

use twinprint_cluster::JoinRole;

use crate::candidates::Edge;

/// A topological order of items `0..n` (ranks in keep order) along the edges, depth first: after an item come, if nothing else they wait
/// for is missing, its later neighbours, the earliest first. Open items that may prove neighbours keep their order among one
/// another: all of which one at least is a core item. O(n + edges).
pub(crate) fn schedule(n: u32, edges: &[Edge], open: &[JoinRole]) -> Vec<u32> {
    let later = Later::new(n, edges);
    let meetings = Meetings::new(open);
    let mut waits = vec![0u32; n as usize];
    for edge in edges {
        waits[edge.item as usize] += 1;
    }
    for &item in &meetings.items {
        for &next in meetings.after(item, open) {
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
            for &next in meetings
                .after(item, open)
                .iter()
                .rev()
                .chain(later.of(item).iter().rev())
            {
                let waits = &mut waits[next as usize];
                *waits -= 1;
                if *waits == 0 {
                    *waits = u32::MAX;
                    ready.push(next);
                }
            }
        }
    }
    order
}

/// Which open items must wait for which: a core item for those since the core item before it, and for that; a fringe item for the core
/// item before it.
struct Meetings {
    /// The open items in order.
    items: Vec<u32>,
    /// The place among them of each item.
    place: Vec<u32>,
    /// For each of them, the place of the next core item, or the end.
    next_core: Vec<u32>,
}

impl Meetings {
    fn new(open: &[JoinRole]) -> Self {
        let items: Vec<u32> = (0..open.len() as u32)
            .filter(|&item| open[item as usize] != JoinRole::None)
            .collect();
        let mut place = vec![0; open.len()];
        let mut next_core = vec![items.len() as u32; items.len()];
        let mut next = items.len() as u32;
        for (i, &item) in items.iter().enumerate().rev() {
            place[item as usize] = i as u32;
            next_core[i] = next;
            if open[item as usize] == JoinRole::Core {
                next = i as u32;
            }
        }
        Self {
            items,
            place,
            next_core,
        }
    }

    /// The items that wait for this one, ascending.
    fn after(&self, item: u32, open: &[JoinRole]) -> &[u32] {
        let here = self.place[item as usize] as usize;
        let last = match open[item as usize] {
            JoinRole::None => return &[],
            JoinRole::Fringe | JoinRole::Core => self.next_core[here] as usize,
        };
        let first = if open[item as usize] == JoinRole::Core {
            here + 1
        } else {
            last
        };
        &self.items[first..(last + 1).min(self.items.len())]
    }
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
            open in prop::collection::vec(prop::sample::select(vec![JoinRole::None, JoinRole::Fringe, JoinRole::Core]), 40),
        ) {
            let mut edges: Vec<Edge> = pairs
                .iter()
                .filter(|(a, b)| a > b)
                .map(|&(item, earlier)| Edge { item, earlier })
                .collect();
            edges.sort_unstable();
            let order = schedule(40, &edges, &open);
            let mut position = vec![usize::MAX; 40];
            for (i, &item) in order.iter().enumerate() {
                prop_assert_eq!(position[item as usize], usize::MAX, "no item twice");
                position[item as usize] = i;
            }
            prop_assert_eq!(order.len(), 40);
            for edge in &edges {
                prop_assert!(position[edge.earlier as usize] < position[edge.item as usize]);
            }
            for a in 0..40 {
                for b in a + 1..40 {
                    if open[a].min(open[b]) != JoinRole::None && open[a].max(open[b]) == JoinRole::Core {
                        prop_assert!(position[a] < position[b], "{} and {} may meet", a, b);
                    }
                }
            }
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
        assert_eq!(
            schedule(8, &edges, &[JoinRole::None; 8]),
            [0, 2, 4, 6, 1, 3, 5, 7]
        );
    }
}
