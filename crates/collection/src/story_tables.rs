//! The tables that store stories, in a write transaction.

use redb::{ReadableTable as _, Table, WriteTransaction};

use crate::database::{Database, STORIES, STORY_LOG, STORY_MEMBERS, STORY_STATE, STORY_TIMES};
use crate::error::CollectionError;
use crate::record::json;
use crate::seal::{seal, unseal};
use crate::story_record::StoryRecord;

/// The tables that store stories, open for writing.
pub(crate) struct StoryTables<'t> {
    store: &'t Database,
    ended: Table<'t, u64, &'static [u8]>,
    times: Table<'t, (i64, u64), ()>,
    members: Table<'t, (u64, u64), ()>,
    log: Table<'t, u64, &'static [u8]>,
    state: Table<'t, u64, &'static [u8]>,
}

impl<'t> StoryTables<'t> {
    /// Opens the tables that store stories. In a new store, creates them.
    pub(crate) fn open(
        store: &'t Database,
        transaction: &'t WriteTransaction,
    ) -> Result<Self, CollectionError> {
        let failed = |error: redb::TableError| store.unreadable(error);
        Ok(Self {
            store,
            ended: transaction.open_table(STORIES).map_err(failed)?,
            times: transaction.open_table(STORY_TIMES).map_err(failed)?,
            members: transaction.open_table(STORY_MEMBERS).map_err(failed)?,
            log: transaction.open_table(STORY_LOG).map_err(failed)?,
            state: transaction.open_table(STORY_STATE).map_err(failed)?,
        })
    }

    /// Adds a document to the list of a story's documents if `present` is true; otherwise removes it from the list.
    pub(crate) fn set_member(
        &mut self,
        story: u64,
        number: u64,
        present: bool,
    ) -> Result<(), CollectionError> {
        let store = self.store;
        let changed = if present {
            self.members.insert((story, number), ()).map(drop)
        } else {
            self.members.remove((story, number)).map(drop)
        };
        changed.map_err(|error| store.unreadable(error))
    }

    /// Stores the record of an ended story and its position in the list of stories by time.
    pub(crate) fn put_ended(&mut self, story: u64, record: &StoryRecord) -> Result<(), CollectionError> {
        let store = self.store;
        let inserted = self.times.insert((record.seen[1], story), ());
        inserted.map_err(|error| store.unreadable(error))?;
        let sealed = seal("stories", &story.to_le_bytes(), json(record)?);
        let inserted = self.ended.insert(story, sealed.as_slice());
        inserted.map_err(|error| store.unreadable(error))?;
        Ok(())
    }

    /// Removes a document from the record of an ended story: reduces the size, and drops a title that was taken from
    /// the document. If the story has no documents left, its record is removed.
    pub(crate) fn shrink_ended(&mut self, story: u64, document: u64) -> Result<(), CollectionError> {
        let store = self.store;
        let lost = || store.damaged(format!("the record of story {story} is lost"));
        let before = self.ended.get(story).map_err(|error| store.unreadable(error))?;
        let before = before.ok_or_else(lost)?;
        let mut record =
            decode(story, before.value()).ok_or_else(|| store.wrong_checksum("stories", story))?;
        drop(before);
        record.size = record.size.saturating_sub(1);
        if record.titled_by == Some(document) {
            (record.title, record.titled_by) = (String::new(), None);
        }
        if record.size > 0 {
            return self.put_ended(story, &record);
        }
        let removed = self.ended.remove(story).map(drop);
        removed.map_err(|error| store.unreadable(error))?;
        let removed = self.times.remove((record.seen[1], story)).map(drop);
        removed.map_err(|error| store.unreadable(error))
    }

    /// Appends an encoded entry to the story log.
    pub(crate) fn append_log(&mut self, number: u64, entry: Vec<u8>) -> Result<(), CollectionError> {
        let store = self.store;
        let sealed = seal("story_log", &number.to_le_bytes(), entry);
        let inserted = self.log.insert(number, sealed.as_slice());
        inserted.map_err(|error| store.unreadable(error))?;
        Ok(())
    }

    /// Replaces the saved state of the stories by `parts`, and empties the story log.
    pub(crate) fn save_state(&mut self, parts: &[&[u8]]) -> Result<(), CollectionError> {
        let store = self.store;
        let emptied = self.state.retain(|_, _| false);
        emptied.map_err(|error| store.unreadable(error))?;
        for (number, part) in (0u64..).zip(parts) {
            let sealed = seal("story_state", &number.to_le_bytes(), part.to_vec());
            let inserted = self.state.insert(number, sealed.as_slice());
            inserted.map_err(|error| store.unreadable(error))?;
        }
        let emptied = self.log.retain(|_, _| false);
        emptied.map_err(|error| store.unreadable(error))
    }
}

/// Decodes the stored record of an ended story; `None` if it is damaged.
pub(crate) fn decode(number: u64, sealed: &[u8]) -> Option<StoryRecord> {
    let json = unseal("stories", &number.to_le_bytes(), sealed)?;
    serde_json::from_slice(json).ok()
}
