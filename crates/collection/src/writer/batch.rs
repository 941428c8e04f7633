//! The commit of a batch of requests: duplicates are searched in parallel, then the writes are decided in order, in one
//! transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::time::Instant;

use rayon::prelude::*;
use redb::ReadableDatabase as _;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::commit::Commit;
use super::super::error::CollectionError;
use super::super::live::Live;
use super::super::prepare::Prepared;
use super::super::record::ChangeKind;
use super::super::row::Row;
use super::super::run_record::record_run;
use super::super::shared::{MemoryChanges, Shared};
use super::super::stories::{StoryEngine, saved};
use super::super::tables::Tables;
use super::super::verify::{Asked, Found, Rule, StoredShingles, find};
use super::super::write_request::{WriteOp, WriteRequest, WriteResult};

/// The largest number of expired documents that one commit deletes.
const MAX_EXPIRED: usize = 1000;
/// If a batch has at least this number of documents, their duplicates are searched in parallel.
const PARALLEL_DOCUMENTS: usize = 4;

/// The mode of a commit: whether it is synced, and whether it is the last.
#[derive(Clone, Copy)]
pub(super) struct CommitMode {
    /// True if the commit is synced, so that it and all earlier commits are durable afterwards.
    sync: bool,
    /// True if the collection closes after the commit.
    closing: bool,
}

impl CommitMode {
    /// A commit that survives a power cut once it has ended.
    pub(super) const SYNCED: Self = Self {
        sync: true,
        closing: false,
    };
    /// A commit that becomes durable only with a later synced commit.
    pub(super) const UNSYNCED: Self = Self {
        sync: false,
        closing: false,
    };
    /// The last commit, after which the collection closes. It is synced.
    pub(super) const CLOSING: Self = Self {
        sync: true,
        closing: true,
    };
}

/// The outcome of a committed batch: results for the callers, and changes to apply to the state in memory.
pub(super) struct Committed {
    /// For each request, the results of its writes.
    pub(super) results: Vec<Vec<WriteResult>>,
    pub(super) changes: MemoryChanges,
}

/// The state of the last commit, which the writes of a batch are compared with.
#[derive(Clone, Copy)]
struct Snapshot<'a> {
    shared: &'a Shared,
    settled: &'a Live,
    shingles: &'a StoredShingles<'a>,
    now: i64,
}

/// Decides the writes of a batch and commits them in one transaction.
///
/// After an error, or a panic of redb, the store is as it was before the batch. The only exception is a failed final
/// sync: the store may then contain the batch, although its callers get an error.
pub(super) fn commit(
    shared: &Shared,
    batch: &[WriteRequest],
    mode: CommitMode,
) -> Result<Committed, CollectionError> {
    // The write lock makes queries for stories wait until the commit ends, because the engine contains uncommitted
    // changes until then.
    let stories = shared.stories.as_ref();
    let mut stories = stories.map(|stories| stories.write().unwrap_or_else(PoisonError::into_inner));
    let engine = stories.as_mut().and_then(|stories| stories.as_mut());
    let result = shared
        .store
        .writing(|db| decide_and_commit(shared, db, batch, mode, engine));
    if let (Err(_), Some(stories)) = (&result, &mut stories) {
        let reloaded = shared
            .store
            .reading(|transaction| saved::load(&shared.store, transaction, &shared.settings));
        **stories = reloaded.ok().flatten();
    }
    result
}

fn decide_and_commit(
    shared: &Shared,
    db: &redb::Database,
    batch: &[WriteRequest],
    mode: CommitMode,
    stories: Option<&mut StoryEngine>,
) -> Result<Committed, CollectionError> {
    let store = &shared.store;
    let now = shared.now();
    let settled = shared.live.read().map_err(|_| CollectionError::Closed)?;
    let reading = db.begin_read().map_err(|error| store.unreadable(error))?;
    let snapshot = Snapshot {
        shared,
        settled: &settled,
        shingles: &shared.shingles(&reading),
        now,
    };
    let mut transaction = db.begin_write().map_err(|error| store.unreadable(error))?;
    let durability = if mode.sync {
        redb::Durability::Immediate
    } else {
        redb::Durability::None
    };
    transaction
        .set_durability(durability)
        .map_err(|error| store.unreadable(error))?;
    transaction.set_quick_repair(true);
    let committed = decide(snapshot, batch, &transaction, mode, stories)?;
    // From here until the changes are applied to memory, disk and memory differ. Readers that notice the difference try
    // again.
    shared.begin_change();
    let began = Instant::now();
    transaction.commit().map_err(|error| store.unreadable(error))?;
    shared.count_commit(
        began.elapsed(),
        batch.iter().map(|request| request.ops.len()).sum(),
    );
    Ok(committed)
}

