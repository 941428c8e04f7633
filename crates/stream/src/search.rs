//! Fingerprints that come and go, and those within a radius of a query.
//!
//! Permuted tables do not grow, so there are several, each at least twice as large as the next (a logarithmic method: Bentley and Saxe
//! 1980). New rows gather in a tail that is scanned; a full tail becomes a table, and tables of its size or less are merged into it. So a row
//! is arranged O(log n) times, and a lookup asks O(log n) tables. Removed rows are passed over, and leave for good when they are half.
//!
//! Exact: a lookup finds every row within the radius, as a scan would.

use std::collections::BTreeSet;

use twinprint_fingerprint::kernel;
use twinprint_index::{Match, Tables, planner};

/// Rows scanned rather than arranged.
const TAIL: usize = 4096;

/// A row that was found: its distance and number.
pub(super) type Found = (u32, u32);

/// Rows by number, for lookups within one radius.
#[derive(Debug)]
pub(super) struct Search {
    k: u32,
    tail: Rows,
    /// The largest first.
    tables: Vec<Arranged>,
    removed: BTreeSet<u32>,
    next: u32,
}

/// Fingerprints and their numbers.
#[derive(Debug, Default)]
struct Rows {
    fingerprints: Vec<u128>,
    numbers: Vec<u32>,
}

/// Rows in tables. The rows are kept beside, to be arranged anew.
#[derive(Debug)]
struct Arranged {
    rows: Rows,
    /// Absent where a scan is cheaper.
    tables: Option<Tables<u128>>,
}

impl Arranged {
    fn new(rows: Rows, k: u32) -> Self {
        // The width is one that fingerprints have, so there is a plan, and the catalogue's plans are exact.
        let plan = planner::plan_lookup_of(&rows.fingerprints, k, None).ok();
        let plan = plan.map(|choice| choice.plan).filter(|plan| plan.name != "scan");
        let tables = plan.and_then(|plan| Tables::build(&rows.fingerprints, &plan).ok());
        Self { rows, tables }
    }

    fn len(&self) -> usize {
        self.rows.numbers.len()
    }
}

impl Rows {
    fn push(&mut self, fingerprint: u128, number: u32) {
        self.fingerprints.push(fingerprint);
        self.numbers.push(number);
    }

    fn scan(&self, query: u128, k: u32, found: &mut Vec<Found>) {
        let mut near = Vec::new();
        kernel::hamming_one_to_many(query, &self.fingerprints, k, &mut near);
        let numbered = |&(place, distance): &(u32, u8)| {
            let number = self.numbers.get(place as usize)?;
            Some((u32::from(distance), *number))
        };
        found.extend(near.iter().filter_map(numbered));
    }
}

impl Search {
    pub(super) fn new(k: u32) -> Self {
        Self {
            k,
            tail: Rows::default(),
            tables: Vec::new(),
            removed: BTreeSet::new(),
            next: 0,
        }
    }

