//! Statistics of a collection and of its sources.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::PoisonError;

use redb::{ReadTransaction, ReadableTable, ReadableTableMetadata};
use serde::{Deserialize, Serialize};

use super::collection::Collection;
use super::database::{BY_SOURCE, GROUPS, META, SOURCES};
use super::error::CollectionError;
use super::limits::MAX_LIST_ROWS;
use super::record::SourceCounts;
use super::seal::unseal;
use super::shared::{Commits, Shared};

/// Statistics of a collection, with a page of the list of its sources.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stats {
    /// The number of documents.
    pub documents: u64,
    /// The number of groups.
    pub groups: u64,
    /// The number of the latest change.
    pub seq: u64,
    /// The size of the collection's file in bytes.
    pub bytes: u64,
    /// The number of writes that wait for the writing thread.
    pub waiting: u64,
    /// Statistics of the commits since the collection was opened.
    pub commits: Commits,
    /// The reason why the collection refuses writes; `None` if it accepts writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The stories; `None` if the collection keeps no stories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stories: Option<StoryStats>,
    /// A page of the sources, ordered by descending number of documents, then by name.
    pub sources: Vec<SourceStats>,
    /// The value of `after` that continues the list of sources; `None` if no sources follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
}

/// Statistics of the stories of a collection.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoryStats {
    /// The number of live stories.
    pub live: u64,
    /// The minimum cosine between a document and the centre of the story that it joins, now.
    pub threshold: f64,
    /// The minimum cosine between the centres of two stories that merge, now; `None` if stories never merge.
    pub merge: Option<f64>,
    /// The origin of the thresholds that the settings do not give.
    pub estimate: ThresholdEstimate,
}

/// The origin of the thresholds of stories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ThresholdEstimate {
    /// The settings give both thresholds.
    Given,
    /// There are too few documents for an estimate, so the thresholds are provisional.
    TooFewDocuments,
    /// The thresholds were estimated from this number of documents. They are estimated again when that number has
    /// doubled, for the last time at 2,000 documents.
    FromDocuments(u64),
}

/// A source of documents with its counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SourceStats {
    /// The name of the source.
    pub source: String,
    /// The counts of the source's documents.
    #[serde(flatten)]
    pub counts: SourceCounts,
}

/// The sort key of a source in the list of sources: first its number of documents, descending, then its name.
type SourcePosition = (Reverse<u64>, String);

/// Parses the position of a source in the list, such as "12.a.example": its number of documents, a dot, its name.
fn parse_position(text: &str) -> Result<SourcePosition, CollectionError> {
    let parts = text
        .split_once('.')
        .and_then(|(documents, name)| Some((Reverse(documents.parse().ok()?), name.to_owned())));
    parts.ok_or_else(|| {
        CollectionError::invalid(format!(
            "after: {text:?} is not a position in the list of sources; give the next_after of an earlier answer"
        ))
    })
}

impl Collection {
    /// Returns the ids of the documents of a source, at most `limit` and at most 10,000 of them.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`].
    pub fn ids_of_source(&self, source: &str, limit: usize) -> Result<Vec<String>, CollectionError> {
        let shared = &*self.shared;
        shared.consistent(|_, transaction| {
            let table = shared.store.table(transaction, BY_SOURCE)?;
            let range = table
                .range((source, 0)..=(source, u64::MAX))
                .map_err(|error| shared.store.unreadable(error))?;
            let numbers = range.take(limit.min(MAX_LIST_ROWS));
            numbers
                .map(|entry| {
                    let (key, _) = entry.map_err(|error| shared.store.unreadable(error))?;
                    Ok(shared.record(transaction, key.value().1)?.id)
                })
                .collect()
        })
    }

