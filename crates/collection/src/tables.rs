//! The tables of a collection in a write transaction.

use redb::{ReadableTable, Table, WriteTransaction};
use rustc_hash::FxHashMap;

use super::database::{
    BY_SOURCE, CHANGES, DOCUMENTS, Database, GROUPS, GroupRecord, MEMBERS, META, ROWS, SOURCES, State, TEXTS,
};
use super::error::CollectionError;
use super::record::{Change, DocumentRecord, SourceCounts, json};
use super::row::Row;
use super::seal::{seal, seal_of};
use super::story_tables::StoryTables;

/// The largest number of changes that are stored. Older changes are dropped.
pub(crate) const MAX_CHANGES: u64 = 1_000_000;

/// All tables of a collection, open for writing. The counts of sources and the entry `state` are changed in memory and
/// written by [`finish`](Self::finish).
pub(crate) struct Tables<'t> {
    store: &'t Database,
    meta: Table<'t, &'static str, &'static [u8]>,
    rows: Table<'t, u64, &'static [u8]>,
    pub(crate) documents: Table<'t, u64, &'static [u8]>,
    texts: Table<'t, u64, &'static [u8]>,
    groups: Table<'t, u64, &'static [u8]>,
    members: Table<'t, (u64, u64), ()>,
    by_source: Table<'t, (&'static str, u64), ()>,
    sources: Table<'t, &'static str, &'static [u8]>,
    changes: Table<'t, u64, &'static [u8]>,
    stories: Option<StoryTables<'t>>,
    pub(crate) state: State,
    /// The counts of the sources that this transaction has changed so far.
    counted: FxHashMap<String, SourceCounts>,
}

impl<'t> Tables<'t> {
    /// Opens all tables of a collection, and those of its stories if `stories` is true. In a new store, creates the
    /// tables.
    pub(crate) fn open(
        store: &'t Database,
        transaction: &'t WriteTransaction,
        stories: bool,
    ) -> Result<Self, CollectionError> {
        let failed = |error: redb::TableError| store.unreadable(error);
        let meta = transaction.open_table(META).map_err(failed)?;
        let new = meta
            .get("state")
            .map_err(|error| store.unreadable(error))?
            .is_none();
        let state = if new {
            State {
                next: 1,
                ..State::default()
            }
        } else {
            store.state(&meta)?
        };
        Ok(Self {
            store,
            meta,
            rows: transaction.open_table(ROWS).map_err(failed)?,
            documents: transaction.open_table(DOCUMENTS).map_err(failed)?,
            texts: transaction.open_table(TEXTS).map_err(failed)?,
            groups: transaction.open_table(GROUPS).map_err(failed)?,
            members: transaction.open_table(MEMBERS).map_err(failed)?,
            by_source: transaction.open_table(BY_SOURCE).map_err(failed)?,
            sources: transaction.open_table(SOURCES).map_err(failed)?,
            changes: transaction.open_table(CHANGES).map_err(failed)?,
            stories: stories
                .then(|| StoryTables::open(store, transaction))
                .transpose()?,
            state,
            counted: FxHashMap::default(),
        })
    }

