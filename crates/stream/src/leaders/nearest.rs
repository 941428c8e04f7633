//! Selects the nearest of many neighbours, so that in a crowd of similar texts only these are sorted and compared.

use twinprint_index::growing::Neighbor;

/// Neighbours, divided into near and far ones by Hamming distance.
pub(super) struct SplitNeighbors<'n> {
    /// The nearest neighbours, including all that are as far away as the last of them.
    pub(super) near: &'n [Neighbor],
    /// The remaining neighbours, all farther away than the near ones.
    pub(super) far: &'n [Neighbor],
}

/// Divides neighbours into the `count` nearest and the rest. Neighbours as far away as the last near one are near too.
/// O(neighbours).
pub(super) fn split_nearest(neighbors: &mut [Neighbor], count: usize) -> SplitNeighbors<'_> {
    if neighbors.len() <= count {
        return SplitNeighbors {
            near: neighbors,
            far: &[],
        };
    }
    let (_, &mut Neighbor { distance: last, .. }, _) =
        neighbors.select_nth_unstable_by_key(count, |neighbor| neighbor.distance);
    neighbors.sort_unstable_by_key(|neighbor| neighbor.distance > last);
    let (near, far) = neighbors.split_at(neighbors.partition_point(|neighbor| neighbor.distance <= last));
    SplitNeighbors { near, far }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn neighbours_are_split_between_two_distances(
            distances in prop::collection::vec(0u32..20, 0..60),
            count in 0usize..70,
        ) {
            let neighbors = distances.iter().zip(0..).map(|(&distance, id)| Neighbor { id, distance });
            let mut neighbors: Vec<Neighbor> = neighbors.collect();
            let mut all = neighbors.clone();
            let SplitNeighbors { near, far } = split_nearest(&mut neighbors, count);
            prop_assert!(near.len() >= count.min(all.len()));
            let closest = far.iter().map(|neighbor| neighbor.distance).min();
            prop_assert!(closest.is_none_or(|closest| near.iter().all(|neighbor| neighbor.distance < closest)));
            let mut both = [near, far].concat();
            both.sort_unstable();
            all.sort_unstable();
            prop_assert_eq!(both, all);
        }
    }
}
