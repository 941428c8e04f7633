//! The collections of a service: one directory each, opened when the service starts.
//!
//! A collection that cannot be opened is listed with its error, and the others are served.
//!
//! Creating and deleting is serialized by [`lock_changes`](CollectionRegistry::lock_changes). The list itself is locked
//! only for reads and changes in memory, never during disk access, so the other collections are served meanwhile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard};
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;
use tokio::sync::{Mutex, OwnedMutexGuard};
use twinprint_collection::{Collection, CollectionError, Settings};

use crate::directories;
use crate::error::ServeError;
use crate::log::Log;
use crate::problem::Problem;

/// Maximum collections of one service.
const MAX_COLLECTIONS: usize = 1000;
/// Maximum bytes of a collection's name.
const MAX_NAME_BYTES: usize = 64;
/// Time between two checks whether a deleted collection is still in use.
const CLOSE_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Prefix of the directory of a collection that is being deleted.
const DELETED_PREFIX: &str = ".deleted-";

type Collections = BTreeMap<String, Result<Collection, CollectionError>>;

/// The open collections, by name.
pub(crate) struct CollectionRegistry {
    dir: PathBuf,
    collections: RwLock<Collections>,
    /// Held while a collection is created or deleted.
    changes: Arc<Mutex<()>>,
    /// Number of deletions, which makes the names of deleted directories unique.
    deletions: AtomicU64,
}

/// True for a valid name of a collection. It is also the name of its directory.
fn is_valid_name(name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_allowed)
}

impl CollectionRegistry {
    /// Opens all collections in a directory. Creates the directory if it is missing.
    pub(crate) fn open(dir: &Path, log: Log) -> Result<Self, ServeError> {
        let failed = |error: std::io::Error| ServeError::Directory {
            path: dir.to_owned(),
            source: error,
        };
        directories::create(dir, "the directory of the collections")?;
        let mut collections = BTreeMap::new();
        for entry in std::fs::read_dir(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().into_string().unwrap_or_default();
            if name.starts_with(DELETED_PREFIX) {
                // An interrupted deletion left this directory. It stays hidden if it cannot be removed.
                let _stays = std::fs::remove_dir_all(entry.path());
            }
            if !is_valid_name(&name) || !entry.path().is_dir() {
                continue;
            }
            let opened = Collection::open(&entry.path());
            match &opened {
                // An interrupted creation left this directory. The collection can be created again.
                Err(CollectionError::NotThere { .. }) => continue,
                Ok(_) => log.info("opened", json!({"collection": name})),
                Err(error) => log.error(
                    "cannot open",
                    json!({"collection": name, "error": error.to_string()}),
                ),
            }
            collections.insert(name, opened);
        }
        Ok(Self {
            dir: dir.to_owned(),
            collections: RwLock::new(collections),
            changes: Arc::default(),
            deletions: AtomicU64::new(0),
        })
    }

    fn not_found(name: &str) -> Problem {
        let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
        Problem::new(StatusCode::NOT_FOUND, format!("no collection {shown:?}"))
    }

    fn read(&self) -> Result<RwLockReadGuard<'_, Collections>, Problem> {
        self.collections.read().map_err(|_| poisoned())
    }

    /// Waits until no other request creates or deletes a collection, and excludes others while the guard lives.
    pub(crate) async fn lock_changes(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.changes).lock_owned().await
    }

    /// The collection with a name.
    ///
    /// # Errors
    /// 404 if there is none, 503 if it could not be opened.
    pub(crate) fn get(&self, name: &str) -> Result<Collection, Problem> {
        match self.read()?.get(name) {
            Some(Ok(collection)) => Ok(collection.clone()),
            Some(Err(error)) => Err(Problem::unavailable(error.to_string())),
            None => Err(Self::not_found(name)),
        }
    }

    /// All collections, ordered by name, or the errors that prevented opening them.
    pub(crate) fn list(&self) -> Vec<(String, Result<Collection, CollectionError>)> {
        let collections = self.read();
        let pair = |(name, opened): (&String, &Result<_, _>)| (name.clone(), opened.clone());
        collections.map_or_else(
            |_| Vec::new(),
            |collections| collections.iter().map(pair).collect(),
        )
    }

    /// Creates a collection. Returns false if it exists with the same settings. Callers hold
    /// [`lock_changes`](Self::lock_changes).
    ///
    /// # Errors
    /// 409 if it exists with other settings or if there are too many collections, 422 for an invalid name or settings.
    pub(crate) fn create(&self, name: &str, settings: Settings) -> Result<bool, Problem> {
        if !is_valid_name(name) {
            return Err(Problem::unprocessable(
                "the name of a collection consists of 1 to 64 lower-case letters, digits, '-' and '_'",
            ));
        }
        settings.check()?;
        {
            let collections = self.read()?;
            match collections.get(name) {
                Some(Ok(existing)) if *existing.settings() == settings => return Ok(false),
                Some(_) => {
                    return Err(Problem::new(
                        StatusCode::CONFLICT,
                        format!(
                            "collection {name:?} exists with other settings, and settings cannot be changed"
                        ),
                    ));
                }
                None => {}
            }
            if collections.len() >= MAX_COLLECTIONS {
                return Err(Problem::limit(
                    StatusCode::CONFLICT,
                    "collections of one service",
                    MAX_COLLECTIONS as u64,
                    None,
                ));
            }
        }
        let created = Collection::create(&self.dir.join(name), settings)?;
        let mut collections = self.collections.write().map_err(|_| poisoned())?;
        collections.insert(name.to_owned(), Ok(created));
        Ok(true)
    }

    /// Deletes a collection with all its documents. Callers hold [`lock_changes`](Self::lock_changes).
    ///
    /// # Errors
    /// 404 if there is none, 503 if the directory cannot be removed.
    pub(crate) fn delete(&self, name: &str) -> Result<(), Problem> {
        let failed = |error: std::io::Error| Problem::unavailable(format!("collection {name:?}: {error}"));
        if !self.read()?.contains_key(name) {
            return Err(Self::not_found(name));
        }
        let number = self.deletions.fetch_add(1, Ordering::Relaxed);
        let renamed = self.dir.join(format!("{DELETED_PREFIX}{number}-{name}"));
        // The rename comes first: the next start must not open a half-deleted collection. Requests that still use the
        // collection finish on their own.
        std::fs::rename(self.dir.join(name), &renamed).map_err(failed)?;
        let removed = self.collections.write().map_err(|_| poisoned())?.remove(name);
        if let Some(Ok(collection)) = removed {
            tokio::task::spawn_blocking(move || close_when_unused(collection));
        }
        std::fs::remove_dir_all(&renamed).map_err(failed)
    }

    /// Closes all collections. Buffered writes are synced.
    pub(crate) fn close(&self) {
        if let Ok(mut collections) = self.collections.write() {
            collections.clear();
        }
    }
}

/// Closes a deleted collection after its last request. Closing waits for the disk, which serving threads must not do.
fn close_when_unused(collection: Collection) {
    while collection.is_shared() {
        std::thread::sleep(CLOSE_POLL_INTERVAL);
    }
    drop(collection);
}

fn poisoned() -> Problem {
    Problem::unavailable("the list of collections is lost after an internal error; restart the service")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_path_characters_are_invalid() {
        for name in ["a", "news-2026_1", "0"] {
            assert!(is_valid_name(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "a\\b",
            "A",
            "a.b",
            "ä",
            "a\0",
            "~",
            &"a".repeat(65),
        ] {
            assert!(!is_valid_name(name), "{name}");
        }
    }
}
