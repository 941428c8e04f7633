//! Counts: of the whole collection, and by source. Nothing here changes anything.

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
    /// Documents.
    pub documents: u64,
    /// Groups.
    pub groups: u64,
    /// The number of the last change.
    pub seq: u64,
    /// Bytes of the store on disk.
    pub bytes: u64,
    /// Documents that wait to be written.
    pub waiting: u64,
    /// Commits since it was opened.
    pub commits: Commits,
    /// Why it refuses writes, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Some of the sources, those with the most documents first, and of equals by name.
    pub sources: Vec<SourceStats>,
    /// Ask for the sources after this place for more; none at the end.
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

/// The place of a source in a list: the most documents first, then by name.
type Place = (Reverse<u64>, String);

/// The place that a list said to go on after: documents, and the name.
fn place(text: &str) -> Result<Place, CollectionError> {
    let parts = text
        .split_once('.')
        .and_then(|(documents, name)| Some((Reverse(documents.parse().ok()?), name.to_owned())));
    parts.ok_or_else(|| {
        CollectionError::invalid(format!(
            "after: {text:?} is not what a list of sources said to go on after"
        ))
    })
}

impl Collection {
    /// The ids of the documents of a source, at most `limit`.
    ///
    /// # Errors
    /// Damage.
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

    /// Counts of the collection, and of one source or of `limit` sources after a place, those with the most documents first.
    ///
    /// No index has the sources by size: every part reads the counts of all of them. A source whose number of documents changes while the
    /// list is gone through may be told twice or not at all; every other is told once.
    ///
    /// # Errors
    /// A place that is none, damage.
    pub fn stats(
        &self,
        source: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Stats, CollectionError> {
        let shared = &*self.shared;
        let after = after.map(place).transpose()?;
        shared.consistent(|live, transaction| {
            let (sources, next_after) = match source {
                Some(source) => {
                    let counts = shared.store.read_source(transaction, source)?;
                    let of = |counts| SourceStats {
                        source: source.to_owned(),
                        counts,
                    };
                    (counts.map(of).into_iter().collect(), None)
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
    /// The first `limit` sources after a place, and the place to go on after. Holds no more than it tells.
    fn sources(
        &self,
        transaction: &ReadTransaction,
        after: Option<&Place>,
        limit: usize,
    ) -> Result<(Vec<SourceStats>, Option<String>), CollectionError> {
        let table = self.store.table(transaction, SOURCES)?;
        let mut first: BinaryHeap<Place> = BinaryHeap::new();
        let failed = |error| self.store.unreadable(error);
        for entry in table.iter().map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            let name = key.value();
            let counts: SourceCounts = unseal("sources", name.as_bytes(), value.value())
                .and_then(|bytes| serde_json::from_slice(bytes).ok())
                .ok_or_else(|| {
                    self.store
                        .damaged(format!("source {name:?} does not have its checksum"))
                })?;
            let place = (Reverse(counts.documents), name);
            let at = |other: &Place| place.cmp(&(other.0, other.1.as_str()));
            if after.is_some_and(|after| at(after).is_le()) {
                continue;
            }
            if first.len() > limit {
                if first.peek().is_some_and(|last| at(last).is_gt()) {
                    continue;
                }
                first.pop();
            }
            first.push((place.0, name.to_owned()));
        }
        let mut first = first.into_sorted_vec();
        let more = first.len() > limit;
        first.truncate(limit);
        let next = first
            .last()
            .map(|(Reverse(documents), name)| format!("{documents}.{name}"));
        let told = first.into_iter().map(|(_, source)| {
            let counts = self.store.source(&table, &source)?.unwrap_or_default();
            Ok(SourceStats { source, counts })
        });
        Ok((
            told.collect::<Result<_, CollectionError>>()?,
            next.filter(|_| more),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_told() {
        assert_eq!(
            place("5.a.example").unwrap(),
            (Reverse(5), "a.example".to_owned())
        );
        for wrong in ["", "7", "a.b", "-1.a"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
