//! Repair of a damaged collection: its readable documents are added to a new collection.
//!
//! Documents are read in batches of some hundred. If a batch cannot be read, each of its documents is looked up alone
//! by its number. So a damaged page loses only its own documents and, if it is an inner page of a tree, those below it.
//! The damaged file is never changed.

use std::path::Path;

use redb::{ReadTransaction, ReadableTable, TableDefinition};

use super::collection::Collection;
use super::create::{NewDatabase, write_config};
use super::database::{CHANGES, DOCUMENTS, Database, META, ROWS, TEXTS};
use super::document::{Content, Durability, NewDocument};
use super::error::CollectionError;
use super::load::open_in;
use super::prepare::decompress;
use super::record::DocumentRecord;
use super::row::Row;
use super::seal::unseal;
use super::settings::StoredContent;

/// The number of documents that a repair reads and adds at a time.
const BATCH_DOCUMENTS: usize = 500;

/// The counts of a repair that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// The number of documents that were recovered into the new collection.
    pub saved: u64,
    /// The number of documents that were lost. `None` if it is unknown, because the damaged collection's count of
    /// documents cannot be read.
    pub lost: Option<u64>,
}

impl Collection {
    /// Creates a new collection in `dir` from a damaged one. Every document whose record and text can be read is added
    /// to it, in the original order.
    ///
    /// Only collections that store texts can be repaired. Groups and stories get new numbers. A document without a time
    /// is placed in a story as if it had the time of the repair. Runs are not copied. Finally the new collection is
    /// verified.
    ///
    /// # Errors
    /// [`CollectionError::BeyondRepair`] if the settings or all documents are unreadable, [`CollectionError::Invalid`]
    /// if the collection stores no texts, [`CollectionError::NotEmpty`], [`CollectionError::InUse`],
    /// [`CollectionError::Io`]. After an error, `dir` contains no new collection.
    pub fn repair(damaged: &Path, dir: &Path) -> Result<RepairReport, CollectionError> {
        let store = open_in(damaged, Database::read).map_err(beyond_repair)?;
        let config = store.config().map_err(beyond_repair)?;
        if config.settings.store != StoredContent::Text {
            return Err(CollectionError::invalid(
                "repair: the collection stores no texts, so it cannot be rebuilt from them; restore a backup",
            ));
        }
        let new = NewDatabase::begin(dir)?;
        let database = Database::create(new.unfinished())?;
        write_config(&database, &config)?;
        let collection = Self::over(database)?;
        let repaired = Repair {
            store: &store,
            collection: &collection,
        }
        .save()?;
        // The collection must be closed before its file can be verified.
        drop(collection);
        Self::verify_file(new.unfinished())?;
        new.publish()?;
        Ok(repaired)
    }
}

/// Replaces [`CollectionError::Damaged`], which recommends a repair, by [`CollectionError::BeyondRepair`], because the
/// repair itself failed.
fn beyond_repair(error: CollectionError) -> CollectionError {
    match error {
        CollectionError::Damaged { path, what } => CollectionError::BeyondRepair { path, what },
        error => error,
    }
}

/// The result of reading one document of a damaged collection.
enum NumberState {
    Whole(Box<NewDocument>),
    Damaged,
    /// The document has expired and is not copied.
    Expired,
}

/// A repair in progress: the damaged store, and the new collection that it is copied to.
struct Repair<'a> {
    store: &'a Database,
    collection: &'a Collection,
}

