//! The handle [`Collection`]: creates and opens a collection, and reports its state.

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

/// A handle of an open collection, which stores documents durably with their duplicate groups and stories.
///
/// A `Collection` is a cheap handle. Clones share the open file, and dropping the last clone closes the collection. All
/// methods can be called from several threads at the same time: reads run in parallel, and one thread of the collection
/// executes all writes.
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

/// The writing thread of a collection, and its queue of requests. Both are `None` if the collection is open for reading
/// only.
pub(crate) struct WriterThread {
    pub(crate) requests: Mutex<Option<SyncSender<WriteRequest>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Collection {
    /// Prints only the path, because the keys of the collection are secret.
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
            // If the writing thread has panicked, the callers of its writes have already got errors.
            let _panicked = thread.join();
        }
    }
}

impl Collection {
    /// Creates a collection in a directory, which must be empty or not exist yet, and opens the collection.
    ///
    /// # Errors
    /// [`CollectionError::Invalid`] or [`CollectionError::Limit`] if a setting is invalid,
    /// [`CollectionError::NotEmpty`] or [`CollectionError::InUse`] if `dir` cannot be used, [`CollectionError::Io`] if
    /// the disk fails.
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

    /// True if a directory contains a file with the name of a collection's file. The contents of the file are not
    /// checked.
    pub fn is_at(dir: &Path) -> bool {
        dir.join(FILE).is_file()
    }

    /// Opens a collection and reads the rows of all documents into memory. If the file is not writable, the collection
    /// answers queries and [refuses](Self::refusal) writes.
    ///
    /// # Errors
    /// [`CollectionError::NotThere`], [`CollectionError::InUse`] if another process has the collection open,
    /// [`CollectionError::Newer`], [`CollectionError::Damaged`].
    pub fn open(dir: &Path) -> Result<Self, CollectionError> {
        Self::over(open_in(dir, Database::open)?)
    }

    /// Opens a collection for reading only. The file is not changed and need not be writable. Several processes can
    /// have a collection open for reading at the same time, but only while no process has it open for writing.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open), except that [`CollectionError::InUse`] means that a process has the
    /// collection open for writing.
    pub fn open_read_only(dir: &Path) -> Result<Self, CollectionError> {
        Self::over(open_in(dir, Database::read)?)
    }

    /// Opens a collection in the given storage, and creates it if the storage is empty. Tests use storage that fails on
    /// purpose.
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

    /// Opens the collection that an open database contains: reads the settings, loads the documents and starts the
    /// writing thread.
    pub(crate) fn over(store: Database) -> Result<Self, CollectionError> {
        let config = store.config()?;
        let profile = config
            .settings
            .check()
            .map_err(|error| store.damaged(error.to_string()))?;
        if profile.checksum() != config.profile_checksum {
            return Err(CollectionError::invalid(format!(
                "{}: the collection was created with another version of the profile {} (another version of Unicode or \
                 of the segmenter); export the collection with the version of twinprint that created it, and import \
                 the export into a new collection",
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

    /// A number that identifies this opening of the collection. Each call that opens a collection in this process gets
    /// a different number. Clones of the handle have the same number.
    pub fn opening(&self) -> u64 {
        self.shared.opening
    }

    /// True if clones of this handle exist. Dropping the last handle closes the collection, which waits for the disk.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.writer) > 1
    }

    /// The settings that the collection was created with.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The profile of the collection's fingerprints.
    pub fn profile(&self) -> &Profile {
        self.shared.preparer.profile()
    }

    /// The error that every write would return; `None` if the collection accepts writes.
    ///
    /// A collection refuses writes after a failed write, or if its file is not writable. It accepts writes again after
    /// it has been closed and opened again.
    pub fn refusal(&self) -> Option<CollectionError> {
        self.shared.refusal()
    }

    /// The number of writes (documents and deletions) that wait for the writing thread.
    pub fn waiting(&self) -> u64 {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// The number of commits since the collection was opened, and the time they took.
    pub fn commits(&self) -> Commits {
        self.shared
            .commits
            .lock()
            .map(|commits| *commits)
            .unwrap_or_default()
    }

    /// Sets the clock of the collection to a fixed time, for tests of expiry.
    #[cfg(test)]
    pub(crate) fn set_clock(&self, unix_seconds: u64) {
        self.shared.clock.store(unix_seconds, Ordering::Relaxed);
    }
}
