//! The fingerprints of the leaders, searched while they grow.
//!
//! New rows wait in a **tail** that is scanned. A full tail is arranged as permuted tables, together with those younger tables that
//! are not much longer, on a thread of its own: until the new tables are there, the old ones and the tail answer. So every row is
//! arranged O(log n) times, a lookup visits few tables, and neither insertion nor lookup ever waits for an arrangement, nor for the
//! memory of old tables to be given back.
//!
//! Invariants: a row is in one level or in the tail; rows of `dead` are in one of them and are left out when it is arranged anew. What
//! callers get may include dead rows, which they know by themselves.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashSet;
use twinprint_fingerprint::{Width, kernel};
use twinprint_index::Tables;
use twinprint_index::planner::plan_lookup_of;

/// Rows that are scanned before they are arranged.
const TAIL: usize = 1 << 13;
/// Younger tables are taken along where they have fewer rows than so many times what comes together before them.
const RATIO: usize = 6;

/// Search among fingerprints that come and go.
pub(crate) trait Near: Send + Sync {
    /// Adds a row under a number. O(1) amortised.
    fn insert(&mut self, ordinal: u64, fingerprint: u128);
    /// Takes a row out. O(1).
    fn remove(&mut self, ordinal: u64);
    /// Appends number and distance of every row within `k`; some of them may have been removed.
    fn lookup(&self, fingerprint: u128, k: u32, out: &mut Vec<(u64, u32)>);
    /// Arranges what has grown, or begins to. Never waits.
    fn tidy(&mut self);
    /// Arranges everything now.
    fn arrange(&mut self);
}

/// A search for fingerprints of 64 or 128 bits.
pub(crate) fn near(bits: u32, k: u32) -> Box<dyn Near> {
    if bits == 64 {
        Box::new(Levels::<u64>::new(k))
    } else {
        Box::new(Levels::<u128>::new(k))
    }
}

/// Rows arranged together.
struct Level<W> {
    rows: Vec<W>,
    ordinals: Vec<u64>,
    /// None where no plan helps: the rows are scanned.
    tables: Option<Tables<W>>,
}

/// Tables being made of the last `levels` levels and the first `tail` rows of the tail.
struct Building<W> {
    levels: usize,
    tail: usize,
    /// The dead rows that were left out.
    left_out: Vec<u64>,
    done: Mutex<Receiver<Level<W>>>,
    /// Takes the levels that are replaced: to give back hundreds of megabytes takes long.
    replaced: SyncSender<Vec<Arc<Level<W>>>>,
}

#[expect(clippy::struct_field_names, reason = "the levels of a set of levels")]
struct Levels<W> {
    k: u32,
    /// Longest first.
    levels: Vec<Arc<Level<W>>>,
    tail: Vec<W>,
    tail_ordinals: Vec<u64>,
    dead: FxHashSet<u64>,
    building: Option<Building<W>>,
}

impl<W: Width> Level<W> {
    fn arrange(rows: Vec<W>, ordinals: Vec<u64>, k: u32) -> Self {
        // The plan is exact by its construction and the rows are fewer than 2^32; otherwise the scan is.
        let plan = plan_lookup_of(&rows, k, None)
            .ok()
            .filter(|choice| choice.plan.name != "scan" && u32::try_from(rows.len()).is_ok());
        let tables = plan.and_then(|choice| Tables::build(&rows, &choice.plan).ok());
        Self {
            rows,
            ordinals,
            tables,
        }
    }

    fn lookup(&self, query: W, k: u32, out: &mut Vec<(u64, u32)>) {
        match &self.tables {
            Some(tables) => {
                let mut matches = Vec::new();
                tables.lookup(query, k, &mut matches);
                out.extend(
                    matches
                        .iter()
                        .filter_map(|m| Some((*self.ordinals.get(m.id as usize)?, u32::from(m.distance)))),
                );
            }
            None => scan(query, &self.rows, &self.ordinals, k, out),
        }
    }
}

