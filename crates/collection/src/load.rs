//! Opening of a collection: the rows and the stories are read into memory.

use std::path::Path;

use twinprint_fingerprint::HashKey;
use twinprint_text::Profile;

use super::database::{Config, Database, FILE, META};
use super::error::CollectionError;
use super::live::{Live, StoryMerge};
use super::prepare::Keys;
use super::settings::Settings;
use super::stories::StoryEngine;
use super::stories::saved;

/// The part of a collection that is in memory: the rows of the documents, and the stories.
pub(crate) struct Memory {
    pub(crate) live: Live,
    /// `None` if the collection keeps no stories.
    pub(crate) stories: Option<StoryEngine>,
}

/// Passes the path of a collection's file in the directory `dir` to `open`. Fails if the directory contains no such
/// file.
pub(crate) fn open_in<T>(
    dir: &Path,
    open: impl FnOnce(&Path) -> Result<T, CollectionError>,
) -> Result<T, CollectionError> {
    let path = dir.join(FILE);
    if !path.is_file() {
        return Err(CollectionError::NotThere {
            path: dir.to_owned(),
            why: format!("the file {FILE} is missing"),
        });
    }
    open(&path).map_err(|error| match error {
        CollectionError::InUse { .. } => CollectionError::InUse { path: dir.to_owned() },
        error => error,
    })
}

/// Reads the rows and the stories of a collection into memory, in parallel.
pub(crate) fn load(
    store: &Database,
    profile: &Profile,
    settings: &Settings,
) -> Result<Memory, CollectionError> {
    let stories = || store.reading(|transaction| saved::load(store, transaction, settings));
    let (live, stories) = rayon::join(|| load_rows(store, profile, settings), stories);
    let (mut live, stories) = (live?, stories?);
    if let Some(stories) = &stories {
        live.redirect(
            stories
                .engine
                .redirects()
                .map(|(from, into)| StoryMerge { from, into }),
        );
    }
    Ok(Memory { live, stories })
}

/// Reads all rows, compares their number and their combined checksum with the values stored in the entry `state`, and
/// builds the index of the leaders.
fn load_rows(store: &Database, profile: &Profile, settings: &Settings) -> Result<Live, CollectionError> {
    store.reading(|transaction| {
        let state = store.state(&store.table(transaction, META)?)?;
        let mut live = Live::new(profile.bits(), settings.k, settings.threshold);
        let (mut rows, mut digest) = (0, 0);
        store.each_row(transaction, |row, seal| {
            rows += 1;
            digest ^= seal;
            live.insert(row);
        })?;
        if (rows, digest) != (state.rows, state.digest) {
            return Err(store.damaged(format!(
                "{rows} rows were read and {} were expected, or the checksum over all rows differs",
                state.rows
            )));
        }
        live.arrange();
        Ok(live)
    })
}

/// The hash keys of a collection, from the secrets in its configuration.
pub(crate) fn keys(config: &Config) -> Keys {
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
