//! The order of `--order similar`: relatives stand next to one another, everything else as in the input.
//!
//! Relatives are the candidates that the search has found anyway: most of them are no duplicates, but near enough to share whole
//! passages, which packers find when they lie close together. From the first text in input order the walk goes on to its nearest
//! relative not yet seen, depth first, then to the next text in input order. A sort by fingerprint, a sort by length, and a chain of nearest
//! neighbours over all fingerprints were measured too: they lose the order of the input, which costs more than it gains where that was good
//! already (docs/order.md).

/// The rank of each of the nodes `0..nodes` (numbered in input order) in the order of relatives. `pairs` are the relatives, gone through
/// twice; `distance` says how far apart two are. Deterministic. O(nodes + pairs log pairs) time; 8 bytes a node and at most 16 a pair.
pub(crate) fn ranks<I: Iterator<Item = (u32, u32)>>(
    nodes: u32,
    pairs: impl Fn() -> I,
    distance: impl Fn(u32, u32) -> u32,
) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    let mut relatives = Relatives::new(nodes, pairs);
    let mut ranks = vec![UNSEEN; nodes as usize];
    let mut next = 0;
    let mut waiting = Vec::new();
    for start in 0..nodes {
        waiting.push(start);
        while let Some(node) = waiting.pop() {
            let rank = &mut ranks[node as usize];
            if *rank != UNSEEN {
                continue;
            }
            *rank = next;
            next += 1;
            let of_node = relatives.of(node);
            of_node.sort_unstable_by_key(|&other| (distance(node, other), other));
            // The last to wait is the first to follow.
            let unseen = of_node.iter().rev();
            waiting.extend(unseen.filter(|&&other| ranks[other as usize] == UNSEEN));
        }
    }
    ranks
}

/// The relatives of every node, one list after the other.
struct Relatives {
    starts: Vec<u64>,
    nodes: Vec<u32>,
}

impl Relatives {
    fn new<I: Iterator<Item = (u32, u32)>>(nodes: u32, pairs: impl Fn() -> I) -> Self {
        let mut starts = vec![0u64; nodes as usize + 1];
        for (a, b) in pairs() {
            starts[a as usize] += 1;
            starts[b as usize] += 1;
        }
        // Each list's end for now; filling it from behind leaves its start.
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut lists = vec![0; end as usize];
        let mut put = |list: u32, node| {
            let start = &mut starts[list as usize];
            *start -= 1;
            lists[*start as usize] = node;
        };
        for (a, b) in pairs() {
            put(a, b);
            put(b, a);
        }
        Self { starts, nodes: lists }
    }

    fn of(&mut self, node: u32) -> &mut [u32] {
        let (start, end) = (self.starts[node as usize], self.starts[node as usize + 1]);
        &mut self.nodes[start as usize..end as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same, by looking at every pair.
    fn plain(node: u32, pairs: &[(u32, u32)], distance: &dyn Fn(u32, u32) -> u32, seen: &mut Vec<u32>) {
        if seen.contains(&node) {
            return;
        }
        seen.push(node);
        let other = |&(a, b): &(u32, u32)| (a == node).then_some(b).or((b == node).then_some(a));
        let mut relatives: Vec<u32> = pairs.iter().filter_map(other).collect();
        relatives.sort_by_key(|&other| (distance(node, other), other));
        for relative in relatives {
            plain(relative, pairs, distance, seen);
        }
    }

    proptest! {
        #[test]
        fn as_the_plain_walk(pairs in prop::collection::vec((0u32..30, 0u32..30), 0..60), salt: u32) {
            let pairs: Vec<(u32, u32)> = pairs.into_iter().filter(|(a, b)| a != b).collect();
            let distance = |a: u32, b: u32| (a ^ b ^ salt).count_ones();
            let ranks = ranks(30, || pairs.iter().copied(), distance);
            let mut expected = Vec::new();
            for start in 0..30 {
                plain(start, &pairs, &distance, &mut expected);
            }
            prop_assert_eq!(expected.len(), 30);
            for (rank, &node) in (0u32..).zip(&expected) {
                prop_assert_eq!(ranks[node as usize], rank);
            }
        }
    }

    #[test]
    fn what_has_no_relatives_stays_in_order() {
        assert_eq!(ranks(4, std::iter::empty, |_, _| 0), [0, 1, 2, 3]);
        assert_eq!(
            ranks(5, || [(0, 3), (4, 1)].into_iter(), |_, _| 0),
            [0, 2, 4, 1, 3]
        );
    }
}
