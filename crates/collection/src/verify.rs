//! Who is a duplicate of a document: candidates in order of distance, verified on shingles.

use std::sync::{Arc, Mutex};

use redb::ReadTransaction;
use rustc_hash::FxHashMap;
use twinprint_text::Measure;
use twinprint_text::overlap::ShingleSet;

use super::error::CollectionError;
use super::live::Live;
use super::prepare::{Prepared, Workshop};
use super::row::Row;
use super::settings::{Settings, Store as Keep};
use super::store::Store;

/// Leaders of a crowd that a document is compared with.
const NEAREST: usize = 8;
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

/// A source of the shingles of documents.
pub(crate) trait Shingles: Sync {
    /// The set of a document by a measure; none where it cannot be told.
    fn of(&self, row: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError>;
}

/// A document that is compared with leaders.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    row: &'a Row,
    /// The source of its own shingles; none if there is nothing to verify on.
    own: Option<&'a dyn Shingles>,
    /// True if it is known to be a text, and no fingerprint alone.
    is_text: bool,
}

impl<'a> Asked<'a> {
    /// A document that is not stored yet.
    pub(crate) fn new(prepared: &'a Prepared, settings: &Settings) -> Self {
        let is_text = prepared.canonical.is_some();
        Self {
            row: &prepared.row,
            own: (is_text && settings.store != Keep::None).then_some(prepared),
            is_text,
        }
    }

    pub(crate) fn row(&self) -> &'a Row {
        self.row
    }

    /// Its likeness to a document of the same text.
    pub(crate) fn likeness_to_copy(&self) -> Option<(f64, f64)> {
        self.is_text.then_some((1.0, 1.0))
    }

    /// A stored document.
    pub(crate) fn stored(row: &'a Row, shingles: &'a dyn Shingles, settings: &Settings) -> Self {
        let is_text = settings.store != Keep::None;
        Self {
            row,
            own: is_text.then_some(shingles),
            is_text,
        }
    }
}

/// The rule by which documents are duplicates.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// Bits in which the fingerprints of candidates differ at most.
    pub(crate) k: u32,
    /// Jaccard from which on a candidate is a match.
    pub(crate) threshold: f64,
    /// Candidates compared at most, the nearest first.
    pub(crate) compared: usize,
}

impl Rule {
    /// The rule of a collection.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            k: settings.k,
            threshold: settings.threshold,
            compared: settings.max_texts as usize,
        }
    }
}

/// Verifies the candidates of a document among those leaders in `live` that are there for it.
pub(crate) fn find(
    asked: Asked<'_>,
    live: &Live,
    shingles: &impl Shingles,
    rule: Rule,
    there: impl Fn(&Row) -> bool,
) -> Result<Found, CollectionError> {
    let mut candidates = Vec::new();
    live.candidates(asked.row, rule.k, &mut candidates);
    let mut rows: Vec<(u32, &Row)> = candidates
        .iter()
        .filter_map(|&(ordinal, distance)| Some((distance, live.row(ordinal)?)))
        .filter(|(_, row)| there(row))
        .collect();
    rows.sort_unstable_by_key(|(distance, row)| (*distance, row.ordinal));
    let mut found = Found::default();
    if rows.len() > rule.compared {
        found.limited = true;
        rows.truncate(rule.compared);
    }
    for (distance, row) in rows {
        found
            .matches
            .extend(compare(asked, (row, distance), shingles, rule)?);
    }
    Ok(found)
}

/// Compares a document with one leader; nothing where they are no duplicates.
fn compare(
    asked: Asked<'_>,
    (row, distance): (&Row, u32),
    shingles: &impl Shingles,
    rule: Rule,
) -> Result<Option<Match>, CollectionError> {
    let unverified = Match {
        ordinal: row.ordinal,
        distance,
        similarity: None,
    };
    let Some(own) = asked.own else {
        return Ok(Some(unverified));
    };
    let measure = asked.row.measure.with(row.measure);
    let (Some(mine), Some(theirs)) = (own.of(asked.row, measure)?, shingles.of(row, measure)?) else {
        return Ok(None);
    };
    let overlap = mine.overlap_at_least(&theirs, rule.threshold);
    Ok(overlap.map(|overlap| Match {
        similarity: Some((overlap.jaccard(), overlap.containment())),
        ..unverified
    }))
}

/// As [`find`], with the [`NEAREST`] of some leaders only. O(n log n) in these.
pub(crate) fn find_nearest(
    asked: Asked<'_>,
    leaders: &[Row],
    shingles: &impl Shingles,
    rule: Rule,
) -> Result<Found, CollectionError> {
    let near = leaders.iter().filter_map(|leader| {
        let distance = (asked.row.fingerprint ^ leader.fingerprint).count_ones();
        let by_fingerprint = asked.row.by_fingerprint && leader.by_fingerprint && distance <= rule.k;
        let short = asked.row.set_size > 0 && leader.set_size > 0;
        let by_shingles = short && asked.row.measure == leader.measure;
        (by_fingerprint || by_shingles).then_some((leader, distance))
    });
    let mut near: Vec<(&Row, u32)> = near.collect();
    near.sort_unstable_by_key(|(leader, distance)| (*distance, leader.ordinal));
    let mut found = Found::default();
    for leader in near.into_iter().take(NEAREST) {
        found.matches.extend(compare(asked, leader, shingles, rule)?);
    }
    Ok(found)
}

/// Its own shingles: of a document at hand there are no others.
impl Shingles for Prepared {
    fn of(&self, _: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError> {
        Ok(self.set(measure))
    }
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