impl Repair<'_> {
    fn save(&self) -> Result<RepairReport, CollectionError> {
        let state = self.store.reading(|transaction| {
            let meta = self.store.table(transaction, META)?;
            self.store.state(&meta)
        });
        let end = state.as_ref().map_or_else(|_| self.end(), |state| state.next);
        let (mut saved, mut expired) = (0, 0);
        let mut from = 1;
        while from < end {
            let (states, next) = self.read_batch(from, end);
            let mut whole = Vec::new();
            for state in states {
                match state {
                    NumberState::Whole(document) => whole.push(*document),
                    NumberState::Damaged => {}
                    NumberState::Expired => expired += 1,
                }
            }
            let answers = self.collection.add(whole, false, Durability::Synced)?;
            saved += answers.iter().filter(|answer| answer.is_ok()).count() as u64;
            from = next;
        }
        let lost = state
            .ok()
            .map(|state| state.rows.saturating_sub(saved).saturating_sub(expired));
        if saved == 0 && lost != Some(0) {
            return Err(CollectionError::BeyondRepair {
                path: self.store.path.clone(),
                what: "none of the documents and their texts can be read".to_owned(),
            });
        }
        Ok(RepairReport { saved, lost })
    }

    /// Reads the next batch of documents, whose numbers are at least `from` and below `end`. Returns the documents, and
    /// the number at which the next batch begins.
    fn read_batch(&self, from: u64, end: u64) -> (Vec<NumberState>, u64) {
        let in_order = self
            .store
            .reading(|transaction| self.read_range(transaction, from, end));
        in_order.unwrap_or_else(|_| {
            let next = end.min(from + BATCH_DOCUMENTS as u64);
            let one = |number| {
                let state = self.store.reading(|transaction| {
                    let documents = self.store.table(transaction, DOCUMENTS)?;
                    let sealed = documents
                        .get(number)
                        .map_err(|error| self.store.unreadable(error))?;
                    sealed
                        .map(|sealed| self.read_document(transaction, number, sealed.value()))
                        .transpose()
                });
                state.unwrap_or(Some(NumberState::Damaged))
            };
            ((from..next).filter_map(one).collect(), next)
        })
    }

    /// Reads the next batch of documents in the order of the table.
    ///
    /// # Errors
    /// Fails if a page cannot be read, or if the numbers are not ascending.
    fn read_range(
        &self,
        transaction: &ReadTransaction,
        from: u64,
        end: u64,
    ) -> Result<(Vec<NumberState>, u64), CollectionError> {
        let documents = self.store.table(transaction, DOCUMENTS)?;
        let entries = documents.range(from..end);
        let mut next = from;
        let mut states = Vec::new();
        for entry in entries
            .map_err(|error| self.store.unreadable(error))?
            .take(BATCH_DOCUMENTS)
        {
            let (key, sealed) = entry.map_err(|error| self.store.unreadable(error))?;
            let number = key.value();
            // A damaged page may refer to any other page of the file, so the numbers are checked.
            if number < next || number >= end {
                return Err(self.store.wrong_checksum("documents", number));
            }
            states.push(self.read_document(transaction, number, sealed.value())?);
            next = number + 1;
        }
        let more = states.len() == BATCH_DOCUMENTS;
        Ok((states, if more { next } else { end }))
    }

    /// Decodes the record of a document, and reads the document's text and row.
    fn read_document(
        &self,
        transaction: &ReadTransaction,
        number: u64,
        sealed: &[u8],
    ) -> Result<NumberState, CollectionError> {
        let record = unseal("documents", &number.to_le_bytes(), sealed);
        let record: Option<DocumentRecord> = record.and_then(|record| serde_json::from_slice(record).ok());
        let Some(record) = record else {
            return Ok(NumberState::Damaged);
        };
        let mut ttl = None;
        // If the row cannot be read, the document is still recovered, because its record and text are sufficient.
        let row = self.store.guard(|| {
            let rows = self.store.table(transaction, ROWS)?;
            self.store.sealed(&rows, "rows", number)
        });
        if let Ok(row) = row {
            let row = row.and_then(|row| Row::decode(number, &row));
            let Some(row) = row.filter(|row| row.id == self.collection.id_hash(&record.id)) else {
                return Ok(NumberState::Damaged);
            };
            let now = self.collection.now();
            if row.is_expired(now) {
                return Ok(NumberState::Expired);
            }
            ttl = (row.expires != i64::MAX).then(|| row.expires.abs_diff(now));
        }
        let stored = self.store.read_text(transaction, number)?;
        let Some(text) = stored.and_then(|stored| decompress(&stored)) else {
            return Ok(NumberState::Damaged);
        };
        Ok(NumberState::Whole(Box::new(NewDocument {
            id: record.id,
            content: Content::Text(text),
            details: record.details,
            ttl,
        })))
    }

    /// Returns one more than the highest document or change number that can be read.
    fn end(&self) -> u64 {
        let tables = [ROWS, DOCUMENTS, TEXTS, CHANGES];
        let last = |table: TableDefinition<'static, u64, &'static [u8]>| {
            self.store.reading(|transaction| {
                let table = self.store.table(transaction, table)?;
                let last = table.last().map_err(|error| self.store.unreadable(error))?;
                Ok(last.map(|(key, _)| key.value()))
            })
        };
        let last = tables.into_iter().filter_map(|table| last(table).ok()?).max();
        last.map_or(0, |last| last.saturating_add(1))
    }
}
