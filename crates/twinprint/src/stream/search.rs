//! The rows near an item, and which of them are compared in a crowd.

use twinprint_index::growing::{MergePolicy, Neighbor};

/// When the rows of a stream's leaders are merged into larger tables: the stream waits for each merge, so small ones are better.
pub(super) const MERGE_POLICY: MergePolicy = MergePolicy {
    tail_rows: 4096,
    size_ratio: 1,
};

/// Splits rows by distance: the nearest `most` with all others as near as the last of them, and the rest. O(rows).
pub(super) fn split_crowd(rows: &mut [Neighbor], most: usize) -> (&[Neighbor], &[Neighbor]) {
    if rows.len() <= most {
        return (rows, &[]);
    }
    let (_, &mut Neighbor { distance: last, .. }, _) =
        rows.select_nth_unstable_by_key(most, |row| row.distance);
    rows.sort_unstable_by_key(|row| row.distance > last);
    rows.split_at(rows.partition_point(|row| row.distance <= last))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_crowd_is_split_between_two_distances(distances in prop::collection::vec(0u32..20, 0..60), most in 0usize..70) {
            let mut rows: Vec<Neighbor> = distances.iter().zip(0..).map(|(&distance, id)| Neighbor { id, distance }).collect();
            let mut all = rows.clone();
            let (near, far) = split_crowd(&mut rows, most);
            prop_assert!(near.len() >= most.min(all.len()));
            let closest = far.iter().map(|row| row.distance).min();
            prop_assert!(closest.is_none_or(|closest| near.iter().all(|row| row.distance < closest)));
            let mut both = [near, far].concat();
            both.sort_unstable();
            all.sort_unstable();
            prop_assert_eq!(both, all);
        }
    }
}
