//! Queries for stories: a list of stories by time, and one story with its documents.

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

/// The largest number of stories that one call of [`Collection::stories`] reads while it searches for stories of the
/// minimum size.
const MAX_STORIES_READ: usize = 100 * MAX_LIST_ROWS;

/// A story: a loose cluster of documents about one event or subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Story {
    /// The number of the story: that of the change that added its first document.
    pub story_id: u64,
    /// The number of documents in the story.
    pub size: u64,
    /// The number of documents that joined the story by their words. Duplicates, which joined with their group, are not
    /// counted.
    pub distinct: u32,
    /// The time of the story's first document, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The time of the story's last document, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The terms that characterise the story, by descending weight.
    pub topic: Vec<StoryTerm>,
    /// The title of the story's most central document.
    pub title: String,
    /// True if the story has ended: no document will join it any more.
    pub ended: bool,
    /// The numbers of the stories that were merged into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<u64>,
}

/// A page of the list of stories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoryList {
    /// The stories of this page, by descending time of their last document.
    pub stories: Vec<Story>,
    /// The value of `after` that continues this list; `None` if no stories follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
}

/// A story with a page of its documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoryDetail {
    /// The story itself.
    #[serde(flatten)]
    pub story: Story,
    /// The documents of this page, ascending by number.
    pub members: Vec<DocumentRef>,
    /// The value of `after` that continues this list of documents; `None` if no documents follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<u64>,
}

/// Selects a page of the list of stories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryQuery {
    /// `Some(false)` selects live stories, `Some(true)` selects ended stories, and `None` selects both.
    pub ended: Option<bool>,
    /// Selects stories whose last document is from this Unix time or later.
    pub since: Option<i64>,
    /// Selects stories whose last document is from this Unix time or earlier.
    pub until: Option<i64>,
    /// Selects stories with at least this number of documents.
    pub min_size: u64,
    /// The position after which the page begins: the [`StoryList::next_after`] of the previous page. `None` selects the
    /// first page.
    pub after: Option<String>,
    /// The largest number of stories on the page.
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

/// The sort key of a story in the list of stories: the Unix time of its last document, and its number.
type StoryPosition = (i64, u64);

/// Converts the stored record of a story to the form that queries return.
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

/// Parses the position of a story in the list, such as "1714521600.7": the time of its last document, a dot, its
/// number.
fn parse_position(text: &str) -> Result<StoryPosition, CollectionError> {
    let parts = text
        .split_once('.')
        .and_then(|(last, story)| Some((last.parse().ok()?, story.parse().ok()?)));
    parts.ok_or_else(|| {
        CollectionError::invalid(format!(
            "after: {text:?} is not a position in the list of stories; give the next_after of an earlier answer"
        ))
    })
}