fn scan<W: Width>(query: W, rows: &[W], ordinals: &[u64], k: u32, out: &mut Vec<(u64, u32)>) {
    let mut near = Vec::new();
    kernel::hamming_one_to_many(query, rows, k, &mut near);
    out.extend(
        near.iter()
            .filter_map(|&(at, distance)| Some((*ordinals.get(at as usize)?, u32::from(distance)))),
    );
}

impl<W: Width> Levels<W> {
    fn new(k: u32) -> Self {
        Self {
            k,
            levels: Vec::new(),
            tail: Vec::new(),
            tail_ordinals: Vec::new(),
            dead: FxHashSet::default(),
            building: None,
        }
    }

    /// How many levels, from the youngest, are to be arranged together with the tail.
    fn levels_to_merge(&self) -> usize {
        let total: usize = self.levels.iter().map(|level| level.rows.len()).sum();
        if self.dead.len() * 3 > total + self.tail.len() {
            return self.levels.len();
        }
        let mut together = self.tail.len();
        let mut merged = 0;
        for level in self.levels.iter().rev() {
            if level.rows.len() > together * RATIO {
                break;
            }
            together += level.rows.len();
            merged += 1;
        }
        merged
    }

    /// Begins an arrangement; a `patient` one lets other threads go before it.
    fn begin(&mut self, patient: bool) {
        let levels = self.levels_to_merge();
        let merged: Vec<Arc<Level<W>>> = self.levels[self.levels.len() - levels..].to_vec();
        let tail = (self.tail.clone(), self.tail_ordinals.clone());
        let length = self.tail.len();
        let mut left_out = Vec::new();
        let parts = merged
            .iter()
            .flat_map(|level| &level.ordinals)
            .chain(&tail.1)
            .filter(|ordinal| self.dead.contains(ordinal));
        left_out.extend(parts.copied());
        let dead: FxHashSet<u64> = left_out.iter().copied().collect();
        let k = self.k;
        let work = move || {
            let pairs = |rows: &[W], ordinals: &[u64]| -> Vec<(W, u64)> {
                let both = rows.iter().copied().zip(ordinals.iter().copied());
                both.filter(|(_, ordinal)| !dead.contains(ordinal)).collect()
            };
            let mut all = Vec::new();
            for level in &merged {
                all.append(&mut pairs(&level.rows, &level.ordinals));
            }
            all.append(&mut pairs(&tail.0, &tail.1));
            let (rows, ordinals) = all.into_iter().unzip();
            Level::arrange(rows, ordinals, k)
        };
        let (sender, done) = sync_channel(1);
        let (replaced, old) = sync_channel(1);
        let thread = std::thread::Builder::new().name("twinprint-arrange".to_owned());
        // Nobody waits for the result once the collection is closed. Where no thread can be had, the tail goes on growing.
        let spawned = thread.spawn(move || {
            if patient {
                give_way();
            }
            let _closed = sender.send(work());
            // Dropped here, or by itself once nobody is there to send it.
            let _old = old.recv();
        });
        if spawned.is_ok() {
            self.building = Some(Building {
                levels,
                tail: length,
                left_out,
                done: Mutex::new(done),
                replaced,
            });
        }
    }

    fn adopt(&mut self, building: &Building<W>, level: Level<W>) {
        let replaced = self.levels.split_off(self.levels.len() - building.levels);
        let _gone = building.replaced.send(replaced);
        self.levels.push(Arc::new(level));
        self.tail.drain(..building.tail);
        self.tail_ordinals.drain(..building.tail);
        for ordinal in &building.left_out {
            self.dead.remove(ordinal);
        }
    }
}

/// Lets the threads that answer go before this one: an arrangement takes long.
fn give_way() {
    // Elsewhere than on Linux a priority is that of the whole process. Where it cannot be changed, all threads are alike as before.
    #[cfg(target_os = "linux")]
    let _unchanged = rustix::process::setpriority_process(None, 10);
}

