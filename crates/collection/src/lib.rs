//! Collections: documents that are remembered, and the question "new, or seen?" answered atomically.
//!
//! A [`Collection`] is a directory. [`add`](Collection::add) takes documents in and says of each whether it is new, a copy, a
//! near-duplicate, or an update of a document of the same id; of any number of concurrent near-duplicates exactly one is new.
//! What is acknowledged as [`Durability::Synced`] survives a power cut.
//!
//! * On disk, the embedded store `redb` holds the documents and is the write-ahead log of everything else ([`store`]).
//! * In memory, the rows of all documents are arranged for search ([`live`], [`near`]); they are read and arranged anew when a collection is
//!   opened.
//! * Where a collection keeps stories, the writing thread has their engine as well ([`stories`]).
//! * One thread writes ([`writer`]); what a document takes is done before, on the callers' threads ([`prepare`]); how a document is decided
//!   stands in [`commit`].
//!
//! Invariants: memory is what is committed, and changes only after a commit; after a failed write the collection refuses writes; every value
//! on disk is checked when it is read.
#![forbid(unsafe_code)]

mod begin;
mod check;
mod commit;
mod backup;
mod document;
mod error;
mod feed;
mod read_only_file;
mod live;
mod prepare;
mod query;
mod read;
mod record;
mod repair;
mod row;
mod runs;
mod seal;
mod settings;
mod stats;
mod database;
mod stories;
mod tables;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rayon::prelude::*;
use twinprint_text::Profile;

use self::begin::{NewStore, configure, keys, load, stored_in};
use self::commit::Effects;
use self::live::Live;
use self::prepare::DocumentPreparer;
use self::database::Database;
use self::stories::StoryEngine;
use self::verify::SetCache;
use self::writer::{WriteDurability, WriteResult, WriteOp, Request};

pub use check::{Hit, Similar};
pub use integrity::IntegrityReport;
pub use document::{Answer, BestMatch, Content, Details, Durability, MAX_TEXT, DocumentRef, NewDocument, Verdict};
pub use error::CollectionError;
pub use feed::{InputRecord, feed, feed_from};
pub use query::{Document, Group, GroupList};
pub use record::{Change, ChangeKind, SourceCounts};
pub use repair::RepairReport;
pub use runs::Objection;
pub use settings::{CanonicalBy, Settings, StoredContent};
pub use stats::{SourceStats, Stats};
pub use stories::{Story, StoryDetail, StoryList, StoryQuery, StoryTerm};
pub use twinprint_stream::parse_time;
pub use twinprint_text::compare::Comparison;

/// The store's file in a collection's directory.
const FILE: &str = "collection.redb";
/// Collections opened so far.
static OPENINGS: AtomicU64 = AtomicU64::new(0);
/// Documents that may wait to be written.
const QUEUE: u64 = 20_000;

/// An open collection. Cheap to clone; the last one closes it.
#[derive(Clone)]
pub struct Collection {
    shared: Arc<Shared>,
    writer: Arc<Writer>,
}

/// What all threads of a collection share.
struct Shared {
    store: Database,
    settings: Settings,
    preparer: DocumentPreparer,
    live: RwLock<Live>,
    /// None where none are kept; nothing inside once a write has failed and they could not be read again. Whoever holds this lock waits
    /// for no other but a reader's of `live`.
    stories: Option<RwLock<Option<StoryEngine>>>,
    cache: SetCache,
    /// Odd while disk and memory may differ.
    version: AtomicU64,
    waiting: AtomicU64,
    poisoned: OnceLock<String>,
    commits: Mutex<Commits>,
    /// Unix time in seconds, where a test sets it; 0 asks the system.
    clock: AtomicU64,
    opening: u64,
}

/// The writing thread and the way to it; neither where the store is read only.
struct Writer {
    requests: Mutex<Option<SyncSender<Request>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What is measured of commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Commits {
    /// Commits so far.
    pub count: u64,
    /// Writes in them.
    pub writes: u64,
    /// Seconds they took, syncs included.
    pub seconds: f64,
    /// Seconds of the longest.
    pub longest: f64,
}

impl std::fmt::Debug for Collection {
    /// Leaves out the keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collection")
            .field("path", &self.shared.store.path)
            .finish_non_exhaustive()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Ok(requests) = self.requests.get_mut() {
            requests.take();
        }
        if let Ok(thread) = self.thread.get_mut()
            && let Some(thread) = thread.take()
        {
            // A panic in there has poisoned the collection already.
            let _panicked = thread.join();
        }
    }
}

impl Collection {
    /// Makes a collection in a directory that is not there or empty, and opens it.
    ///
    /// # Errors
    /// Settings that cannot be, a directory in use, a disk that fails.
    #[expect(clippy::needless_pass_by_value, reason = "they become the collection's")]
    pub fn create(dir: &Path, settings: Settings) -> Result<Self, CollectionError> {
        settings.check()?;
        let new = NewStore::begin(dir)?;
        configure(&Database::create(new.unfinished())?, &settings)?;
        new.publish()?;
        Self::open(dir)
    }

