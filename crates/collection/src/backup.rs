//! Backup and restore: copies of a store, row by row.
//!
//! A backup is a collection: it holds everything, the secrets too, and is opened, checked and restored like one.

use std::path::Path;

use redb::{ReadTransaction, ReadableTable, TableDefinition};

use super::collection::Collection;
use super::create::NewDatabase;
use super::database::{
    BY_SOURCE, CHANGES, DOCUMENTS, Database, GROUPS, MEMBERS, META, ROWS, RUN_PARTS, RUNS, SOURCES, STORIES,
    STORY_LOG, STORY_MEMBERS, STORY_STATE, STORY_TIMES, TEXTS,
};
use super::error::CollectionError;
use super::integrity::IntegrityReport;

/// Entries copied with one commit.
const BATCH: usize = 10_000;

impl Collection {
    /// Copies the collection as it is now into a directory that is not there or empty. Others may read and write meanwhile; what they
    /// write is not in the copy. The copy is read back and checked.
    ///
    /// # Errors
    /// A directory in use, a disk that fails, damage.
    pub fn backup(&self, dir: &Path) -> Result<IntegrityReport, CollectionError> {
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
    ) -> Result<IntegrityReport, CollectionError> {
        let new = NewDatabase::begin(dir)?;
        {
            let to = Database::create(new.unfinished())?;
            let from = &self.shared.store;
            let stories = self.shared.settings.stories;
            let way = Way {
                from,
                to: &to,
                cancelled,
            };
            from.reading(|transaction| way.copy_all(transaction, stories))?;
        }
        let checked = Self::verify_file(new.unfinished())?;
        new.publish()?;
        Ok(checked)
    }

    /// Checks a backup and copies it into a directory that is not there or empty.
    ///
    /// # Errors
    /// No backup there, a directory in use, a disk that fails, damage.
    pub fn restore(backup: &Path, dir: &Path) -> Result<IntegrityReport, CollectionError> {
        Self::open_read_only(backup)?.backup(dir)
    }
}

/// From where to where, and who may end it.
struct Way<'a> {
    from: &'a Database,
    to: &'a Database,
    cancelled: &'a dyn Fn() -> bool,
}

impl Way<'_> {
    fn copy_all(&self, transaction: &ReadTransaction, stories: bool) -> Result<(), CollectionError> {
        self.copy(transaction, ROWS)?;
        self.copy(transaction, DOCUMENTS)?;
        self.copy(transaction, TEXTS)?;
        self.copy(transaction, GROUPS)?;
        self.copy(transaction, MEMBERS)?;
        self.copy(transaction, BY_SOURCE)?;
        self.copy(transaction, SOURCES)?;
        self.copy(transaction, CHANGES)?;
        if self.from.table_if_there(transaction, RUNS)?.is_some() {
            self.copy(transaction, RUNS)?;
            self.copy(transaction, RUN_PARTS)?;
        }
        if stories {
            self.copy(transaction, STORIES)?;
            self.copy(transaction, STORY_TIMES)?;
            self.copy(transaction, STORY_MEMBERS)?;
            self.copy(transaction, STORY_STATE)?;
            self.copy(transaction, STORY_LOG)?;
        }
        // Last, so that a copy cut short has no settings and is no collection.
        self.copy(transaction, META)
    }

    fn copy<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        transaction: &ReadTransaction,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<(), CollectionError> {
        let (from, to) = (self.from, self.to);
        let table = from.table(transaction, definition)?;
        let mut entries = table.iter().map_err(|error| from.unreadable(error))?.peekable();
        loop {
            if (self.cancelled)() {
                return Err(CollectionError::Cancelled);
            }
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
}