/// Decides the writes of a batch in order and writes the resulting changes into the transaction.
fn decide(
    snapshot: Snapshot<'_>,
    batch: &[WriteRequest],
    transaction: &redb::WriteTransaction,
    mode: CommitMode,
    stories: Option<&mut StoryEngine>,
) -> Result<Committed, CollectionError> {
    let shared = snapshot.shared;
    let found = find_all(snapshot, batch)?;
    let settings = &shared.settings;
    let mut commit = Commit {
        settings,
        settled: snapshot.settled,
        tables: Tables::open(&shared.store, transaction, settings.stories)?,
        shingles: snapshot.shingles,
        now: snapshot.now,
        stories,
        merged: Vec::new(),
        fresh: Live::new(shared.preparer.profile().bits(), settings.k, settings.threshold),
        removed: FxHashSet::default(),
        orphans: BTreeMap::default(),
        without_canonical: BTreeSet::default(),
        prepared: FxHashMap::default(),
    };
    commit.expire(MAX_EXPIRED)?;
    let mut found = found.into_iter();
    let mut results = Vec::with_capacity(batch.len());
    for request in batch {
        let mut of_request = Vec::with_capacity(request.ops.len());
        for op in &request.ops {
            of_request.push(match op {
                WriteOp::Put { prepared, only_new } => {
                    let settled = found.next().unwrap_or_default();
                    let mut answer = commit.put(prepared, &settled, *only_new)?;
                    answer.durable = mode.sync || answer.seq.is_none();
                    WriteResult::Answer(Box::new(answer))
                }
                WriteOp::Delete(id) => WriteResult::Deleted(commit.delete(*id, ChangeKind::Deleted)?),
                WriteOp::RecordRun(run) => {
                    record_run(&shared.store, transaction, run)?;
                    WriteResult::RunRecorded
                }
            });
        }
        // Members that have lost their leader are placed again only here, after all deletions of the request. So no
        // member is placed into a group whose leader the same request deletes.
        commit.place_orphans()?;
        results.push(of_request);
    }
    let Commit {
        mut tables,
        stories,
        fresh,
        removed,
        merged,
        ..
    } = commit;
    if let Some(stories) = stories {
        stories.write(&mut tables, mode.closing)?;
    }
    tables.finish()?;
    Ok(Committed {
        results,
        changes: MemoryChanges {
            added: fresh,
            removed,
            merged,
        },
    })
}

/// Searches the documents of earlier commits for duplicates of each document of a batch.
fn find_all(snapshot: Snapshot<'_>, batch: &[WriteRequest]) -> Result<Vec<Found>, CollectionError> {
    let shared = snapshot.shared;
    let documents: Vec<&Prepared> = batch
        .iter()
        .flat_map(|request| &request.ops)
        .filter_map(|op| match op {
            WriteOp::Put { prepared, .. } => Some(&**prepared),
            WriteOp::Delete(_) | WriteOp::RecordRun(_) => None,
        })
        .collect();
    let find_one = |prepared: &&Prepared| {
        // If a stored document has the same text, near-duplicates are normally not needed. They are searched anyway,
        // because this batch may delete that document first.
        let rule = Rule::of(&shared.settings);
        let asked = Asked::new(prepared, &shared.settings);
        let admits = |row: &Row| !row.is_expired(snapshot.now) && row.id != prepared.row.id;
        shared
            .store
            .guard(|| find(asked, snapshot.settled, snapshot.shingles, rule, admits))
    };
    if documents.len() < PARALLEL_DOCUMENTS {
        documents.iter().map(find_one).collect()
    } else {
        documents.par_iter().map(find_one).collect()
    }
}
