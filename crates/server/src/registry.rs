//! The collections of a service. Each has a directory of its own and is opened when the service starts.
//!
//! If a collection cannot be opened, it is listed with the error, and the other collections are served.
//!
//! [`lock_changes`](CollectionRegistry::lock_changes) ensures that only one collection is created or deleted at a time.
//! The list itself is locked only while it is read or changed in memory, never while the disk is accessed. So the other
//! collections are served meanwhile.

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

/// The maximum number of collections of one service.
const MAX_COLLECTIONS: usize = 1000;
/// The maximum length of a collection's name in bytes.
const MAX_NAME_BYTES: usize = 64;
/// The names that are valid, in a message.
const NAMES: &str = "1 to 64 lower-case letters, digits, '-' and '_'";
/// The interval at which a deleted collection is checked for requests that still use it.
const CLOSE_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The prefix of the name of a directory whose collection is being deleted.
const DELETED_PREFIX: &str = ".deleted-";

type Collections = BTreeMap<String, Result<Collection, CollectionError>>;

/// The collections of the service by name, each open or with the error that prevented opening it.
pub(crate) struct CollectionRegistry {
    dir: PathBuf,
    collections: RwLock<Collections>,
    /// The lock that a request takes to create or delete a collection.
    changes: Arc<Mutex<()>>,
    /// The number of deletions so far. It makes the names of the directories of deleted collections unique.
    deletions: AtomicU64,
}

/// True if `name` is a valid name for a collection. The collection's directory has the same name.
fn is_valid_name(name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_allowed)
}

impl CollectionRegistry {
    /// Opens all collections in the directory `dir`, which is created if it does not exist.
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
                // An interrupted deletion has left this directory. If it cannot be removed now, it stays and is
                // ignored.
                let _stays = std::fs::remove_dir_all(entry.path());
            }
            if !entry.path().is_dir() {
                continue;
            }
            if !is_valid_name(&name) {
                if Collection::is_at(&entry.path()) {
                    let directory = entry.path().display().to_string();
                    let error = format!("its name is no name of a collection; rename it to {NAMES}");
                    log.error(
                        "a collection is not served",
                        json!({"directory": directory, "error": error}),
                    );
                }
                continue;
            }
            let opened = Collection::open(&entry.path());
            match &opened {
                // An interrupted creation has left this directory, which contains no collection. The collection can be
                // created again.
                Err(CollectionError::NotThere { .. }) => continue,
                Ok(_) => log.info("opened", json!({"collection": name})),
                Err(error) => log.error(
                    "a collection cannot be opened",
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
        Problem::new(
            StatusCode::NOT_FOUND,
            format!("the service has no collection {shown:?}"),
        )
    }

    fn read(&self) -> Result<RwLockReadGuard<'_, Collections>, Problem> {
        self.collections.read().map_err(|_| poisoned())
    }

    /// Waits until no other request creates or deletes a collection, and keeps other requests from doing so until the
    /// guard is dropped.
    pub(crate) async fn lock_changes(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.changes).lock_owned().await
    }

    /// Returns the collection with this name.
    ///
    /// # Errors
    /// 404 if no collection has the name, 503 if the collection could not be opened.
    pub(crate) fn get(&self, name: &str) -> Result<Collection, Problem> {
        match self.read()?.get(name) {
            Some(Ok(collection)) => Ok(collection.clone()),
            Some(Err(error)) => Err(Problem::unavailable(error.to_string())),
            None => Err(Self::not_found(name)),
        }
    }

    /// Returns all collections ordered by name, each with the error if it could not be opened.
    pub(crate) fn list(&self) -> Vec<(String, Result<Collection, CollectionError>)> {
        let collections = self.read();
        let pair = |(name, opened): (&String, &Result<_, _>)| (name.clone(), opened.clone());
        collections.map_or_else(
            |_| Vec::new(),
            |collections| collections.iter().map(pair).collect(),
        )
    }

    /// Creates a collection. Returns false if it already exists with the same settings. The caller must have taken
    /// [`lock_changes`](Self::lock_changes).
    ///
    /// # Errors
    /// 409 if the collection exists with other settings or if the service has too many collections, 422 if the name or
    /// a setting is invalid.
    pub(crate) fn create(&self, name: &str, settings: Settings) -> Result<bool, Problem> {
        if !is_valid_name(name) {
            return Err(Problem::unprocessable(format!(
                "the name of the collection is invalid; give {NAMES}"
            )));
        }
        settings.check()?;
        {
            let collections = self.read()?;
            match collections.get(name) {
                Some(Ok(existing)) if existing.settings().satisfy(&settings) => return Ok(false),
                Some(_) => {
                    return Err(Problem::new(
                        StatusCode::CONFLICT,
                        format!(
                            "the collection {name:?} exists with other settings, which cannot change; give another name"
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

    /// Deletes a collection with all its documents. The caller must have taken [`lock_changes`](Self::lock_changes).
    ///
    /// # Errors
    /// 404 if no collection has the name, 503 if the directory cannot be removed.
    pub(crate) fn delete(&self, name: &str) -> Result<(), Problem> {
        let failed = |error: std::io::Error| {
            Problem::unavailable(format!("the collection {name:?} cannot be deleted: {error}"))
        };
        if !self.read()?.contains_key(name) {
            return Err(Self::not_found(name));
        }
        let number = self.deletions.fetch_add(1, Ordering::Relaxed);
        let renamed = self.dir.join(format!("{DELETED_PREFIX}{number}-{name}"));
        // The directory is renamed first, so that the next start of the service cannot open a half-deleted collection.
        // Requests that still use the collection can finish.
        std::fs::rename(self.dir.join(name), &renamed).map_err(failed)?;
        let removed = self.collections.write().map_err(|_| poisoned())?.remove(name);
        if let Some(Ok(collection)) = removed {
            tokio::task::spawn_blocking(move || close_when_unused(collection));
        }
        std::fs::remove_dir_all(&renamed).map_err(failed)
    }

    /// Closes all collections and syncs their buffered writes.
    pub(crate) fn close(&self) {
        if let Ok(mut collections) = self.collections.write() {
            collections.clear();
        }
    }
}

/// Waits for the last request that uses a deleted collection, and closes the collection. Closing waits for the disk,
/// which threads that serve connections must not do.
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
