//! Changes of the stories while a batch of writes is decided.

use super::Commit;
use crate::error::CollectionError;
use crate::live::StoryMerge;
use crate::prepare::Prepared;
use crate::stories::{StoryEngine, StoryPlacement, seen_at};
use crate::story_record::StoryRecord;
use crate::tables::Tables;
use crate::verify::Shingles;

impl<S: Shingles> Commit<'_, '_, S> {
    /// Adds a document to a story and returns the story's number; 0 if the collection keeps no stories. `group` is the
    /// group that the document joins, or `None` if it leads a new one.
    pub(crate) fn join_story(
        &mut self,
        prepared: &Prepared,
        document: u64,
        group: Option<u64>,
    ) -> Result<u64, CollectionError> {
        let Some(stories) = self.stories.as_deref_mut() else {
            return Ok(0);
        };
        let tables = &mut self.tables;
        let group = group.map(|group| tables.group(group)).transpose()?;
        let group_story = group.map(|group| group.story).filter(|&story| story != 0);
        let without =
            || CollectionError::invalid("this collection keeps stories, so every document needs a text");
        let (item, packed) = prepared.item.as_ref().ok_or_else(without)?;
        let time = seen_at(prepared.details.time.as_deref(), self.now);
        let (StoryPlacement { story, merged }, entry) = stories.put(group_story, document, time, item);
        let number = stories.next_entry(entry);
        tables.stories()?.append_log(number, entry.encode(packed))?;
        write_ended(stories, tables)?;
        tables.stories()?.set_member(story, document, true)?;
        self.merged
            .extend(merged.into_iter().map(|from| StoryMerge { from, into: story }));
        Ok(story)
    }

    /// Removes a document from its story. Does nothing if `story` is 0, which means that the document is in no story.
    pub(crate) fn leave_story(&mut self, story: u64, document: u64) -> Result<(), CollectionError> {
        let Some(stories) = self.stories.as_deref_mut().filter(|_| story != 0) else {
            return Ok(());
        };
        self.tables.stories()?.set_member(story, document, false)?;
        match stories.shrink(story, document) {
            Some(entry) => {
                let number = stories.next_entry(entry);
                self.tables.stories()?.append_log(number, entry.encode(&[]))
            }
            None => self
                .tables
                .stories()?
                .shrink_ended(stories.engine.resolve(story), document),
        }
    }

    /// The number of the story that `story` was merged into, or `story` itself; `None` if the collection keeps no
    /// stories.
    pub(crate) fn story(&self, story: u64) -> Option<u64> {
        let stories = self.stories.as_deref()?;
        (story != 0).then(|| stories.engine.resolve(story))
    }
}

/// Stores the records of the stories that have ended since the last call.
fn write_ended(stories: &mut StoryEngine, tables: &mut Tables<'_>) -> Result<(), CollectionError> {
    for (story, topic) in stories.engine.take_retired() {
        let titled_by = stories.engine.titled_by(&story);
        tables
            .stories()?
            .put_ended(story.id, &StoryRecord::new(&story, topic, titled_by))?;
    }
    Ok(())
}
