//! The file of a collection: a store of the embedded database redb, and its tables. Every value has a checksum.
//!
//! | table | key | value |
//! |---|---|---|
//! | `meta` | name | `config` (JSON: format, settings, secrets), `state` |
//! | `rows` | number | [`Row`] |
//! | `documents` | number | [`DocumentRecord`], JSON |
//! | `texts` | number | compressed text, or shingles |
//! | `groups` | group | [`GroupRecord`] |
//! | `members` | group, number | nothing |
//! | `by_source` | source, number | nothing |
//! | `sources` | source | [`SourceCounts`], JSON |
//! | `changes` | sequence number | [`Change`], JSON |
//! | `runs` | digest of an input | the runs over the input ([`runs`](super::runs)), JSON; the table is created with the first run |
//! | `run_parts` | digest, number of a part | answers and documents of these runs, JSON, compressed |
//!
//! A collection with stories also has these tables:
//!
//! | table | key | value |
//! |---|---|---|
//! | `stories` | ended story | [`StoryRecord`], JSON |
//! | `story_times` | time of the last document of an ended story in seconds, story | nothing |
//! | `story_members` | story that the document joined, number | nothing |
//! | `story_state` | number of a part | bytes of the saved state |
//! | `story_log` | number of an entry | a step since the state was saved |
//!
//! The entry `state` contains the next sequence number, the number of rows, and the exclusive or of the checksums of
//! all rows. So opening a collection detects a row that was lost together with its page of the file. The store commits
//! atomically and syncs before it reports success. Everything in memory is rebuilt from the store, so the store has the
//! role of a write-ahead log.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use redb::{ConcurrencyMode, ReadOnlyDatabase, ReadTransaction, ReadableDatabase as _, TableDefinition};
use serde::{Deserialize, Serialize};

use super::error::CollectionError;
use super::read_only_file::ReadOnlyFile;
use super::settings::Settings;
use twinprint_io::guard::guarded;

/// The name of a collection's file in the collection's directory.
pub(crate) const FILE: &str = "collection.redb";
/// The format of a collection without stories.
pub(crate) const FORMAT_PLAIN: u32 = 1;
/// The format of a collection with stories whose thresholds are given. A threshold that its settings do not have is that
/// of the versions that estimated none.
pub(crate) const FORMAT_STORIES: u32 = 2;
/// The format of a collection with stories that estimates a threshold. It is the newest format that this version reads.
pub(crate) const FORMAT_ESTIMATED: u32 = 3;
/// The size of redb's page cache, in bytes.
const CACHE_BYTES: usize = 128 << 20;

pub(crate) const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");
pub(crate) const ROWS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("rows");
pub(crate) const DOCUMENTS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("documents");
pub(crate) const TEXTS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("texts");
pub(crate) const GROUPS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("groups");
pub(crate) const MEMBERS: TableDefinition<'static, (u64, u64), ()> = TableDefinition::new("members");
pub(crate) const BY_SOURCE: TableDefinition<'static, (&str, u64), ()> = TableDefinition::new("by_source");
pub(crate) const SOURCES: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("sources");
pub(crate) const CHANGES: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("changes");
pub(crate) const RUNS: TableDefinition<'static, u128, &[u8]> = TableDefinition::new("runs");
pub(crate) const RUN_PARTS: TableDefinition<'static, (u128, u64), &[u8]> = TableDefinition::new("run_parts");
pub(crate) const STORIES: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("stories");
pub(crate) const STORY_TIMES: TableDefinition<'static, (i64, u64), ()> = TableDefinition::new("story_times");
pub(crate) const STORY_MEMBERS: TableDefinition<'static, (u64, u64), ()> =
    TableDefinition::new("story_members");
pub(crate) const STORY_STATE: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("story_state");
pub(crate) const STORY_LOG: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("story_log");

/// The value of the entry `config` in the table `meta`: the configuration that a collection was created with.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Config {
    pub(crate) format: u32,
    /// The checksum of the profile, which includes the versions of Unicode and of the segmenter.
    pub(crate) profile_checksum: u64,
    pub(crate) settings: Settings,
    /// The secret keys for hashing names, shingles and features, two words each. Apart from the collection's own file,
    /// only its backups contain them.
    pub(crate) secrets: [u64; 6],
}

