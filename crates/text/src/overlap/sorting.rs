//! Sorts keyed hashes. The hashes are uniform, so one pass by their leading bits sorts them almost completely.

/// The maximum number of buckets. More would not fit into the second-level cache.
const MAX_BUCKETS: usize = 1 << 16;
/// The minimum number of values that are sorted with buckets. Fewer values are sorted by comparisons.
const MIN_BUCKETED: usize = 64;
/// The insertion sort gives up after this number of moves per value. A uniform value needs about a quarter of a move
/// for each other value in its bucket.
const MAX_MOVES: usize = 8;

/// Buffers that are reused from one sort to the next.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// For each bucket: the position after the last value that was placed in it.
    ends: Vec<u32>,
    values: Vec<u64>,
}

impl Sorter {
    /// Returns the distinct values, sorted. `values` has fewer than 2³² values. Afterwards it may have fewer repeats and another
    /// order, but it lacks no distinct value. Expected linear time for uniform values, O(n log n) otherwise.
    // If this function is inlined, sorting takes 20 to 80 % longer (bench/record/2026-11-28-ahead.md).
    #[inline(never)]
    pub(super) fn sort_distinct<'s>(&'s mut self, values: &'s mut Vec<u64>) -> &'s [u64] {
        if values.len() < MIN_BUCKETED {
            values.sort_unstable();
            values.dedup();
            return values;
        }
        self.scatter(values);
        bubble_pass(&mut self.values);
        if let Some(count) = insert_distinct(&mut self.values, values.len() * MAX_MOVES) {
            return &self.values[..count];
        }
        self.values.sort_unstable();
        self.values.dedup();
        &self.values
    }

    /// Copies the values into buckets, which are in the order of the leading bits of the values.
    fn scatter(&mut self, values: &[u64]) {
        let buckets = values.len().next_power_of_two().min(MAX_BUCKETS);
        let shift = 64 - buckets.trailing_zeros();
        // In bounds: an index into `ends` is the leading bits of a value, which are below the number of buckets. An
        // index into the output is a sum of counts, which is below the number of values.
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

/// One pass of a bubble sort without branches. It puts most values that share a bucket in order, so that the insertion
/// sort has little left to do.
fn bubble_pass(values: &mut [u64]) {
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

/// Moves the distinct ones of values that are nearly in order to the front, sorted, by an insertion sort. Returns their number;
/// `None` if more than `moves` moves are needed. The values are then in no order and some repeat, but none is lost.
fn insert_distinct(values: &mut [u64], mut moves: usize) -> Option<usize> {
    let Some(&first) = values.first() else {
        return Some(0);
    };
    let (mut kept, mut last) = (1, first);
    for i in 1..values.len() {
        let value = values[i];
        if value < last {
            let place = place_among(&values[..kept], value);
            moves = moves.checked_sub(kept - place)?;
            if place == 0 || values[place - 1] != value {
                values.copy_within(place..kept, place + 1);
                values[place] = value;
                kept += 1;
            }
            continue;
        }
        // In bounds: `kept` is at most i. A value that equals the one before it is overwritten by the next one.
        values[kept] = value;
        kept += usize::from(value != last);
        last = value;
    }
    Some(kept)
}

/// The position after the last of the sorted values that is at most `value`, searched from the end.
#[cold]
fn place_among(sorted: &[u64], value: u64) -> usize {
    let before = sorted.iter().rposition(|&other| other <= value);
    before.map_or(0, |before| before + 1)
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
                let expected = Vec::from_iter(list.into_iter().collect::<BTreeSet<_>>());
                for _ in 0..2 {
                    prop_assert_eq!(sorter.sort_distinct(&mut values), &expected);
                }
            }
        }
    }

    #[test]
    fn values_in_any_order_are_sorted_by_comparisons() {
        let values: Vec<u64> = (0..2000).map(|i| i * 769 % 2000).collect();
        let mut given_up = values.clone();
        assert_eq!(insert_distinct(&mut given_up, values.len() * MAX_MOVES), None);
        assert_eq!(BTreeSet::from_iter(given_up), (0..2000).collect());
        // All small values are in one bucket.
        assert_eq!(
            Sorter::default().sort_distinct(&mut values.repeat(2)),
            (0..2000).collect::<Vec<u64>>()
        );
    }
}
