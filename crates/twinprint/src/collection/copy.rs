//! Backup, restore and repair: copies of a store, row by row.
//!
//! A backup is a collection: it holds everything, the secrets too, and is opened, checked and restored like one.

use std::path::Path;

use redb::{ReadTransaction, ReadableTable, TableDefinition, WriteTransaction};

use super::begin::{new_file, publish, write_config};
use super::document::{Content, Durability, NewDocument};
use super::error::CollectionError;
use super::record::DocumentRecord;
use super::seal::unseal;
use super::store::{
    BY_SOURCE, CHANGES, DOCUMENTS, GROUPS, MEMBERS, META, ROWS, RUN_PARTS, RUNS, SOURCES, STORIES, STORY_LOG,
    STORY_MEMBERS, STORY_STATE, STORY_TIMES, Store as Disk, TEXTS,
};
use super::{Checked, Collection, FILE};

/// Entries copied with one commit.
const BATCH: usize = 10_000;
/// Documents taken in at a time while repairing.
const DOCUMENTS_AT_A_TIME: usize = 500;

impl Collection {
    /// Copies the collection as it is now into a directory that is not there or empty. Others may read and write meanwhile; what they
    /// write is not in the copy. The copy is read back and checked.
    ///
    /// # Errors
    /// A directory in use, a disk that fails, damage.
    pub fn backup(&self, dir: &Path) -> Result<Checked, CollectionError> {
        self.backup_unless(dir, &|| false)
    }

    /// As [`backup`](Self::backup); given up soon after `cancelled` says so, but not while the copy is read back.
    ///
    /// # Errors
    /// As [`backup`](Self::backup); and that it was cancelled, which leaves a directory that holds no backup.
    pub fn backup_unless(
        &self,
        dir: &Path,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Checked, CollectionError> {
        let path = new_file(dir)?;
        let unfinished = path.with_extension("new");
        {
            let disk = Disk::create(&unfinished)?;
            let to = Copy { disk, cancelled };
            let from = &self.inner.store;
            let stories = self.inner.settings.stories;
            from.reading(|transaction| copy_all(from, transaction, &to, stories))?;
        }
        publish(&unfinished, &path)?;
        Self::open(dir)?.verify()
    }

    /// Checks a backup and copies it into a directory that is not there or empty.
    ///
    /// # Errors
    /// No backup there, a directory in use, a disk that fails, damage.
    pub fn restore(backup: &Path, dir: &Path) -> Result<Checked, CollectionError> {
        Self::open(backup)?.backup(dir)
    }

    /// Makes a new collection of what can still be read of a damaged one: documents whose record and text are whole, taken in anew in
    /// their order. Groups and stories get new numbers, and a document without a time
    /// is seen again. Runs are forgotten. Returns the number of documents saved and of those lost. Only where texts are kept.
    ///
    /// # Errors
    /// Settings that cannot be read, a directory in use, a disk that fails.
    pub fn repair(damaged: &Path, dir: &Path) -> Result<(u64, u64), CollectionError> {
        let store = Disk::open(&damaged.join(FILE))?;
        let config = store.config()?;
        if config.settings.store != super::Store::Text {
            return Err(CollectionError::invalid(
                "repair: the collection keeps no texts to make it anew of; restore a backup",
            ));
        }
        let path = new_file(dir)?;
        let unfinished = path.with_extension("new");
        let fresh = Disk::create(&unfinished)?;
        write_config(&fresh, &config)?;
        let collection = Self::over(fresh)?;
        let (mut saved, mut lost) = (0, 0);
        store.reading(|transaction| {
            let documents = store.table(transaction, DOCUMENTS)?;
            let mut waiting = Vec::new();
            for entry in documents.iter().map_err(|error| store.unreadable(error))? {
                let Ok((key, value)) = entry else {
                    lost += 1;
                    break;
                };
                match whole(&store, transaction, key.value(), value.value()) {
                    Some(document) => waiting.push(document),
                    None => lost += 1,
                }
                if waiting.len() == DOCUMENTS_AT_A_TIME {
                    saved += take_in(&collection, std::mem::take(&mut waiting))?;
                }
            }
            saved += take_in(&collection, waiting)?;
            Ok(())
        })?;
        // Closed first, and named once it is whole.
        drop(collection);
        publish(&unfinished, &path)?;
        Ok((saved, lost))
    }
}

fn take_in(collection: &Collection, documents: Vec<NewDocument>) -> Result<u64, CollectionError> {
    let answers = collection.add(documents, false, Durability::Synced)?;
    Ok(answers.iter().filter(|answer| answer.is_ok()).count() as u64)
}

/// A document whose record and text are both what was written.
fn whole(store: &Disk, transaction: &ReadTransaction, number: u64, sealed: &[u8]) -> Option<NewDocument> {
    let record = unseal("documents", &number.to_le_bytes(), sealed)?;
    let record: DocumentRecord = serde_json::from_slice(record).ok()?;
    let stored = store.read_text(transaction, number).ok()??;
    Some(NewDocument {
        id: record.id,
        content: Content::Text(super::prepare::decompress(&stored)?),
        details: record.details,
        ttl: None,
    })
}

/// A store that is being made, and who may end that.
struct Copy<'a> {
    disk: Disk,
    cancelled: &'a dyn Fn() -> bool,
}

