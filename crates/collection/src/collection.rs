//! The handle of an open collection: creation, opening and its state.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use twinprint_text::Profile;

use super::create::{NewDatabase, write_settings};
use super::database::{Database, FILE};
use super::error::CollectionError;
use super::load::{keys, load, open_in};
use super::prepare::DocumentPreparer;
use super::settings::Settings;
use super::shared::{Commits, Shared};
use super::write_request::{MAX_QUEUED_WRITES, WriteRequest};
use super::writer;

/// An open collection: durable documents, with their duplicate groups and stories.
///
/// A `Collection` is a cheap handle. Clones share one opening, and dropping the last one closes the collection. All methods can be called
/// from several threads at the same time: reads run in parallel, and one thread of the collection executes all writes.
///
/// # Examples
///
/// ```
/// use twinprint_collection::{Collection, Content, Details, Durability, NewDocument, Settings, Verdict};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let seen = dir.path().join("seen");
/// let collection = Collection::create(&seen, Settings::default())?;
///
/// let page = |id: &str, text: &str| NewDocument {
///     id: id.to_owned(),
///     content: Content::Text(text.to_owned()),
///     details: Details::default(),
///     ttl: None,
/// };
/// let text = "The harbour was closed for three days after the storm";
/// for answer in collection.add(vec![page("a", text)], false, Durability::Synced)? {
///     assert_eq!(answer?.verdict, Verdict::New);
/// }
///
/// // A check reports the verdict without storing the document.
/// let answers = collection.check(vec![page("b", text)])?;
/// let answer = answers.into_iter().next().ok_or("one answer a document")??;
/// assert_eq!(answer.verdict, Verdict::Exact);
/// assert_eq!(answer.best.map(|best| best.id), Some("a".to_owned()));
///
/// collection.delete(&["a"], Durability::Synced)?;
/// assert!(collection.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Collection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) writer: Arc<WriterThread>,
}

/// The writing thread and the queue to it. Both are `None` in a collection that is open for reading only.
pub(crate) struct WriterThread {
    pub(crate) requests: Mutex<Option<SyncSender<WriteRequest>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Collection {
    /// Prints the path only: the keys are secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collection")
            .field("path", &self.shared.store.path)
            .finish_non_exhaustive()
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        if let Ok(requests) = self.requests.get_mut() {
            requests.take();
        }
        if let Ok(thread) = self.thread.get_mut()
            && let Some(thread) = thread.take()
        {
            // A panic of the thread has made the collection refuse writes already.
            let _panicked = thread.join();
        }
    }
}

impl Collection {
    /// Creates a collection in a directory that does not exist or is empty, and opens it.
    ///
    /// # Errors
    /// [`CollectionError::Invalid`] or [`CollectionError::Limit`] for settings that are not allowed, [`CollectionError::NotEmpty`] or
    /// [`CollectionError::InUse`] for a directory in use, [`CollectionError::Io`] if the disk fails.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the settings become the collection's"
    )]
    pub fn create(dir: &Path, settings: Settings) -> Result<Self, CollectionError> {
        settings.check()?;
        let new = NewDatabase::begin(dir)?;
        write_settings(&Database::create(new.unfinished())?, &settings)?;
        new.publish()?;
        Self::open(dir)
    }

    /// True if a directory contains the file of a collection. The file is not read.
    pub fn is_at(dir: &Path) -> bool {
        dir.join(FILE).is_file()
    }

    /// Opens a collection and reads the rows of all documents into memory. On a medium that cannot be written, the collection answers queries
    /// and [refuses](Self::refusal) writes.
    ///
    /// # Errors
    /// [`CollectionError::NotThere`], [`CollectionError::InUse`] if another process has it open, [`CollectionError::Newer`],
    /// [`CollectionError::Damaged`].
    pub fn open(dir: &Path) -> Result<Self, CollectionError> {
        Self::over(open_in(dir, Database::open)?)
    }

    /// Opens a collection for reading only. Its file is not changed and need not be writable. Several processes may have it open in this way,
    /// while none has it open for writing.
    ///
    /// # Errors
    /// As [`open`](Self::open); [`CollectionError::InUse`] if a process has it open for writing.
    pub fn open_read_only(dir: &Path) -> Result<Self, CollectionError> {
        Self::over(open_in(dir, Database::read)?)
    }

    /// A collection in any storage, created if that is empty: for tests with storage that fails.
    #[cfg(test)]
    pub(crate) fn with_backend(
        name: &Path,
        backend: impl redb::StorageBackend,
        settings: &Settings,
    ) -> Result<Self, CollectionError> {
        let new = backend.len().is_ok_and(|length| length == 0);
        let store = Database::with_backend(name, backend)?;
        if new {
            write_settings(&store, settings)?;
        }
        Self::over(store)
    }

    /// Opens the collection in a database.
    pub(crate) fn over(store: Database) -> Result<Self, CollectionError> {
        let config = store.config()?;
        let profile = config
            .settings
            .check()
            .map_err(|error| store.damaged(error.to_string()))?;
        if profile.checksum() != config.profile_checksum {
            return Err(CollectionError::invalid(format!(
                "{}: created with another version of the profile {} (another version of Unicode or of the segmenter); export it with the \
                 version that created it and import it into a new collection",
                store.path.display(),
                profile.id()
            )));
        }
        let preparer = DocumentPreparer::new(&config.settings, profile, keys(&config));
        let memory = load(&store, preparer.profile(), &config.settings)?;
        let shared = Arc::new(Shared::new(store, config.settings, preparer, memory));
        let (sender, thread) = if shared.store.is_read_only() {
            (None, None)
        } else {
            let (sender, requests) = sync_channel(MAX_QUEUED_WRITES as usize);
            let writing = Arc::clone(&shared);
            let thread = std::thread::Builder::new()
                .name("twinprint-writer".to_owned())
                .spawn(move || writer::run(&writing, &requests))
                .map_err(|error| CollectionError::io(&shared.store.path, &error))?;
            (Some(sender), Some(thread))
        };
        Ok(Self {
            shared,
            writer: Arc::new(WriterThread {
                requests: Mutex::new(sender),
                thread: Mutex::new(thread),
            }),
        })
    }

    /// The number of this opening. No other opening of a collection in this process has the same.
    pub fn opening(&self) -> u64 {
        self.shared.opening
    }

    /// True if there are other handles of this opening. Dropping the last one closes the collection, which waits for the disk.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.writer) > 1
    }

    /// The settings that the collection was created with.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The profile of its fingerprints.
    pub fn profile(&self) -> &Profile {
        self.shared.preparer.profile()
    }

    /// The reason why the collection refuses writes; `None` if it accepts them.
    ///
    /// A collection refuses writes after a failed write and on a medium that cannot be written, until it is opened again.
    pub fn refusal(&self) -> Option<CollectionError> {
        self.shared.refusal()
    }

    /// The number of writes (documents and deletions) that wait for the writing thread.
    pub fn waiting(&self) -> u64 {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// Counts and times of the commits since the collection was opened.
    pub fn commits(&self) -> Commits {
        self.shared
            .commits
            .lock()
            .map(|commits| *commits)
            .unwrap_or_default()
    }

    /// Sets the clock, for tests of expiry.
    #[cfg(test)]
    pub(crate) fn set_clock(&self, unix_seconds: u64) {
        self.shared.clock.store(unix_seconds, Ordering::Relaxed);
    }
}
