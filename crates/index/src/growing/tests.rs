//! The growing index compared with its brute-force twin: a map that every lookup scans.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::samples::{Random, Shape, at_every_width, fewer, for_random, rows, shape};

/// One change or lookup. Numbers choose an id or a row, modulo the number of ids or rows.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(usize),
    Remove(usize),
    /// Inserts a removed id again.
    InsertRemoved(usize),
    Maintain,
    MaintainInBackground,
    Merge,
    Lookup(usize, u32),
}

/// A step with lookups within less than `radius`.
fn step(radius: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => any::<usize>().prop_map(Step::Insert),
        4 => any::<usize>().prop_map(Step::Remove),
        2 => any::<usize>().prop_map(Step::InsertRemoved),
        3 => Just(Step::Maintain),
        5 => Just(Step::MaintainInBackground),
        1 => Just(Step::Merge),
        5 => (any::<usize>(), 0..radius).prop_map(|(row, k)| Step::Lookup(row, k)),
    ]
}

/// A growing index and its brute-force twin, a map of ids to fingerprints.
struct Twins<W> {
    index: GrowingIndex<W>,
    rows: BTreeMap<u64, W>,
    removed: Vec<(u64, W)>,
    next_id: u64,
}

impl<W: Width> Twins<W> {
    fn new(k: u32, policy: MergePolicy) -> Self {
        Self {
            index: GrowingIndex::with_policy(k, policy),
            rows: BTreeMap::new(),
            removed: Vec::new(),
            next_id: 0,
        }
    }

    fn insert(&mut self, row: W) {
        self.index.insert(self.next_id, row);
        self.rows.insert(self.next_id, row);
        self.next_id += 1;
    }

    /// Removes the first row at or after an id.
    fn remove_from(&mut self, id: u64) {
        let row = self.rows.range(id..).next().map(|(&id, &row)| (id, row));
        if let Some((id, row)) = row {
            self.index.remove(id);
            self.rows.remove(&id);
            self.removed.push((id, row));
        }
    }

    fn insert_removed(&mut self, number: usize) {
        if !self.removed.is_empty() {
            let (id, row) = self.removed.swap_remove(number % self.removed.len());
            self.index.insert(id, row);
            self.rows.insert(id, row);
        }
    }

    /// Compares the results of both. Returns the number of rows.
    fn lookup(&self, query: W, k: u32) -> usize {
        let mut found = Vec::new();
        self.index.lookup(query, k, &mut found);
        found.sort_unstable();
        let all = self.rows.iter().map(|(&id, row)| Neighbor {
            id,
            distance: row.distance(query),
        });
        let expected: Vec<Neighbor> = all.filter(|row| row.distance <= k).collect();
        assert_eq!(found, expected, "{query:?} within {k}");
        assert_eq!(self.index.len(), self.rows.len());
        found.len()
    }
}

fn check<W: Width>(shape: Shape, steps: &[Step], k: u32, policy: MergePolicy, seed: u64) {
    let sample = rows::<W>(shape, 64, k, seed);
    let mut twins = Twins::new(k, policy);
    for &step in steps {
        match step {
            Step::Insert(row) => twins.insert(sample[row % sample.len()]),
            Step::Remove(number) => twins.remove_from(number as u64 % (twins.next_id + 1)),
            Step::InsertRemoved(number) => twins.insert_removed(number),
            Step::Maintain => twins.index.maintain(),
            Step::MaintainInBackground => twins.index.maintain_in_background(),
            Step::Merge => twins.index.merge(),
            Step::Lookup(row, k) => {
                twins.lookup(sample[row % sample.len()], k);
            }
        }
    }
    twins.lookup(sample[0], k);
}

fn lookups_find_what_a_scan_finds<W: Width>() {
    let policy = (1usize..12, 0usize..7).prop_map(|(tail_rows, size_ratio)| MergePolicy {
        tail_rows,
        size_ratio,
    });
    let steps = prop::collection::vec(step(W::BITS / 4), 0..300);
    let any = (shape(), steps, 0..W::BITS / 8, policy, any::<u64>());
    for_random::<W, _>(64, &any, |(shape, steps, k, policy, seed)| {
        check::<W>(shape, &steps, k, policy, seed);
    });
}

/// Inserts, removes and reinserts enough clustered rows that tables are built. Returns the number of rows found.
fn churn<W: Width>(k: u32, rows: u64, mut maintain: impl FnMut(&mut GrowingIndex<W>, u64)) -> usize {
    let policy = MergePolicy {
        tail_rows: 2048,
        size_ratio: 2,
    };
    let mut twins = Twins::<W>::new(k, policy);
    let mut random = Random(1);
    let centres: Vec<W> = (0..400).map(|_| W::truncate(random.wide())).collect();
    let mut found = 0;
    for number in 0..rows {
        let centre = centres[random.below(400) as usize];
        twins.insert(random.near(centre, k));
        if number % 3 == 0 {
            twins.remove_from(random.below(number + 1));
        }
        if number % 50 == 0 {
            twins.insert_removed(random.below(1 << 20) as usize);
        }
        maintain(&mut twins.index, number);
        if number % 499 == 0 {
            found += twins.lookup(random.near(centre, 2), k);
        }
    }
    assert!(twins.index.levels.iter().any(|level| level.has_tables()));
    found
}

fn large_levels_find_what_a_scan_finds<W: Width>() {
    let found = churn::<W>(W::BITS / 10, fewer::<W>(30_000) as u64, |index, _| {
        index.maintain();
    });
    assert!(found > 100, "{found}");
}

fn lookups_during_background_merges_find_what_a_scan_finds<W: Width>() {
    let rows = fewer::<W>(30_000) as u64;
    let found = churn::<W>(W::BITS / 10, rows, |index, number| {
        index.maintain_in_background();
        if number == rows * 2 / 3 {
            index.merge();
        }
    });
    assert!(found > 100, "{found}");
}

fn memory_of_removed_rows_is_freed<W: Width>() {
    let policy = MergePolicy {
        tail_rows: 16,
        size_ratio: 1,
    };
    let mut index = GrowingIndex::<W>::with_policy(3, policy);
    for id in 0..1000 {
        index.insert(id, W::truncate(u128::from(id) << 20));
        index.maintain();
    }
    for id in 0..990 {
        index.remove(id);
        index.maintain();
    }
    assert_eq!(index.len(), 10);
    assert!(index.rows_stored() <= 50, "{}", index.rows_stored());
}

at_every_width! {
    lookups_find_what_a_scan_finds
    large_levels_find_what_a_scan_finds
    lookups_during_background_merges_find_what_a_scan_finds
    memory_of_removed_rows_is_freed
}

at_every_width! {
    bits_16: u16,
    lookups_find_what_a_scan_finds
}
