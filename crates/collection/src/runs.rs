//! Stored runs: if a run has added the documents that it kept, a second run over the same input gives the same result.
//!
//! A run checks every text of its input against the collection, and then adds the documents that it keeps. A second run
//! over the same input would find each of these documents in the collection, as a duplicate of itself. So the
//! collection stores the answers of the first run and the documents that it added, under a digest of the input. A later
//! run over the same input gets these answers instead of new ones. Its result is that of the first run, whatever was
//! added or deleted in between.
//!
//! A run and the documents that it adds become durable together ([`Collection::add_pending`],
//! [`Collection::commit_run`]). So the collection contains all of the run or nothing. The number of stored entries is
//! bounded: the oldest runs are dropped.

use rustc_hash::FxHashSet;

use twinprint_io::runs::{AddedRecord, EndedRun, PastRun};

use super::collection::Collection;
use super::database::{RUN_PARTS, RUNS};
use super::document::{Answer, Durability, NewDocument};
use super::error::CollectionError;
use super::limits::{check_id, check_text};
use super::run_record::part::RunPart;
use super::run_record::{Digest, hex, part_key, read, read_all};
use super::seal::unseal;
use super::write_request::{WriteDurability, WriteOp, WriteResult};

/// The reason why a collection would refuse a document: the field concerned, with the error.
#[derive(Debug)]
pub enum Objection {
    /// The id is empty or too long.
    Id(CollectionError),
    /// The text is too long.
    Text(CollectionError),
    /// The text has no features, and the collection refuses such texts.
    NoFeatures(CollectionError),
}

impl Collection {
    /// Adds documents that become durable with the next synced write, such as [`commit_run`](Self::commit_run). If the
    /// collection is closed before that, the documents are rolled back. Returns one answer per document.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn add_pending(
        &self,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError> {
        self.put(documents, false, WriteDurability::Pending)
    }

    /// Stores a run in the collection. The run and all [pending](Self::add_pending) documents become durable together.
    ///
    /// # Errors
    /// [`CollectionError::ReadOnly`] if the collection refuses writes. If the write fails, the run and the pending
    /// documents are either all durable or all lost, and the caller cannot know which.
    pub fn commit_run(&self, run: EndedRun) -> Result<(), CollectionError> {
        let ops = vec![WriteOp::RecordRun(Box::new(run))];
        let results = self.write(ops, WriteDurability::Chosen(Durability::Synced))?;
        match results.as_slice() {
            [WriteResult::RunRecorded] => Ok(()),
            _ => Err(CollectionError::Closed),
        }
    }

    /// Returns the answers and documents of all stored runs over the input with this digest; `None` if no run is
    /// stored.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`] or [`CollectionError::Io`].
    pub fn past_run(&self, digest: Digest) -> Result<Option<PastRun>, CollectionError> {
        let store = &self.shared.store;
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
                let lost = || {
                    store.damaged(format!(
                        "part {number} of the stored run {} is lost or damaged",
                        hex(digest)
                    ))
                };
                let part = table
                    .get((digest, number))
                    .map_err(|error| store.unreadable(error))?;
                let part = part.ok_or_else(lost)?;
                let bytes = unseal("run_parts", &part_key(digest, number), part.value()).ok_or_else(lost)?;
                RunPart::decode(bytes).ok_or_else(lost)?.append_to(&mut run);
            }
            Ok(Some(run))
        })
    }

    /// True if the run called `name` over the input with this digest is stored, which is the case once the run has
    /// ended.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`] or [`CollectionError::Io`].
    pub fn has_run(&self, digest: Digest, name: u128) -> Result<bool, CollectionError> {
        let store = &self.shared.store;
        store.reading(|transaction| {
            let Some(runs) = store.table_if_there(transaction, RUNS)? else {
                return Ok(false);
            };
            let record = read(store, &runs, digest)?;
            Ok(record.is_some_and(|record| record.names.contains(&hex(name))))
        })
    }

    /// The current time of the collection's clock, as Unix time in seconds.
    pub fn now(&self) -> i64 {
        self.shared.now()
    }

    /// The secret key under which callers compute the digests of inputs.
    pub fn digest_key(&self) -> (u64, u64) {
        self.shared.preparer.keys.names
    }

    /// A number that identifies the collection. Backups of the collection have the same number; every other collection
    /// has a different one.
    pub fn identity(&self) -> u128 {
        self.shared.preparer.identity()
    }

    /// Returns the [hashes of the ids](Self::id_hash) of the documents in `added` that are still stored.
    pub fn id_hashes_of(&self, added: &[AddedRecord]) -> FxHashSet<u128> {
        let live = self.shared.live.read();
        let id = |added: &AddedRecord| live.as_ref().ok()?.row(added.number).map(|row| row.id);
        added.iter().filter_map(id).collect()
    }

    /// Returns the reason why [`add_pending`](Self::add_pending) would refuse a document; `None` if it would accept the
    /// document.
    ///
    /// Pass `None` as the `id` of a document that is named by its position, because such a name is always allowed. If
    /// `features` is true and the collection refuses texts without features, the text is also checked for features,
    /// which costs an analysis of the text.
    pub fn objection(&self, id: Option<&str>, text: &str, features: bool) -> Option<Objection> {
        let id = id.map_or(Ok(()), check_id).err().map(Objection::Id);
        let text_of = || check_text(text).err().map(Objection::Text);
        let without = || {
            let checked = features.then(|| self.shared.preparer.check_features(text));
            checked?.err().map(Objection::NoFeatures)
        };
        id.or_else(text_of).or_else(without)
    }

    /// Returns the number of the document whose id has this [hash](Self::id_hash); `None` if no such document is
    /// stored.
    pub fn number_by_id_hash(&self, id: u128) -> Option<u64> {
        let live = self.shared.live.read().ok()?;
        live.by_id(id).map(|row| row.ordinal)
    }

    /// True if documents with the ids `a` and `b` are stored and have the same canonical text.
    pub fn have_same_text(&self, a: &str, b: &str) -> bool {
        let now = self.now();
        let Ok(live) = self.shared.live.read() else {
            return false;
        };
        let text = |id: &str| {
            let row = live.by_id(self.id_hash(id));
            row.filter(|row| !row.is_expired(now)).map(|row| row.text)
        };
        text(a).is_some_and(|text_of_a| Some(text_of_a) == text(b))
    }

    /// Returns the hash of an id under the collection's secret key. The collection finds documents by this hash.
    pub fn id_hash(&self, id: &str) -> u128 {
        self.shared.preparer.id(id)
    }

    /// Reads all stored runs and compares their numbers of entries with the recorded ones. Returns the number of inputs
    /// that have runs.
    pub(crate) fn verify_runs(&self) -> Result<u64, CollectionError> {
        let store = &self.shared.store;
        let runs = store.reading(|transaction| match store.table_if_there(transaction, RUNS)? {
            Some(runs) => read_all(store, &runs),
            None => Ok(Vec::new()),
        })?;
        for (digest, record) in &runs {
            let run = self.past_run(*digest)?.unwrap_or_default();
            if (run.answers.len() + run.recognised.len() + run.added.len()) as u64 != record.entries {
                return Err(store.damaged(format!(
                    "the number of entries of the stored run {} differs from the recorded number",
                    hex(*digest)
                )));
            }
        }
        Ok(runs.len() as u64)
    }
}
