//! Backup and restore: copies of a store, row by row.
//!
//! A backup is a collection: it holds everything, the secrets too, and is opened, checked and restored like one.

use std::path::Path;

use redb::{ReadTransaction, ReadableTable, TableDefinition};

use super::begin::NewStore;
use super::error::CollectionError;
use super::store::{
    BY_SOURCE, CHANGES, DOCUMENTS, GROUPS, MEMBERS, META, ROWS, RUN_PARTS, RUNS, SOURCES, STORIES, STORY_LOG,
    STORY_MEMBERS, STORY_STATE, STORY_TIMES, Store as Disk, TEXTS,
};
use super::{Checked, Collection};

/// Entries copied with one commit.
const BATCH: usize = 10_000;

impl Collection {
    /// Copies the collection as it is now into a directory that is not there or empty. Others may read and write meanwhile; what they
    /// write is not in the copy. The copy is read back and checked.
    ///
    /// # Errors
    /// A directory in use, a disk that fails, damage.
    pub fn backup(&self, dir: &Path) -> Result<Checked, CollectionError> {
        let new = NewStore::begin(dir)?;
        {
            let to = Disk::create(new.unfinished())?;
            let from = &self.inner.store;
            let stories = self.inner.settings.stories;
            from.reading(|transaction| copy_all(from, transaction, &to, stories))?;
        }
        let checked = Self::verify_file(new.unfinished())?;
        new.publish()?;
        Ok(checked)
    }

    /// Checks a backup and copies it into a directory that is not there or empty.
    ///
    /// # Errors
    /// No backup there, a directory in use, a disk that fails, damage.
    pub fn restore(backup: &Path, dir: &Path) -> Result<Checked, CollectionError> {
        Self::open_read_only(backup)?.backup(dir)
    }
}

fn copy_all(
    from: &Disk,
    transaction: &ReadTransaction,
    to: &Disk,
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
    to: &Disk,
    definition: TableDefinition<'static, K, V>,
) -> Result<(), CollectionError> {
    let table = from.table(transaction, definition)?;
    let mut entries = table.iter().map_err(|error| from.unreadable(error))?.peekable();
    loop {
        to.writing(|db| {
            let mut writing = db.begin_write().map_err(|error| to.unreadable(error))?;
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
            writing.commit().map_err(|error| to.unreadable(error))
        })?;
        if entries.peek().is_none() {
            return Ok(());
        }
    }
}
