//! Stories while a group of writes is decided: each document gets its story, or leaves it.

use std::sync::PoisonError;

use twinprint_cluster::stories::{Story, Topic};

use super::super::Inner;
use super::super::commit::Commit;
use super::super::error::CollectionError;
use super::super::prepare::Prepared;
use super::super::tables::Tables;
use super::super::verify::Shingles;
use super::query::terms;
use super::{Kept, Placed, StoryRecord, seen};

impl<S: Shingles> Commit<'_, '_, S> {
    /// The story of a document that comes in, to the group it joins or to none; 0 where none are kept.
    pub(crate) fn join_story(
        &mut self,
        prepared: &Prepared,
        document: u64,
        group: Option<u64>,
    ) -> Result<u64, CollectionError> {
        let Some(kept) = self.stories.as_deref_mut() else {
            return Ok(0);
        };
        let tables = &mut self.tables;
        let group = group.map(|group| tables.group(group)).transpose()?;
        let label = group.map(|group| group.story).filter(|&story| story != 0);
        let without =
            || CollectionError::invalid("this collection keeps stories, so a document needs a text");
        let (item, packed) = prepared.item.as_ref().ok_or_else(without)?;
        let time = seen(prepared.details.time.as_deref(), self.now);
        let (Placed { story, merged }, entry) = kept.put(label, document, time, item);
        let number = kept.note(entry);
        tables.log_story(number, entry.encode(packed))?;
        write_ended(kept, tables)?;
        tables.place_in_story(story, document, true)?;
        self.merged.extend(merged.into_iter().map(|gone| (gone, story)));
        Ok(story)
    }

    /// A document has left its story; 0 where it had none.
    pub(crate) fn leave_story(&mut self, story: u64, document: u64) -> Result<(), CollectionError> {
        let Some(kept) = self.stories.as_deref_mut().filter(|_| story != 0) else {
            return Ok(());
        };
        self.tables.place_in_story(story, document, false)?;
        match kept.shrink(story, document) {
            Some(entry) => {
                let number = kept.note(entry);
                self.tables.log_story(number, entry.encode(&[]))
            }
            None => self.tables.shrink_story(kept.engine.resolve(story), document),
        }
    }

    /// What has become of a story; none where none are kept.
    pub(crate) fn story(&self, story: u64) -> Option<u64> {
        let kept = self.stories.as_deref()?;
        (story != 0).then(|| kept.engine.resolve(story))
    }
}

impl Inner {
    /// Whether a collection that closes has much that would be done again.
    pub(crate) fn stories_due(&self) -> bool {
        let Some(stories) = self.stories.as_ref().filter(|_| self.refusal().is_none()) else {
            return false;
        };
        let stories = stories.read().unwrap_or_else(PoisonError::into_inner);
        stories.as_ref().is_some_and(|kept| kept.is_due(true))
    }
}

/// Writes what has ended.
fn write_ended(kept: &mut Kept, tables: &mut Tables<'_>) -> Result<(), CollectionError> {
    for (story, topic) in kept.engine.take_retired() {
        let titled_by = kept.engine.titled_by(&story);
        tables.end_story(story.id, &record(&story, topic, titled_by))?;
    }
    Ok(())
}

/// What is told of a story, and kept of one that has ended.
pub(super) fn record(story: &Story, topic: Topic, titled_by: Option<u64>) -> StoryRecord {
    StoryRecord {
        size: story.size,
        distinct: story.members,
        seen: story.seen,
        topic: terms(&topic),
        title: topic.title,
        titled_by,
        merged: story.merged.clone(),
    }
}
