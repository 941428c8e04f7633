//! Groups from a complete list of verified pairs, in one pass.

use super::{Group, Similarity};

/// A verified pair of duplicates. Items are numbered in keep order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VerifiedPair {
    /// The later item in keep order.
    pub item: u32,
    /// The earlier item.
    pub earlier: u32,
    /// Hamming distance of the two items' fingerprints.
    pub distance: u32,
    /// Similarity of the two items.
    pub similarity: Similarity,
}

/// Groups the items `0..n` by the same rule as [`leader_follower`](super::leader_follower()), from all their verified
/// pairs. The pairs may come in any order; they are sorted. O(n + pairs log pairs).
///
/// # Panics
/// If an item of a pair is not below `n`, or if `earlier` is not below `item`.
///
/// ```
/// use twinprint_cluster::{Similarity, VerifiedPair, groups_of_pairs};
///
/// let pair = |item, earlier, jaccard| VerifiedPair {
///     item,
///     earlier,
///     distance: 1,
///     similarity: Similarity { jaccard, containment: jaccard },
/// };
/// // 1 follows 0. 2 is a duplicate of 1 only, which does not lead, so 2 leads. 3 is more similar to 2 than to 0.
/// let mut pairs = [pair(3, 2, 0.9), pair(1, 0, 0.85), pair(2, 1, 0.8), pair(3, 0, 0.8)];
/// let leaders: Vec<u32> = groups_of_pairs(4, &mut pairs).iter().map(|group| group.leader).collect();
/// assert_eq!(leaders, [0, 0, 2, 2]);
/// ```
pub fn groups_of_pairs(n: u32, pairs: &mut [VerifiedPair]) -> Vec<Group> {
    pairs.sort_unstable_by_key(|pair| (pair.item, pair.earlier));
    let mut groups: Vec<Group> = (0..n).map(Group::leader).collect();
    for of_item in pairs.chunk_by(|a, b| a.item == b.item) {
        let leads = |pair: &&VerifiedPair| groups[pair.earlier as usize].leader == pair.earlier;
        let group = |pair: &VerifiedPair| Group::follower(pair.earlier, pair.distance, pair.similarity);
        // The first of equal pairs wins, which is the earliest in keep order.
        let nearest = of_item.iter().filter(leads).map(group).min_by(Group::cmp_nearest);
        if let (Some(nearest), Some(pair)) = (nearest, of_item.first()) {
            groups[pair.item as usize] = nearest;
        }
    }
    groups
}