    /// Adds a row and gives it a number. Amortised O(log n) arrangements of a row.
    pub(super) fn insert(&mut self, fingerprint: u128) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.tail.push(fingerprint, number);
        if self.tail.numbers.len() >= TAIL {
            let mut rows = std::mem::take(&mut self.tail);
            while let Some(table) = self.tables.pop_if(|table| table.len() <= rows.numbers.len()) {
                self.absorb(&mut rows, table.rows);
            }
            self.tables.push(Arranged::new(rows, self.k));
        }
        number
    }

    /// Removes a row.
    pub(super) fn remove(&mut self, number: u32) {
        self.removed.insert(number);
        let held = self.tail.numbers.len() + self.tables.iter().map(Arranged::len).sum::<usize>();
        if self.removed.len() > TAIL && self.removed.len() * 2 > held {
            let mut rows = Rows::default();
            for table in std::mem::take(&mut self.tables) {
                self.absorb(&mut rows, table.rows);
            }
            let tail = std::mem::take(&mut self.tail);
            self.absorb(&mut rows, tail);
            self.removed.clear();
            self.tables.push(Arranged::new(rows, self.k));
        }
    }

    /// Adds the rows that were not removed.
    fn absorb(&mut self, into: &mut Rows, rows: Rows) {
        for (fingerprint, number) in rows.fingerprints.into_iter().zip(rows.numbers) {
            if !self.removed.remove(&number) {
                into.push(fingerprint, number);
            }
        }
    }

    /// Appends distance and number of the rows within the radius, in no order.
    pub(super) fn near(&self, query: u128, found: &mut Vec<Found>) {
        let before = found.len();
        self.tail.scan(query, self.k, found);
        let mut matches: Vec<Match> = Vec::new();
        for arranged in &self.tables {
            match &arranged.tables {
                None => arranged.rows.scan(query, self.k, found),
                Some(tables) => {
                    tables.lookup(query, self.k, &mut matches);
                    let numbered = |m: &Match| {
                        let number = arranged.rows.numbers.get(m.id as usize)?;
                        Some((u32::from(m.distance), *number))
                    };
                    found.extend(matches.iter().filter_map(numbered));
                }
            }
        }
        if !self.removed.is_empty() {
            let new = found.split_off(before);
            let stays = |&(_, number): &(u32, u32)| !self.removed.contains(&number);
            found.extend(new.into_iter().filter(stays));
        }
    }
}

/// Puts the rows up to the distance within which there are `most` of them or more before those that are farther; returns both. O(rows).
pub(super) fn split_crowd(rows: &mut [Found], most: usize) -> (&[Found], &[Found]) {
    if rows.len() <= most {
        return (rows, &[]);
    }
    let (_, &mut (last, _), _) = rows.select_nth_unstable(most);
    rows.sort_unstable_by_key(|&(distance, _)| distance > last);
    rows.split_at(rows.partition_point(|&(distance, _)| distance <= last))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_crowd_is_split_between_two_distances(distances in prop::collection::vec(0u32..20, 0..60), most in 0usize..70) {
            let mut rows: Vec<(u32, u32)> = distances.iter().copied().zip(0..).collect();
            let mut all = rows.clone();
            let (near, far) = split_crowd(&mut rows, most);
            prop_assert!(near.len() >= most.min(all.len()));
            let closest = far.iter().min();
            prop_assert!(closest.is_none_or(|closest| near.iter().all(|row| row.0 < closest.0)));
            let mut both = [near, far].concat();
            both.sort_unstable();
            all.sort_unstable();
            prop_assert_eq!(both, all);
        }
    }

    #[test]
    fn lookups_find_what_a_scan_finds() {
        const K: u32 = 12;
        let mut search = Search::new(K);
        let mut held: BTreeMap<u32, u128> = BTreeMap::new();
        let mut state = 7u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        let mut families: Vec<u128> = Vec::new();
        let mut met = 0;
        for step in 0..30_000u32 {
            if draw() % 50 == 0 || families.is_empty() {
                families.push(u128::from(draw()) << 64 | u128::from(draw()) << 20);
            }
            let family = families[draw() as usize % families.len()];
            let flips = (0..draw() % 12).fold(0u128, |f, _| f | 1 << (draw() % 128));
            held.insert(search.insert(family ^ flips), family ^ flips);
            if draw() % 3 == 0 {
                let number = (draw() % u64::from(step + 1)) as u32;
                if held.remove(&number).is_some() {
                    search.remove(number);
                }
            }
            if step % 501 == 0 {
                let query = family ^ 1 << (draw() % 128);
                let mut expected: Vec<(u32, u32)> = held
                    .iter()
                    .map(|(&number, f)| ((f ^ query).count_ones(), number))
                    .filter(|&(distance, _)| distance <= K)
                    .collect();
                expected.sort_unstable();
                let mut found = Vec::new();
                search.near(query, &mut found);
                found.sort_unstable();
                assert_eq!(found, expected);
                met += found.len();
            }
        }
        assert!(search.tables.len() >= 2 && met > 1000, "{met} rows met");
    }
}
