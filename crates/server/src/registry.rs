//! The collections of a service: one directory each, opened when the service starts.
//!
//! A collection that cannot be opened is set aside with its reason, and the others are served.
//!
//! Collections are made and deleted one at a time, each in its [turn](Registry::turn). The list itself is locked for a look or a change in
//! memory, never while the disk works, so the others are served meanwhile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard};
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;
use tokio::sync::{Mutex, OwnedMutexGuard};
use twinprint_collection::{Collection, CollectionError, Settings};

use crate::ServeError;
use crate::log::Log;
use crate::problem::Problem;

/// Collections of one service at most.
const MOST: usize = 1000;

/// What the directory of a collection is called while it is deleted, before its name.
const DELETED: &str = ".deleted-";

type Collections = BTreeMap<String, Result<Collection, CollectionError>>;

/// The open collections, by name.
pub(crate) struct Registry {
    dir: PathBuf,
    collections: RwLock<Collections>,
    /// Held by who makes or deletes one.
    turn: Arc<Mutex<()>>,
    /// Deletions so far.
    deleted: AtomicU64,
}

/// Whether this may name a collection, and so a directory.
fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

impl Registry {
    /// Opens all collections in a directory, which is made where it is not there.
    pub(crate) fn open(dir: &Path, log: Log) -> Result<Self, ServeError> {
        let failed = |error: std::io::Error| ServeError::Directory {
            path: dir.to_owned(),
            source: error,
        };
        crate::make_dir(dir, "of the collections")?;
        let mut collections = BTreeMap::new();
        for entry in std::fs::read_dir(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().into_string().unwrap_or_default();
            if name.starts_with(DELETED) {
                // What a deletion that was cut off has left. It is nobody's, and hidden whether it goes or not.
                let _stays = std::fs::remove_dir_all(entry.path());
            }
            if !is_name(&name) || !entry.path().is_dir() {
                continue;
            }
            let opened = Collection::open(&entry.path());
            match &opened {
                // What a making that was cut off has left: it can be made again.
                Err(CollectionError::NotThere { .. }) => continue,
                Ok(_) => log.info("opened", json!({"collection": name})),
                Err(error) => log.error(
                    "set aside",
                    json!({"collection": name, "error": error.to_string()}),
                ),
            }
            collections.insert(name, opened);
        }
        Ok(Self {
            dir: dir.to_owned(),
            collections: RwLock::new(collections),
            turn: Arc::default(),
            deleted: AtomicU64::new(0),
        })
    }

    fn not_there(name: &str) -> Problem {
        let shown: String = name.chars().take(64).collect();
        Problem::new(StatusCode::NOT_FOUND, format!("no collection {shown:?}"))
    }

    fn read(&self) -> Result<RwLockReadGuard<'_, Collections>, Problem> {
        self.collections.read().map_err(|_| poisoned())
    }

    /// Waits until nobody else makes or deletes a collection.
    pub(crate) async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// The collection of a name.
    pub(crate) fn get(&self, name: &str) -> Result<Collection, Problem> {
        match self.read()?.get(name) {
            Some(Ok(collection)) => Ok(collection.clone()),
            Some(Err(error)) => Err(Problem::unavailable(error.to_string())),
            None => Err(Self::not_there(name)),
        }
    }

    /// All of them, with what keeps one from being served.
    pub(crate) fn list(&self) -> Vec<(String, Result<Collection, CollectionError>)> {
        let collections = self.read();
        let pair = |(name, opened): (&String, &Result<_, _>)| (name.clone(), opened.clone());
        collections.map_or_else(
            |_| Vec::new(),
            |collections| collections.iter().map(pair).collect(),
        )
    }

    /// Makes a collection; tells whether it is new. One of the same settings may be there already. Belongs in a [turn](Self::turn).
    pub(crate) fn create(&self, name: &str, settings: Settings) -> Result<bool, Problem> {
        if !is_name(name) {
            return Err(Problem::unprocessable(
                "a collection's name has 1 to 64 lower-case letters, digits, '-' and '_'",
            ));
        }
        settings.check()?;
        {
            let collections = self.read()?;
            match collections.get(name) {
                Some(Ok(there)) if *there.settings() == settings => return Ok(false),
                Some(_) => {
                    return Err(Problem::new(
                        StatusCode::CONFLICT,
                        format!("collection {name:?} is there with other settings, which cannot be changed"),
                    ));
                }
                None => {}
            }
            if collections.len() >= MOST {
                return Err(Problem::limit(
                    StatusCode::CONFLICT,
                    "collections of one service",
                    MOST as u64,
                    None,
                ));
            }
        }
        let made = Collection::create(&self.dir.join(name), settings)?;
        let mut collections = self.collections.write().map_err(|_| poisoned())?;
        collections.insert(name.to_owned(), Ok(made));
        Ok(true)
    }

    /// Deletes a collection and all that is in it. Belongs in a [turn](Self::turn).
    pub(crate) fn delete(&self, name: &str) -> Result<(), Problem> {
        let failed = |error: std::io::Error| Problem::unavailable(format!("collection {name:?}: {error}"));
        if !self.read()?.contains_key(name) {
            return Err(Self::not_there(name));
        }
        let number = self.deleted.fetch_add(1, Ordering::Relaxed);
        let doomed = self.dir.join(format!("{DELETED}{number}-{name}"));
        // Renamed first: what is half deleted must not be found at the next start. Requests that still have it end on their own.
        std::fs::rename(self.dir.join(name), &doomed).map_err(failed)?;
        let removed = self.collections.write().map_err(|_| poisoned())?.remove(name);
        if let Some(Ok(collection)) = removed {
            tokio::task::spawn_blocking(move || close_last(collection));
        }
        std::fs::remove_dir_all(&doomed).map_err(failed)
    }

    /// Closes all of them: what is buffered is synced.
    pub(crate) fn close(&self) {
        if let Ok(mut collections) = self.collections.write() {
            collections.clear();
        }
    }
}

/// Closes a collection that is served no more, once no request has it: that waits for the disk, which no serving thread may do.
fn close_last(collection: Collection) {
    while collection.is_shared() {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(collection);
}

fn poisoned() -> Problem {
    Problem::unavailable("the list of collections is lost; restart the service")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_lead_out_of_the_directory() {
        for name in ["a", "news-2026_1", "0"] {
            assert!(is_name(name), "{name}");
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
            assert!(!is_name(name), "{name}");
        }
    }
}
