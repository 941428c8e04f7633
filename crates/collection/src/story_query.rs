//! What is told of stories: a list by time, and one with its documents.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::PoisonError;

use redb::ReadTransaction;
use serde::{Deserialize, Serialize};

use super::collection::Collection;
use super::database::{STORIES, STORY_MEMBERS, STORY_TIMES};
use super::document::DocumentRef;
use super::error::CollectionError;
use super::limits::MAX_LIST_ROWS;
use super::shared::Shared;
use super::stories::StoryEngine;
use super::story_record::{StoryRecord, StoryTerm};
use twinprint_stream::time;

/// A story: documents of one event or subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Story {
    /// Its number: that of the change that brought its first document.
    pub story_id: u64,
    /// Documents in it.
    pub size: u64,
    /// Documents that came to it, copies of others left out.
    pub distinct: u32,
    /// When its first document was seen, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// When its last document was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// What it is about, the most telling words first.
    pub topic: Vec<StoryTerm>,
    /// The title of its most central document.
    pub title: String,
    /// Whether nothing will join it any more.
    pub ended: bool,
    /// Numbers of stories that are now part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<u64>,
}

/// Some of the stories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoryList {
    /// Those with the latest document first.
    pub stories: Vec<Story>,
    /// Ask for the stories after this for more; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
}

/// A story with some of its documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoryDetail {
    /// The story.
    #[serde(flatten)]
    pub story: Story,
    /// Documents in the order in which they came.
    pub members: Vec<DocumentRef>,
    /// Ask for the documents after this number for more; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<u64>,
}

/// Which stories are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryQuery {
    /// Those that live, those that have ended, or both.
    pub ended: Option<bool>,
    /// Those whose last document was seen at this second or later.
    pub since: Option<i64>,
    /// Those whose last document was seen at this second or before.
    pub until: Option<i64>,
    /// Those of so many documents or more.
    pub min_size: u64,
    /// Those after a place in the list: [`StoryList::next_after`] of the part before.
    pub after: Option<String>,
    /// So many at most.
    pub limit: usize,
}

impl Default for StoryQuery {
    fn default() -> Self {
        Self {
            ended: None,
            since: None,
            until: None,
            min_size: 2,
            after: None,
            limit: 50,
        }
    }
}

/// A place in the list of stories: the second of the last document, and the story.
type Place = (i64, u64);

/// The public form of a story's record.
fn story(story_id: u64, record: StoryRecord, ended: bool) -> Story {
    let [first, last] = record.seen.map(time::stamp);
    Story {
        story_id,
        size: record.size,
        distinct: record.distinct,
        first,
        last,
        topic: record.topic,
        title: record.title,
        ended,
        merged: record.merged,
    }
}

/// The place that a list said to go on after.
fn place(text: &str) -> Result<Place, CollectionError> {
    let parts = text
        .split_once('.')
        .and_then(|(last, story)| Some((last.parse().ok()?, story.parse().ok()?)));
    parts.ok_or_else(|| {
        CollectionError::invalid(format!(
            "after: {text:?} is not what a list of stories said to go on after"
        ))
    })
}

impl Collection {
    /// Stories, those with the latest document first. One that gains a document while a list is gone through is told of where it is then.
    ///
    /// # Errors
    /// A collection that keeps none, a place that is none, damage.
    pub fn stories(&self, query: &StoryQuery) -> Result<StoryList, CollectionError> {
        let before = query.after.as_deref().map(place).transpose()?;
        let limit = query.limit.clamp(1, MAX_LIST_ROWS);
        let upper = match (before, query.until) {
            (Some((last, story)), until) if until.is_none_or(|until| last <= until) => (last, story),
            // All that were seen by then: the place of no story, just after them.
            (_, Some(until)) => (until.saturating_add(1), 0),
            _ => (i64::MAX, u64::MAX),
        };
        let lower = (query.since.unwrap_or(i64::MIN), 0);
        self.shared.with_stories(|kept, transaction| {
            let shared = &*self.shared;
            let mut live: Vec<Place> = Vec::new();
            if query.ended != Some(true) {
                let places = kept.engine.live().filter(|story| story.size >= query.min_size);
                live.extend(
                    places
                        .map(|story| (story.seen[1], story.id))
                        .filter(|place| (lower..upper).contains(place)),
                );
            }
            live.sort_unstable();
            let failed = |error: redb::StorageError| shared.store.unreadable(error);
            let times = shared.store.table(transaction, STORY_TIMES)?;
            let wanted = query.ended != Some(false) && lower < upper;
            let mut ended = wanted
                .then(|| times.range(lower..upper))
                .transpose()
                .map_err(failed)?;
            let mut next_ended = || -> Result<Option<Place>, CollectionError> {
                let Some(entry) = ended.as_mut().and_then(DoubleEndedIterator::next_back) else {
                    return Ok(None);
                };
                Ok(Some(entry.map_err(failed)?.0.value()))
            };
            let mut waiting = next_ended()?;
            let mut list = StoryList {
                stories: Vec::new(),
                next_after: None,
            };
            let mut looked = 0;
            loop {
                let from_live = live.last().copied() > waiting;
                let Some(place) = live.last().copied().max(waiting) else {
                    return Ok(list);
                };
                // Neither the list nor the search for large stories goes on for ever: the caller asks for more.
                if list.stories.len() == limit || looked == 100 * MAX_LIST_ROWS {
                    return Ok(list);
                }
                looked += 1;
                if from_live {
                    live.pop();
                } else {
                    waiting = next_ended()?;
                }
                let record = shared.story_record(kept, transaction, place.1)?;
                let (record, has_ended) =
                    record.ok_or_else(|| shared.store.damaged(format!("story {} is lost", place.1)))?;
                if record.size >= query.min_size {
                    list.stories.push(story(place.1, record, has_ended));
                }
                let more = !live.is_empty() || waiting.is_some();
                list.next_after = more.then(|| format!("{}.{}", place.0, place.1));
            }
        })
    }

