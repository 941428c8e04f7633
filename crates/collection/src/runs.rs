//! Runs that added what they kept, so that the same input can be run again with the same result.
//!
//! A run asks the collection about every text of its input and then adds what it keeps. Run again, it would find its own documents, each a
//! duplicate of itself. So the collection remembers, by a digest of the input, what the first run was answered and what it added. A later run
//! of the same input is given these answers instead of new ones: its result is that of the first run, whatever the collection has gained or
//! lost since.
//!
//! A run is written in the transaction of the documents that it adds ([`Collection::hold`], [`Collection::conclude`]): all of it is in the
//! collection, or nothing. Old runs are forgotten, see [`ENTRIES_KEPT`].

mod parts;

use redb::{ReadableTable, WriteTransaction};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use twinprint_io::runs::{AddedRecord, Appended, EndedRun, PastRun};

use self::parts::Part;
use super::document::{check_id, check_text};
use super::error::CollectionError;
use super::seal::{seal, unseal};
use super::store::{RUN_PARTS, RUNS, Store};
use super::tables::json;
use super::writer::{Commitment, Done, Op};
use super::{Answer, Collection, Durability, NewDocument};

/// Entries (answers and documents) that are kept of all runs together, about 20 bytes each. Beyond that the runs that ended first are
/// forgotten, but never the latest.
const ENTRIES_KEPT: u64 = 16_000_000;
/// Entries that every run counts for besides its own, so that the number of runs is bounded too.
const A_RUN: u64 = 1000;
/// Names kept of the runs of one input. A run is looked for soon after it was killed.
const NAMES_KEPT: usize = 1000;
/// Entries stored together.
const PART: usize = 50_000;
/// A digest of an input, under a key of the collection.
pub(crate) type Digest = u128;

/// The part of a document that a collection would not take, and why.
#[derive(Debug)]
pub enum Objection {
    /// Its id.
    Id(CollectionError),
    /// Its text.
    Text(CollectionError),
    /// A text without features.
    NoFeatures(CollectionError),
}

/// The row of an input in the table of runs.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RunRecord {
    /// The names of the latest runs, in the order in which they ended.
    names: Vec<String>,
    /// Unix times in seconds at which the first and the latest run ended.
    first: i64,
    last: i64,
    /// Counts of the latest run.
    latest: Appended,
    /// Answers, records recognised, and documents.
    entries: u64,
    /// Parts that hold them.
    parts: u64,
}

fn hex(name: u128) -> String {
    format!("{name:032x}")
}

impl Collection {
    /// Adds documents that become durable with the next [`conclude`](Self::conclude), and go if none comes before the collection is closed.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn hold(
        &self,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError> {
        self.put(documents, false, Commitment::Held)
    }

    /// Remembers a run, and makes it and all that was [held](Self::hold) durable.
    ///
    /// # Errors
    /// A collection that refuses writes. Then all of it is durable, or nothing: the caller cannot know.
    pub fn conclude(&self, entry: EndedRun) -> Result<(), CollectionError> {
        let ops = vec![Op::Remember(Box::new(entry))];
        let done = self.write(ops, Commitment::Now(Durability::Synced))?;
        match done.as_slice() {
            [Done::Remembered] => Ok(()),
            _ => Err(CollectionError::Closed),
        }
    }

    /// The record of the runs of an input.
    ///
    /// # Errors
    /// Damage.
    pub fn past_run(&self, digest: Digest) -> Result<Option<PastRun>, CollectionError> {
        let store = &self.inner.store;
        store.reading(|transaction| {
            let Some(runs) = store.table_if_there(transaction, RUNS)? else {
                return Ok(None);
            };
            let Some(record) = read(store, &runs, digest)? else {
                return Ok(None);
            };
            let table = store.table(transaction, RUN_PARTS)?;
            let mut run = PastRun {
                first_ended: record.first,
                latest: record.latest,
                ..PastRun::default()
            };
            for number in 0..record.parts {
                let lost = || store.damaged(format!("part {number} of a run is lost or damaged"));
                let part = table
                    .get((digest, number))
                    .map_err(|error| store.unreadable(error))?;
                let part = part.ok_or_else(lost)?;
                let bytes = unseal("run_parts", &part_key(digest, number), part.value()).ok_or_else(lost)?;
                Part::decode(bytes).ok_or_else(lost)?.take_back(&mut run);
            }
            Ok(Some(run))
        })
    }

