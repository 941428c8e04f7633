//! The tables of stories in a write transaction.

use redb::{ReadableTable as _, Table, WriteTransaction};
use serde::{Deserialize, Serialize};

use super::super::error::CollectionError;
use super::super::seal::{seal, unseal};
use super::super::store::{STORIES, STORY_LOG, STORY_MEMBERS, STORY_STATE, STORY_TIMES, Store};
use super::super::tables::Tables;
use super::query::StoryTerm;

/// A story that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoryRecord {
    /// Documents there are of it.
    pub(crate) size: u64,
    /// Documents that were placed, copies left out.
    pub(crate) distinct: u32,
    /// When the first and the last of its documents were seen, in seconds.
    pub(crate) seen: [i64; 2],
    pub(crate) topic: Vec<StoryTerm>,
    pub(crate) title: String,
    /// The document that the title is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) titled_by: Option<u64>,
    /// Stories that became part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) merged: Vec<u64>,
}

/// The tables, open for writing.
pub(crate) struct StoryTables<'t> {
    ended: Table<'t, u64, &'static [u8]>,
    times: Table<'t, (i64, u64), ()>,
    members: Table<'t, (u64, u64), ()>,
    log: Table<'t, u64, &'static [u8]>,
    state: Table<'t, u64, &'static [u8]>,
}

impl<'t> StoryTables<'t> {
    /// Opens them; those of a new store are made.
    pub(crate) fn open(store: &Store, transaction: &'t WriteTransaction) -> Result<Self, CollectionError> {
        let failed = |error: redb::TableError| store.unreadable(error);
        Ok(Self {
            ended: transaction.open_table(STORIES).map_err(failed)?,
            times: transaction.open_table(STORY_TIMES).map_err(failed)?,
            members: transaction.open_table(STORY_MEMBERS).map_err(failed)?,
            log: transaction.open_table(STORY_LOG).map_err(failed)?,
            state: transaction.open_table(STORY_STATE).map_err(failed)?,
        })
    }
}

/// A record of what is stored.
pub(crate) fn decode(number: u64, sealed: &[u8]) -> Option<StoryRecord> {
    let json = unseal("stories", &number.to_le_bytes(), sealed)?;
    serde_json::from_slice(json).ok()
}

impl<'t> Tables<'t> {
    fn stories(&mut self) -> Result<(&'t Store, &mut StoryTables<'t>), CollectionError> {
        self.story_tables()
            .ok_or_else(|| CollectionError::invalid("this collection keeps no stories"))
    }

    /// Enters a document under its story, or takes it out.
    pub(crate) fn place_in_story(
        &mut self,
        story: u64,
        number: u64,
        there: bool,
    ) -> Result<(), CollectionError> {
        let (store, tables) = self.stories()?;
        let done = if there {
            tables.members.insert((story, number), ()).map(drop)
        } else {
            tables.members.remove((story, number)).map(drop)
        };
        done.map_err(|error| store.unreadable(error))
    }

    /// Writes a story that has ended.
    pub(crate) fn end_story(&mut self, story: u64, record: &StoryRecord) -> Result<(), CollectionError> {
        let (store, tables) = self.stories()?;
        let inserted = tables.times.insert((record.seen[1], story), ());
        inserted.map_err(|error| store.unreadable(error))?;
        let sealed = seal(
            "stories",
            &story.to_le_bytes(),
            super::super::tables::json(record)?,
        );
        let inserted = tables.ended.insert(story, sealed.as_slice());
        inserted.map_err(|error| store.unreadable(error))?;
        Ok(())
    }

    /// A document of a story that has ended is gone; without documents the story is.
    pub(crate) fn shrink_story(&mut self, story: u64, document: u64) -> Result<(), CollectionError> {
        let (store, tables) = self.stories()?;
        let lost = || store.damaged(format!("story {story} is lost"));
        let before = tables.ended.get(story).map_err(|error| store.unreadable(error))?;
        let before = before.ok_or_else(lost)?;
        let mut record = decode(story, before.value()).ok_or_else(|| store.wrong("stories", story))?;
        drop(before);
        record.size = record.size.saturating_sub(1);
        if record.titled_by == Some(document) {
            (record.title, record.titled_by) = (String::new(), None);
        }
        if record.size > 0 {
            return self.end_story(story, &record);
        }
        let removed = tables.ended.remove(story).map(drop);
        removed.map_err(|error| store.unreadable(error))?;
        let removed = tables.times.remove((record.seen[1], story)).map(drop);
        removed.map_err(|error| store.unreadable(error))
    }

    /// Appends an entry to the log.
    pub(crate) fn log_story(&mut self, number: u64, entry: Vec<u8>) -> Result<(), CollectionError> {
        let (store, tables) = self.stories()?;
        let sealed = seal("story_log", &number.to_le_bytes(), entry);
        let inserted = tables.log.insert(number, sealed.as_slice());
        inserted.map_err(|error| store.unreadable(error))?;
        Ok(())
    }

    /// Puts a saved state in place of the one before, and empties the log.
    pub(crate) fn save_stories(&mut self, parts: &[&[u8]]) -> Result<(), CollectionError> {
        let (store, tables) = self.stories()?;
        let emptied = tables.state.retain(|_, _| false);
        emptied.map_err(|error| store.unreadable(error))?;
        for (number, part) in (0u64..).zip(parts) {
            let sealed = seal("story_state", &number.to_le_bytes(), part.to_vec());
            let inserted = tables.state.insert(number, sealed.as_slice());
            inserted.map_err(|error| store.unreadable(error))?;
        }
        let emptied = tables.log.retain(|_, _| false);
        emptied.map_err(|error| store.unreadable(error))
    }
}
