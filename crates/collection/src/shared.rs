//! The state of an open collection that all its threads share.
//!
//! The documents in memory are those of the last commit: [`Shared::apply`] changes them after a commit, never before. While a commit is
//! under way, disk and memory may differ; readers recognise that by an odd [`version`](Shared::version).

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

/// The number of openings of collections in this process so far.
static OPENINGS: AtomicU64 = AtomicU64::new(0);

/// The state of an open collection.
pub(crate) struct Shared {
    pub(crate) store: Database,
    pub(crate) settings: Settings,
    pub(crate) preparer: DocumentPreparer,
    pub(crate) live: RwLock<Live>,
    /// `None` if the collection keeps no stories; `Some(None)` after a failed write whose stories could not be reloaded. A thread that holds
    /// this lock may take a read lock of `live`, and no other lock.
    pub(crate) stories: Option<RwLock<Option<StoryEngine>>>,
    pub(crate) cache: SetCache,
    /// Odd while disk and memory may differ.
    pub(crate) version: AtomicU64,
    /// The number of writes in the queue.
    pub(crate) waiting: AtomicU64,
    /// The first failure of a write. Once set, the collection refuses writes.
    poisoned: OnceLock<String>,
    pub(crate) commits: Mutex<Commits>,
    /// Unix time in seconds, set by tests; 0 stands for the clock of the system.
    pub(crate) clock: AtomicU64,
    pub(crate) opening: u64,
}

/// The changes of memory that follow a commit.
pub(crate) struct MemoryChanges {
    /// Rows that were added or changed.
    pub(crate) added: Live,
    /// The numbers of rows that were removed or changed.
    pub(crate) removed: FxHashSet<u64>,
    /// Stories that were merged.
    pub(crate) merged: Vec<StoryMerge>,
}

/// Counts and times of the commits of an opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Commits {
    /// The number of commits.
    pub count: u64,
    /// The number of writes in them.
    pub writes: u64,
    /// Their total time in seconds, with syncs.
    pub seconds: f64,
    /// The time of the longest one in seconds.
    pub longest: f64,
}

impl Shared {
    /// The state of a collection that was just opened.
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

    /// Unix time in seconds.
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

    /// The reason why the collection refuses writes.
    pub(crate) fn refusal(&self) -> Option<CollectionError> {
        self.poisoned.get().map(|why| CollectionError::ReadOnly {
            path: self.store.path.clone(),
            why: format!("{why}; the collection accepts no writes until it is opened again"),
        })
    }

    /// The shingles of stored documents, as a transaction sees them.
    pub(crate) fn shingles<'a>(&'a self, transaction: &'a ReadTransaction) -> StoredShingles<'a> {
        StoredShingles {
            store: &self.store,
            transaction,
            preparer: &self.preparer,
            cache: &self.cache,
        }
    }

    /// Makes the collection refuse writes.
    pub(crate) fn poison(&self, error: &CollectionError) {
        // Only the first failure is reported.
        let _later = self.poisoned.set(error.to_string());
    }

    /// True if documents have expired that can be removed.
    pub(crate) fn has_expired(&self) -> bool {
        let live = self.live.read();
        live.is_ok_and(|live| !live.expired(self.now(), 1).is_empty()) && self.poisoned.get().is_none()
    }

    /// Applies a commit to memory.
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

    /// Notes that disk and memory may differ from now on. Only the writing thread calls this and [`end_change`](Self::end_change).
    pub(crate) fn begin_change(&self) {
        self.version.fetch_or(1, Ordering::AcqRel);
    }

    /// Notes that disk and memory agree again.
    pub(crate) fn end_change(&self) {
        let version = self.version.load(Ordering::Acquire);
        self.version.store((version | 1) + 1, Ordering::Release);
    }

    /// Does outstanding maintenance of the documents in memory.
    pub(crate) fn tidy(&self) {
        if let Ok(mut live) = self.live.write() {
            live.tidy();
        }
    }

    /// Counts a commit.
    pub(crate) fn count_commit(&self, took: Duration, writes: usize) {
        if let Ok(mut commits) = self.commits.lock() {
            commits.count += 1;
            commits.writes += writes as u64;
            commits.seconds += took.as_secs_f64();
            commits.longest = commits.longest.max(took.as_secs_f64());
        }
    }

    /// True if a collection that closes should save the state of its stories, because replaying their log would be slow.
    pub(crate) fn is_story_save_due(&self) -> bool {
        let Some(stories) = self.stories.as_ref().filter(|_| self.refusal().is_none()) else {
            return false;
        };
        let stories = stories.read().unwrap_or_else(PoisonError::into_inner);
        stories.as_ref().is_some_and(|stories| stories.is_due(true))
    }
}
