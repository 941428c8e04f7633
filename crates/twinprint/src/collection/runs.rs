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

use self::parts::Part;
use super::document::Best;
use super::error::CollectionError;
use super::seal::{seal, unseal};
use super::store::{RUN_PARTS, RUNS, Store};
use super::tables::json;
use super::writer::{Commitment, Done, Op};
use super::{Answer, Collection, Durability, NewDocument};

/// Entries (answers and documents added) that are kept of all runs together, about 20 bytes each. Beyond that the runs that came to their
/// end first are forgotten, but never the latest.
const ENTRIES_KEPT: u64 = 16_000_000;
/// Entries stored together.
const PART: usize = 50_000;
/// A digest of an input, under a key of the collection.
pub(crate) type Digest = u128;

/// The best answer to a text that duplicates a document of the collection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    /// The number of the first record with this text among the records of the input.
    pub(crate) record: u64,
    /// The document that it duplicates.
    pub(crate) best: Best,
}

/// A document that a run added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Added {
    /// Its number among the records of the input.
    pub(crate) record: u64,
    /// Its number in the collection.
    pub(crate) number: u64,
}

/// What is remembered of the runs of one input.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PastRun {
    /// The answers to the first run.
    pub(crate) told: Vec<Told>,
    /// What any of the runs added.
    pub(crate) added: Vec<Added>,
    /// Unix time in seconds at which the first run came to its end.
    pub(crate) first: i64,
}

/// A run that comes to its end.
#[derive(Debug)]
pub(crate) struct RunEntry {
    /// Its name, drawn at random.
    pub(crate) name: u128,
    pub(crate) digest: Digest,
    /// The answers it was given, where it is the first of its input.
    pub(crate) told: Vec<Told>,
    pub(crate) added: Vec<Added>,
    /// Unix time in seconds.
    pub(crate) ended: i64,
}

/// The row of an input in the table of runs.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RunRecord {
    /// The names of the runs that came to their end, the first one first.
    names: Vec<String>,
    /// When the first and the last of them did.
    first: i64,
    last: i64,
    /// Answers and documents added.
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
    pub(crate) fn hold(
        &self,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError> {
        self.put(documents, false, Commitment::Held)
    }

    /// Remembers a run, and makes it and all that was [held](Self::hold) durable.
    ///
    /// # Errors
    /// A collection that refuses writes. Then all of it is durable, or nothing: the caller cannot know.
    pub(crate) fn conclude(&self, entry: RunEntry) -> Result<(), CollectionError> {
        let ops = vec![Op::Remember(Box::new(entry))];
        let done = self.write(ops, Commitment::Now(Durability::Synced))?;
        match done.as_slice() {
            [Done::Remembered] => Ok(()),
            _ => Err(CollectionError::Closed),
        }
    }

    /// What is remembered of the runs of an input.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn past_run(&self, digest: Digest) -> Result<Option<PastRun>, CollectionError> {
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
                first: record.first,
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

    /// Whether the run of this name over this input came to its end.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn has_run(&self, digest: Digest, name: u128) -> Result<bool, CollectionError> {
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
    pub(crate) fn now(&self) -> i64 {
        self.inner.now()
    }

    /// The key of digests of inputs.
    pub(crate) fn digest_key(&self) -> (u64, u64) {
        self.inner.workshop.keys.names
    }

    /// What tells this collection from every other. A backup has the same.
    pub(crate) fn identity(&self) -> u128 {
        self.inner.workshop.identity()
    }

    /// The keyed hashes of the ids under which documents of these numbers are still there.
    pub(crate) fn ids_of(&self, added: &[Added]) -> FxHashSet<u128> {
        let live = self.inner.live.read();
        let id = |added: &Added| live.as_ref().ok()?.row(added.number).map(|row| row.id);
        added.iter().filter_map(id).collect()
    }

    /// The number of the document of an id, by the keyed hash of that.
    pub(crate) fn number_of(&self, id: u128) -> Option<u64> {
        let live = self.inner.live.read().ok()?;
        live.by_id(id).map(|row| row.ordinal)
    }

    /// The number of the document with the id `id`, if its text is that of the document with the id `other`.
    pub(crate) fn number_of_same_text(&self, id: &str, other: &str) -> Option<u64> {
        let live = self.inner.live.read().ok()?;
        let row = |id: &str| live.by_id(self.id_hash(id));
        let (own, other) = (row(id)?, row(other)?);
        (own.text == other.text).then_some(own.ordinal)
    }

    /// The keyed hash of an id.
    pub(crate) fn id_hash(&self, id: &str) -> u128 {
        self.inner.workshop.id(id)
    }
}

/// Writes a run, and forgets old ones.
pub(crate) fn remember(
    store: &Store,
    transaction: &WriteTransaction,
    entry: &RunEntry,
) -> Result<(), CollectionError> {
    let failed = |error: redb::TableError| store.unreadable(error);
    let mut runs = transaction.open_table(RUNS).map_err(failed)?;
    let mut table = transaction.open_table(RUN_PARTS).map_err(failed)?;
    let mut record = read(store, &runs, entry.digest)?.unwrap_or_else(|| RunRecord {
        first: entry.ended,
        ..RunRecord::default()
    });
    let told = entry.told.chunks(PART).map(Part::told);
    for part in told.chain(entry.added.chunks(PART).map(Part::added)) {
        let key = part_key(entry.digest, record.parts);
        let sealed = seal("run_parts", &key, part.encode()?);
        let inserted = table.insert((entry.digest, record.parts), sealed.as_slice());
        inserted.map_err(|error| store.unreadable(error))?;
        record.parts += 1;
    }
    record.entries += (entry.told.len() + entry.added.len()) as u64;
    record.names.push(hex(entry.name));
    record.last = entry.ended;
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
    let mut entries: u64 = runs.iter().map(|(_, run)| run.entries).sum();
    let mut order: Vec<&(Digest, RunRecord)> = runs.iter().filter(|(digest, _)| *digest != latest).collect();
    order.sort_by_key(|(digest, run)| (run.last, *digest));
    let mut gone = Vec::new();
    for (digest, run) in order {
        if entries <= most {
            break;
        }
        entries -= run.entries;
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
            if (run.told.len() + run.added.len()) as u64 != record.entries {
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
        assert_eq!(beyond(&runs, 4, 100), []);
        assert_eq!(beyond(&runs, 4, 99), [(2, 2)]);
        assert_eq!(beyond(&runs, 4, 50), [(2, 2), (3, 2)]);
        assert_eq!(beyond(&runs, 4, 0), [(2, 2), (3, 2), (1, 2)]);
        assert_eq!(beyond(&runs, 1, 59), [(4, 2), (2, 2)]);
    }
}
