//! The collections of a service: one directory each, opened when the service starts.
//!
//! A collection that cannot be opened is set aside with its reason, and the others are served.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::StatusCode;
use serde_json::json;
use twinprint::collection::{Collection, CollectionError, Settings};

use crate::ServeError;
use crate::log::Log;
use crate::problem::Problem;

/// Collections of one service at most.
const MOST: usize = 1000;

/// What the directory of a collection is called while it is deleted, before its name.
const DELETED: &str = ".deleted-";

/// The open collections, by name.
pub(crate) struct Registry {
    dir: PathBuf,
    collections: RwLock<BTreeMap<String, Result<Collection, CollectionError>>>,
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
            deleted: AtomicU64::new(0),
        })
    }

    fn not_there(name: &str) -> Problem {
        let shown: String = name.chars().take(64).collect();
        Problem::new(StatusCode::NOT_FOUND, format!("no collection {shown:?}"))
    }

    /// The collection of a name.
    pub(crate) fn get(&self, name: &str) -> Result<Collection, Problem> {
        let collections = self.collections.read().map_err(|_| poisoned())?;
        match collections.get(name) {
            Some(Ok(collection)) => Ok(collection.clone()),
            Some(Err(error)) => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
            None => Err(Self::not_there(name)),
        }
    }

    /// All of them, with what keeps one from being served.
    pub(crate) fn list(&self) -> Vec<(String, Result<Collection, CollectionError>)> {
        let collections = self.collections.read();
        collections
            .map(|collections| {
                let pairs = collections.iter();
                pairs
                    .map(|(name, opened)| (name.clone(), opened.clone()))
                    .collect()
            })
            .unwrap_or_default()
    }

    /// Makes a collection; tells whether it is new. One of the same settings may be there already.
    pub(crate) fn create(&self, name: &str, settings: Settings) -> Result<bool, Problem> {
        if !is_name(name) {
            return Err(Problem::unprocessable(
                "a collection's name has 1 to 64 lower-case letters, digits, '-' and '_'",
            ));
        }
        settings.check()?;
        let mut collections = self.collections.write().map_err(|_| poisoned())?;
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
        let made = Collection::create(&self.dir.join(name), settings)?;
        collections.insert(name.to_owned(), Ok(made));
        Ok(true)
    }

    /// Deletes a collection and all that is in it.
    pub(crate) fn delete(&self, name: &str) -> Result<(), Problem> {
        let failed = |error: std::io::Error| {
            Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("collection {name:?}: {error}"),
            )
        };
        let number = self.deleted.fetch_add(1, Ordering::Relaxed);
        let doomed = self.dir.join(format!("{DELETED}{number}-{name}"));
        {
            let mut collections = self.collections.write().map_err(|_| poisoned())?;
            if !collections.contains_key(name) {
                return Err(Self::not_there(name));
            }
            // Renamed first: what is half deleted must not be found at the next start. Requests that still have it end on their own.
            std::fs::rename(self.dir.join(name), &doomed).map_err(failed)?;
            collections.remove(name);
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

fn poisoned() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the list of collections is lost; restart the service",
    )
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
