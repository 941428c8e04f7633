//! The documents on disk: tables of the embedded store, every value under a checksum.
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
//! | `runs` | digest of an input | runs that added what they kept ([`runs`](super::runs)), JSON; made with the first of them |
//! | `run_parts` | digest, number of a part | their answers and documents, JSON, compressed |
//!
//! And where stories are kept:
//!
//! | table | key | value |
//! |---|---|---|
//! | `stories` | story that has ended | [`StoryRecord`], JSON |
//! | `story_times` | its last second, story | nothing |
//! | `story_members` | story as it was then, number | nothing |
//! | `story_state` | number of a part | bytes of the saved state |
//! | `story_log` | number of an entry | what happened since |
//!
//! `state` holds the next sequence number, how many rows there are, and the exclusive or of their checksums: a row that got lost with the
//! page it stood on is noticed when the collection is opened. The store commits atomically and syncs before it says so; it is
//! the write-ahead log of everything in memory.

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
/// The format of a collection without stories, and of one with them, which is the newest known.
pub(crate) const FORMATS: [u32; 2] = [1, 2];
/// Bytes of the file held in memory.
const CACHE: usize = 128 << 20;

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

/// What `config` holds.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Config {
    pub(crate) format: u32,
    /// Checksum of the profile's parts, which also tell versions of Unicode and of the segmenter.
    pub(crate) profile_checksum: u64,
    pub(crate) settings: Settings,
    /// Two words each: names, shingles, features. They never leave the collection but with its backup.
    pub(crate) secrets: [u64; 6],
}

/// What `state` holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The number of the next change.
    pub(crate) next: u64,
    /// Rows there are.
    pub(crate) rows: u64,
    /// The exclusive or of their checksums.
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

/// What is kept of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupRecord {
    pub(crate) leader: u64,
    pub(crate) canonical: u64,
    pub(crate) size: u64,
    /// The story that its next member comes to, if that lives by then; 0 where none are kept.
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

/// Bytes that are so many numbers.
pub(crate) fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (words, rest) = bytes.as_chunks::<8>();
    let words: &[[u8; 8]; N] = words.try_into().ok()?;
    rest.is_empty().then(|| words.map(u64::from_le_bytes))
}

/// An open store.
pub(crate) struct Database {
    pub(crate) path: PathBuf,
    /// Why the medium takes no writes, if it takes none.
    pub(crate) unwritable: Option<String>,
    /// None while it is closed.
    db: Option<Db>,
}

enum Db {
    Writing(redb::Database),
    Reading(ReadOnlyDatabase),
}

impl Database {
    /// Opens the store in a file, for reading only if the medium takes no writes.
    pub(crate) fn open(path: &Path) -> Result<Self, CollectionError> {
        match File::options().read(true).write(true).open(path) {
            Err(error) if refuses_writes(&error) => {
                let mut store = Self::read(path)?;
                store.unwritable = Some(format!("it cannot be written ({error})"));
                Ok(store)
            }
            _ => Self::guarded(path, || builder().open(path).map(Db::Writing)),
        }
    }

    /// Opens the store in a file and never changes the file.
    ///
    /// redb opens a store that was not closed only to repair it, and one with damaged pages of its own bookkeeping not at all. A reader
    /// beside a writing process needs neither: it follows the last commit, which is durable.
    pub(crate) fn read(path: &Path) -> Result<Self, CollectionError> {
        let frozen = ReadOnlyFile::open(path)?;
        Self::guarded(path, || {
            let mut builder = builder();
            builder.set_concurrency_mode(ConcurrencyMode::SingleWriter);
            builder.open_read_only_with_backend(frozen).map(Db::Reading)
        })
    }

    /// Compares every page in use with its checksum, without changing the file.
    pub(crate) fn check_pages(path: &Path) -> Result<(), CollectionError> {
        let frozen = ReadOnlyFile::open(path)?;
        let open = || {
            let mut builder = builder();
            builder.set_check_integrity_on_open(true);
            builder.create_with_backend(frozen).map(Db::Writing)
        };
        Self::guarded(path, open).map(drop).map_err(|error| match error {
            CollectionError::Damaged { path, what } => CollectionError::Damaged {
                path,
                what: format!("its pages do not fit their checksums ({what})"),
            },
            error => error,
        })
    }

    /// Makes a store in a file that is not there.
    pub(crate) fn create(path: &Path) -> Result<Self, CollectionError> {
        Self::guarded(path, || builder().create(path).map(Db::Writing))
    }

    /// A store over anything that holds bytes, made where there are none.
    #[cfg(test)]
    pub(crate) fn with_backend(
        path: &Path,
        backend: impl redb::StorageBackend,
    ) -> Result<Self, CollectionError> {
        Self::guarded(path, || builder().create_with_backend(backend).map(Db::Writing))
    }

    fn guarded(
        path: &Path,
        open: impl FnOnce() -> Result<Db, redb::DatabaseError>,
    ) -> Result<Self, CollectionError> {
        let damaged = |what: String| CollectionError::Damaged {
            path: path.to_owned(),
            what,
        };
        let opened = guarded(open).ok_or_else(|| damaged("the store cannot be read".to_owned()))?;
        match opened {
            Ok(db) => Ok(Self {
                path: path.to_owned(),
                unwritable: None,
                db: Some(db),
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
        matches!(self.db, Some(Db::Reading(_)))
    }

    /// What stands for a failure while reading.
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

    /// Runs what calls redb, on this thread. redb panics on damaged pages: that is an error.
    pub(crate) fn guard<T>(
        &self,
        f: impl FnOnce() -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        guarded(f).unwrap_or_else(|| Err(self.damaged("a page of the store makes no sense")))
    }

    /// Runs what reads the store.
    pub(crate) fn reading<T>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        self.guard(|| {
            let transaction = match &self.db {
                Some(Db::Writing(db)) => db.begin_read(),
                Some(Db::Reading(db)) => db.begin_read(),
                None => return Err(CollectionError::Closed),
            };
            read(&transaction.map_err(|error| self.unreadable(error))?)
        })
    }

    /// Runs what writes to the store.
    pub(crate) fn writing<T>(
        &self,
        write: impl FnOnce(&redb::Database) -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        self.guard(|| match &self.db {
            Some(Db::Writing(db)) => write(db),
            Some(Db::Reading(_)) => Err(self.read_only()),
            None => Err(CollectionError::Closed),
        })
    }

    /// The answer to a write if it was opened for reading only.
    pub(crate) fn read_only(&self) -> CollectionError {
        let why = self.unwritable.clone();
        CollectionError::ReadOnly {
            path: self.path.clone(),
            why: why.unwrap_or_else(|| "it is open for reading only".to_owned()),
        }
    }
}

impl Drop for Database {
    /// Closing writes as well, and may panic.
    fn drop(&mut self) {
        let db = self.db.take();
        let _panicked = guarded(|| drop(db));
    }
}

/// True if opening a file for writing failed because of its medium or its mode.
fn refuses_writes(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
    )
}

/// True if the bytes are to blame for an error, and not the medium: they make no sense, or the file is too short.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

fn builder() -> redb::Builder {
    let mut builder = redb::Database::builder();
    builder.set_cache_size(CACHE);
    builder
}
