//! The one thread that writes: it takes what waits, decides and commits it together, and answers.
//!
//! One commit costs one sync whatever it holds, so the more waits, the more is written at a time (group commit). What fails while
//! it is written or synced leaves memory as it was, and the collection refuses writes from then on: after a failed sync the
//! system may have dropped the pages and forgotten it.
//!
//! Writes that are [`Held`](WriteDurability::Pending) are committed in memory only, so that later writes see them, until the next write that is
//! [`Synced`](Durability::Synced) makes all of them durable at once. If no such write comes, they are rolled back ([`Hold`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use redb::ReadableDatabase;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Shared;
use super::commit::{Commit, Effects};
use super::document::{Answer, Durability};
use super::error::CollectionError;
use super::live::Live;
use super::prepare::Prepared;
use super::record::ChangeKind;
use super::row::Row;
use super::runs;
use super::stories::{self, StoryEngine};
use super::tables::Tables;
use super::verify::{Asked, Found, Rule, Stored, find};
use twinprint_io::guard::guarded;
use twinprint_io::runs::EndedRun;

/// Documents committed together at most, but for a single request of more.
const GROUP: usize = 2000;
/// Expired documents deleted with one commit.
const EXPIRED: usize = 1000;
/// How long buffered writes wait for a sync, and how often what has expired is looked for.
const TICK: Duration = Duration::from_millis(500);

/// One write.
pub(crate) enum WriteOp {
    /// Take in a document; only where it is new, if so asked.
    Put { prepared: Arc<Prepared>, only_new: bool },
    /// Delete the document with this keyed hash of its id.
    Delete(u128),
    /// Remember a run.
    Remember(Box<EndedRun>),
}

/// When a write becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteDurability {
    /// As the caller of the collection chose.
    Now(Durability),
    /// With the next synced write; never, if none comes.
    Held,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum WriteResult {
    Answer(Box<Answer>),
    /// The number of the change, or none where there was nothing to delete.
    Deleted(Option<u64>),
    /// The run is remembered.
    Remembered,
}

/// Writes that belong together: they are committed together or not at all.
pub(crate) struct Request {
    pub(crate) ops: Vec<WriteOp>,
    pub(crate) durability: WriteDurability,
    pub(crate) reply: SyncSender<Result<Vec<WriteResult>, CollectionError>>,
}

/// What a group of requests comes to.
struct Outcome {
    done: Vec<Vec<WriteResult>>,
    effects: Effects,
}

