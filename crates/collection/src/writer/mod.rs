//! The writing thread: takes all waiting requests from the queue, decides and commits them together, and sends the
//! results.
//!
//! A commit costs one sync, however many writes it contains. So under load, several requests share one sync (group
//! commit). If a write or a sync fails, the state in memory stays unchanged, and the collection refuses writes from
//! then on. A failed sync cannot be retried: the operating system may have dropped the unwritten pages and would report
//! success the next time.
//!
//! [Pending](WriteDurability::Pending) writes are committed without a sync, so that later writes see them. The next
//! [synced](Durability::Synced) write makes all of them durable. If the collection is closed before such a write, they
//! are rolled back ([`PendingWrites`]).

mod batch;
mod pending;

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use self::batch::{CommitMode, commit};
use self::pending::PendingWrites;
use super::document::Durability;
use super::error::CollectionError;
use super::shared::Shared;
use super::write_request::{WriteDurability, WriteRequest};

/// A batch takes no further requests once it has this number of writes. It can be larger, because a request is never
/// split.
const BATCH_WRITES: usize = 2000;
/// The longest time that buffered writes wait for a sync. It is also the interval at which expired documents are
/// deleted.
const TICK: Duration = Duration::from_millis(500);

/// Executes requests until the queue is closed. This is the main loop of the writing thread.
pub(crate) fn run(shared: &Shared, requests: &Receiver<WriteRequest>) {
    let mut unsynced = false;
    let mut pending = PendingWrites::new(shared);
    let mut last_tick = Instant::now();
    loop {
        let mut batch = Vec::new();
        let mut writes = 0;
        match requests.recv_timeout(TICK) {
            Ok(request) => {
                writes += request.ops.len();
                batch.push(request);
                while writes < BATCH_WRITES
                    && let Ok(request) = requests.try_recv()
                {
                    writes += request.ops.len();
                    batch.push(request);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        shared.waiting.fetch_sub(writes as u64, Ordering::Relaxed);
        let is_due = last_tick.elapsed() >= TICK;
        let has_expired = shared.has_expired();
        let contains = |durability| {
            batch
                .iter()
                .any(|request: &WriteRequest| request.durability == durability)
        };
        let has_synced = contains(WriteDurability::Chosen(Durability::Synced));
        let has_pending = contains(WriteDurability::Pending);
        if batch.is_empty() && (pending.exist() || !has_expired && !unsynced) {
            shared.tidy();
            continue;
        }
        if has_pending && !pending.exist() {
            if unsynced {
                write(shared, Vec::new(), CommitMode::SYNCED);
            }
            pending.begin();
        }
        let sync = has_synced || !pending.exist() && (is_due || batch.is_empty());
        if is_due {
            last_tick = Instant::now();
        }
        let mode = if sync {
            CommitMode::SYNCED
        } else {
            CommitMode::UNSYNCED
        };
        write(shared, batch, mode);
        if sync {
            pending.end();
        }
        unsynced = !sync && !pending.exist();
    }
    if pending.exist() {
        return;
    }
    if unsynced || shared.is_story_save_due() {
        write(shared, Vec::new(), CommitMode::CLOSING);
    }
}

/// Commits a batch, applies it to memory and sends the results.
fn write(shared: &Shared, batch: Vec<WriteRequest>, mode: CommitMode) {
    let result = match shared.refusal() {
        Some(error) => Err(error),
        None => commit(shared, &batch, mode).inspect_err(|error| shared.poison(error)),
    };
    if let Ok(committed) = result {
        shared.apply(committed.changes);
        for (request, results) in batch.into_iter().zip(committed.results) {
            // The send fails if the caller no longer waits for the result, which does not matter.
            let _gone = request.reply.send(Ok(results));
        }
    } else {
        shared.end_change();
        let error = shared.refusal().unwrap_or(CollectionError::Closed);
        for request in batch {
            let _gone = request.reply.send(Err(error.clone()));
        }
    }
}
