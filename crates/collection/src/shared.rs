//! The state of an open collection, which all its threads share.
//!
//! The documents in memory are those of the last commit: [`Shared::apply`] changes them after a commit, never before.
//! During a commit, disk and memory may differ, and [`version`](Shared::version) is odd. So readers can detect that
//! they have read two different states.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redb::ReadTransaction;
use rustc_hash::FxHashSet;

use super::database::Database;
use super::error::CollectionError;
use super::live::{Live, StoryMerge};
use super::load::Memory;
use super::prepare::DocumentPreparer;
use super::settings::Settings;
use super::stories::StoryEngine;
use super::verify::{SetCache, StoredShingles};

/// Counts how often this process has opened a collection. Each opening gets the next number.
static OPENINGS: AtomicU64 = AtomicU64::new(0);

/// The state of an open collection, which the handles and the writing thread share.
pub(crate) struct Shared {
    pub(crate) store: Database,
    pub(crate) settings: Settings,
    pub(crate) preparer: DocumentPreparer,
    pub(crate) live: RwLock<Live>,
    /// The story engine. `None` if the collection keeps no stories; `Some(None)` if a write failed and the stories
    /// could not be read again. A thread that holds this lock may take a read lock of `live`, but no other lock.
    pub(crate) stories: Option<RwLock<Option<StoryEngine>>>,
    pub(crate) cache: SetCache,
    /// Changes with every commit. It is odd while disk and memory may differ.
    pub(crate) version: AtomicU64,
    /// The number of writes that wait in the queue.
    pub(crate) waiting: AtomicU64,
    /// The message of the first write that failed. Once it is set, the collection refuses writes.
    poisoned: OnceLock<String>,
    pub(crate) commits: Mutex<Commits>,
    /// The Unix time in seconds that a test has set; 0 if the system's clock is used.
    pub(crate) clock: AtomicU64,
    pub(crate) opening: u64,
}

/// The changes that a commit makes to the state in memory.
pub(crate) struct MemoryChanges {
    /// The rows that were added or changed.
    pub(crate) added: Live,
    /// The numbers of the documents whose rows were removed or changed.
    pub(crate) removed: FxHashSet<u64>,
    /// The merges of stories.
    pub(crate) merged: Vec<StoryMerge>,
}

/// Statistics of the commits since a collection was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Commits {
    /// The number of commits.
    pub count: u64,
    /// The number of writes in all commits.
    pub writes: u64,
    /// The total time of all commits in seconds, including the syncs of the file.
    pub seconds: f64,
    /// The time of the longest commit in seconds.
    pub longest: f64,
}

impl Shared {
    /// Creates the shared state of a collection that was just opened. If the file is not writable, the collection
    /// refuses writes.
    pub(crate) fn new(
        store: Database,
        settings: Settings,
        preparer: DocumentPreparer,
        memory: Memory,
    ) -> Self {
        let poisoned = store.unwritable.clone().map(OnceLock::from);
        Self {
            store,
            settings,
            preparer,
            live: RwLock::new(memory.live),
            stories: memory.stories.map(|stories| RwLock::new(Some(stories))),
            cache: SetCache::default(),
            version: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            poisoned: poisoned.unwrap_or_default(),
            commits: Mutex::default(),
            clock: AtomicU64::new(0),
            opening: OPENINGS.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// The current Unix time in seconds, from the system's clock or as set by a test.
    pub(crate) fn now(&self) -> i64 {
        let set = self.clock.load(Ordering::Relaxed);
        let seconds = if set == 0 {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs())
        } else {
            set
        };
        i64::try_from(seconds).unwrap_or(i64::MAX)
    }

    /// The error that every write returns; `None` if the collection accepts writes.
    pub(crate) fn refusal(&self) -> Option<CollectionError> {
        self.poisoned.get().map(|why| CollectionError::ReadOnly {
            path: self.store.path.clone(),
            why: format!("{why}; the collection accepts no writes until it is opened again"),
        })
    }

    /// A source of the shingle sets of stored documents, which reads them in the given transaction.
    pub(crate) fn shingles<'a>(&'a self, transaction: &'a ReadTransaction) -> StoredShingles<'a> {
        StoredShingles {
            store: &self.store,
            transaction,
            preparer: &self.preparer,
            cache: &self.cache,
        }
    }

    /// Makes the collection refuse all writes from now on, because of an error.
    pub(crate) fn poison(&self, error: &CollectionError) {
        // If an earlier error is set, it stays: only the first failure is reported.
        let _later = self.poisoned.set(error.to_string());
    }

    /// True if at least one document has expired and can be deleted, because the collection accepts writes.
    pub(crate) fn has_expired(&self) -> bool {
        let live = self.live.read();
        live.is_ok_and(|live| !live.expired(self.now(), 1).is_empty()) && self.poisoned.get().is_none()
    }

    /// Applies the changes of a commit to the state in memory.
    pub(crate) fn apply(&self, changes: MemoryChanges) {
        if let Ok(mut live) = self.live.write() {
            for ordinal in changes.removed {
                live.remove(ordinal);
            }
            for row in changes.added.into_rows() {
                live.insert(row);
            }
            live.redirect(changes.merged);
            live.tidy();
        }
        self.end_change();
    }

    /// Makes `version` odd: disk and memory may differ from now on. Only the writing thread calls this and
    /// [`end_change`](Self::end_change).
    pub(crate) fn begin_change(&self) {
        self.version.fetch_or(1, Ordering::AcqRel);
    }

    /// Makes `version` even: disk and memory are in the same state again.
    pub(crate) fn end_change(&self) {
        let version = self.version.load(Ordering::Acquire);
        self.version.store((version | 1) + 1, Ordering::Release);
    }

    /// Does due maintenance of the index in memory, such as merges of its tables.
    pub(crate) fn tidy(&self) {
        if let Ok(mut live) = self.live.write() {
            live.tidy();
        }
    }

    /// Adds a commit to the statistics.
    pub(crate) fn count_commit(&self, took: Duration, writes: usize) {
        if let Ok(mut commits) = self.commits.lock() {
            commits.count += 1;
            commits.writes += writes as u64;
            commits.seconds += took.as_secs_f64();
            commits.longest = commits.longest.max(took.as_secs_f64());
        }
    }

    /// True if the state of the stories should be saved when the collection closes, because replaying the story log at
    /// the next opening would be slow.
    pub(crate) fn is_story_save_due(&self) -> bool {
        let Some(stories) = self.stories.as_ref().filter(|_| self.refusal().is_none()) else {
            return false;
        };
        let stories = stories.read().unwrap_or_else(PoisonError::into_inner);
        stories.as_ref().is_some_and(|stories| stories.is_due(true))
    }
}