/// The value of the entry `state` in the table `meta`: counts and a checksum that detect lost rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The number that the next change will get.
    pub(crate) next: u64,
    /// The number of rows in the table `rows`.
    pub(crate) rows: u64,
    /// The exclusive or of the checksums of all rows.
    pub(crate) digest: u64,
}

impl State {
    pub(crate) fn encode(self) -> Vec<u8> {
        [self.next, self.rows, self.digest]
            .into_iter()
            .flat_map(u64::to_le_bytes)
            .collect()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let [next, rows, digest] = words(bytes)?;
        Some(Self { next, rows, digest })
    }
}

/// The stored record of a group: the numbers of its leader and canonical document, its size and its story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupRecord {
    pub(crate) leader: u64,
    pub(crate) canonical: u64,
    pub(crate) size: u64,
    /// The story that the group's next member joins if the story is live; 0 if the collection keeps no stories.
    pub(crate) story: u64,
}

impl GroupRecord {
    pub(crate) fn encode(self) -> Vec<u8> {
        let words = [self.leader, self.canonical, self.size, self.story];
        let many = if self.story == 0 { 3 } else { 4 };
        words.into_iter().take(many).flat_map(u64::to_le_bytes).collect()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let [leader, canonical, size, story] = match words(bytes) {
            Some([leader, canonical, size]) => [leader, canonical, size, 0],
            None => words(bytes)?,
        };
        Some(Self {
            leader,
            canonical,
            size,
            story,
        })
    }
}

/// Decodes `N` little-endian 64-bit numbers; `None` if `bytes` has another length.
pub(crate) fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (words, rest) = bytes.as_chunks::<8>();
    let words: &[[u8; 8]; N] = words.try_into().ok()?;
    rest.is_empty().then(|| words.map(u64::from_le_bytes))
}

/// An open store: the file of a collection. Calls of redb go through it, because a damaged file may make redb panic.
pub(crate) struct Database {
    pub(crate) path: PathBuf,
    /// The reason why the file is not writable; `None` if it is writable, or if it was opened for reading on purpose.
    pub(crate) unwritable: Option<String>,
    /// `None` only while the store is being dropped.
    handle: Option<Handle>,
}

/// A redb database, open for writing or only for reading.
enum Handle {
    Writing(redb::Database),
    Reading(ReadOnlyDatabase),
}

impl Database {
    /// Opens the store in a file. If the file is not writable, the store is opened for reading only.
    pub(crate) fn open(path: &Path) -> Result<Self, CollectionError> {
        match File::options().read(true).write(true).open(path) {
            Err(error) if refuses_writes(&error) => {
                let mut store = Self::read(path)?;
                store.unwritable = Some(format!("the file cannot be written ({error})"));
                Ok(store)
            }
            _ => Self::guarded(path, || builder().open(path).map(Handle::Writing)),
        }
    }

    /// Opens the store in a file for reading only. The file is never changed.
    ///
    /// If a store was not closed properly, redb must repair it before it can write. If the allocator state of a store
    /// is damaged, redb does not open the store for writing at all. A reader needs neither the repair nor the allocator
    /// state: it reads the last commit, which is durable.
    pub(crate) fn read(path: &Path) -> Result<Self, CollectionError> {
        let file = ReadOnlyFile::open(path)?;
        Self::guarded(path, || {
            let mut builder = builder();
            builder.set_concurrency_mode(ConcurrencyMode::SingleWriter);
            builder.open_read_only_with_backend(file).map(Handle::Reading)
        })
    }

    /// Compares every used page of the file with the checksum of the page. The file is not changed.
    pub(crate) fn check_pages(path: &Path) -> Result<(), CollectionError> {
        let file = ReadOnlyFile::open(path)?;
        let open = || {
            let mut builder = builder();
            builder.set_check_integrity_on_open(true);
            builder.create_with_backend(file).map(Handle::Writing)
        };
        Self::guarded(path, open).map(drop).map_err(|error| match error {
            CollectionError::Damaged { path, what } => CollectionError::Damaged {
                path,
                what: format!("pages of the file have wrong checksums ({what})"),
            },
            error => error,
        })
    }

