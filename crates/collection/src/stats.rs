//! Counts of the collection and of its sources.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use redb::{ReadTransaction, ReadableTable, ReadableTableMetadata};
use serde::{Deserialize, Serialize};

use super::collection::Collection;
use super::database::{BY_SOURCE, GROUPS, META, SOURCES};
use super::error::CollectionError;
use super::limits::MAX_LIST_ROWS;
use super::record::SourceCounts;
use super::seal::unseal;
use super::shared::{Commits, Shared};

/// Counts of a collection.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stats {
    /// The number of documents.
    pub documents: u64,
    /// The number of groups.
    pub groups: u64,
    /// The number of the latest change.
    pub seq: u64,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The number of writes that wait for the writing thread.
    pub waiting: u64,
    /// The commits since the collection was opened.
    pub commits: Commits,
    /// The reason why the collection refuses writes; `None` if it accepts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Some of the sources, by descending number of documents, then by name.
    pub sources: Vec<SourceStats>,
    /// The `after` of the next call; `None` after the last source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
}

/// Counts of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SourceStats {
    /// Its name.
    pub source: String,
    /// Its counts.
    #[serde(flatten)]
    pub counts: SourceCounts,
}

/// The position of a source in the list: by descending number of documents, then by name.
type SourcePosition = (Reverse<u64>, String);

/// Parses the position of a source: its number of documents, a dot, its name.
fn parse_position(text: &str) -> Result<SourcePosition, CollectionError> {
    let parts = text
        .split_once('.')
        .and_then(|(documents, name)| Some((Reverse(documents.parse().ok()?), name.to_owned())));
    parts.ok_or_else(|| {
        CollectionError::invalid(format!(
            "after: {text:?} is not the next_after of a list of sources"
        ))
    })
}

impl Collection {
    /// Returns the ids of at most `limit` documents of a source.
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

    /// Returns the counts of the collection, and of one source or of at most `limit` sources after a position.
    ///
    /// Sources are ordered by descending number of documents. There is no index in this order, so every call reads the counts of all sources.
    /// A source whose number of documents changes between two calls may be listed twice or not at all; every other source is listed once.
    ///
    /// # Errors
    /// [`CollectionError::Invalid`] if `after` is not a [`Stats::next_after`], [`CollectionError::Damaged`].
    pub fn stats(
        &self,
        source: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Stats, CollectionError> {
        let shared = &*self.shared;
        let after = after.map(parse_position).transpose()?;
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
                sources,
                next_after,
            })
        })
    }
}

impl Shared {
    /// The first `limit` sources after a position, and the position of the last one if there are more. Memory is proportional to `limit`.
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
                        .damaged(format!("source {name:?} has a wrong checksum"))
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