    /// True if the run of this name over this input has ended.
    ///
    /// # Errors
    /// Damage.
    pub fn has_run(&self, digest: Digest, name: u128) -> Result<bool, CollectionError> {
        let store = &self.inner.store;
        store.reading(|transaction| {
            let Some(runs) = store.table_if_there(transaction, RUNS)? else {
                return Ok(false);
            };
            let record = read(store, &runs, digest)?;
            Ok(record.is_some_and(|record| record.names.contains(&hex(name))))
        })
    }

    /// Unix time in seconds.
    pub fn now(&self) -> i64 {
        self.inner.now()
    }

    /// The key of digests of inputs.
    pub fn digest_key(&self) -> (u64, u64) {
        self.inner.workshop.keys.names
    }

    /// An identifier of this collection; a backup has the same.
    pub fn identity(&self) -> u128 {
        self.inner.workshop.identity()
    }

    /// The keyed hashes of the ids under which documents of these numbers are still there.
    pub fn ids_of(&self, added: &[AddedRecord]) -> FxHashSet<u128> {
        let live = self.inner.live.read();
        let id = |added: &AddedRecord| live.as_ref().ok()?.row(added.number).map(|row| row.id);
        added.iter().filter_map(id).collect()
    }

    /// Why [`hold`](Self::hold) would refuse a document of this id and text, whose features count where asked for. A document without an id
    /// gets a name that is always taken.
    pub fn objection(&self, id: Option<&str>, text: &str, features: bool) -> Option<Objection> {
        let id = id.map_or(Ok(()), check_id).err().map(Objection::Id);
        let text_of = || check_text(text).err().map(Objection::Text);
        let without = || {
            let checked = features.then(|| self.inner.workshop.check_features(text));
            checked?.err().map(Objection::NoFeatures)
        };
        id.or_else(text_of).or_else(without)
    }

    /// The number of the document of an id, by the keyed hash of that.
    pub fn number_of(&self, id: u128) -> Option<u64> {
        let live = self.inner.live.read().ok()?;
        live.by_id(id).map(|row| row.ordinal)
    }

    /// True if there are documents of these two ids and they have the same text.
    pub fn have_same_text(&self, a: &str, b: &str) -> bool {
        let now = self.now();
        let Ok(live) = self.inner.live.read() else {
            return false;
        };
        let text = |id: &str| {
            let row = live.by_id(self.id_hash(id));
            row.filter(|row| !row.is_expired(now)).map(|row| row.text)
        };
        text(a).is_some_and(|text_of_a| Some(text_of_a) == text(b))
    }

    /// The keyed hash of an id.
    pub fn id_hash(&self, id: &str) -> u128 {
        self.inner.workshop.id(id)
    }
}

/// Writes a run, and forgets old ones.
pub(crate) fn remember(
    store: &Store,
    transaction: &WriteTransaction,
    entry: &EndedRun,
) -> Result<(), CollectionError> {
    let failed = |error: redb::TableError| store.unreadable(error);
    let mut runs = transaction.open_table(RUNS).map_err(failed)?;
    let mut table = transaction.open_table(RUN_PARTS).map_err(failed)?;
    let mut record = read(store, &runs, entry.digest)?.unwrap_or_else(|| RunRecord {
        first: entry.ended,
        ..RunRecord::default()
    });
    let answers = entry.answers.chunks(PART).map(Part::answers);
    let recognised = entry.recognised.chunks(PART).map(Part::recognised);
    let added = entry.added.chunks(PART).map(Part::added);
    for part in answers.chain(recognised).chain(added) {
        let key = part_key(entry.digest, record.parts);
        let sealed = seal("run_parts", &key, part.encode()?);
        let inserted = table.insert((entry.digest, record.parts), sealed.as_slice());
        inserted.map_err(|error| store.unreadable(error))?;
        record.parts += 1;
    }
    record.entries += (entry.answers.len() + entry.recognised.len() + entry.added.len()) as u64;
    record.names.push(hex(entry.name));
    let too_many = record.names.len().saturating_sub(NAMES_KEPT);
    record.names.drain(..too_many);
    record.last = entry.ended;
    record.latest = entry.counts;
    let sealed = seal("runs", &entry.digest.to_le_bytes(), json(&record)?);
    runs.insert(entry.digest, sealed.as_slice())
        .map_err(|error| store.unreadable(error))?;
    for (digest, parts) in beyond(&all(store, &runs)?, entry.digest, ENTRIES_KEPT) {
        runs.remove(digest).map_err(|error| store.unreadable(error))?;
        for number in 0..parts {
            let removed = table.remove((digest, number));
            removed.map_err(|error| store.unreadable(error))?;
        }
    }
    Ok(())
}

