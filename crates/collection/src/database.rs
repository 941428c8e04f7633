//! The file of a collection: its tables in the embedded store redb. Every value has a checksum.
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
//! `state` contains the next sequence number, the number of rows, and the exclusive or of their checksums. So a row that was lost with its
//! page is noticed when the collection is opened. The store commits atomically and syncs before it reports success. It is the write-ahead
//! log of everything in memory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use redb::{ConcurrencyMode, ReadOnlyDatabase, ReadTransaction, ReadableDatabase as _, TableDefinition};
use serde::{Deserialize, Serialize};

use super::error::CollectionError;
use super::read_only_file::ReadOnlyFile;
use super::settings::Settings;
use twinprint_io::guard::guarded;

/// The file of a collection in its directory.
pub(crate) const FILE: &str = "collection.redb";
/// The formats of a collection without stories and with them. The latter is the newest known format.
pub(crate) const FORMATS: [u32; 2] = [1, 2];
/// The size of the cache of the store in bytes.
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

/// The value `config`.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Config {
    pub(crate) format: u32,
    /// The checksum of the profile, which includes the versions of Unicode and of the segmenter.
    pub(crate) profile_checksum: u64,
    pub(crate) settings: Settings,
    /// The keys of names, shingles and features, two words each. Only a backup contains them, too.
    pub(crate) secrets: [u64; 6],
}

/// The value `state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The number of the next change.
    pub(crate) next: u64,
    /// The number of rows.
    pub(crate) rows: u64,
    /// The exclusive or of the checksums of the rows.
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

/// The stored record of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupRecord {
    pub(crate) leader: u64,
    pub(crate) canonical: u64,
    pub(crate) size: u64,
    /// The story that its next member joins if that is live; 0 if the collection keeps no stories.
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

/// Decodes little-endian numbers; `None` if the bytes are not exactly `N` of them.
pub(crate) fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (words, rest) = bytes.as_chunks::<8>();
    let words: &[[u8; 8]; N] = words.try_into().ok()?;
    rest.is_empty().then(|| words.map(u64::from_le_bytes))
}

/// An open store.
pub(crate) struct Database {
    pub(crate) path: PathBuf,
    /// The reason why the medium accepts no writes; `None` if it accepts them.
    pub(crate) unwritable: Option<String>,
    /// `None` while it is closed.
    handle: Option<Handle>,
}

/// An open store of redb.
enum Handle {
    Writing(redb::Database),
    Reading(ReadOnlyDatabase),
}

impl Database {
    /// Opens the store in a file, for reading only if the file cannot be written.
    pub(crate) fn open(path: &Path) -> Result<Self, CollectionError> {
        match File::options().read(true).write(true).open(path) {
            Err(error) if refuses_writes(&error) => {
                let mut store = Self::read(path)?;
                store.unwritable = Some(format!("it cannot be written ({error})"));
                Ok(store)
            }
            _ => Self::guarded(path, || builder().open(path).map(Handle::Writing)),
        }
    }

    /// Opens the store in a file and never changes the file.
    ///
    /// redb opens a store that was not closed only to repair it, and does not open one whose bookkeeping is damaged. A reader needs neither
    /// repair nor bookkeeping: it reads the last commit, which is durable.
    pub(crate) fn read(path: &Path) -> Result<Self, CollectionError> {
        let file = ReadOnlyFile::open(path)?;
        Self::guarded(path, || {
            let mut builder = builder();
            builder.set_concurrency_mode(ConcurrencyMode::SingleWriter);
            builder.open_read_only_with_backend(file).map(Handle::Reading)
        })
    }

    /// Compares every page in use with its checksum, without changing the file.
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
                what: format!("its pages have wrong checksums ({what})"),
            },
            error => error,
        })
    }

    /// Creates a store in a file that does not exist.
    pub(crate) fn create(path: &Path) -> Result<Self, CollectionError> {
        Self::guarded(path, || builder().create(path).map(Handle::Writing))
    }

    /// Opens a store in any storage, and creates it if the storage is empty.
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
        let opened = guarded(open).ok_or_else(|| damaged("the store cannot be read".to_owned()))?;
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

    /// True if it was opened for reading only.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.handle, Some(Handle::Reading(_)))
    }

    /// The error for a failure while reading.
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

    /// Runs a function that calls redb, on this thread. A panic of redb, which damaged pages cause, becomes an error.
    pub(crate) fn guard<T>(
        &self,
        f: impl FnOnce() -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        guarded(f).unwrap_or_else(|| Err(self.damaged("a page of the store is invalid")))
    }

    /// Runs a function in a read transaction.
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

    /// Runs a function that writes to the store.
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
            why: why.unwrap_or_else(|| "it is open for reading only".to_owned()),
        }
    }
}

impl Drop for Database {
    /// Closes the store. redb writes when it is closed, and may panic.
    fn drop(&mut self) {
        let handle = self.handle.take();
        let _panicked = guarded(|| drop(handle));
    }
}

/// True if opening a file for writing failed because of its medium or its mode.
fn refuses_writes(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
    )
}

/// True if an error is caused by invalid bytes or a file that is too short, and not by the medium.
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
