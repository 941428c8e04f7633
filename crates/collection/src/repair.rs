//! Repair: a new collection of what can still be read of a damaged one.
//!
//! Documents are read some hundred at a time. Where that fails, each number is looked up by itself: so a damaged page costs the documents
//! on it, and those that only a damaged page leads to. The damaged file is never changed.

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

/// Documents read and taken in at a time.
const AT_A_TIME: usize = 500;

/// The result of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// Documents in the new collection.
    pub saved: u64,
    /// Documents that the damaged one had besides; none if it cannot tell how many it had.
    pub lost: Option<u64>,
}

impl Collection {
    /// Makes a new collection of what can still be read of a damaged one: documents whose record and text are whole, taken in anew in
    /// their order. Groups and stories get new numbers, and a document without a time is seen again. Runs are forgotten. Only where texts
    /// are kept. The new collection is checked.
    ///
    /// # Errors
    /// No document that can be saved, settings that cannot be read, a directory in use, a disk that fails. Then nothing is made.
    pub fn repair(damaged: &Path, dir: &Path) -> Result<RepairReport, CollectionError> {
        let store = open_in(damaged, Database::read).map_err(beyond_repair)?;
        let config = store.config().map_err(beyond_repair)?;
        if config.settings.store != StoredContent::Text {
            return Err(CollectionError::invalid(
                "repair: the collection keeps no texts to make it anew of; restore a backup",
            ));
        }
        let new = NewDatabase::begin(dir)?;
        let fresh = Database::create(new.unfinished())?;
        write_config(&fresh, &config)?;
        let collection = Self::over(fresh)?;
        let repaired = Wreck {
            store: &store,
            collection: &collection,
        }
        .save()?;
        // Closed before it is read as others will read it.
        drop(collection);
        Self::verify_file(new.unfinished())?;
        new.publish()?;
        Ok(repaired)
    }
}

/// Repairing does not tell to repair.
fn beyond_repair(error: CollectionError) -> CollectionError {
    match error {
        CollectionError::Damaged { path, what } => CollectionError::BeyondRepair { path, what },
        error => error,
    }
}

/// The state of one document's number.
enum Place {
    Whole(Box<NewDocument>),
    Damaged,
    /// The time of its document is over.
    Expired,
}

/// A damaged collection, and the one that is made of it.
struct Wreck<'a> {
    store: &'a Database,
    collection: &'a Collection,
}

impl Wreck<'_> {
    fn save(&self) -> Result<RepairReport, CollectionError> {
        let state = self.store.reading(|transaction| {
            let meta = self.store.table(transaction, META)?;
            self.store.state(&meta)
        });
        let end = state.as_ref().map_or_else(|_| self.end(), |state| state.next);
        let (mut saved, mut expired) = (0, 0);
        let mut from = 1;
        while from < end {
            let (places, next) = self.some(from, end);
            let mut whole = Vec::new();
            for place in places {
                match place {
                    Place::Whole(document) => whole.push(*document),
                    Place::Damaged => {}
                    Place::Expired => expired += 1,
                }
            }
            let taken = self.collection.add(whole, false, Durability::Synced)?;
            saved += taken.iter().filter(|answer| answer.is_ok()).count() as u64;
            from = next;
        }
        let lost = state
            .ok()
            .map(|state| state.rows.saturating_sub(saved).saturating_sub(expired));
        if saved == 0 && lost != Some(0) {
            return Err(CollectionError::BeyondRepair {
                path: self.store.path.clone(),
                what: "the documents or their texts cannot be read".to_owned(),
            });
        }
        Ok(RepairReport { saved, lost })
    }

    /// Some documents from number `from` on, and the number to go on with.
    fn some(&self, from: u64, end: u64) -> (Vec<Place>, u64) {
        let at_once = self
            .store
            .reading(|transaction| self.read(transaction, from, end));
        at_once.unwrap_or_else(|_| {
            let next = end.min(from + AT_A_TIME as u64);
            let one = |number| {
                let place = self.store.reading(|transaction| {
                    let documents = self.store.table(transaction, DOCUMENTS)?;
                    let sealed = documents
                        .get(number)
                        .map_err(|error| self.store.unreadable(error))?;
                    sealed
                        .map(|sealed| self.place(transaction, number, sealed.value()))
                        .transpose()
                });
                place.unwrap_or(Some(Place::Damaged))
            };
            ((from..next).filter_map(one).collect(), next)
        })
    }

    /// The same at once, unless something cannot be read or makes no sense.
    fn read(
        &self,
        transaction: &ReadTransaction,
        from: u64,
        end: u64,
    ) -> Result<(Vec<Place>, u64), CollectionError> {
        let documents = self.store.table(transaction, DOCUMENTS)?;
        let entries = documents.range(from..end);
        let mut next = from;
        let mut places = Vec::new();
        for entry in entries
            .map_err(|error| self.store.unreadable(error))?
            .take(AT_A_TIME)
        {
            let (key, sealed) = entry.map_err(|error| self.store.unreadable(error))?;
            let number = key.value();
            // A damaged page may lead anywhere.
            if number < next || number >= end {
                return Err(self.store.wrong("documents", number));
            }
            places.push(self.place(transaction, number, sealed.value())?);
            next = number + 1;
        }
        let more = places.len() == AT_A_TIME;
        Ok((places, if more { next } else { end }))
    }

    /// Reads the record of a number, its text and its row.
    fn place(
        &self,
        transaction: &ReadTransaction,
        number: u64,
        sealed: &[u8],
    ) -> Result<Place, CollectionError> {
        let record = unseal("documents", &number.to_le_bytes(), sealed);
        let record: Option<DocumentRecord> = record.and_then(|record| serde_json::from_slice(record).ok());
        let Some(record) = record else {
            return Ok(Place::Damaged);
        };
        let mut ttl = None;
        // A row that cannot be read keeps no document away.
        let row = self.store.guard(|| {
            let rows = self.store.table(transaction, ROWS)?;
            self.store.sealed(&rows, "rows", number)
        });
        if let Ok(row) = row {
            let row = row.and_then(|row| Row::decode(number, &row));
            let Some(row) = row.filter(|row| row.id == self.collection.id_hash(&record.id)) else {
                return Ok(Place::Damaged);
            };
            let now = self.collection.now();
            if row.is_expired(now) {
                return Ok(Place::Expired);
            }
            ttl = (row.expires != i64::MAX).then(|| row.expires.abs_diff(now));
        }
        let stored = self.store.read_text(transaction, number)?;
        let Some(text) = stored.and_then(|stored| decompress(&stored)) else {
            return Ok(Place::Damaged);
        };
        Ok(Place::Whole(Box::new(NewDocument {
            id: record.id,
            content: Content::Text(text),
            details: record.details,
            ttl,
        })))
    }

    /// One more than the highest number that can be read.
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
