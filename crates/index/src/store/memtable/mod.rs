//! Fingerprints added since the last flush: permuted tables that grow while they are read.
//!
//! A **row** is a distinct fingerprint, and an **entry** is one id of a row. Each table of the plan is an array of
//! buckets by address. A bucket is the chain of its rows, newest first, and a row has the chain of its entries.
//! Everything is appended: a row is written before the link that points to it, and links are stored with release and
//! loaded with acquire order, so that readers need no lock and see complete rows only. The store's lock ensures that
//! only one writer at a time appends.
//!
//! Entries are never removed. A deleted entry has the **stamp** of its deletion; the stamp of a living entry is
//! [`ALIVE`]. A reader at stamp s, which knows the number of entries at that stamp, sees those of them that were
//! deleted later or not at all. So its answers do not change while it reads.
//!
//! The address width follows the capacity, so chains have one row on average. If many fingerprints share few buckets, a
//! lookup that has followed too many links compares all rows in order instead, so it reads a row twice at most.

mod slots;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use twinprint_fingerprint::{Width, kernel};

use self::slots::{RowSlots, numbers};
use super::locks::lock;
use crate::address::Address;
use crate::flips;
use crate::plan::MAX_ADDRESS_BITS;
use crate::plan::Plan;
use crate::plan::check::{Counterexample, is_exact};
use crate::segment::Stats;

/// The stamp of an entry that is not deleted.
pub(super) const ALIVE: u64 = u64::MAX;
/// A lookup that has followed more links than the number of rows divided by this scans all rows instead, because
/// following a link costs as much as comparing several rows.
const SCAN_LINK_RATIO: u32 = 4;
/// The number of probes before a bucket is read at which it is prefetched.
const PREFETCH_DISTANCE: usize = 8;
/// The link that ends a chain. Every other link is a position plus one.
const CHAIN_END: u32 = 0;

/// Permuted tables of rows that are added while they are read.
#[derive(Debug)]
pub(super) struct Memtable<W> {
    rows: RowSlots<W>,
    /// A link to the newest entry of each row.
    newest: Box<[AtomicU32]>,
    ids: Box<[AtomicU64]>,
    /// The stamp at which each entry was deleted; [`ALIVE`] until then.
    died: Box<[AtomicU64]>,
    /// For each entry, a link to the next older entry of the same row.
    older: Box<[AtomicU32]>,
    tables: Vec<ChainedTable>,
    k: u32,
    appending: Mutex<AppendState<W>>,
}

/// The state of a memtable that a reader sees: its first entries, without those deleted by a stamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadPoint {
    /// The number of entries that the reader sees.
    pub(super) entries: u32,
    /// Deletions up to this stamp are seen by the reader.
    pub(super) stamp: u64,
}

/// State that only the writer uses.
#[derive(Debug)]
struct AppendState<W> {
    rows: u32,
    entries: u32,
    by_fingerprint: HashMap<W, u32>,
    /// The newest entry of each id.
    by_id: HashMap<u64, u32>,
}

/// One permuted table, whose buckets are chains of rows.
#[derive(Debug)]
struct ChainedTable {
    address: Address,
    flips: Vec<u32>,
    /// For each address, a link to its newest row.
    newest: Box<[AtomicU32]>,
    /// For each row, a link to the next older row of the same address.
    older: Box<[AtomicU32]>,
}

impl<W: Width> Memtable<W> {
    /// Creates an empty memtable for up to `capacity` entries, at least 1. O(tables · capacity) time and memory.
    pub(super) fn new(capacity: u32, plan: &Plan) -> Result<Self, Counterexample> {
        is_exact(plan)?;
        let capacity = capacity.max(1);
        let wide = capacity.ilog2().clamp(1, MAX_ADDRESS_BITS);
        let n = capacity as usize;
        let chains = |spec: &crate::plan::TableSpec| {
            let address = Address::new(crate::plan::leading_bits(spec.mask, wide));
            ChainedTable {
                flips: flips::ball(address.bits(), spec.radius),
                newest: numbers(1 << address.bits()),
                older: numbers(n),
                address,
            }
        };
        Ok(Self {
            rows: RowSlots::new(n),
            newest: numbers(n),
            ids: numbers(n),
            died: numbers(n),
            older: numbers(n),
            tables: plan.tables.iter().map(chains).collect(),
            k: plan.k,
            appending: Mutex::new(AppendState {
                rows: 0,
                entries: 0,
                by_fingerprint: HashMap::new(),
                by_id: HashMap::new(),
            }),
        })
    }

    /// The maximum number of entries.
    pub(super) fn capacity(&self) -> u32 {
        self.ids.len() as u32
    }

    /// Adds an entry and returns the number of entries, or `None` if the memtable is full. An earlier entry of the same
    /// id must be deleted first, by [`Memtable::kill`].
    pub(super) fn push(&self, id: u64, fingerprint: W) -> Option<u32> {
        let mut appending = self.appending();
        let entry = appending.entries;
        let at = entry as usize;
        self.ids.get(at)?.store(id, Ordering::Relaxed);
        self.died[at].store(ALIVE, Ordering::Relaxed);
        let known = appending.by_fingerprint.get(&fingerprint).copied();
        let row = known.unwrap_or(appending.rows);
        let newest = &self.newest[row as usize];
        // The first entry of a row has no older one: the array `newest` begins with zeros, and a link of 0 is
        // CHAIN_END.
        self.older[at].store(newest.load(Ordering::Relaxed), Ordering::Relaxed);
        newest.store(entry + 1, Ordering::Release);
        if known.is_none() {
            self.rows.set(row as usize, fingerprint);
            for table in &self.tables {
                let bucket = &table.newest[table.address.of(fingerprint) as usize];
                table.older[row as usize].store(bucket.load(Ordering::Relaxed), Ordering::Relaxed);
                bucket.store(row + 1, Ordering::Release);
            }
            appending.by_fingerprint.insert(fingerprint, row);
            appending.rows += 1;
        }
        appending.by_id.insert(id, entry);
        appending.entries += 1;
        Some(appending.entries)
    }

