//! Reads stored values and verifies their checksums, in read and write transactions.

use redb::{ReadOnlyTable, ReadTransaction, ReadableTable};

use super::database::{CHANGES, DOCUMENTS, Database, GROUPS, GroupRecord, ROWS, SOURCES, State, TEXTS};
use super::database::{Config, FORMAT_ESTIMATED, FORMAT_STORIES, META};
use super::error::CollectionError;
use super::record::{DocumentRecord, SourceCounts};
use super::row::Row;
use super::seal::unseal;

/// A table whose keys are numbers, in a read or a write transaction.
pub(crate) trait NumberedTable: ReadableTable<u64, &'static [u8]> {}
impl<T: ReadableTable<u64, &'static [u8]>> NumberedTable for T {}
/// A table whose keys are names, in a read or a write transaction.
pub(crate) trait NamedTable: ReadableTable<&'static str, &'static [u8]> {}
impl<T: ReadableTable<&'static str, &'static [u8]>> NamedTable for T {}

impl Database {
    /// Reads the value with this number from the table called `name`, and verifies the value's checksum; `None` if the
    /// table has no such key.
    pub(crate) fn sealed(
        &self,
        table: &impl NumberedTable,
        name: &str,
        number: u64,
    ) -> Result<Option<Vec<u8>>, CollectionError> {
        let Some(value) = table.get(number).map_err(|error| self.unreadable(error))? else {
            return Ok(None);
        };
        match unseal(name, &number.to_le_bytes(), value.value()) {
            Some(bytes) => Ok(Some(bytes.to_vec())),
            None => Err(self.wrong_checksum(name, number)),
        }
    }

    /// Reads the value with the key `key` from the table called `name`, and verifies the value's checksum; `None` if
    /// the table has no such key.
    pub(crate) fn sealed_by_name(
        &self,
        table: &impl NamedTable,
        name: &str,
        key: &str,
    ) -> Result<Option<Vec<u8>>, CollectionError> {
        let Some(value) = table.get(key).map_err(|error| self.unreadable(error))? else {
            return Ok(None);
        };
        match unseal(name, key.as_bytes(), value.value()) {
            Some(bytes) => Ok(Some(bytes.to_vec())),
            None => Err(self.damaged(format!(
                "the entry {key:?} of the table {name} has a wrong checksum"
            ))),
        }
    }

    /// The error for a stored value whose checksum is wrong.
    pub(crate) fn wrong_checksum(&self, table: &str, number: u64) -> CollectionError {
        self.damaged(format!(
            "entry {number} of the table {table} has a wrong checksum"
        ))
    }

