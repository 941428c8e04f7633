//! Sorting keyed hashes: they are uniform, so one pass by their leading bits all but sorts them.

/// The most buckets; more would leave the first cache.
const MAX_BUCKETS: usize = 1 << 12;
/// Fewer values than this are sorted by comparing.
const FEW: usize = 64;

/// Buffers kept from one sort to the next.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// For each bucket the position after its last value placed.
    ends: Vec<u32>,
    values: Vec<u64>,
}

impl Sorter {
    /// Sorts fewer than 2³² values and drops repeats. Expected linear time for uniform values, `n log n` for any.
    pub(super) fn sort_distinct(&mut self, values: &mut Vec<u64>) {
        if values.len() < FEW {
            values.sort_unstable();
            values.dedup();
            return;
        }
        let buckets = values.len().next_power_of_two().min(MAX_BUCKETS);
        let shift = 64 - buckets.trailing_zeros();
        // Every index below is a value's leading bits, less than `buckets`, or a position summed up from the
        // counts, less than the number of values.
        self.ends.clear();
        self.ends.resize(buckets, 0);
        for value in values.iter() {
            self.ends[(value >> shift) as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += std::mem::replace(end, sum);
        }
        self.values.resize(values.len(), 0);
        for &value in values.iter() {
            let end = &mut self.ends[(value >> shift) as usize];
            self.values[*end as usize] = value;
            *end += 1;
        }
        values.clear();
        let mut start = 0;
        for &end in &self.ends {
            let bucket = &mut self.values[start..end as usize];
            if bucket.len() > 1 {
                bucket.sort_unstable();
            }
            for &value in bucket.iter() {
                if values.last() != Some(&value) {
                    values.push(value);
                }
            }
            start = end as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn equals_an_ordered_set(
            lists in prop::collection::vec(prop::collection::vec(
                prop_oneof![any::<u64>(), 0..50u64, Just(u64::MAX)], 0..600), 1..4),
            stretch in 1usize..12,
        ) {
            let mut sorter = Sorter::default();
            for list in lists {
                let mut values = list.repeat(stretch);
                sorter.sort_distinct(&mut values);
                prop_assert_eq!(values, Vec::from_iter(list.into_iter().collect::<BTreeSet<_>>()));
            }
        }
    }
}