impl std::ops::Deref for Copy<'_> {
    type Target = Disk;

    fn deref(&self) -> &Disk {
        &self.disk
    }
}

fn copy_all(
    from: &Disk,
    transaction: &ReadTransaction,
    to: &Copy<'_>,
    stories: bool,
) -> Result<(), CollectionError> {
    copy(from, transaction, to, ROWS)?;
    copy(from, transaction, to, DOCUMENTS)?;
    copy(from, transaction, to, TEXTS)?;
    copy(from, transaction, to, GROUPS)?;
    copy(from, transaction, to, MEMBERS)?;
    copy(from, transaction, to, BY_SOURCE)?;
    copy(from, transaction, to, SOURCES)?;
    copy(from, transaction, to, CHANGES)?;
    if from.table_if_there(transaction, RUNS)?.is_some() {
        copy(from, transaction, to, RUNS)?;
        copy(from, transaction, to, RUN_PARTS)?;
    }
    if stories {
        copy(from, transaction, to, STORIES)?;
        copy(from, transaction, to, STORY_TIMES)?;
        copy(from, transaction, to, STORY_MEMBERS)?;
        copy(from, transaction, to, STORY_STATE)?;
        copy(from, transaction, to, STORY_LOG)?;
    }
    // Last, so that a copy cut short has no settings and is no collection.
    copy(from, transaction, to, META)
}

fn copy<K: redb::Key + 'static, V: redb::Value + 'static>(
    from: &Disk,
    transaction: &ReadTransaction,
    to: &Copy<'_>,
    definition: TableDefinition<'static, K, V>,
) -> Result<(), CollectionError> {
    let table = from.table(transaction, definition)?;
    let mut entries = table.iter().map_err(|error| from.unreadable(error))?.peekable();
    loop {
        if (to.cancelled)() {
            return Err(CollectionError::Cancelled);
        }
        let mut writing: WriteTransaction = to.db.begin_write().map_err(|error| to.unreadable(error))?;
        writing.set_quick_repair(true);
        {
            let mut copy = writing
                .open_table(definition)
                .map_err(|error| to.unreadable(error))?;
            for entry in entries.by_ref().take(BATCH) {
                let (key, value) = entry.map_err(|error| from.unreadable(error))?;
                copy.insert(key.value(), value.value())
                    .map_err(|error| to.unreadable(error))?;
            }
        }
        writing.commit().map_err(|error| to.unreadable(error))?;
        if entries.peek().is_none() {
            return Ok(());
        }
    }
}