    pub(crate) fn document(
        &self,
        table: &impl NumberedTable,
        number: u64,
    ) -> Result<Option<DocumentRecord>, CollectionError> {
        let Some(bytes) = self.sealed(table, "documents", number)? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            self.damaged(format!(
                "entry {number} of the table documents is invalid: {error}"
            ))
        })
    }

    pub(crate) fn group(
        &self,
        table: &impl NumberedTable,
        group: u64,
    ) -> Result<Option<GroupRecord>, CollectionError> {
        let Some(bytes) = self.sealed(table, "groups", group)? else {
            return Ok(None);
        };
        let record = GroupRecord::decode(&bytes);
        record
            .map(Some)
            .ok_or_else(|| self.damaged(format!("entry {group} of the table groups has a wrong length")))
    }

    pub(crate) fn text(
        &self,
        table: &impl NumberedTable,
        number: u64,
    ) -> Result<Option<Vec<u8>>, CollectionError> {
        self.sealed(table, "texts", number)
    }

    pub(crate) fn source(
        &self,
        table: &impl NamedTable,
        source: &str,
    ) -> Result<Option<SourceCounts>, CollectionError> {
        let Some(bytes) = self.sealed_by_name(table, "sources", source)? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| self.damaged(format!("the record of source {source:?} is invalid: {error}")))
    }

    pub(crate) fn state(&self, table: &impl NamedTable) -> Result<State, CollectionError> {
        self.sealed_by_name(table, "meta", "state")?
            .and_then(|bytes| State::decode(&bytes))
            .ok_or_else(|| self.damaged("the entry state of the table meta is missing or invalid"))
    }

    /// Reads the configuration that the collection was created with: its format, settings and secrets.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`], or [`CollectionError::Newer`] for a newer format.
    pub(crate) fn config(&self) -> Result<Config, CollectionError> {
        self.reading(|transaction| {
            let Ok(table) = transaction.open_table(META) else {
                return Err(
                    self.damaged("the file is not that of a collection, or its creation was interrupted")
                );
            };
            let bytes = self.sealed_by_name(&table, "meta", "config")?;
            let bytes = bytes.ok_or_else(|| self.damaged("the file contains no settings"))?;
            let format = serde_json::from_slice::<serde_json::Value>(&bytes)
                .ok()
                .and_then(|config| config.get("format")?.as_u64())
                .unwrap_or(0);
            if format > u64::from(FORMAT_ESTIMATED) {
                return Err(CollectionError::Newer {
                    path: self.path.clone(),
                    got: format as u32,
                    known: FORMAT_ESTIMATED,
                });
            }
            let mut config: Config = serde_json::from_slice(&bytes)
                .map_err(|error| self.damaged(format!("the settings are invalid: {error}")))?;
            if config.format == FORMAT_STORIES {
                config.settings = config.settings.with_former_thresholds();
            }
            Ok(config)
        })
    }

    /// Reads the table of rows and calls `each` with every row and its checksum.
    pub(crate) fn each_row(
        &self,
        transaction: &ReadTransaction,
        mut each: impl FnMut(Row, u64),
    ) -> Result<(), CollectionError> {
        let table = self.table(transaction, ROWS)?;
        for entry in table.iter().map_err(|error| self.unreadable(error))? {
            let (key, value) = entry.map_err(|error| self.unreadable(error))?;
            let (number, sealed) = (key.value(), value.value());
            let row = unseal("rows", &number.to_le_bytes(), sealed)
                .and_then(|bytes| Row::decode(number, bytes))
                .ok_or_else(|| self.wrong_checksum("rows", number))?;
            each(row, super::seal::seal_of(sealed));
        }
        Ok(())
    }

    /// Reads every entry of a table, so that damaged pages are found. Returns the number of entries.
    pub(crate) fn entries<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        table: &ReadOnlyTable<K, V>,
    ) -> Result<u64, CollectionError> {
        let mut entries = 0;
        for entry in table.iter().map_err(|error| self.unreadable(error))? {
            let (key, value) = entry.map_err(|error| self.unreadable(error))?;
            // Reading a key or value whose bytes do not fit its type panics, and the caller turns the panic into an
            // error.
            let _ = (key.value(), value.value());
            entries += 1;
        }
        Ok(entries)
    }

    /// Opens a table of the store in a read transaction.
    pub(crate) fn table<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        transaction: &ReadTransaction,
        table: redb::TableDefinition<'_, K, V>,
    ) -> Result<ReadOnlyTable<K, V>, CollectionError> {
        transaction
            .open_table(table)
            .map_err(|error| self.unreadable(error))
    }

    /// Opens a table that may be missing, because older versions did not create it; `None` if it does not exist.
    pub(crate) fn table_if_there<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        transaction: &ReadTransaction,
        table: redb::TableDefinition<'_, K, V>,
    ) -> Result<Option<ReadOnlyTable<K, V>>, CollectionError> {
        match transaction.open_table(table) {
            Ok(table) => Ok(Some(table)),
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    /// Reads the document's entry in the table of documents, in a read transaction; `None` if no document has this
    /// number.
    pub(crate) fn read_document(
        &self,
        transaction: &ReadTransaction,
        number: u64,
    ) -> Result<Option<DocumentRecord>, CollectionError> {
        self.document(&self.table(transaction, DOCUMENTS)?, number)
    }

    /// Reads the document's entry in the table of texts, in a read transaction; `None` if the document has no entry.
    pub(crate) fn read_text(
        &self,
        transaction: &ReadTransaction,
        number: u64,
    ) -> Result<Option<Vec<u8>>, CollectionError> {
        self.text(&self.table(transaction, TEXTS)?, number)
    }

    /// Reads the group's entry in the table of groups, in a read transaction; `None` if no group has this number.
    pub(crate) fn read_group(
        &self,
        transaction: &ReadTransaction,
        group: u64,
    ) -> Result<Option<GroupRecord>, CollectionError> {
        self.group(&self.table(transaction, GROUPS)?, group)
    }

    /// Reads the counts of a source, in a read transaction; `None` if no document of the source was ever stored.
    pub(crate) fn read_source(
        &self,
        transaction: &ReadTransaction,
        source: &str,
    ) -> Result<Option<SourceCounts>, CollectionError> {
        self.source(&self.table(transaction, SOURCES)?, source)
    }

    /// Reads the stored changes from number `since` on, at most `limit`, ascending by number.
    pub(crate) fn read_changes(
        &self,
        transaction: &ReadTransaction,
        since: u64,
        limit: usize,
    ) -> Result<Vec<super::record::Change>, CollectionError> {
        let table = self.table(transaction, CHANGES)?;
        let range = table.range(since..).map_err(|error| self.unreadable(error))?;
        range
            .take(limit)
            .map(|entry| {
                let (key, value) = entry.map_err(|error| self.unreadable(error))?;
                unseal("changes", &key.value().to_le_bytes(), value.value())
                    .and_then(|bytes| serde_json::from_slice(bytes).ok())
                    .ok_or_else(|| self.wrong_checksum("changes", key.value()))
            })
            .collect()
    }
}
