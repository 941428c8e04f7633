//! Who is a duplicate of a document: candidates in order of distance, verified on shingles.

use std::sync::{Arc, Mutex};

use redb::ReadTransaction;
use rustc_hash::FxHashMap;
use text::Measure;
use text::overlap::ShingleSet;

use super::error::CollectionError;
use super::live::Live;
use super::prepare::{Prepared, Workshop};
use super::row::Row;
use super::settings::Settings;
use super::store::Store;

/// Bytes of shingle sets held, in two generations of so many.
const GENERATION: usize = 32 << 20;

/// A leader that a document may follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) ordinal: u64,
    pub(crate) distance: u32,
    /// Jaccard and containment; none where there was nothing to verify on.
    pub(crate) similarity: Option<(f64, f64)>,
}

/// What was found for one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) matches: Vec<Match>,
    /// There were more candidates than texts may be looked at.
    pub(crate) limited: bool,
}

impl Found {
    /// The leader of highest Jaccard; ties go to the smaller distance, then to the earlier.
    pub(crate) fn best(&self) -> Option<Match> {
        self.matches.iter().copied().min_by(|a, b| {
            let jaccard = |m: &Match| m.similarity.map_or(0.0, |(jaccard, _)| jaccard);
            jaccard(b)
                .total_cmp(&jaccard(a))
                .then(a.distance.cmp(&b.distance))
                .then(a.ordinal.cmp(&b.ordinal))
        })
    }
}

/// Where the shingles of a leader come from.
pub(crate) trait Shingles {
    /// Its set by a measure; none where it cannot be told.
    fn of(&self, row: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError>;
}

/// The candidates of a document among `live`, verified. `now` leaves out what has expired.
pub(crate) fn find(
    prepared: &Prepared,
    live: &Live,
    shingles: &impl Shingles,
    (settings, k): (&Settings, u32),
    now: i64,
) -> Result<Found, CollectionError> {
    find_from(settings.threshold, prepared, live, shingles, (settings, k), now)
}

/// As [`find`], with another least Jaccard than the collection's. From 0 on, every candidate that can be verified is a match.
pub(crate) fn find_from(
    least: f64,
    prepared: &Prepared,
    live: &Live,
    shingles: &impl Shingles,
    (settings, k): (&Settings, u32),
    now: i64,
) -> Result<Found, CollectionError> {
    let mut candidates = Vec::new();
    live.candidates(&prepared.row, k, &mut candidates);
    let mut rows: Vec<(u32, &Row)> = candidates
        .iter()
        .filter_map(|&(ordinal, distance)| Some((distance, live.row(ordinal)?)))
        .filter(|(_, row)| !row.is_expired(now) && row.id != prepared.row.id)
        .collect();
    rows.sort_unstable_by_key(|(distance, row)| (*distance, row.ordinal));
    let mut found = Found::default();
    let most = settings.max_texts as usize;
    if rows.len() > most {
        found.limited = true;
        rows.truncate(most);
    }
    for (distance, row) in rows {
        let unverified = Match {
            ordinal: row.ordinal,
            distance,
            similarity: None,
        };
        let measure = prepared.row.measure.with(row.measure);
        let Some(mine) = verifiable(prepared, settings, measure) else {
            found.matches.push(unverified);
            continue;
        };
        let Some(theirs) = shingles.of(row, measure)? else {
            continue;
        };
        if let Some(overlap) = mine.overlap_at_least(&theirs, least) {
            found.matches.push(Match {
                similarity: Some((overlap.jaccard(), overlap.containment())),
                ..unverified
            });
        }
    }
    Ok(found)
}

fn verifiable(prepared: &Prepared, settings: &Settings, measure: Measure) -> Option<Arc<ShingleSet>> {
    if settings.store == super::settings::Store::None {
        return None;
    }
    prepared.set(measure)
}

/// Shingles of documents at hand, which are numbered by their places.
impl Shingles for Vec<Prepared> {
    fn of(&self, row: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError> {
        Ok(self
            .get(row.ordinal as usize)
            .and_then(|prepared| prepared.set(measure)))
    }
}

/// Shingles of stored texts, as a transaction sees them.
pub(crate) struct Stored<'a> {
    pub(crate) store: &'a Store,
    pub(crate) transaction: &'a ReadTransaction,
    pub(crate) workshop: &'a Workshop,
    pub(crate) cache: &'a SetCache,
}

impl Shingles for Stored<'_> {
    fn of(&self, row: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError> {
        let key = (row.ordinal, measure);
        if let Some(set) = self.cache.get(key) {
            return Ok(Some(set));
        }
        let Some(bytes) = self.store.read_text(self.transaction, row.ordinal)? else {
            return Err(self
                .store
                .damaged(format!("document {} has lost its text", row.ordinal)));
        };
        let Some(set) = self.workshop.stored_set(&bytes, row.measure, measure) else {
            return Ok(None);
        };
        let set = Arc::new(set);
        self.cache.put(key, &set);
        Ok(Some(set))
    }
}

/// Sets used lately. A text never changes under its number, so nothing in here is ever wrong.
#[derive(Default)]
pub(crate) struct SetCache {
    generations: Mutex<Generations>,
}

type Key = (u64, Measure);

#[derive(Default)]
struct Generations {
    young: FxHashMap<Key, Arc<ShingleSet>>,
    old: FxHashMap<Key, Arc<ShingleSet>>,
    young_bytes: usize,
}

impl SetCache {
    fn get(&self, key: Key) -> Option<Arc<ShingleSet>> {
        let mut generations = self.generations.lock().ok()?;
        if let Some(set) = generations.young.get(&key) {
            return Some(Arc::clone(set));
        }
        let set = generations.old.remove(&key)?;
        generations.put(key, &set);
        Some(set)
    }

    fn put(&self, key: Key, set: &Arc<ShingleSet>) {
        if let Ok(mut generations) = self.generations.lock() {
            generations.put(key, set);
        }
    }
}

impl Generations {
    fn put(&mut self, key: Key, set: &Arc<ShingleSet>) {
        // A hundred bytes for the entry itself.
        let bytes = set.bytes() + 100;
        if self.young_bytes + bytes > GENERATION {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        self.young.insert(key, Arc::clone(set));
    }
}
