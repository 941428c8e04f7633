//! Queries and joins, whose results are columns of little-endian numbers.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use twinprint::planner::LookupCosts;
use twinprint::segment::Scratch;
use twinprint::store::{Committed, StoreError, scan_is_cheaper};
use twinprint::{Progress, Unit};

use super::error::IndexError;
use super::row::Row;

/// The number of queries that a thread looks up together. A call can be interrupted between them.
const LOOKUP_BATCH: usize = 1 << 14;
/// The same for queries beyond the radius of the index, which compare every fingerprint.
const SLOW_BATCH: usize = 1 << 6;
/// Fewer queries than this are not divided among threads.
const LEAST_SHARE: usize = 64;

/// The number of queries that one scan answers.
const SCAN_BATCH: usize = 1 << 18;
/// The number of comparisons of a step of a scan beyond the radius of the index, if every fingerprint is compared with
/// every query. A call can be interrupted between steps.
const SCAN_STEP: u64 = 1 << 28;
/// The number of fingerprints that a scan reads in one step.
const SCAN_ROWS: u64 = 1 << 20;

/// Columns of results: query or a, id or b, Hamming distance.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) first: Vec<u8>,
    pub(super) second: Vec<u8>,
    pub(super) hamming: Vec<u8>,
}

impl Columns {
    /// Appends a row. A distance is at most 128, so it fits into a byte.
    pub(super) fn push(&mut self, first: u64, second: u64, hamming: u32) {
        self.first.extend_from_slice(&first.to_le_bytes());
        self.second.extend_from_slice(&second.to_le_bytes());
        self.hamming.push(hamming.min(255) as u8);
    }
}

/// A match of a query. The order of matches is that of the rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    query: usize,
    hamming: u32,
    id: u64,
}

/// Finds all fingerprints within `k` of each query, on the current thread pool.
pub(super) fn query<W: Row>(
    committed: &Committed<W>,
    queries: &[W],
    k: u32,
    progress: &dyn Progress,
    cancel: &AtomicBool,
) -> Result<Columns, IndexError> {
    let snapshot = &committed.snapshot;
    let (rows, count) = (snapshot.rows(), queries.len() as u64);
    let (codec, missing) = (committed.settings.codec, snapshot.missing_pages());
    let scans = scan_is_cheaper::<W>(codec, rows, count, k, &LookupCosts::default(), &missing)
        .map_err(StoreError::from)?;
    let mut columns = Columns::default();
    let is_beyond = k > committed.settings.radius;
    if scans {
        let batch = if is_beyond {
            ((SCAN_STEP / rows.clamp(1, SCAN_ROWS)) as usize).clamp(SLOW_BATCH, SCAN_BATCH)
        } else {
            SCAN_BATCH
        };
        let batches = queries.chunks(batch);
        progress.stage("scan", rows * batches.len() as u64, Unit::Fingerprints);
        for (number, queries) in batches.enumerate() {
            let mut found = Vec::new();
            let hit = |query, id, hamming| found.push(Found { query, hamming, id });
            snapshot.scan(queries, k, cancel, &|rows| progress.advance(rows), hit)?;
            found.par_sort_unstable();
            for found in found {
                let query = number * batch + found.query;
                columns.push(query as u64, found.id, found.hamming);
            }
        }
        return Ok(columns);
    }
    progress.stage("look up", count, Unit::Fingerprints);
    let most = if is_beyond { SLOW_BATCH } else { LOOKUP_BATCH };
    let share = queries
        .len()
        .div_ceil(rayon::current_num_threads())
        .clamp(LEAST_SHARE.min(most), most);
    let batches = queries.par_chunks(share).enumerate();
    let found = batches.map_init(Scratch::default, |scratch, (batch, queries)| {
        if cancel.load(Ordering::Relaxed) {
            return Err(IndexError::Interrupted);
        }
        let mut found = Vec::new();
        snapshot.lookup_batch(queries, k, scratch, |query, id, _, hamming| {
            let query = batch * share + query;
            found.push(Found { query, hamming, id });
        })?;
        found.sort_unstable();
        progress.advance(queries.len() as u64);
        Ok(found)
    });
    for found in found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        columns.push(found.query as u64, found.id, found.hamming);
    }
    Ok(columns)
}

/// All ids and fingerprints, ascending by id.
pub(super) fn rows<W: Row>(committed: &Committed<W>) -> Result<(Vec<u8>, Vec<u8>), IndexError> {
    let rows = committed.snapshot.iter();
    let mut rows = rows.collect::<Result<Vec<(W, u64)>, StoreError>>()?;
    rows.sort_unstable_by_key(|&(_, id)| id);
    let (mut ids, mut fingerprints) = (Vec::new(), Vec::new());
    for (fingerprint, id) in rows {
        ids.extend_from_slice(&id.to_le_bytes());
        fingerprint.write(&mut fingerprints);
    }
    Ok((ids, fingerprints))
}