impl Collection {
    /// Returns a page of the list of stories, ordered by descending time of the last document. A story that gains a
    /// document between two calls moves towards the front of the list.
    ///
    /// # Errors
    /// [`CollectionError::NoStories`] if the collection keeps no stories, [`CollectionError::Invalid`] if `after` is
    /// not a value of [`StoryList::next_after`], [`CollectionError::Damaged`].
    ///
    /// # Examples
    ///
    /// ```
    /// use twinprint_collection::{Collection, Content, Details, Durability, NewDocument, Settings, StoryQuery};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let settings = Settings { stories: true, ..Settings::default() };
    /// let collection = Collection::create(&dir.path().join("news"), settings)?;
    /// let page = |id: &str, text: &str| NewDocument {
    ///     id: id.to_owned(),
    ///     content: Content::Text(text.to_owned()),
    ///     details: Details { time: Some("2024-05-01".to_owned()), ..Details::default() },
    ///     ttl: None,
    /// };
    /// let pages = vec![page("a", "Storm closes the harbour"), page("b", "storm closes the harbour!")];
    /// collection.add(pages, false, Durability::Synced)?;
    ///
    /// let list = collection.stories(&StoryQuery::default())?;
    /// assert_eq!(list.stories.len(), 1);
    /// let story = collection.story(list.stories[0].story_id, 0, 100)?;
    /// assert_eq!(story.members.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stories(&self, query: &StoryQuery) -> Result<StoryList, CollectionError> {
        let before = query.after.as_deref().map(parse_position).transpose()?;
        let limit = query.limit.clamp(1, MAX_LIST_ROWS);
        let upper = match (before, query.until) {
            (Some((last, story)), until) if until.is_none_or(|until| last <= until) => (last, story),
            // No story has the number 0, so this exclusive bound is just after all stories of the second `until`.
            (_, Some(until)) => (until.saturating_add(1), 0),
            _ => (i64::MAX, u64::MAX),
        };
        let lower = (query.since.unwrap_or(i64::MIN), 0);
        self.shared.with_stories(|stories, transaction| {
            let shared = &*self.shared;
            let mut live: Vec<StoryPosition> = Vec::new();
            if query.ended != Some(true) {
                let large = stories.engine.live().filter(|story| story.size >= query.min_size);
                live.extend(
                    large
                        .map(|story| (story.seen[1], story.id))
                        .filter(|position| (lower..upper).contains(position)),
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
            let mut next_ended = || -> Result<Option<StoryPosition>, CollectionError> {
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
            let mut read = 0;
            loop {
                let from_live = live.last().copied() > waiting;
                let Some(position) = live.last().copied().max(waiting) else {
                    return Ok(list);
                };
                // This bounds the time of one call. The caller continues with `next_after`.
                if list.stories.len() == limit || read == MAX_STORIES_READ {
                    return Ok(list);
                }
                read += 1;
                if from_live {
                    live.pop();
                } else {
                    waiting = next_ended()?;
                }
                let record = shared.story_record(stories, transaction, position.1)?;
                let (record, has_ended) = record.ok_or_else(|| {
                    shared
                        .store
                        .damaged(format!("the record of story {} is lost", position.1))
                })?;
                if record.size >= query.min_size {
                    list.stories.push(story(position.1, record, has_ended));
                }
                let more = !live.is_empty() || waiting.is_some();
                list.next_after = more.then(|| format!("{}.{}", position.0, position.1));
            }
        })
    }

    /// Returns the story with this number and a page of its documents: at most `limit`, with numbers above `after`. If
    /// the story was merged into another one, that other story is returned.
    ///
    /// # Errors
    /// [`CollectionError::NoStories`] if the collection keeps no stories, [`CollectionError::NoStory`] if no story has
    /// the number, [`CollectionError::Damaged`].
    pub fn story(&self, number: u64, after: u64, limit: usize) -> Result<StoryDetail, CollectionError> {
        self.shared.with_stories(|stories, transaction| {
            let shared = &*self.shared;
            let number = stories.engine.resolve(number);
            let record = shared.story_record(stories, transaction, number)?;
            let (record, ended) = record.ok_or(CollectionError::NoStory(number))?;
            let parts = std::iter::once(number).chain(record.merged.iter().copied());
            let limit = limit.clamp(1, MAX_LIST_ROWS);
            let mut numbers = shared.story_members(transaction, parts, after, limit + 1)?;
            let more = numbers.len() > limit;
            numbers.truncate(limit);
            // The keys of the table `story_members` have no checksum, so they are compared with the stories that the
            // documents' rows name. A row of the last commit may not be in memory yet, and is then not compared.
            let live = shared.live.read().map_err(|_| CollectionError::Closed)?;
            let rows = numbers.iter().filter_map(|&number| live.row(number));
            let strays = rows
                .filter(|row| stories.engine.resolve(row.story) != number)
                .count();
            if strays > 0 || after == 0 && !more && numbers.len() as u64 != record.size {
                return Err(shared.store.damaged(format!(
                    "the documents of story {number} are not those that its record and the rows state"
                )));
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
    /// Runs a query on the committed stories: on the engine in memory and the store on disk, both after the same
    /// commit.
    pub(crate) fn with_stories<T>(
        &self,
        query: impl FnOnce(&StoryEngine, &ReadTransaction) -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        let Some(stories) = &self.stories else {
            return Err(CollectionError::NoStories);
        };
        let stories = stories.read().unwrap_or_else(PoisonError::into_inner);
        let unavailable = || self.refusal().unwrap_or(CollectionError::Closed);
        let engine = stories.as_ref().ok_or_else(unavailable)?;
        self.store.reading(|transaction| query(engine, transaction))
    }

    /// Returns the record of the story with this number, and whether the story has ended; `None` if no story has the
    /// number.
    pub(crate) fn story_record(
        &self,
        stories: &StoryEngine,
        transaction: &ReadTransaction,
        number: u64,
    ) -> Result<Option<(StoryRecord, bool)>, CollectionError> {
        if let Some(story) = stories.engine.get(number) {
            let topic = stories.engine.topic(story);
            return Ok(Some((StoryRecord::new(story, topic, None), false)));
        }
        let table = self.store.table(transaction, STORIES)?;
        let Some(value) = table.get(number).map_err(|error| self.store.unreadable(error))? else {
            return Ok(None);
        };
        let record = super::story_tables::decode(number, value.value());
        let record = record.ok_or_else(|| self.store.wrong_checksum("stories", number))?;
        Ok(Some((record, true)))
    }

    /// Returns the numbers of at most `limit` documents of a story, ascending, all above `after`. `parts` are the
    /// numbers of the story and of the stories that were merged into it. The sorted lists of all parts are merged, in
    /// O((parts + limit) log parts).
    fn story_members(
        &self,
        transaction: &ReadTransaction,
        parts: impl Iterator<Item = u64>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<u64>, CollectionError> {
        let table = self.store.table(transaction, STORY_MEMBERS)?;
        let mut ranges = Vec::new();
        for part in parts {
            let range = table.range((part, after.saturating_add(1))..=(part, u64::MAX));
            ranges.push(range.map_err(|error| self.store.unreadable(error))?);
        }
        let mut first = BinaryHeap::new();
        let indices = 0..ranges.len();
        let mut next = |range: usize| -> Result<Option<Reverse<(u64, usize)>>, CollectionError> {
            let Some(entry) = ranges.get_mut(range).and_then(Iterator::next) else {
                return Ok(None);
            };
            let (key, _) = entry.map_err(|error| self.store.unreadable(error))?;
            Ok(Some(Reverse((key.value().1, range))))
        };
        for range in indices {
            first.extend(next(range)?);
        }
        let mut numbers = Vec::new();
        while numbers.len() < limit
            && let Some(Reverse((number, range))) = first.pop()
        {
            numbers.push(number);
            first.extend(next(range)?);
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_parsed() {
        assert_eq!(parse_position("-5.7").unwrap(), (-5, 7));
        for wrong in ["", "7", "a.b", "1.-2", "1.2.3"] {
            assert!(parse_position(wrong).is_err(), "{wrong}");
        }
    }
}