impl<W: Width> Near for Levels<W> {
    fn insert(&mut self, ordinal: u64, fingerprint: u128) {
        let building = self.building.as_ref();
        let left_out = building.is_some_and(|building| building.left_out.contains(&ordinal));
        // A row that was taken out and comes back is still in its place.
        if self.dead.contains(&ordinal) && !left_out {
            self.dead.remove(&ordinal);
            return;
        }
        self.tail.push(W::truncate(fingerprint));
        self.tail_ordinals.push(ordinal);
    }

    fn remove(&mut self, ordinal: u64) {
        self.dead.insert(ordinal);
    }

    fn lookup(&self, fingerprint: u128, k: u32, out: &mut Vec<(u64, u32)>) {
        let query = W::truncate(fingerprint);
        for level in &self.levels {
            level.lookup(query, k, out);
        }
        scan(query, &self.tail, &self.tail_ordinals, k, out);
    }

    fn tidy(&mut self) {
        if let Some(building) = self.building.take() {
            let result = building
                .done
                .lock()
                .map_or(Err(TryRecvError::Disconnected), |done| done.try_recv());
            match result {
                Ok(level) => self.adopt(&building, level),
                Err(TryRecvError::Empty) => self.building = Some(building),
                // The thread is gone: what it was to arrange is still here.
                Err(TryRecvError::Disconnected) => {}
            }
        }
        let total: usize = self.levels.iter().map(|level| level.rows.len()).sum();
        let stale = self.dead.len() > TAIL && self.dead.len() * 2 > total + self.tail.len();
        if self.building.is_none() && (self.tail.len() >= TAIL || stale) {
            self.begin(true);
        }
    }

    fn arrange(&mut self) {
        self.begin(false);
        if let Some(building) = self.building.take()
            && let Some(level) = building.done.lock().ok().and_then(|done| done.recv().ok())
        {
            self.adopt(&building, level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*state ^ *state >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        mixed ^ mixed >> 32
    }

    /// Rows in clumps come, go and come back while levels are arranged; every answer is that of a scan of a map.
    #[test]
    fn answers_are_those_of_a_scan_while_rows_come_and_go() {
        let k = 6;
        let mut near = near(64, k);
        let mut rows: BTreeMap<u64, u128> = BTreeMap::new();
        let mut gone: Vec<(u64, u128)> = Vec::new();
        let mut state = 1;
        let clumps: Vec<u64> = (0..400).map(|_| random(&mut state)).collect();
        let mut found = 0;
        for ordinal in 0..40_000u64 {
            let clump = clumps[(random(&mut state) % 400) as usize];
            let row = u128::from(clump ^ 1 << (random(&mut state) % 64) ^ 1 << (random(&mut state) % 64));
            near.insert(ordinal, row);
            rows.insert(ordinal, row);
            if ordinal % 3 == 0
                && let Some((&old, &row)) = rows.range(random(&mut state) % (ordinal + 1)..).next()
            {
                near.remove(old);
                rows.remove(&old);
                gone.push((old, row));
            }
            if ordinal % 50 == 0
                && let Some((old, row)) = gone.pop()
            {
                near.insert(old, row);
                rows.insert(old, row);
            }
            near.tidy();
            if ordinal == 30_000 {
                near.arrange();
            }
            if ordinal % 997 == 0 {
                let mut answer = Vec::new();
                near.lookup(row, k, &mut answer);
                answer.retain(|(ordinal, _)| rows.contains_key(ordinal));
                answer.sort_unstable();
                answer.dedup();
                let distances = rows
                    .iter()
                    .map(|(&ordinal, &other)| (ordinal, row.distance(other)));
                let expected: Vec<(u64, u32)> = distances.filter(|&(_, distance)| distance <= k).collect();
                assert_eq!(answer, expected, "after {ordinal}");
                found += expected.len();
            }
        }
        assert!(found > 1000, "{found}");
    }
}