/// The runs to be forgotten, with their parts, so that those left have no more entries than `most`; never `latest`.
fn beyond(runs: &[(Digest, RunRecord)], latest: Digest, most: u64) -> Vec<(Digest, u64)> {
    let mut entries: u64 = runs.iter().map(|(_, run)| run.entries + A_RUN).sum();
    let mut order: Vec<&(Digest, RunRecord)> = runs.iter().filter(|(digest, _)| *digest != latest).collect();
    order.sort_by_key(|(digest, run)| (run.last, *digest));
    let mut gone = Vec::new();
    for (digest, run) in order {
        if entries <= most {
            break;
        }
        entries -= run.entries + A_RUN;
        gone.push((*digest, run.parts));
    }
    gone
}

fn read(
    store: &Store,
    runs: &impl ReadableTable<u128, &'static [u8]>,
    digest: Digest,
) -> Result<Option<RunRecord>, CollectionError> {
    let sealed = runs.get(digest).map_err(|error| store.unreadable(error))?;
    sealed
        .map(|sealed| decode(store, digest, sealed.value()))
        .transpose()
}

fn all(
    store: &Store,
    runs: &impl ReadableTable<u128, &'static [u8]>,
) -> Result<Vec<(Digest, RunRecord)>, CollectionError> {
    let entries = runs.iter().map_err(|error| store.unreadable(error))?;
    entries
        .map(|entry| {
            let (digest, sealed) = entry.map_err(|error| store.unreadable(error))?;
            Ok((digest.value(), decode(store, digest.value(), sealed.value())?))
        })
        .collect()
}

fn decode(store: &Store, digest: Digest, sealed: &[u8]) -> Result<RunRecord, CollectionError> {
    let json = unseal("runs", &digest.to_le_bytes(), sealed);
    json.and_then(|json| serde_json::from_slice(json).ok())
        .ok_or_else(|| store.damaged(format!("run {digest:032x} has a wrong checksum")))
}

fn part_key(digest: Digest, number: u64) -> [u8; 24] {
    let mut key = [0; 24];
    key[..16].copy_from_slice(&digest.to_le_bytes());
    key[16..].copy_from_slice(&number.to_le_bytes());
    key
}

impl Collection {
    /// Reads all runs; how many inputs there are runs of.
    ///
    /// # Errors
    /// Damage.
    pub(super) fn verify_runs(&self) -> Result<u64, CollectionError> {
        let store = &self.inner.store;
        let runs = store.reading(|transaction| match store.table_if_there(transaction, RUNS)? {
            Some(runs) => all(store, &runs),
            None => Ok(Vec::new()),
        })?;
        for (digest, record) in &runs {
            let run = self.past_run(*digest)?.unwrap_or_default();
            if (run.answers.len() + run.recognised.len() + run.added.len()) as u64 != record.entries {
                return Err(store.damaged(format!("run {} has other entries than it counts", hex(*digest))));
            }
        }
        Ok(runs.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_runs_are_forgotten_and_never_the_latest() {
        let run = |last, entries| RunRecord {
            last,
            entries,
            parts: 2,
            ..RunRecord::default()
        };
        let runs = [
            (1, run(30, 10)),
            (2, run(10, 20)),
            (3, run(20, 30)),
            (4, run(5, 40)),
        ];
        let with_runs = |latest, most| beyond(&runs, latest, most + 4 * A_RUN);
        assert_eq!(with_runs(4, 100), []);
        assert_eq!(with_runs(4, 99), [(2, 2)]);
        assert_eq!(with_runs(1, 59), [(4, 2)]);
        assert_eq!(beyond(&runs, 4, 50 + 2 * A_RUN), [(2, 2), (3, 2)]);
        assert_eq!(beyond(&runs, 4, 0), [(2, 2), (3, 2), (1, 2)]);
    }
}
