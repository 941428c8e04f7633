//! [`Order::Similar`](crate::Order::Similar): similar texts are next to one another, and all others stay in input order.
//!
//! Similar texts are the candidates that the search has found: most of them are not duplicates, but share complete
//! passages, which a compressor finds if they are close together. The walk begins with the first text in input order.
//! From each text it continues, depth first, with the nearest similar text that has no rank yet, and then with the next
//! text in input order. A sort by fingerprint, a sort by length, and a chain of nearest neighbours over all
//! fingerprints were measured too. All three lose the order of the input, and if that order was good already, they cost
//! more than they gain (docs/order.md).

use crate::ids::{ClassId, IdVec, Lists, ids};

/// The rank of each class in the order of similar texts. `pairs` are the pairs of similar texts, walked three times;
/// `distance` is the Hamming distance of two classes. Deterministic. Takes O(classes + pairs log pairs) time, 8 bytes
/// per class and at most 16 per pair.
pub(crate) fn ranks<I: DoubleEndedIterator<Item = (ClassId, ClassId)>>(
    classes: usize,
    pairs: impl Fn() -> I,
    distance: impl Fn(ClassId, ClassId) -> u32,
) -> IdVec<ClassId, u32> {
    const UNRANKED: u32 = u32::MAX;
    let mut similar: Lists<ClassId, ClassId> =
        Lists::group(classes, || pairs().flat_map(|(a, b)| [(a, b), (b, a)]));
    let mut ranks: IdVec<ClassId, u32> = IdVec::filled(UNRANKED, classes);
    let mut next = 0;
    let mut waiting = Vec::new();
    for start in ids(classes) {
        waiting.push(start);
        while let Some(class) = waiting.pop() {
            let rank = &mut ranks[class];
            if *rank != UNRANKED {
                continue;
            }
            *rank = next;
            next += 1;
            let neighbors = similar.of_mut(class);
            neighbors.sort_unstable_by_key(|&other| (distance(class, other), other));
            // The farthest neighbour is pushed first, because the stack returns the last one first.
            let farthest_first = neighbors.iter().rev();
            waiting.extend(farthest_first.filter(|&&other| ranks[other] == UNRANKED));
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::Id;

    /// The order by a naive walk, which reads all pairs at every step.
    fn naive(node: u32, pairs: &[(u32, u32)], distance: &dyn Fn(u32, u32) -> u32, seen: &mut Vec<u32>) {
        if seen.contains(&node) {
            return;
        }
        seen.push(node);
        let other = |&(a, b): &(u32, u32)| (a == node).then_some(b).or((b == node).then_some(a));
        let mut similar: Vec<u32> = pairs.iter().filter_map(other).collect();
        similar.sort_by_key(|&other| (distance(node, other), other));
        for other in similar {
            naive(other, pairs, distance, seen);
        }
    }

    fn ranks_of(classes: usize, pairs: &[(u32, u32)], distance: impl Fn(u32, u32) -> u32) -> Vec<u32> {
        let pairs = || pairs.iter().map(|&(a, b)| (ClassId::new(a), ClassId::new(b)));
        let ranks = ranks(classes, pairs, |a, b| distance(a.get(), b.get()));
        ranks.iter().copied().collect()
    }

    proptest! {
        #[test]
        fn ranks_equal_those_of_the_naive_walk(pairs in prop::collection::vec((0u32..30, 0u32..30), 0..60), salt: u32) {
            let pairs: Vec<(u32, u32)> = pairs.into_iter().filter(|(a, b)| a != b).collect();
            let distance = |a: u32, b: u32| (a ^ b ^ salt).count_ones();
            let ranks = ranks_of(30, &pairs, distance);
            let mut expected = Vec::new();
            for start in 0..30 {
                naive(start, &pairs, &distance, &mut expected);
            }
            prop_assert_eq!(expected.len(), 30);
            for (rank, &node) in (0u32..).zip(&expected) {
                prop_assert_eq!(ranks[node as usize], rank);
            }
        }
    }

    #[test]
    fn texts_without_similar_texts_keep_their_order() {
        assert_eq!(ranks_of(4, &[], |_, _| 0), [0, 1, 2, 3]);
        assert_eq!(ranks_of(5, &[(0, 3), (4, 1)], |_, _| 0), [0, 2, 4, 1, 3]);
    }
}