    /// Whether a directory has what a collection has.
    pub fn is_at(dir: &Path) -> bool {
        dir.join(FILE).is_file()
    }

    /// Opens a collection. Reads all rows. On a medium that cannot be written it answers questions and [refuses](Self::refusal) writes.
    ///
    /// # Errors
    /// No collection there, one that is open elsewhere, or damage.
    pub fn open(dir: &Path) -> Result<Self, CollectionError> {
        Self::over(stored_in(dir, Database::open)?)
    }

    /// Opens a collection for questions alone. Its file is not changed and need not be writable. Several processes may have it open so, and
    /// none may write meanwhile.
    ///
    /// # Errors
    /// No collection there, one that a process writes to, or damage.
    pub fn open_read_only(dir: &Path) -> Result<Self, CollectionError> {
        Self::over(stored_in(dir, Database::read)?)
    }

    /// A collection over any storage, made where there is nothing in it: for tests that let storage fail.
    #[cfg(test)]
    fn with_backend(
        name: &Path,
        backend: impl redb::StorageBackend,
        settings: &Settings,
    ) -> Result<Self, CollectionError> {
        let new = backend.len().is_ok_and(|length| length == 0);
        let store = Database::with_backend(name, backend)?;
        if new {
            configure(&store, settings)?;
        }
        Self::over(store)
    }

    fn over(store: Database) -> Result<Self, CollectionError> {
        let config = store.config()?;
        let profile = config
            .settings
            .check()
            .map_err(|error| store.damaged(error.to_string()))?;
        if profile.checksum() != config.profile_checksum {
            return Err(CollectionError::invalid(format!(
                "{}: made under another version of the profile {} (other versions of Unicode or of the segmenter); export it with the \
                 version that made it and import it anew",
                store.path.display(),
                profile.id()
            )));
        }
        let settings = config.settings.clone();
        let preparer = DocumentPreparer::new(&settings, profile, keys(&config));
        let (live, stories) = load(&store, preparer.profile(), &settings)?;
        let poisoned = store.unwritable.clone().map(OnceLock::from);
        let shared = Arc::new(Shared {
            store,
            settings,
            preparer,
            live: RwLock::new(live),
            stories: stories.map(|kept| RwLock::new(Some(kept))),
            cache: SetCache::default(),
            version: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            poisoned: poisoned.unwrap_or_default(),
            commits: Mutex::default(),
            clock: AtomicU64::new(0),
            opening: OPENINGS.fetch_add(1, Ordering::Relaxed),
        });
        let (sender, thread) = if shared.store.is_read_only() {
            (None, None)
        } else {
            let (sender, requests) = sync_channel(QUEUE as usize);
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new()
                .name("twinprint-writer".to_owned())
                .spawn(move || writer::run(&shared, &requests))
                .map_err(|error| CollectionError::io(&shared.store.path, &error))?;
            (Some(sender), Some(thread))
        };
        Ok(Self {
            shared,
            writer: Arc::new(Writer {
                requests: Mutex::new(sender),
                thread: Mutex::new(thread),
            }),
        })
    }

    /// A number that no other opening of a collection in this process has.
    pub fn opening(&self) -> u64 {
        self.shared.opening
    }

    /// True if other handles of this opening are held. Dropping the last one closes the collection, which waits for the disk.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.writer) > 1
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The profile of its fingerprints.
    pub fn profile(&self) -> &Profile {
        self.shared.preparer.profile()
    }

    /// Takes documents in, in order: document i sees the documents before it. They are committed together or not at all. One answer a
    /// document; a document that cannot be one gets its own error and changes nothing. Preparing is parallel on the threads of the pool.
    ///
    /// # Errors
    /// A collection that refuses writes, or is busy.
    pub fn add(
        &self,
        documents: Vec<NewDocument>,
        only_new: bool,
        durability: Durability,
    ) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError> {
        self.put(documents, only_new, WriteDurability::Chosen(durability))
    }

    fn put(
        &self,
        documents: Vec<NewDocument>,
        only_new: bool,
        durability: WriteDurability,
    ) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError> {
        let now = self.shared.now();
        let prepare = |document: NewDocument| {
            let whole = self.shared.settings.store == StoredContent::None
                || !matches!(document.content, Content::Fingerprint(_));
            if self.shared.settings.stories && matches!(document.content, Content::Fingerprint(_)) {
                return Err(CollectionError::invalid(
                    "fingerprint: this collection keeps stories, so a document to be added needs a text; a check does not",
                ));
            }
            if !whole {
                return Err(CollectionError::invalid(
                    "fingerprint: this collection keeps texts, so a document to be added needs one; a check does not",
                ));
            }
            self.shared.preparer.prepare(document, now).map(Arc::new)
        };
        let prepared: Vec<_> = if documents.len() < 2 {
            documents.into_iter().map(prepare).collect()
        } else {
            documents.into_par_iter().map(prepare).collect()
        };
        let ops = prepared.iter().flatten().map(|prepared| WriteOp::Put {
            prepared: Arc::clone(prepared),
            only_new,
        });
        let mut done = self.write(ops.collect(), durability)?.into_iter();
        Ok(prepared
            .into_iter()
            .map(|prepared| {
                prepared?;
                match done.next() {
                    Some(WriteResult::Answer(answer)) => Ok(*answer),
                    _ => Err(CollectionError::Closed),
                }
            })
            .collect())
    }

