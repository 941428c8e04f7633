//! Verification: the candidates of a document in order of distance, compared by their shingles.

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

/// The number of leaders of one group that a document is compared with when the group is divided.
const NEAREST: usize = 8;
/// Bytes of the cache of shingle sets.
const MAX_CACHE_BYTES: usize = 64 << 20;

/// A leader that a document may follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) ordinal: u64,
    pub(crate) distance: u32,
    /// Jaccard and containment; `None` if there are no shingles to verify.
    pub(crate) similarity: Option<(f64, f64)>,
}

/// The duplicates of one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) matches: Vec<Match>,
    /// There were more candidates than may be compared.
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
    /// The set of a document by a measure; `None` if the store does not hold it.
    fn of(&self, row: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError>;
}

/// A document that is compared with leaders.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    row: &'a Row,
    /// The source of its own shingles; `None` if there are none to verify.
    own: Option<&'a dyn Shingles>,
    /// The document is known to be a text, not only a fingerprint.
    is_text: bool,
}

impl<'a> Asked<'a> {
    /// A document that is not stored yet.
    pub(crate) fn new(prepared: &'a Prepared, settings: &Settings) -> Self {
        let is_text = prepared.text.is_some();
        Self {
            row: &prepared.row,
            own: (is_text && settings.store != StoredContent::None).then_some(prepared),
            is_text,
        }
    }

    /// The row of the document.
    pub(crate) fn row(&self) -> &'a Row {
        self.row
    }

    /// Its Jaccard and containment to a document of the same text.
    pub(crate) fn likeness_to_copy(&self) -> Option<(f64, f64)> {
        self.is_text.then_some((1.0, 1.0))
    }

    /// A stored document.
    pub(crate) fn stored(row: &'a Row, shingles: &'a dyn Shingles, settings: &Settings) -> Self {
        let is_text = settings.store != StoredContent::None;
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
    /// The largest Hamming distance of a candidate.
    pub(crate) k: u32,
    /// The least Jaccard of a match.
    pub(crate) threshold: f64,
    /// The largest number of candidates that are compared, the nearest first.
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

/// Verifies the candidates of a document among those leaders in `live` that `there` admits.
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

/// A leader whose text is still to be compared.
#[derive(Clone, Copy)]
struct CandidateLeader<'r> {
    row: &'r Row,
    /// The Hamming distance of its fingerprint.
    distance: u32,
}

impl CandidateLeader<'_> {
    /// The key of the order: by distance, then by ordinal.
    fn nearest_first(&self) -> (u32, u64) {
        (self.distance, self.row.ordinal)
    }
}

/// Compares a document with one leader; `None` if they are no duplicates.
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

/// As [`find`], with the [`NEAREST`] of the given leaders. O(n log n) in their number.
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

/// The shingles of the prepared document, whatever the row.
impl Shingles for Prepared {
    fn of(&self, _: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError> {
        Ok(self.set(measure))
    }
}

/// The shingles of prepared documents whose numbers are their positions.
impl Shingles for Vec<Prepared> {
    fn of(&self, row: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError> {
        Ok(self
            .get(row.ordinal as usize)
            .and_then(|prepared| prepared.set(measure)))
    }
}

/// The shingles of stored texts, as a transaction sees them.
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
                .damaged(format!("document {} has lost its text", row.ordinal)));
        };
        let Some(set) = self.preparer.stored_set(&bytes, row.measure, measure) else {
            return Ok(None);
        };
        let set = Arc::new(set);
        self.cache.insert(row.ordinal, measure, &set);
        Ok(Some(set))
    }
}

/// A cache of shingle sets that threads share. The text of a number never changes, so an entry is always valid.
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
