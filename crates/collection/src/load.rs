//! Opening of a collection: its rows and stories are read into memory.

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

/// The documents and stories of a collection in memory.
pub(crate) struct Memory {
    pub(crate) live: Live,
    /// `None` if the collection keeps no stories.
    pub(crate) stories: Option<StoryEngine>,
}

/// Opens the file of the collection in a directory.
pub(crate) fn open_in<T>(
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

/// Reads the rows and the stories in parallel.
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

/// Reads all rows, compares their number and checksum with the stored ones, and builds the index of the leaders.
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
                "{rows} rows were found instead of {}, or their checksums differ",
                state.rows
            )));
        }
        live.arrange();
        Ok(live)
    })
}

/// The keys of a collection.
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
