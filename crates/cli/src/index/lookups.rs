//! Answers to the queries of `twinprint index query`: in batches, on several threads.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use rayon::prelude::*;
use twinprint::raw::RowValue;
use twinprint::segment::{Scratch, Search, SegmentError, Stats};
use twinprint::store::{Committed, Snapshot, StoreError};
use twinprint::{Progress, Unit, Width};

use super::names::id_value;
use super::recall;
use super::rows::Rows;
use super::search::{StoredTable, Way};
use crate::progress::Bars;
use crate::{number, terminal};

/// Number of queries that a thread looks up together. Queries that are neighbours in the index then share its reads.
const LOOKUP_BATCH: usize = 1 << 16;
/// Number of queries that a thread looks up together in a way that takes thousands of probes for each. The command can be
/// interrupted between batches.
const SLOW_BATCH: usize = 1 << 8;
/// Fewer queries than this are not divided among threads.
const LEAST_SHARE: usize = 64;
/// Number of matches that each thread has in memory at a time at most, 24 bytes each. A batch of queries with more is
/// divided. The matches of a single query are always in memory together.
const MAX_FOUND: u64 = 1 << 22;
/// Number of queries that one scan answers. Each takes about 100 bytes of memory.
pub(super) const SCAN_BATCH: usize = 1 << 22;

/// Answers queries in batches, and writes the rows.
pub(super) struct Answers<'a, W> {
    committed: &'a Committed<W>,
    k: u32,
    way: Way,
    /// The table of [`Way::Stored`].
    stored: Option<StoredTable<W>>,
    bars: &'a Bars,
    cancel: &'a Arc<AtomicBool>,
    /// One for each thread.
    workers: Vec<Worker<W>>,
    stats: Stats,
    queries: u64,
}

/// A match of a query, by the position of the query. The order of matches is that of the rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    query: usize,
    hamming: u32,
    id: u64,
}

/// The buffers of a thread, and the result for its share of the queries.
#[derive(Default)]
struct Worker<W> {
    scratch: Scratch<W>,
    stats: Stats,
    found: Matches,
}

/// Matches of a batch of queries.
#[derive(Default)]
struct Matches {
    kept: Vec<Found>,
    /// The number of matches, of which the first ones are kept.
    count: u64,
    /// The number of matches that may be kept.
    limit: u64,
}

impl Matches {
    /// Drops all matches, and keeps at most `limit` from now on.
    fn clear(&mut self, limit: u64) {
        self.kept.clear();
        self.count = 0;
        self.limit = limit;
    }

    fn push(&mut self, found: Found) {
        if self.count < self.limit {
            self.kept.push(found);
        }
        self.count += 1;
    }
}

impl<W: Width> Worker<W> {
    /// Looks up `queries`, the first of which has the position `first`.
    fn look_up(
        &mut self,
        snapshot: &Snapshot<W>,
        search: Search,
        queries: &[W],
        first: usize,
        k: u32,
    ) -> Result<(), StoreError> {
        let found = &mut self.found;
        let scratch = &mut self.scratch;
        self.stats = snapshot.lookup_batch_by(search, queries, k, scratch, |query, id, _, hamming| {
            let query = first + query;
            found.push(Found { query, hamming, id });
        })?;
        found.kept.sort_unstable();
        Ok(())
    }

    /// Looks up `queries` in the table of all variations.
    fn look_up_stored(&mut self, stored: &StoredTable<W>, queries: &[W], first: usize) {
        self.stats = Stats::default();
        for (query, &fingerprint) in (first..).zip(queries) {
            let found = &mut self.found;
            self.stats += stored.look_up(fingerprint, |id, hamming| {
                found.push(Found { query, hamming, id });
            });
        }
        self.found.kept.sort_unstable();
    }
}