    /// A story, or the one it has become part of, with its documents after number `after`, at most `limit`.
    ///
    /// # Errors
    /// A collection that keeps none, no story of that number, damage.
    pub fn story(&self, number: u64, after: u64, limit: usize) -> Result<StoryDetail, CollectionError> {
        self.shared.with_stories(|kept, transaction| {
            let shared = &*self.shared;
            let number = kept.engine.resolve(number);
            let record = shared.story_record(kept, transaction, number)?;
            let (record, ended) = record.ok_or(CollectionError::NoStory(number))?;
            let parts = std::iter::once(number).chain(record.merged.iter().copied());
            let limit = limit.clamp(1, MAX_LIST_ROWS);
            let mut numbers = shared.story_members(transaction, parts, after, limit + 1)?;
            let more = numbers.len() > limit;
            numbers.truncate(limit);
            // Keys have no checksum, but rows say where they belong; rows of the last commit may not be in memory yet.
            let live = shared.live.read().map_err(|_| CollectionError::Closed)?;
            let rows = numbers.iter().filter_map(|&number| live.row(number));
            let strays = rows
                .filter(|row| kept.engine.resolve(row.story) != number)
                .count();
            if strays > 0 || after == 0 && !more && numbers.len() as u64 != record.size {
                return Err(shared
                    .store
                    .damaged(format!("story {number} has other documents than it says")));
            }
            let members = numbers
                .iter()
                .map(|&number| shared.document_ref(transaction, number));
            Ok(StoryDetail {
                members: members.collect::<Result<_, CollectionError>>()?,
                next_after: numbers.last().copied().filter(|_| more),
                story: story(number, record, ended),
            })
        })
    }
}

impl Shared {
    /// Answers a question about stories as they are committed, all of them at one time.
    pub(crate) fn with_stories<T>(
        &self,
        ask: impl FnOnce(&StoryEngine, &ReadTransaction) -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        let Some(stories) = &self.stories else {
            return Err(CollectionError::NoStories);
        };
        let stories = stories.read().unwrap_or_else(PoisonError::into_inner);
        let unread = || self.refusal().unwrap_or(CollectionError::Closed);
        let kept = stories.as_ref().ok_or_else(unread)?;
        self.store.reading(|transaction| ask(kept, transaction))
    }

    /// What is told of a story, and whether it has ended.
    pub(crate) fn story_record(
        &self,
        kept: &StoryEngine,
        transaction: &ReadTransaction,
        number: u64,
    ) -> Result<Option<(StoryRecord, bool)>, CollectionError> {
        if let Some(story) = kept.engine.get(number) {
            let topic = kept.engine.topic(story);
            return Ok(Some((StoryRecord::new(story, topic, None), false)));
        }
        let table = self.store.table(transaction, STORIES)?;
        let Some(value) = table.get(number).map_err(|error| self.store.unreadable(error))? else {
            return Ok(None);
        };
        let record = super::story_tables::decode(number, value.value());
        let record = record.ok_or_else(|| self.store.wrong("stories", number))?;
        Ok(Some((record, true)))
    }

    /// The documents of all parts of a story in the order of their numbers, from after `after` on, at most `most`. A step for each part
    /// and each document told.
    fn story_members(
        &self,
        transaction: &ReadTransaction,
        parts: impl Iterator<Item = u64>,
        after: u64,
        most: usize,
    ) -> Result<Vec<u64>, CollectionError> {
        let table = self.store.table(transaction, STORY_MEMBERS)?;
        let mut ranges = Vec::new();
        for part in parts {
            let range = table.range((part, after.saturating_add(1))..=(part, u64::MAX));
            ranges.push(range.map_err(|error| self.store.unreadable(error))?);
        }
        let mut first = BinaryHeap::new();
        let places = 0..ranges.len();
        let mut next = |at: usize| -> Result<Option<Reverse<(u64, usize)>>, CollectionError> {
            let Some(entry) = ranges.get_mut(at).and_then(Iterator::next) else {
                return Ok(None);
            };
            let (key, _) = entry.map_err(|error| self.store.unreadable(error))?;
            Ok(Some(Reverse((key.value().1, at))))
        };
        for at in places {
            first.extend(next(at)?);
        }
        let mut numbers = Vec::new();
        while numbers.len() < most
            && let Some(Reverse((number, at))) = first.pop()
        {
            numbers.push(number);
            first.extend(next(at)?);
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_told() {
        assert_eq!(place("-5.7").unwrap(), (-5, 7));
        for wrong in ["", "7", "a.b", "1.-2", "1.2.3"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