    /// Deletes documents by id, together; tells of each the number of the change, or that there was none of that id.
    ///
    /// # Errors
    /// A collection that refuses writes, or is busy.
    pub fn delete(
        &self,
        ids: &[impl AsRef<str>],
        durability: Durability,
    ) -> Result<Vec<Option<u64>>, CollectionError> {
        let ops = ids
            .iter()
            .map(|id| WriteOp::Delete(self.shared.preparer.id(id.as_ref())));
        let done = self.write(ops.collect(), WriteDurability::Chosen(durability))?;
        let deleted = done.into_iter().map(|done| match done {
            WriteResult::Deleted(seq) => seq,
            WriteResult::Answer(_) | WriteResult::RunRecorded => None,
        });
        Ok(deleted.collect())
    }

    fn write(&self, ops: Vec<WriteOp>, durability: WriteDurability) -> Result<Vec<WriteResult>, CollectionError> {
        if let Some(error) = self.shared.refusal() {
            return Err(error);
        }
        if self.shared.store.is_read_only() {
            return Err(self.shared.store.read_only());
        }
        if ops.is_empty() {
            return Ok(Vec::new());
        }
        let count = ops.len() as u64;
        let waiting = self.shared.waiting.fetch_add(count, Ordering::Relaxed);
        let (reply, answer) = sync_channel(1);
        let sent = if waiting > QUEUE {
            Err(CollectionError::Busy { waiting })
        } else {
            self.send(
                Request {
                    ops,
                    durability,
                    reply,
                },
                waiting,
            )
        };
        if let Err(error) = sent {
            self.shared.waiting.fetch_sub(count, Ordering::Relaxed);
            return Err(error);
        }
        // Without an answer the writer is gone, with whatever it had.
        answer.recv().map_err(|_| CollectionError::Closed)?
    }

    fn send(&self, request: Request, waiting: u64) -> Result<(), CollectionError> {
        let requests = self.writer.requests.lock().map_err(|_| CollectionError::Closed)?;
        let requests = requests.as_ref().ok_or(CollectionError::Closed)?;
        requests.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => CollectionError::Busy { waiting },
            TrySendError::Disconnected(_) => CollectionError::Closed,
        })
    }

    /// Whether it refuses writes, and why.
    pub fn refusal(&self) -> Option<CollectionError> {
        self.shared.refusal()
    }

    /// Documents that wait to be written.
    pub fn waiting(&self) -> u64 {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// What was measured of commits since it was opened.
    pub fn commits(&self) -> Commits {
        self.shared
            .commits
            .lock()
            .map(|commits| *commits)
            .unwrap_or_default()
    }

    /// Sets the clock, for tests of expiry.
    #[cfg(test)]
    fn set_clock(&self, unix_seconds: u64) {
        self.shared.clock.store(unix_seconds, Ordering::Relaxed);
    }
}

impl Shared {
    fn now(&self) -> i64 {
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

    fn refusal(&self) -> Option<CollectionError> {
        self.poisoned.get().map(|why| CollectionError::ReadOnly {
            path: self.store.path.clone(),
            why: format!("{why}; the collection takes no more writes until it is opened again"),
        })
    }

    fn poison(&self, error: &CollectionError) {
        // Only the first failure is told.
        let _later = self.poisoned.set(error.to_string());
    }

    fn has_expired(&self) -> bool {
        let live = self.live.read();
        live.is_ok_and(|live| !live.expired(self.now(), 1).is_empty()) && self.poisoned.get().is_none()
    }

    /// Makes memory follow a commit.
    fn absorb(&self, effects: Effects) {
        if let Ok(mut live) = self.live.write() {
            for ordinal in effects.removed {
                live.remove(ordinal);
            }
            for row in effects.fresh.into_rows() {
                live.insert(row);
            }
            live.redirect(effects.merged);
            live.tidy();
        }
        self.end_change();
    }

    /// Only the writing thread calls this and [`end_change`](Self::end_change).
    fn begin_change(&self) {
        self.version.fetch_or(1, Ordering::AcqRel);
    }

    fn end_change(&self) {
        let version = self.version.load(Ordering::Acquire);
        self.version.store((version | 1) + 1, Ordering::Release);
    }

    fn tidy(&self) {
        if let Ok(mut live) = self.live.write() {
            live.tidy();
        }
    }

    fn note_commit(&self, took: Duration, writes: usize) {
        if let Ok(mut commits) = self.commits.lock() {
            commits.count += 1;
            commits.writes += writes as u64;
            commits.seconds += took.as_secs_f64();
            commits.longest = commits.longest.max(took.as_secs_f64());
        }
    }
}