    /// Marks the living entry of an id as deleted at `stamp`. Returns `false` if the id has no living entry.
    pub(super) fn kill(&self, id: u64, stamp: u64) -> bool {
        let entry = self.appending().by_id.get(&id).copied();
        let died = entry.map(|entry| &self.died[entry as usize]);
        let alive = died.filter(|died| died.load(Ordering::Relaxed) == ALIVE);
        alive
            .inspect(|died| died.store(stamp, Ordering::Relaxed))
            .is_some()
    }

    /// Calls `found(id, fingerprint, distance)` for every entry within Hamming distance `k` of `query` that is alive at
    /// the read point. Stops when `found` returns `false`. If `k` is greater than the plan's radius, every row is
    /// compared.
    pub(super) fn lookup(
        &self,
        query: W,
        k: u32,
        point: ReadPoint,
        found: &mut impl FnMut(u64, W, u32) -> bool,
    ) -> Stats {
        let ReadPoint { entries, stamp } = point;
        let mut stats = Stats::default();
        if entries == 0 {
            return stats;
        }
        let mut matches = Vec::new();
        if k > self.k || !self.follow(query, k, entries, &mut stats, &mut matches) {
            matches.clear();
            // Comparing as many rows as there are entries is enough, because there are at most that many rows. A row
            // that was added after the read point has none of the first `entries` entries, so it is not reported.
            stats.candidates += u64::from(entries);
            matches.extend((0..entries).filter_map(|row| {
                let distance = self.rows.get(row as usize).distance(query);
                (distance <= k).then_some((row, distance))
            }));
        }
        stats.bytes += stats.candidates * u64::from(W::BITS / 8);
        matches.sort_unstable();
        matches.dedup();
        stats.matches += matches.len() as u64;
        for (row, distance) in matches {
            let fingerprint = self.rows.get(row as usize);
            let mut next = self.newest[row as usize].load(Ordering::Acquire);
            while next != CHAIN_END {
                let at = (next - 1) as usize;
                let seen = next <= entries && self.died[at].load(Ordering::Relaxed) > stamp;
                if seen && !found(self.ids[at].load(Ordering::Relaxed), fingerprint, distance) {
                    return stats;
                }
                next = self.older[at].load(Ordering::Relaxed);
            }
        }
        stats
    }

    /// Finds matches by following the chains of all probed buckets. Returns `false` if it has followed so many links
    /// that a scan is faster.
    fn follow(
        &self,
        query: W,
        k: u32,
        entries: u32,
        stats: &mut Stats,
        matches: &mut Vec<(u32, u32)>,
    ) -> bool {
        let mut links = 0;
        for table in &self.tables {
            let address = table.address.of(query);
            let mut ahead = table.flips.iter().skip(PREFETCH_DISTANCE);
            for &flip in &table.flips {
                if let Some(&flip) = ahead.next() {
                    kernel::prefetch_read(&table.newest, (address ^ flip) as usize);
                }
                let mut next = table.newest[(address ^ flip) as usize].load(Ordering::Acquire);
                while next != CHAIN_END {
                    let row = next - 1;
                    let distance = self.rows.get(row as usize).distance(query);
                    if distance <= k {
                        matches.push((row, distance));
                    }
                    links += 1;
                    next = table.older[row as usize].load(Ordering::Relaxed);
                }
                stats.probes += 1;
                // The limit is checked once per chain instead of at every link, because a chain has at most as many
                // links as there are rows.
                if links > 64 + entries / SCAN_LINK_RATIO {
                    stats.candidates += u64::from(links);
                    return false;
                }
            }
        }
        stats.candidates += u64::from(links);
        true
    }

    /// Returns (fingerprint, id) of those of the first `entries` entries that are alive at `stamp`, in the order in
    /// which they were added.
    pub(super) fn living(&self, entries: u32, stamp: u64) -> Vec<(W, u64)> {
        self.with_deaths(entries, stamp)
            .map(|(row, id, _)| (row, id))
            .collect()
    }

    /// Returns (id, stamp of its deletion) of those of the first `entries` entries that were alive at `stamp` and were
    /// deleted later.
    pub(super) fn died_since(&self, entries: u32, stamp: u64) -> Vec<(u64, u64)> {
        self.with_deaths(entries, stamp)
            .filter(|&(_, _, died)| died != ALIVE)
            .map(|(_, id, died)| (id, died))
            .collect()
    }

    fn with_deaths(&self, entries: u32, stamp: u64) -> impl Iterator<Item = (W, u64, u64)> {
        let appending = self.appending();
        let mut row_of = vec![0u32; entries as usize];
        for row in 0..appending.rows {
            let mut next = self.newest[row as usize].load(Ordering::Acquire);
            while next != CHAIN_END {
                let at = (next - 1) as usize;
                if let Some(slot) = row_of.get_mut(at) {
                    *slot = row;
                }
                next = self.older[at].load(Ordering::Relaxed);
            }
        }
        row_of.into_iter().enumerate().filter_map(move |(at, row)| {
            let died = self.died[at].load(Ordering::Relaxed);
            let id = self.ids[at].load(Ordering::Relaxed);
            (died > stamp).then(|| (self.rows.get(row as usize), id, died))
        })
    }

    /// Locks the writer's state. A panic during an append leaves it consistent, because an entry counts only once
    /// `entries` includes it.
    fn appending(&self) -> MutexGuard<'_, AppendState<W>> {
        lock(&self.appending)
    }
}