    /// The store that contains the tables.
    pub(crate) fn store(&self) -> &'t Database {
        self.store
    }

    fn failed(&self, error: redb::StorageError) -> CollectionError {
        self.store.unreadable(error)
    }

    /// Reserves the number for a new change, and returns it.
    pub(crate) fn next_number(&mut self) -> u64 {
        let number = self.state.next;
        self.state.next += 1;
        number
    }

    /// Stores a value in the table `meta` under the key `name`.
    pub(crate) fn put_meta(&mut self, name: &str, value: Vec<u8>) -> Result<(), CollectionError> {
        let sealed = seal("meta", name.as_bytes(), value);
        self.meta
            .insert(name, sealed.as_slice())
            .map_err(|error| self.store.unreadable(error))?;
        Ok(())
    }

    /// The tables that store stories.
    ///
    /// # Errors
    /// [`CollectionError::NoStories`] if the collection keeps no stories.
    pub(crate) fn stories(&mut self) -> Result<&mut StoryTables<'t>, CollectionError> {
        self.stories.as_mut().ok_or(CollectionError::NoStories)
    }

    /// Stores a row in the table of rows. Replaces the row with the same number.
    pub(crate) fn put_row(&mut self, row: &Row) -> Result<(), CollectionError> {
        let sealed = seal("rows", &row.ordinal.to_le_bytes(), row.encode());
        let before = self
            .rows
            .insert(row.ordinal, sealed.as_slice())
            .map_err(|error| self.store.unreadable(error))?
            .map(|before| seal_of(before.value()));
        match before {
            Some(before) => self.state.digest ^= before,
            None => self.state.rows += 1,
        }
        self.state.digest ^= seal_of(&sealed);
        Ok(())
    }

    /// The error for a row that should be stored but is missing.
    pub(crate) fn lost(&self, number: u64) -> CollectionError {
        self.store
            .damaged(format!("the row of document {number} is lost"))
    }

    /// Removes the row with this number from the table of rows.
    pub(crate) fn remove_row(&mut self, number: u64) -> Result<(), CollectionError> {
        let before = self
            .rows
            .remove(number)
            .map_err(|error| self.store.unreadable(error))?
            .map(|before| seal_of(before.value()));
        let Some(before) = before else {
            return Err(self.lost(number));
        };
        self.state.digest ^= before;
        self.state.rows = self.state.rows.saturating_sub(1);
        Ok(())
    }

    /// Reads the document's entry in the table of documents.
    pub(crate) fn document(&self, number: u64) -> Result<DocumentRecord, CollectionError> {
        let record = self.store.document(&self.documents, number)?;
        record.ok_or_else(|| {
            self.store
                .damaged(format!("the record of document {number} is lost"))
        })
    }

    /// Stores the document's entry in the table of documents.
    pub(crate) fn put_document(
        &mut self,
        number: u64,
        record: &DocumentRecord,
    ) -> Result<(), CollectionError> {
        let json = json(record)?;
        let sealed = seal("documents", &number.to_le_bytes(), json);
        self.documents
            .insert(number, sealed.as_slice())
            .map_err(|error| self.store.unreadable(error))?;
        Ok(())
    }

    /// Stores the compressed text of a document, or its shingles, in the table of texts.
    pub(crate) fn put_text(&mut self, number: u64, stored: &[u8]) -> Result<(), CollectionError> {
        let sealed = seal("texts", &number.to_le_bytes(), stored.to_vec());
        self.texts
            .insert(number, sealed.as_slice())
            .map_err(|error| self.store.unreadable(error))?;
        Ok(())
    }

    /// Removes a document from the tables of documents and texts and from the list of its source.
    pub(crate) fn remove_document(
        &mut self,
        number: u64,
        record: &DocumentRecord,
    ) -> Result<(), CollectionError> {
        self.documents
            .remove(number)
            .map_err(|error| self.store.unreadable(error))?;
        self.texts
            .remove(number)
            .map_err(|error| self.store.unreadable(error))?;
        self.set_source(record, number, false)
    }

    /// Adds a document to the list of its source's documents if `present` is true; otherwise removes it from the list.
    /// Updates the source's count of documents.
    pub(crate) fn set_source(
        &mut self,
        record: &DocumentRecord,
        number: u64,
        present: bool,
    ) -> Result<(), CollectionError> {
        let Some(source) = record.details.source() else {
            return Ok(());
        };
        if present {
            let inserted = self.by_source.insert((source, number), ());
            inserted.map_err(|error| self.store.unreadable(error))?;
        } else {
            let removed = self.by_source.remove((source, number));
            removed.map_err(|error| self.store.unreadable(error))?;
        }
        self.count(record, |counts| {
            counts.documents = if present {
                counts.documents + 1
            } else {
                counts.documents.saturating_sub(1)
            };
        })
    }

    /// Applies `change` to the counts of the document's source. Does nothing if the document has no source.
    pub(crate) fn count(
        &mut self,
        record: &DocumentRecord,
        change: impl FnOnce(&mut SourceCounts),
    ) -> Result<(), CollectionError> {
        let Some(source) = record.details.source() else {
            return Ok(());
        };
        if !self.counted.contains_key(source) {
            let counts = self.store.source(&self.sources, source)?.unwrap_or_default();
            self.counted.insert(source.to_owned(), counts);
        }
        if let Some(counts) = self.counted.get_mut(source) {
            change(counts);
        }
        Ok(())
    }

    /// Reads the group's entry in the table of groups.
    pub(crate) fn group(&self, group: u64) -> Result<GroupRecord, CollectionError> {
        let record = self.store.group(&self.groups, group)?;
        record.ok_or_else(|| self.store.damaged(format!("the record of group {group} is lost")))
    }

    /// Stores the group's entry in the table of groups.
    pub(crate) fn put_group(&mut self, group: u64, record: GroupRecord) -> Result<(), CollectionError> {
        let sealed = seal("groups", &group.to_le_bytes(), record.encode());
        self.groups
            .insert(group, sealed.as_slice())
            .map_err(|error| self.store.unreadable(error))?;
        Ok(())
    }

    /// Removes the group's entry from the table of groups.
    pub(crate) fn remove_group(&mut self, group: u64) -> Result<(), CollectionError> {
        let removed = self.groups.remove(group);
        removed.map_err(|error| self.store.unreadable(error))?;
        Ok(())
    }

    /// Adds a document to the members of a group.
    pub(crate) fn add_member(&mut self, group: u64, number: u64) -> Result<(), CollectionError> {
        let inserted = self.members.insert((group, number), ());
        inserted.map_err(|error| self.store.unreadable(error))?;
        Ok(())
    }

    /// Removes a document from the members of a group.
    pub(crate) fn remove_member(&mut self, group: u64, number: u64) -> Result<(), CollectionError> {
        let removed = self.members.remove((group, number));
        removed.map_err(|error| self.store.unreadable(error))?;
        Ok(())
    }

    /// Reads the numbers of the first `limit` members of a group.
    pub(crate) fn members(&self, group: u64, limit: usize) -> Result<Vec<u64>, CollectionError> {
        let range = self.members.range((group, 0)..=(group, u64::MAX));
        let members = range.map_err(|error| self.failed(error))?.take(limit);
        members
            .map(|entry| entry.map(|(key, _)| key.value().1))
            .map(|number| number.map_err(|error| self.failed(error)))
            .collect()
    }

    /// Appends a change to the table of changes, and drops the change that is [`MAX_CHANGES`] numbers older.
    pub(crate) fn put_change(&mut self, change: &Change) -> Result<(), CollectionError> {
        let sealed = seal("changes", &change.seq.to_le_bytes(), json(change)?);
        self.changes
            .insert(change.seq, sealed.as_slice())
            .map_err(|error| self.store.unreadable(error))?;
        if let Some(old) = change.seq.checked_sub(MAX_CHANGES) {
            let removed = self.changes.remove(old);
            removed.map_err(|error| self.store.unreadable(error))?;
        }
        Ok(())
    }

    /// Writes the changed counts of sources and the entry `state`, which the transaction has kept in memory.
    pub(crate) fn finish(mut self) -> Result<(), CollectionError> {
        for (source, counts) in std::mem::take(&mut self.counted) {
            let sealed = seal("sources", source.as_bytes(), json(&counts)?);
            let inserted = self.sources.insert(source.as_str(), sealed.as_slice());
            inserted.map_err(|error| self.store.unreadable(error))?;
        }
        self.put_meta("state", self.state.encode())
    }
}