    /// Creates a store in a new file.
    pub(crate) fn create(path: &Path) -> Result<Self, CollectionError> {
        Self::guarded(path, || builder().create(path).map(Handle::Writing))
    }

    /// Opens a store in the given storage, and creates the store if the storage is empty.
    #[cfg(test)]
    pub(crate) fn with_backend(
        path: &Path,
        backend: impl redb::StorageBackend,
    ) -> Result<Self, CollectionError> {
        Self::guarded(path, || {
            builder().create_with_backend(backend).map(Handle::Writing)
        })
    }

    fn guarded(
        path: &Path,
        open: impl FnOnce() -> Result<Handle, redb::DatabaseError>,
    ) -> Result<Self, CollectionError> {
        let damaged = |what: String| CollectionError::Damaged {
            path: path.to_owned(),
            what,
        };
        let opened =
            guarded(open).ok_or_else(|| damaged("the file cannot be read as a redb store".to_owned()))?;
        match opened {
            Ok(handle) => Ok(Self {
                path: path.to_owned(),
                unwritable: None,
                handle: Some(handle),
            }),
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => Err(CollectionError::InUse {
                path: path.to_owned(),
            }),
            Err(redb::DatabaseError::Storage(redb::StorageError::Io(error))) if !is_damage(&error) => {
                Err(CollectionError::io(path, &error))
            }
            Err(error) => Err(damaged(error.to_string())),
        }
    }

    /// True if the store was opened for reading only.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.handle, Some(Handle::Reading(_)))
    }

    /// Converts an error of redb: damaged bytes become [`CollectionError::Damaged`], failures of the disk become
    /// [`CollectionError::Io`].
    pub(crate) fn unreadable(&self, error: impl Into<redb::Error>) -> CollectionError {
        match error.into() {
            redb::Error::Io(error) if !is_damage(&error) => CollectionError::io(&self.path, &error),
            error => self.damaged(error.to_string()),
        }
    }

    pub(crate) fn damaged(&self, what: impl Into<String>) -> CollectionError {
        CollectionError::Damaged {
            path: self.path.clone(),
            what: what.into(),
        }
    }

    /// Runs a function that calls redb, on this thread. If redb panics, as it does on damaged pages, the panic becomes
    /// an error.
    pub(crate) fn guard<T>(
        &self,
        f: impl FnOnce() -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        guarded(f).unwrap_or_else(|| Err(self.damaged("a page of the file is invalid")))
    }

    /// Runs a function in a read transaction of the store.
    pub(crate) fn reading<T>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        self.guard(|| {
            let transaction = match &self.handle {
                Some(Handle::Writing(db)) => db.begin_read(),
                Some(Handle::Reading(db)) => db.begin_read(),
                None => return Err(CollectionError::Closed),
            };
            read(&transaction.map_err(|error| self.unreadable(error))?)
        })
    }

    /// Runs a function that writes to the store. Fails if the store is open for reading only.
    pub(crate) fn writing<T>(
        &self,
        write: impl FnOnce(&redb::Database) -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        self.guard(|| match &self.handle {
            Some(Handle::Writing(db)) => write(db),
            Some(Handle::Reading(_)) => Err(self.read_only()),
            None => Err(CollectionError::Closed),
        })
    }

    /// The error for a write to a store that is open for reading only.
    pub(crate) fn read_only(&self) -> CollectionError {
        let why = self.unwritable.clone();
        CollectionError::ReadOnly {
            path: self.path.clone(),
            why: why
                .unwrap_or_else(|| "the collection is open for reading only; open it for writing".to_owned()),
        }
    }
}

impl Drop for Database {
    /// Closes the store. redb writes to the file while it closes, so it may panic. The panic is caught.
    fn drop(&mut self) {
        let handle = self.handle.take();
        let _panicked = guarded(|| drop(handle));
    }
}

/// True if a file could not be opened for writing because its file system is read-only or because of its permissions.
fn refuses_writes(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
    )
}

/// True if an error means that the file contains invalid bytes or is too short; false if reading itself failed.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

fn builder() -> redb::Builder {
    let mut builder = redb::Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}
