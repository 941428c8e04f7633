//! The stored records of runs, and the removal of old ones.

pub(crate) mod part;

use redb::{ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};

use twinprint_io::runs::{Appended, EndedRun};

use self::part::RunPart;
use crate::database::{Database, RUN_PARTS, RUNS};
use crate::error::CollectionError;
use crate::record::json;
use crate::seal::{seal, unseal};

/// The largest number of entries (answers and documents) that are stored for all runs together, at about 20 bytes each.
/// If the number is exceeded, the runs that ended first are dropped, but never the latest run.
const MAX_ENTRIES: u64 = 16_000_000;
/// Every run counts for this many entries in addition to its own. So [`MAX_ENTRIES`] also bounds the number of runs.
const ENTRIES_PER_RUN: u64 = 1000;
/// The largest number of run names that are stored for one input. Older names can be dropped, because a killed run is
/// looked up by its name soon afterwards.
const MAX_NAMES: usize = 1000;
/// The number of entries in one stored part of a run.
const PART_ENTRIES: usize = 50_000;

/// A digest of the input of a run, under a secret key of the collection.
pub(crate) type Digest = u128;

/// The entry of an input in the table of runs: a summary of all runs over that input.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    /// The names of the latest runs over the input, in the order in which they ended.
    pub(crate) names: Vec<String>,
    /// The Unix time in seconds when the first run over the input ended.
    pub(crate) first: i64,
    /// The Unix time in seconds when the latest run over the input ended.
    pub(crate) last: i64,
    /// The counts of the latest run over the input.
    pub(crate) latest: Appended,
    /// The number of stored entries of all runs over the input: answers, recognised records and added documents.
    pub(crate) entries: u64,
    /// The number of stored parts that contain these entries.
    pub(crate) parts: u64,
}

/// Writes the name of a run as 32 hexadecimal digits.
pub(crate) fn hex(name: u128) -> String {
    format!("{name:032x}")
}

/// Stores the answers and documents of a run, and drops the oldest runs if too many entries are stored.
pub(crate) fn record_run(
    store: &Database,
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
    let answers = entry.answers.chunks(PART_ENTRIES).map(RunPart::answers);
    let recognised = entry.recognised.chunks(PART_ENTRIES).map(RunPart::recognised);
    let added = entry.added.chunks(PART_ENTRIES).map(RunPart::added);
    for part in answers.chain(recognised).chain(added) {
        let key = part_key(entry.digest, record.parts);
        let sealed = seal("run_parts", &key, part.encode()?);
        let inserted = table.insert((entry.digest, record.parts), sealed.as_slice());
        inserted.map_err(|error| store.unreadable(error))?;
        record.parts += 1;
    }
    record.entries += (entry.answers.len() + entry.recognised.len() + entry.added.len()) as u64;
    record.names.push(hex(entry.name));
    let too_many = record.names.len().saturating_sub(MAX_NAMES);
    record.names.drain(..too_many);
    record.last = entry.ended;
    record.latest = entry.counts;
    let sealed = seal("runs", &entry.digest.to_le_bytes(), json(&record)?);
    runs.insert(entry.digest, sealed.as_slice())
        .map_err(|error| store.unreadable(error))?;
    for StoredRun { digest, parts } in runs_to_drop(&read_all(store, &runs)?, entry.digest, MAX_ENTRIES) {
        runs.remove(digest).map_err(|error| store.unreadable(error))?;
        for number in 0..parts {
            let removed = table.remove((digest, number));
            removed.map_err(|error| store.unreadable(error))?;
        }
    }
    Ok(())
}

/// The stored runs over one input.
#[derive(Debug, PartialEq, Eq)]
struct StoredRun {
    digest: Digest,
    /// The number of stored parts of these runs.
    parts: u64,
}

/// Chooses the oldest runs to drop, so that the remaining ones have at most `max_entries` entries. The runs over the
/// input `latest` are never dropped.
fn runs_to_drop(runs: &[(Digest, RunRecord)], latest: Digest, max_entries: u64) -> Vec<StoredRun> {
    let mut entries: u64 = runs.iter().map(|(_, run)| run.entries + ENTRIES_PER_RUN).sum();
    let mut order: Vec<&(Digest, RunRecord)> = runs.iter().filter(|(digest, _)| *digest != latest).collect();
    order.sort_by_key(|(digest, run)| (run.last, *digest));
    let mut dropped = Vec::new();
    for (digest, run) in order {
        if entries <= max_entries {
            break;
        }
        entries -= run.entries + ENTRIES_PER_RUN;
        dropped.push(StoredRun {
            digest: *digest,
            parts: run.parts,
        });
    }
    dropped
}

/// Reads the entry of an input in the table of runs; `None` if no run over the input is stored.
pub(crate) fn read(
    store: &Database,
    runs: &impl ReadableTable<u128, &'static [u8]>,
    digest: Digest,
) -> Result<Option<RunRecord>, CollectionError> {
    let sealed = runs.get(digest).map_err(|error| store.unreadable(error))?;
    sealed
        .map(|sealed| decode(store, digest, sealed.value()))
        .transpose()
}

/// Reads the whole table of runs: one entry per input.
pub(crate) fn read_all(
    store: &Database,
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

fn decode(store: &Database, digest: Digest, sealed: &[u8]) -> Result<RunRecord, CollectionError> {
    let json = unseal("runs", &digest.to_le_bytes(), sealed);
    json.and_then(|json| serde_json::from_slice(json).ok())
        .ok_or_else(|| {
            store.damaged(format!(
                "entry {digest:032x} of the table runs has a wrong checksum"
            ))
        })
}

/// The key of a part of a run, as bytes that the checksum of the part covers.
pub(crate) fn part_key(digest: Digest, number: u64) -> [u8; 24] {
    let mut key = [0; 24];
    key[..16].copy_from_slice(&digest.to_le_bytes());
    key[16..].copy_from_slice(&number.to_le_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_runs_are_dropped_and_never_the_latest() {
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
        let drop = |latest, max_entries| -> Vec<(Digest, u64)> {
            let dropped = runs_to_drop(&runs, latest, max_entries);
            dropped.into_iter().map(|run| (run.digest, run.parts)).collect()
        };
        let with_runs = |latest, max_entries| drop(latest, max_entries + 4 * ENTRIES_PER_RUN);
        assert_eq!(with_runs(4, 100), []);
        assert_eq!(with_runs(4, 99), [(2, 2)]);
        assert_eq!(with_runs(1, 59), [(4, 2)]);
        assert_eq!(drop(4, 50 + 2 * ENTRIES_PER_RUN), [(2, 2), (3, 2)]);
        assert_eq!(drop(4, 0), [(2, 2), (3, 2), (1, 2)]);
    }
}