impl<'a, W: Width> Answers<'a, W> {
    /// Prepares to answer queries within `k`. `memory` bounds the table of [`Way::Stored`].
    pub(super) fn new(
        committed: &'a Committed<W>,
        k: u32,
        way: Way,
        memory: u64,
        bars: &'a Bars,
        cancel: &'a Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let stored = match way {
            Way::Stored => Some(StoredTable::new(committed, k, memory)?),
            _ => None,
        };
        Ok(Self {
            committed,
            k,
            way,
            stored,
            bars,
            cancel,
            workers: (0..rayon::current_num_threads())
                .map(|_| Worker::default())
                .collect(),
            stats: Stats::default(),
            queries: 0,
        })
    }

    /// Answers by reading the whole index once for many queries.
    pub(super) fn scan(&mut self) {
        self.way = Way::Pass;
    }

    /// Number of queries that are gathered and then answered together.
    pub(super) fn at_once(&self) -> usize {
        match self.way {
            Way::Pass => SCAN_BATCH,
            Way::Search(Search::Directory) => LOOKUP_BATCH * self.workers.len(),
            _ => SLOW_BATCH * self.workers.len(),
        }
    }

    /// Answers `queries` and writes the rows. `name` maps the position of a query to its value in the column query.
    pub(super) fn answer<'n>(
        &mut self,
        queries: &[W],
        name: impl Fn(usize) -> RowValue<'n>,
        out: &mut Rows,
    ) -> anyhow::Result<()> {
        let mut first = 0;
        let mut at_once = self.at_once();
        while first < queries.len() {
            if self.cancel.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            let some = &queries[first..queries.len().min(first + at_once)];
            let stats = self.stats;
            let matches = self.find(some)?;
            if matches > MAX_FOUND && some.len() > 1 {
                // As many queries as probably have half of that number of matches.
                let fewer = some.len() as u128 * u128::from(MAX_FOUND / 2) / u128::from(matches);
                at_once = (fewer as usize).max(1);
                self.stats = stats;
                continue;
            }
            self.queries += some.len() as u64;
            for found in self.workers.iter().flat_map(|worker| &worker.found.kept) {
                out.row(&[
                    name(first + found.query),
                    id_value(self.committed, found.id),
                    RowValue::Number(found.hamming.into()),
                ])?;
            }
            first += some.len();
            // Later queries may have fewer matches.
            at_once = self.at_once().min(at_once.saturating_mul(2));
        }
        Ok(())
    }

    /// Finds the matches of `queries`, and returns their number. If it exceeds [`MAX_FOUND`], some are not kept, unless
    /// there is only one query.
    fn find(&mut self, queries: &[W]) -> anyhow::Result<u64> {
        let limit = if queries.len() > 1 { MAX_FOUND } else { u64::MAX };
        for worker in &mut self.workers {
            worker.found.clear(limit);
        }
        match self.way {
            Way::Pass => self.pass(queries)?,
            Way::Search(search) => self.look_up(search, queries)?,
            Way::Stored => self.look_up(Search::default(), queries)?,
        }
        Ok(self.workers.iter().map(|worker| worker.found.count).sum())
    }

    /// Looks up `queries`. Each thread looks up a contiguous share of them, so the rows of the workers, one worker after
    /// the other, are in order.
    fn look_up(&mut self, search: Search, queries: &[W]) -> anyhow::Result<()> {
        let share = queries.len().div_ceil(self.workers.len()).max(LEAST_SHARE);
        let (snapshot, k, stored) = (&self.committed.snapshot, self.k, &self.stored);
        let shares = self.workers.par_iter_mut().zip(queries.par_chunks(share));
        shares.enumerate().try_for_each(|(i, (worker, queries))| {
            let first = i * share;
            match stored {
                Some(stored) => worker.look_up_stored(stored, queries, first),
                None => worker.look_up(snapshot, search, queries, first, k)?,
            }
            Ok::<_, StoreError>(())
        })?;
        for worker in self.workers.iter().take(queries.len().div_ceil(share)) {
            self.stats += worker.stats;
        }
        Ok(())
    }

    /// Answers `queries` by reading the whole index once.
    fn pass(&mut self, queries: &[W]) -> anyhow::Result<()> {
        let snapshot = &self.committed.snapshot;
        self.bars.stage("scan", snapshot.rows(), Unit::Fingerprints);
        let Some(Worker { found, .. }) = self.workers.first_mut() else {
            return Ok(());
        };
        let scanned = snapshot.scan(
            queries,
            self.k,
            self.cancel,
            &|rows| self.bars.advance(rows),
            |query, id, hamming| found.push(Found { query, hamming, id }),
        );
        match scanned {
            Err(StoreError::Segment(SegmentError::Stopped)) => bail!("interrupted"),
            scanned => {
                let scanned = scanned?;
                self.stats.candidates += scanned.compared;
                self.stats.bytes += scanned.bytes;
                self.stats.matches += scanned.matches;
                found.kept.par_sort_unstable();
                Ok(())
            }
        }
    }

    /// Says on stderr which share of the fingerprints was found, if it is not all.
    pub(super) fn note_missed(&self, index: &Path) {
        let snapshot = &self.committed.snapshot;
        if let Way::Search(search @ (Search::Directory | Search::Binary | Search::Interpolation)) = self.way
            && !snapshot.is_exact()
        {
            let recall = recall::described(self.k, &snapshot.recalls(search, self.k));
            terminal::note(&format!("{} is {recall}; --scan finds all", index.display()));
        }
    }

    /// Prints the work of all queries and of each on average.
    pub(super) fn print_stats(&self) {
        let Stats {
            probes,
            steps,
            candidates,
            matches,
            bytes,
            ..
        } = self.stats;
        terminal::note(&format!(
            "{} queries, {}, {}, {}, {} read, {} found",
            number::count(self.queries),
            number::counted(probes, "probe"),
            number::counted(steps, "step"),
            number::counted(candidates, "candidate"),
            number::counted(bytes, "byte"),
            number::counted(matches, "fingerprint"),
        ));
        let each = |total: u64| total as f64 / self.queries.max(1) as f64;
        terminal::note(&format!(
            "on average {:.1} probes, {:.1} steps, {:.1} candidates, {:.1} bytes a query",
            each(probes),
            each(steps),
            each(candidates),
            each(bytes)
        ));
    }
}
