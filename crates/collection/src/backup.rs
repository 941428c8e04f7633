//! Backup and restore: every entry of every table is copied into a new file.
//!
//! A backup is itself a collection. It contains all data, including the secret keys, and can be opened and verified
//! like any other collection.

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

/// The number of table entries that a backup copies in one transaction.
const BATCH: usize = 10_000;

impl Collection {
    /// Copies the collection into a directory, which must be empty or not exist yet. Other threads may read and write
    /// during the copy. Writes after the start of the backup are not in the copy. Finally the copy is
    /// [verified](Self::verify).
    ///
    /// # Errors
    /// [`CollectionError::NotEmpty`] or [`CollectionError::InUse`] if `dir` cannot be used, [`CollectionError::Io`] if
    /// the disk fails, [`CollectionError::Damaged`] if the collection or the copy is damaged.
    ///
    /// # Examples
    ///
    /// ```
    /// # use twinprint_collection::{Collection, Content, Details, Durability, NewDocument, Settings};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let temporary = tempfile::tempdir()?;
    /// # let dir = temporary.path();
    /// let collection = Collection::create(&dir.join("seen"), Settings::default())?;
    /// let page = NewDocument {
    ///     id: "a".to_owned(),
    ///     content: Content::Text("Rain fell all day".to_owned()),
    ///     details: Details::default(),
    ///     ttl: None,
    /// };
    /// collection.add(vec![page], false, Durability::Synced)?;
    ///
    /// let report = collection.backup(&dir.join("backup"))?;
    /// assert_eq!((report.documents, report.groups), (1, 1));
    /// assert_eq!(Collection::restore(&dir.join("backup"), &dir.join("restored"))?, report);
    /// assert_eq!(Collection::verify_in(&dir.join("restored"))?, report);
    /// # Ok(())
    /// # }
    /// ```
    pub fn backup(&self, dir: &Path) -> Result<IntegrityReport, CollectionError> {
        self.backup_unless(dir, &|| false)
    }

    /// Does the same as [`backup`](Self::backup), but stops soon after `cancelled` returns true. The verification at
    /// the end cannot be cancelled.
    ///
    /// # Errors
    /// The errors of [`backup`](Self::backup), and [`CollectionError::Cancelled`]. After an error, `dir` contains no
    /// backup.
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
            let copy = StoreCopy {
                from,
                to: &to,
                cancelled,
            };
            from.reading(|transaction| copy.copy_all(transaction, stories))?;
        }
        let checked = Self::verify_file(new.unfinished())?;
        new.publish()?;
        Ok(checked)
    }

    /// Copies a backup into the directory `dir`, which must be empty or not exist yet, and verifies the copy.
    ///
    /// # Errors
    /// [`CollectionError::NotThere`] if the directory `backup` contains no backup, and the errors of
    /// [`backup`](Self::backup).
    pub fn restore(backup: &Path, dir: &Path) -> Result<IntegrityReport, CollectionError> {
        Self::open_read_only(backup)?.backup(dir)
    }
}

/// Copies all tables of one store into another. Stops with an error once `cancelled` returns true.
struct StoreCopy<'a> {
    from: &'a Database,
    to: &'a Database,
    cancelled: &'a dyn Fn() -> bool,
}

impl StoreCopy<'_> {
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
        // The settings are copied last. An incomplete copy therefore has no settings, and cannot be opened by mistake.
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
