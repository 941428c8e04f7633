//! Verification: compares a document with its candidates by their shingle sets, the nearest candidates first.

use std::sync::{Arc, Mutex};

use redb::ReadTransaction;
use twinprint_stream::leader_index::ShingleSetCache;
use twinprint_text::Measure;
use twinprint_text::overlap::ShingleSet;

use super::database::Database;
use super::error::CollectionError;
use super::live::Live;
use super::prepare::{DocumentPreparer, Prepared};
use super::row::Row;
use super::settings::{Settings, StoredContent};

/// The largest number of leaders that [`find_nearest`] compares a document with.
const NEAREST: usize = 8;
/// The largest size of the cache of shingle sets, in bytes.
const MAX_CACHE_BYTES: usize = 64 << 20;

/// A verified duplicate of a document: a leader whose group the document may join.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) ordinal: u64,
    pub(crate) distance: u32,
    /// Jaccard and containment of the two shingle sets; `None` if no shingles were compared.
    pub(crate) similarity: Option<(f64, f64)>,
}

/// The duplicates of one document that a search has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) matches: Vec<Match>,
    /// True if only the nearest `max_texts` candidates were compared, because the document has more of them.
    pub(crate) limited: bool,
}

impl Found {
    /// The duplicate of highest Jaccard. Ties go to the smaller Hamming distance, then to the earlier document. `None`
    /// if no duplicate was found.
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

/// A source of shingle sets: the memory or the store.
pub(crate) trait Shingles: Sync {
    /// Returns the shingle set of a document, in words or characters; `None` if it is not available.
    fn of(&self, row: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError>;
}

/// The document of a search: it is compared with leaders to find its duplicates.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    row: &'a Row,
    /// The source of the document's own shingle set; `None` if duplicates are not verified.
    own: Option<&'a dyn Shingles>,
    /// True if the document is known to be a text, not only a fingerprint.
    is_text: bool,
}

impl<'a> Asked<'a> {
    /// Makes a search for a document that is not stored yet.
    pub(crate) fn new(prepared: &'a Prepared, settings: &Settings) -> Self {
        let is_text = prepared.text.is_some();
        Self {
            row: &prepared.row,
            own: (is_text && settings.store != StoredContent::None).then_some(prepared),
            is_text,
        }
    }

    /// The row of the searched document.
    pub(crate) fn row(&self) -> &'a Row {
        self.row
    }

    /// The Jaccard and containment of the document and an exact copy of it: both are 1. `None` if the document is only
    /// a fingerprint.
    pub(crate) fn likeness_to_copy(&self) -> Option<(f64, f64)> {
        self.is_text.then_some((1.0, 1.0))
    }

    /// Makes a search for a document that is stored, for example to place it in a group again.
    pub(crate) fn stored(row: &'a Row, shingles: &'a dyn Shingles, settings: &Settings) -> Self {
        let is_text = settings.store != StoredContent::None;
        Self {
            row,
            own: is_text.then_some(shingles),
            is_text,
        }
    }
}

/// The conditions under which a leader is a duplicate of a document.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// The largest Hamming distance of a candidate.
    pub(crate) k: u32,
    /// The minimum Jaccard of a duplicate.
    pub(crate) threshold: f64,
    /// The largest number of candidates that are compared. If a document has more candidates, only the nearest are
    /// compared.
    pub(crate) compared: usize,
}

impl Rule {
    /// Makes the rule that follows from the settings of a collection.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            k: settings.k,
            threshold: settings.threshold,
            compared: settings.max_texts as usize,
        }
    }
}

/// Searches the leaders in `live` for duplicates of a document, and verifies them. Leaders for which `there` returns
/// false are skipped.
pub(crate) fn find(
    asked: Asked<'_>,
    live: &Live,
    shingles: &impl Shingles,
    rule: Rule,
    there: impl Fn(&Row) -> bool,
) -> Result<Found, CollectionError> {
    let mut leaders: Vec<CandidateLeader<'_>> = live
        .candidates(asked.row, rule.k)
        .iter()
        .filter_map(|candidate| {
            let row = live.row(candidate.id)?;
            let distance = candidate.distance;
            Some(CandidateLeader { row, distance })
        })
        .filter(|leader| there(leader.row))
        .collect();
    leaders.sort_unstable_by_key(CandidateLeader::nearest_first);
    let mut found = Found::default();
    if leaders.len() > rule.compared {
        found.limited = true;
        leaders.truncate(rule.compared);
    }
    for leader in leaders {
        found.matches.extend(compare(asked, leader, shingles, rule)?);
    }
    Ok(found)
}