/// Writes until nobody can ask any more.
pub(crate) fn run(shared: &Shared, requests: &Receiver<Request>) {
    let mut unsynced = false;
    let mut hold = Hold { shared, before: None };
    let mut ticked = Instant::now();
    loop {
        let mut group = Vec::new();
        let mut waiting = 0;
        match requests.recv_timeout(TICK) {
            Ok(request) => {
                waiting += request.ops.len();
                group.push(request);
                while waiting < GROUP
                    && let Ok(request) = requests.try_recv()
                {
                    waiting += request.ops.len();
                    group.push(request);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        shared.waiting.fetch_sub(waiting as u64, Ordering::Relaxed);
        let due = ticked.elapsed() >= TICK;
        let expired = shared.has_expired();
        let committed = |durability| group.iter().any(|request| request.durability == durability);
        let synced = committed(WriteDurability::Chosen(Durability::Synced));
        let held = committed(WriteDurability::Pending);
        if group.is_empty() && (hold.is_on() || !expired && !unsynced) {
            shared.tidy();
            continue;
        }
        if held && !hold.is_on() {
            if unsynced {
                write(shared, Vec::new(), (true, false));
            }
            hold.begin();
        }
        let sync = synced || !hold.is_on() && (due || group.is_empty());
        if due {
            ticked = Instant::now();
        }
        write(shared, group, (sync, false));
        if sync {
            hold.end();
        }
        unsynced = !sync && !hold.is_on();
    }
    if hold.is_on() {
        return;
    }
    if unsynced || shared.stories_due() {
        write(shared, Vec::new(), (true, true));
    }
}

/// Writes that are held back from the disk. Dropped while it is on, it rolls them back: a store that is closed makes durable what was
/// committed in memory.
struct Hold<'i> {
    shared: &'i Shared,
    /// The store as it was before the first of these writes.
    before: Option<redb::Savepoint>,
}

impl Hold<'_> {
    fn is_on(&self) -> bool {
        self.before.is_some()
    }

    /// Notes the state to go back to. A collection that cannot do so refuses writes.
    fn begin(&mut self) {
        let store = &self.shared.store;
        let begun = store.writing(|db| {
            let transaction = db.begin_write().map_err(|error| store.unreadable(error))?;
            let savepoint = transaction.ephemeral_savepoint();
            savepoint.map_err(|error| store.unreadable(error))
        });
        match begun {
            Ok(savepoint) => self.before = Some(savepoint),
            Err(error) => self.shared.poison(&error),
        }
    }

    /// Ends the hold once the held writes are durable. If making them durable failed, the collection refuses writes, and the store makes
    /// nothing durable any more.
    fn end(&mut self) {
        if self.shared.refusal().is_none() {
            let before = self.before.take();
            let _panicked = guarded(|| drop(before));
        }
    }

    fn roll_back(&self, savepoint: redb::Savepoint) -> Result<(), CollectionError> {
        let store = &self.shared.store;
        store.writing(|db| {
            let mut transaction = db.begin_write().map_err(|error| store.unreadable(error))?;
            transaction.set_quick_repair(true);
            let restored = transaction.restore_savepoint(&savepoint);
            restored.map_err(|error| store.unreadable(error))?;
            let committed = transaction.commit();
            drop(savepoint);
            committed.map_err(|error| store.unreadable(error))
        })
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let Some(savepoint) = self.before.take() else {
            return;
        };
        // Memory holds what the disk does not.
        self.shared.poison(&CollectionError::Closed);
        // After a failed write the store makes nothing durable any more, which comes to the same.
        let _failed = self.roll_back(savepoint);
    }
}

/// What of a group is to survive, and whether it is the last.
type Manner = (bool, bool);

fn write(shared: &Shared, group: Vec<Request>, manner: Manner) {
    let refused = shared.refusal();
    let result = match refused {
        Some(error) => Err(error),
        None => commit(shared, &group, manner).inspect_err(|error| shared.poison(error)),
    };
    if let Ok(outcome) = result {
        shared.absorb(outcome.effects);
        for (request, done) in group.into_iter().zip(outcome.done) {
            // Who asked may have gone away.
            let _gone = request.reply.send(Ok(done));
        }
    } else {
        shared.end_change();
        let error = shared.refusal().unwrap_or(CollectionError::Closed);
        for request in group {
            let _gone = request.reply.send(Err(error.clone()));
        }
    }
}

/// Decides and commits. Any error, and any panic of the store, leaves the disk as it was before or, where only the last sync failed, in a
/// state nobody was told of.
fn commit(shared: &Shared, group: &[Request], manner: Manner) -> Result<Outcome, CollectionError> {
    // Whoever asks about stories waits until they are what is committed again.
    let stories = shared.stories.as_ref();
    let mut stories = stories.map(|stories| stories.write().unwrap_or_else(PoisonError::into_inner));
    let kept = stories.as_mut().and_then(|stories| stories.as_mut());
    let result = shared
        .store
        .writing(|db| decide_and_commit(shared, db, group, manner, kept));
    if let (Err(_), Some(stories)) = (&result, &mut stories) {
        let again = shared
            .store
            .reading(|transaction| stories::load(&shared.store, transaction, &shared.settings));
        **stories = again.ok().flatten();
    }
    result
}

fn decide_and_commit(
    shared: &Shared,
    db: &redb::Database,
    group: &[Request],
    (sync, closing): Manner,
    kept: Option<&mut StoryEngine>,
) -> Result<Outcome, CollectionError> {
    let store = &shared.store;
    let now = shared.now();
    let settled = shared.live.read().map_err(|_| CollectionError::Closed)?;
    let snapshot = db.begin_read().map_err(|error| store.unreadable(error))?;
    let shingles = Stored {
        store,
        transaction: &snapshot,
        preparer: &shared.preparer,
        cache: &shared.cache,
    };
    let mut transaction = db.begin_write().map_err(|error| store.unreadable(error))?;
    let durability = if sync {
        redb::Durability::Immediate
    } else {
        redb::Durability::None
    };
    transaction
        .set_durability(durability)
        .map_err(|error| store.unreadable(error))?;
    transaction.set_quick_repair(true);
    let manner = (sync, closing);
    let (done, effects) = decide(
        shared,
        group,
        (&settled, &shingles),
        &transaction,
        (now, manner),
        kept,
    )?;
    // From here until memory follows, disk and memory differ: readers that trip over it look again.
    shared.begin_change();
    let began = Instant::now();
    transaction.commit().map_err(|error| store.unreadable(error))?;
    shared.note_commit(
        began.elapsed(),
        group.iter().map(|request| request.ops.len()).sum(),
    );
    Ok(Outcome { done, effects })
}

/// Decides every write of the group and writes what comes of it to the transaction.
fn decide(
    shared: &Shared,
    group: &[Request],
    (settled, shingles): (&Live, &Stored<'_>),
    transaction: &redb::WriteTransaction,
    (now, (sync, closing)): (i64, Manner),
    kept: Option<&mut StoryEngine>,
) -> Result<(Vec<Vec<WriteResult>>, Effects), CollectionError> {
    let found = find_all(shared, group, settled, shingles, now)?;
    let settings = &shared.settings;
    let mut commit = Commit {
        settings,
        settled,
        tables: Tables::open(&shared.store, transaction, settings.stories)?,
        shingles,
        now,
        stories: kept,
        merged: Vec::new(),
        fresh: Live::new(shared.preparer.profile().bits(), settings.k, settings.threshold),
        removed: FxHashSet::default(),
        orphans: BTreeMap::new(),
        without_canonical: BTreeSet::new(),
        prepared: FxHashMap::default(),
    };
    commit.expire(EXPIRED)?;
    let mut found = found.into_iter();
    let mut done = Vec::with_capacity(group.len());
    for request in group {
        let mut answers = Vec::with_capacity(request.ops.len());
        for op in &request.ops {
            answers.push(match op {
                WriteOp::Put { prepared, only_new } => {
                    let settled = found.next().unwrap_or_default();
                    let mut answer = commit.put(prepared, &settled, *only_new)?;
                    answer.durable = sync || answer.seq.is_none();
                    WriteResult::Answer(Box::new(answer))
                }
                WriteOp::Delete(id) => WriteResult::Deleted(commit.delete(*id, ChangeKind::Deleted)?),
                WriteOp::RecordRun(entry) => {
                    runs::remember(&shared.store, transaction, entry)?;
                    WriteResult::RunRecorded
                }
            });
        }
        // The documents that one request deletes leave together.
        commit.place_orphans()?;
        done.push(answers);
    }
    let Commit {
        mut tables,
        stories,
        fresh,
        removed,
        merged,
        ..
    } = commit;
    if let Some(kept) = stories {
        kept.write(&mut tables, closing)?;
    }
    tables.finish()?;
    Ok((
        done,
        Effects {
            fresh,
            removed,
            merged,
        },
    ))
}

/// What every document of the group finds among settled ones, in order.
fn find_all(
    shared: &Shared,
    group: &[Request],
    settled: &Live,
    shingles: &Stored<'_>,
    now: i64,
) -> Result<Vec<Found>, CollectionError> {
    let puts: Vec<&Prepared> = group
        .iter()
        .flat_map(|request| &request.ops)
        .filter_map(|op| match op {
            WriteOp::Put { prepared, .. } => Some(&**prepared),
            WriteOp::Delete(_) | WriteOp::RecordRun(_) => None,
        })
        .collect();
    let one = |prepared: &&Prepared| {
        // An equal text decides by itself; should it be deleted in this group, its group is looked for after all.
        let rule = Rule::of(&shared.settings);
        let asked = Asked::new(prepared, &shared.settings);
        let there = |row: &Row| !row.is_expired(now) && row.id != prepared.row.id;
        let find = || find(asked, settled, shingles, rule, there);
        shared.store.guard(find)
    };
    if puts.len() < 4 {
        puts.iter().map(one).collect()
    } else {
        puts.par_iter().map(one).collect()
    }
}
