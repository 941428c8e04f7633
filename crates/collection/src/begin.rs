//! How a collection begins: its file is made beside its name and gets it when it is whole; opened, its rows are read and arranged.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use twinprint_fingerprint::HashKey;
use twinprint_index::storage::{self, Storage as _};
use twinprint_text::Profile;

use super::FILE;
use super::error::CollectionError;
use super::live::Live;
use super::prepare::Keys;
use super::settings::Settings;
use super::store::{self, Config, FORMATS, Store as Disk};
use super::stories::{self, Kept};
use super::tables::Tables;
use twinprint_io::work::MadeDirs;

/// Opens the store in a directory.
pub(super) fn stored_in<T>(
    dir: &Path,
    open: impl FnOnce(&Path) -> Result<T, CollectionError>,
) -> Result<T, CollectionError> {
    let path = dir.join(FILE);
    if !path.is_file() {
        return Err(CollectionError::NotThere {
            path: dir.to_owned(),
            why: format!("it has no {FILE}"),
        });
    }
    open(&path).map_err(|error| match error {
        CollectionError::InUse { .. } => CollectionError::InUse { path: dir.to_owned() },
        error => error,
    })
}

/// Reads the rows and the stories, at once.
pub(super) fn load(
    store: &Disk,
    profile: &Profile,
    settings: &Settings,
) -> Result<(Live, Option<Kept>), CollectionError> {
    let stories = || store.reading(|transaction| stories::load(store, transaction, settings));
    let (live, kept) = rayon::join(|| arranged(store, profile, settings), stories);
    let (mut live, kept) = (live?, kept?);
    if let Some(kept) = &kept {
        live.redirect(kept.engine.redirects());
    }
    Ok((live, kept))
}

/// Reads all rows and arranges them.
fn arranged(store: &Disk, profile: &Profile, settings: &Settings) -> Result<Live, CollectionError> {
    store.reading(|transaction| {
        let state = store.state(&store.table(transaction, store::META)?)?;
        let mut live = Live::new(profile.bits(), settings.k, settings.threshold);
        let (mut rows, mut digest) = (0, 0);
        store.each_row(transaction, |row, seal| {
            rows += 1;
            digest ^= seal;
            live.insert(row);
        })?;
        if (rows, digest) != (state.rows, state.digest) {
            return Err(store.damaged(format!(
                "{rows} of {} rows are there, or not the right ones",
                state.rows
            )));
        }
        live.arrange();
        Ok(live)
    })
}

/// The store of a new collection while it is made. Unless it is published, nothing of it stays.
pub(super) struct NewStore {
    path: PathBuf,
    unfinished: PathBuf,
    published: bool,
    /// Last, so that the directories are empty by then.
    _made: MadeDirs,
}

impl NewStore {
    /// Makes room for a store in a directory that is not there or empty.
    pub(super) fn begin(dir: &Path) -> Result<Self, CollectionError> {
        let made = MadeDirs::missing(dir);
        storage::Disk
            .create_dir_all(dir)
            .map_err(|error| CollectionError::io(dir, &error))?;
        let mut entries = fs::read_dir(dir).map_err(|error| CollectionError::io(dir, &error))?;
        let name = Path::new(FILE).with_extension("new");
        let in_the_way = entries.any(|entry| entry.is_ok_and(|entry| Path::new(&entry.file_name()) != name));
        if in_the_way {
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

    /// The file to make the store in.
    pub(super) fn unfinished(&self) -> &Path {
        &self.unfinished
    }

    /// Gives the finished file its name, for good.
    pub(super) fn publish(mut self) -> Result<(), CollectionError> {
        storage::Disk
            .publish(&self.unfinished, &self.path)
            .map_err(|error| CollectionError::io(&self.path, &error))?;
        self.published = true;
        Ok(())
    }
}

impl Drop for NewStore {
    fn drop(&mut self) {
        if !self.published {
            // A file that cannot be deleted is in the way of a second attempt, which then says so.
            let _left = fs::remove_file(&self.unfinished);
        }
    }
}

/// Deletes the file that a killed run left, unless somebody is still writing it: what is in it may be anything.
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

/// Writes settings and empty tables.
pub(super) fn configure(store: &Disk, settings: &Settings) -> Result<(), CollectionError> {
    let secrets = std::array::from_fn(|_| random());
    let config = Config {
        format: FORMATS[usize::from(settings.stories)],
        profile_checksum: settings.check()?.checksum(),
        settings: settings.clone(),
        secrets,
    };
    write_config(store, &config)
}

pub(super) fn write_config(store: &Disk, config: &Config) -> Result<(), CollectionError> {
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

/// A word that nobody can foresee: the keys of the standard library's maps come from the system's source of randomness.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

pub(super) fn keys(config: &Config) -> Keys {
    let [a, b, c, d, e, f] = config.secrets;
    Keys {
        names: (a, b),
        shingles: HashKey::new(c, d),
        features: if config.settings.keyed {
            HashKey::new(e, f)
        } else {
            HashKey::PUBLIC
        },
    }
}
