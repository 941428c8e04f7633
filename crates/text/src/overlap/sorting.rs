//! Sorting keyed hashes: they are uniform, so one pass by their leading bits all but sorts them.

/// The most buckets; more would leave the second cache.
const MAX_BUCKETS: usize = 1 << 16;
/// Fewer values than this are sorted by comparing.
const FEW: usize = 64;
/// Moves a value that are granted to the insertion sort; uniform values need a quarter of one a bucket-mate.
const MOVES: usize = 8;

/// Buffers kept from one sort to the next.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// For each bucket the position after its last value placed.
    ends: Vec<u32>,
    values: Vec<u64>,
}

impl Sorter {
    /// The distinct values, sorted, of fewer than 2³². Expected linear time for uniform values, `n log n` for any.
    pub(super) fn sort_distinct(&mut self, values: &mut [u64]) -> Vec<u64> {
        if values.len() < FEW {
            values.sort_unstable();
            let mut distinct = values.to_vec();
            distinct.dedup();
            return distinct;
        }
        self.scatter(values);
        carry_larger(&mut self.values);
        if !insertion_sort(&mut self.values, values.len() * MOVES) {
            self.values.sort_unstable();
        }
        let mut distinct = vec![0; values.len()];
        let mut kept = 0;
        let mut last = None;
        for &value in &self.values {
            // `kept` counts some of the values gone through, and there are as many places.
            distinct[kept] = value;
            kept += usize::from(last != Some(value));
            last = Some(value);
        }
        distinct.truncate(kept);
        distinct
    }

    /// Copies the values in the order of their leading bits.
    fn scatter(&mut self, values: &[u64]) {
        let buckets = values.len().next_power_of_two().min(MAX_BUCKETS);
        let shift = 64 - buckets.trailing_zeros();
        // Every index below is a value's leading bits, less than `buckets`, or a position summed up from the
        // counts, less than the number of values.
        self.ends.clear();
        self.ends.resize(buckets, 0);
        for value in values {
            self.ends[(value >> shift) as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += std::mem::replace(end, sum);
        }
        self.values.resize(values.len(), 0);
        for &value in values {
            let end = &mut self.ends[(value >> shift) as usize];
            self.values[*end as usize] = value;
            *end += 1;
        }
    }
}

/// Puts each value before the next if that is smaller, carrying the larger on: one step of a bubble sort. It settles nearly all pairs that
/// share a bucket, without a branch, so that the sort after it has next to nothing to do.
fn carry_larger(values: &mut [u64]) {
    let Some((&first, _)) = values.split_first() else {
        return;
    };
    let mut carried = first;
    for i in 1..values.len() {
        let value = values[i];
        values[i - 1] = value.min(carried);
        carried = value.max(carried);
    }
    if let Some(last) = values.last_mut() {
        *last = carried;
    }
}

/// Sorts values that are nearly in order. Gives up after so many moves, leaving the same values in some order.
fn insertion_sort(values: &mut [u64], mut moves: usize) -> bool {
    for i in 1..values.len() {
        let value = values[i];
        let mut at = i;
        while at > 0 && values[at - 1] > value {
            values[at] = values[at - 1];
            at -= 1;
        }
        if at < i {
            values[at] = value;
            if i - at > moves {
                return false;
            }
            moves -= i - at;
        }
    }
    true
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
                let sorted = sorter.sort_distinct(&mut values);
                prop_assert_eq!(sorted, Vec::from_iter(list.into_iter().collect::<BTreeSet<_>>()));
            }
        }
    }
}
