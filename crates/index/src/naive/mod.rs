//! The naive ways to find every fingerprint within Hamming distance k, which permuted tables replace (Manku, Jain and
//! Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, section 3).
//!
//! * [`scan`] compares the query with every row.
//! * [`SortedRows`] has one sorted table. A lookup probes it for every variation of the query: every fingerprint within
//!   distance k, of which there are [`variation_count`]: 43,745 for 64 bits and k = 3.
//! * [`StoredVariations`] stores every variation of every row in one sorted table. A lookup is one probe. The table is
//!   43,745 times as long as the rows, so it is refused above a size, with its [`Bill`].
//!
//! All three give the same answers as [`Tables`](crate::Tables), in the same types, and count their work in the same
//! [`Stats`].

mod stored;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use twinprint_fingerprint::{Width, kernel};

pub use self::stored::{Bill, StoredVariations, TooLarge};
use crate::flips::each_flipped;
use crate::table::{Match, Stats};

/// Returns the number of fingerprints of `bits` bits within distance `k` of a given one, Σ C(bits, i) for i ≤ k.
/// Saturates at `u128::MAX`.
///
/// ```
/// use twinprint_index::naive::variation_count;
///
/// assert_eq!(variation_count(64, 3), 41_664 + 2016 + 64 + 1);
/// ```
pub fn variation_count(bits: u32, k: u32) -> u128 {
    let counts = (0..=k.min(bits)).map(|flips| crate::plan::choose(bits, flips));
    counts.fold(0, u128::saturating_add)
}

/// Calls `visit` with every fingerprint within distance `k` of `fingerprint`, itself included, each once.
///
/// ```
/// use twinprint_index::naive::each_variation;
///
/// let mut variations = Vec::new();
/// each_variation(0b101_u16, 1, &mut |variation| variations.push(variation));
/// assert_eq!(variations.len(), 1 + 16);
/// ```
pub fn each_variation<W: Width>(fingerprint: W, k: u32, visit: &mut impl FnMut(W)) {
    let mut visit = |variation| {
        visit(variation);
        Ok(())
    };
    let Ok(()) = each_flipped::<W, Infallible>(fingerprint, 0..W::BITS, k, &mut visit);
}

/// Compares `query` with every row. Replaces `out` by the rows within distance `k`, sorted by (distance, id); the id of
/// a row is its position.
///
/// ```
/// use twinprint_index::Match;
/// use twinprint_index::naive::scan;
///
/// let mut found = Vec::new();
/// let stats = scan(&[0b0000_u64, 0b0011, u64::MAX], 0b0001, 3, &mut found);
/// assert_eq!(found, [Match { id: 0, distance: 1 }, Match { id: 1, distance: 1 }]);
/// assert_eq!(stats.candidates, 3);
/// ```
///
/// # Panics
/// If there are 2³² rows or more.
pub fn scan<W: Width>(rows: &[W], query: W, k: u32, out: &mut Vec<Match>) -> Stats {
    let mut near = Vec::new();
    kernel::hamming_one_to_many(query, rows, k, &mut near);
    out.clear();
    out.extend(near.iter().map(|hit| Match {
        id: hit.row,
        distance: hit.distance,
    }));
    out.sort_unstable_by_key(|m| (m.distance, m.id));
    Stats {
        probes: 0,
        candidates: rows.len() as u64,
    }
}

/// An entry of a sorted table: a fingerprint or a variation of one, and the position of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<W> {
    key: W,
    row: u32,
}

/// Returns the entries with this key in a sorted table, found by binary search.
fn equal<W: Width>(entries: &[Entry<W>], key: W) -> &[Entry<W>] {
    let from = &entries[entries.partition_point(|entry| entry.key < key)..];
    let count = from.iter().take_while(|entry| entry.key == key).count();
    &from[..count]
}

/// Rows in one sorted table, which is probed for every variation of a query.
///
/// ```
/// use twinprint_index::Match;
/// use twinprint_index::naive::SortedRows;
///
/// let sorted = SortedRows::new(&[0b0000_u64, 0b0011, u64::MAX]);
/// let mut found = Vec::new();
/// let stats = sorted.lookup(0b0001, 3, &mut found);
/// assert_eq!(found, [Match { id: 0, distance: 1 }, Match { id: 1, distance: 1 }]);
/// assert_eq!(stats.probes, 43_745);
/// ```
#[derive(Clone, Debug)]
pub struct SortedRows<W> {
    entries: Vec<Entry<W>>,
}

impl<W: Width> SortedRows<W> {
    /// Sorts the rows. The id of a row is its position; rows from position 2³² on are left out.
    pub fn new(rows: &[W]) -> Self {
        let mut entries: Vec<Entry<W>> = rows
            .iter()
            .zip(0..=u32::MAX)
            .map(|(&key, row)| Entry { key, row })
            .collect();
        entries.sort_unstable();
        Self { entries }
    }

    /// Replaces `out` by the rows within distance `k` of `query`, sorted by (distance, id). Probes the table for each of
    /// the [`variation_count`] variations, so a large `k` takes very long.
    pub fn lookup(&self, query: W, k: u32, out: &mut Vec<Match>) -> Stats {
        out.clear();
        let mut stats = Stats::default();
        each_variation(query, k, &mut |variation| {
            stats.probes += 1;
            let equal = equal(&self.entries, variation);
            stats.candidates += equal.len() as u64;
            out.extend(equal.iter().map(|entry| Match {
                id: entry.row,
                distance: query.distance(variation) as u8,
            }));
        });
        out.sort_unstable_by_key(|m| (m.distance, m.id));
        stats
    }

    /// The number of bytes allocated.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry<W>>()
    }
}