/// A candidate leader: near enough, but not yet compared by its shingles.
#[derive(Clone, Copy)]
struct CandidateLeader<'r> {
    row: &'r Row,
    /// The Hamming distance between the fingerprints of the leader and the searched document.
    distance: u32,
}

impl CandidateLeader<'_> {
    /// The sort key of candidates: by distance, then by number.
    fn nearest_first(&self) -> (u32, u64) {
        (self.distance, self.row.ordinal)
    }
}

/// Compares a document with one leader; `None` if the leader is not a duplicate.
fn compare(
    asked: Asked<'_>,
    leader: CandidateLeader<'_>,
    shingles: &impl Shingles,
    rule: Rule,
) -> Result<Option<Match>, CollectionError> {
    let CandidateLeader { row, distance } = leader;
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

/// Searches a list of leaders for duplicates of a document. Unlike [`find`], compares only the [`NEAREST`] ones. O(n
/// log n) for n leaders.
pub(crate) fn find_nearest(
    asked: Asked<'_>,
    leaders: &[Row],
    shingles: &impl Shingles,
    rule: Rule,
) -> Result<Found, CollectionError> {
    let near = leaders.iter().filter_map(|row| {
        let distance = (asked.row.fingerprint ^ row.fingerprint).count_ones();
        let by_fingerprint = asked.row.by_fingerprint && row.by_fingerprint && distance <= rule.k;
        let short = asked.row.set_size > 0 && row.set_size > 0;
        let by_shingles = short && asked.row.measure == row.measure;
        (by_fingerprint || by_shingles).then_some(CandidateLeader { row, distance })
    });
    let mut near: Vec<CandidateLeader<'_>> = near.collect();
    near.sort_unstable_by_key(CandidateLeader::nearest_first);
    let mut found = Found::default();
    for leader in near.into_iter().take(NEAREST) {
        found.matches.extend(compare(asked, leader, shingles, rule)?);
    }
    Ok(found)
}

/// A prepared document as a source of its own shingle set. The row is ignored.
impl Shingles for Prepared {
    fn of(&self, _: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError> {
        Ok(self.set(measure))
    }
}

/// A list of prepared documents as a source of shingle sets. The number of a document is its position in the list.
impl Shingles for Vec<Prepared> {
    fn of(&self, row: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError> {
        Ok(self
            .get(row.ordinal as usize)
            .and_then(|prepared| prepared.set(measure)))
    }
}

/// A source of the shingle sets of stored documents. Reads the texts in a read transaction and caches the sets.
pub(crate) struct StoredShingles<'a> {
    pub(crate) store: &'a Database,
    pub(crate) transaction: &'a ReadTransaction,
    pub(crate) preparer: &'a DocumentPreparer,
    pub(crate) cache: &'a SetCache,
}

impl Shingles for StoredShingles<'_> {
    fn of(&self, row: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError> {
        if let Some(set) = self.cache.get(row.ordinal, measure) {
            return Ok(Some(set));
        }
        let Some(bytes) = self.store.read_text(self.transaction, row.ordinal)? else {
            return Err(self
                .store
                .damaged(format!("the text of document {} is lost", row.ordinal)));
        };
        let Some(set) = self.preparer.stored_set(&bytes, row.measure, measure) else {
            return Ok(None);
        };
        let set = Arc::new(set);
        self.cache.insert(row.ordinal, measure, &set);
        Ok(Some(set))
    }
}

/// A cache of shingle sets that threads share. A document that changes its text gets a new number, so a cached set
/// never becomes invalid.
pub(crate) struct SetCache {
    sets: Mutex<ShingleSetCache<u64>>,
}

impl Default for SetCache {
    fn default() -> Self {
        Self {
            sets: Mutex::new(ShingleSetCache::new(MAX_CACHE_BYTES)),
        }
    }
}

impl SetCache {
    fn get(&self, ordinal: u64, measure: Measure) -> Option<Arc<ShingleSet>> {
        self.sets.lock().ok()?.get(ordinal, measure)
    }

    fn insert(&self, ordinal: u64, measure: Measure, set: &Arc<ShingleSet>) {
        if let Ok(mut sets) = self.sets.lock() {
            sets.insert(ordinal, measure, Arc::clone(set));
        }
    }
}