    /// Returns statistics of the collection and counts of its sources. If `source` is given, only that source is
    /// included. Otherwise a page of at most `limit` sources is included, which starts after the position `after`.
    ///
    /// Sources are ordered by descending number of documents. No index has this order, so every call reads the counts
    /// of all sources. If the number of documents of a source changes between two calls, the source may be listed twice
    /// or not at all. Every other source is listed once.
    ///
    /// # Errors
    /// [`CollectionError::Invalid`] if `after` is not a value of [`Stats::next_after`], [`CollectionError::Damaged`].
    pub fn stats(
        &self,
        source: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Stats, CollectionError> {
        let shared = &*self.shared;
        let after = after.map(parse_position).transpose()?;
        let stories = shared.story_stats();
        shared.consistent(|live, transaction| {
            let (sources, next_after) = match source {
                Some(source) => {
                    let counts = shared.store.read_source(transaction, source)?;
                    let stats = |counts| SourceStats {
                        source: source.to_owned(),
                        counts,
                    };
                    (counts.map(stats).into_iter().collect(), None)
                }
                None => shared.sources(transaction, after.as_ref(), limit.min(MAX_LIST_ROWS))?,
            };
            let state = shared.store.state(&shared.store.table(transaction, META)?)?;
            let groups = shared.store.table(transaction, GROUPS)?;
            Ok(Stats {
                documents: live.len() as u64,
                groups: groups.len().map_err(|error| shared.store.unreadable(error))?,
                seq: state.next.saturating_sub(1),
                bytes: std::fs::metadata(&shared.store.path).map_or(0, |file| file.len()),
                waiting: self.waiting(),
                commits: self.commits(),
                refusal: self.refusal().map(|error| error.to_string()),
                stories: stories.clone(),
                sources,
                next_after,
            })
        })
    }
}

impl Shared {
    /// Statistics of the stories; `None` if the collection keeps no stories, or if they could not be loaded after a
    /// failed write.
    fn story_stats(&self) -> Option<StoryStats> {
        let stories = self
            .stories
            .as_ref()?
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let engine = &stories.as_ref()?.engine;
        let thresholds = engine.thresholds();
        let estimate = match engine.estimate() {
            _ if !self.settings.estimates_stories() => ThresholdEstimate::Given,
            None => ThresholdEstimate::TooFewDocuments,
            Some(estimate) => ThresholdEstimate::FromDocuments(estimate.items),
        };
        Some(StoryStats {
            live: engine.live().len() as u64,
            threshold: thresholds.join,
            merge: thresholds.merge,
            estimate,
        })
    }

    /// Returns the first `limit` sources after a position. If more sources follow, also returns the position of the
    /// last returned one. Memory is proportional to `limit`, not to the number of sources.
    fn sources(
        &self,
        transaction: &ReadTransaction,
        after: Option<&SourcePosition>,
        limit: usize,
    ) -> Result<(Vec<SourceStats>, Option<String>), CollectionError> {
        let table = self.store.table(transaction, SOURCES)?;
        let mut first: BinaryHeap<SourcePosition> = BinaryHeap::new();
        let failed = |error| self.store.unreadable(error);
        for entry in table.iter().map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            let name = key.value();
            let counts: SourceCounts = unseal("sources", name.as_bytes(), value.value())
                .and_then(|bytes| serde_json::from_slice(bytes).ok())
                .ok_or_else(|| {
                    self.store
                        .damaged(format!("the record of source {name:?} has a wrong checksum"))
                })?;
            let position = (Reverse(counts.documents), name);
            let compare = |other: &SourcePosition| position.cmp(&(other.0, other.1.as_str()));
            if after.is_some_and(|after| compare(after).is_le()) {
                continue;
            }
            if first.len() > limit {
                if first.peek().is_some_and(|last| compare(last).is_gt()) {
                    continue;
                }
                first.pop();
            }
            first.push((position.0, name.to_owned()));
        }
        let mut first = first.into_sorted_vec();
        let more = first.len() > limit;
        first.truncate(limit);
        let next = first
            .last()
            .map(|(Reverse(documents), name)| format!("{documents}.{name}"));
        let sources = first.into_iter().map(|(_, source)| {
            let counts = self.store.source(&table, &source)?.unwrap_or_default();
            Ok(SourceStats { source, counts })
        });
        Ok((
            sources.collect::<Result<_, CollectionError>>()?,
            next.filter(|_| more),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_parsed() {
        assert_eq!(
            parse_position("5.a.example").unwrap(),
            (Reverse(5), "a.example".to_owned())
        );
        for wrong in ["", "7", "a.b", "-1.a"] {
            assert!(parse_position(wrong).is_err(), "{wrong}");
        }
    }
}
