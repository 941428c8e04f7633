//! Creation of a collection: the file is written under a temporary name, and renamed when it is complete.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use twinprint_index::storage::{self, Storage as _};
use twinprint_io::work::MadeDirs;

use super::database::{Config, Database, FILE, FORMAT_ESTIMATED, FORMAT_PLAIN, FORMAT_STORIES};
use super::error::CollectionError;
use super::settings::Settings;
use super::tables::Tables;

/// The file of a new collection while it is written. Dropping this value before [`publish`](Self::publish) removes the
/// file and the directories that were created for it.
pub(crate) struct NewDatabase {
    path: PathBuf,
    unfinished: PathBuf,
    published: bool,
    /// Removes the directories that were created. It must be the last field, because the file in them has to be removed
    /// first.
    _made: MadeDirs,
}

impl NewDatabase {
    /// Creates the directory `dir` if it does not exist, and checks that it is empty.
    pub(crate) fn begin(dir: &Path) -> Result<Self, CollectionError> {
        let made = MadeDirs::missing(dir);
        storage::Disk
            .create_dir_all(dir)
            .map_err(|error| CollectionError::io(dir, &error))?;
        let mut entries = fs::read_dir(dir).map_err(|error| CollectionError::io(dir, &error))?;
        let name = Path::new(FILE).with_extension("new");
        let has_others = entries.any(|entry| entry.is_ok_and(|entry| Path::new(&entry.file_name()) != name));
        if has_others {
            return Err(CollectionError::NotEmpty { path: dir.to_owned() });
        }
        let unfinished = dir.join(name);
        delete_unfinished(&unfinished).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => CollectionError::InUse { path: dir.to_owned() },
            _ => CollectionError::io(&unfinished, &error),
        })?;
        Ok(Self {
            path: dir.join(FILE),
            unfinished,
            published: false,
            _made: made,
        })
    }

    /// The temporary path of the file until it is published.
    pub(crate) fn unfinished(&self) -> &Path {
        &self.unfinished
    }

    /// Renames the complete file to its final name. The rename is durable when this returns.
    pub(crate) fn publish(mut self) -> Result<(), CollectionError> {
        storage::Disk
            .publish(&self.unfinished, &self.path)
            .map_err(|error| CollectionError::io(&self.path, &error))?;
        self.published = true;
        Ok(())
    }
}

impl Drop for NewDatabase {
    fn drop(&mut self) {
        if !self.published {
            // The error is ignored: if the file cannot be deleted, the next attempt to create the collection reports
            // it.
            let _left = fs::remove_file(&self.unfinished);
        }
    }
}

/// Deletes an incomplete file that a killed process left. Fails if a process is still writing the file.
fn delete_unfinished(path: &Path) -> io::Result<()> {
    let file = match File::options().write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Ok(()) | Err(TryLockError::Error(_)) => fs::remove_file(path),
    }
}

/// Initializes a new store: writes the settings, new random secrets and empty tables.
pub(crate) fn write_settings(store: &Database, settings: &Settings) -> Result<(), CollectionError> {
    let secrets = std::array::from_fn(|_| random());
    let format = if settings.estimates_stories() {
        FORMAT_ESTIMATED
    } else if settings.stories {
        FORMAT_STORIES
    } else {
        FORMAT_PLAIN
    };
    let config = Config {
        format,
        profile_checksum: settings.check()?.checksum(),
        settings: settings.clone(),
        secrets,
    };
    write_config(store, &config)
}

/// Initializes a new store with an existing configuration, including its secrets, and empty tables.
pub(crate) fn write_config(store: &Database, config: &Config) -> Result<(), CollectionError> {
    let json = serde_json::to_vec(config).map_err(|error| CollectionError::Invalid(error.to_string()))?;
    store.writing(|db| {
        let mut transaction = db.begin_write().map_err(|error| store.unreadable(error))?;
        transaction.set_quick_repair(true);
        let mut tables = Tables::open(store, &transaction, config.settings.stories)?;
        tables.put_meta("config", json)?;
        tables.finish()?;
        transaction.commit().map_err(|error| store.unreadable(error))
    })
}

/// Returns a random number. It comes from the random keys of the standard library's hash maps, which the operating
/// system provides.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}
