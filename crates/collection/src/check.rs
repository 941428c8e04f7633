//! Queries about documents that are not stored: the verdict that a document would get, the leaders similar to it, and
//! the groups within a list of documents.

use rayon::prelude::*;
use redb::ReadTransaction;
use serde::{Deserialize, Serialize};

use super::collection::Collection;
use super::document::{Answer, BestMatch, NewDocument, Verdict};
use super::error::CollectionError;
use super::limits::MAX_LIST_ROWS;
use super::live::Live;
use super::prepare::Prepared;
use super::row::Row;
use super::settings::StoredContent;
use super::shared::Shared;
use super::verify::{Asked, Found, Match, Rule, find};

/// A stored leader that is similar to the queried document: a duplicate or a near miss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hit {
    /// True if the queried document would join the leader's group: the Jaccard reaches the threshold, or the collection
    /// has no shingles to verify.
    pub duplicate: bool,
    /// The number of the group that the leader leads.
    pub group_id: u64,
    /// The leader's id, and its distance and similarity to the queried document.
    #[serde(flatten)]
    pub best: BestMatch,
    /// The URL of the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The result of [`Collection::similar`]: the stored leaders that are similar to a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Similar {
    /// The duplicates, then the near misses. Both are ordered by descending Jaccard.
    pub hits: Vec<Hit>,
    /// The total number of similar leaders. `hits` contains only the first of them, up to the `limit` of the query.
    pub found: u64,
    /// True if only the `max_texts` nearest candidates were compared, so that a more distant duplicate may be missing.
    pub limited: bool,
}

impl Collection {
    /// Returns, for each document, the answer that it would get if it alone were added now. Stores nothing. The
    /// documents are checked in parallel on rayon's current thread pool.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`]. An invalid document gets an error in its place of the result and does not affect
    /// the others.
    pub fn check(
        &self,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError> {
        let shared = &*self.shared;
        let now = shared.now();
        let one = |document| shared.preparer.prepare(document, now);
        let few = documents.len() < 8;
        let prepared: Vec<Result<Prepared, CollectionError>> = if few {
            documents.into_iter().map(one).collect()
        } else {
            documents.into_par_iter().map(one).collect()
        };
        shared.consistent(|live, transaction| {
            let answer = |prepared: &Result<Prepared, CollectionError>| match prepared {
                Ok(prepared) => {
                    let answer = || shared.answer(live, transaction, prepared, now);
                    shared.store.guard(answer).map(Ok)
                }
                Err(error) => Ok(Err(error.clone())),
            };
            if few {
                prepared.iter().map(answer).collect()
            } else {
                prepared.par_iter().map(answer).collect()
            }
        })
    }

    /// Finds stored leaders that are similar to a document. Returns at most `limit` of them, the most similar first:
    /// duplicates, then near misses. Candidates are the leaders within the Hamming distance `k` and, for a short text,
    /// those that share shingles with it. If `k` is `None`, the radius of the collection is used.
    ///
    /// # Errors
    /// [`CollectionError::Invalid`] or [`CollectionError::Limit`] if the document is invalid or `k` is above the
    /// collection's radius, [`CollectionError::Damaged`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use twinprint_collection::{Collection, Content, Details, Durability, NewDocument, Settings};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let collection = Collection::create(&dir.path().join("seen"), Settings::default())?;
    /// # let page = |id: &str, text: &str| NewDocument {
    /// #     id: id.to_owned(),
    /// #     content: Content::Text(text.to_owned()),
    /// #     details: Details::default(),
    /// #     ttl: None,
    /// # };
    /// collection.add(vec![page("a", "Rain fell all day")], false, Durability::Synced)?;
    ///
    /// let similar = collection.similar(page("query", "rain fell all day!"), None, 10)?;
    /// assert_eq!(similar.found, 1);
    /// assert!(similar.hits[0].duplicate);
    /// assert_eq!(similar.hits[0].best.id, "a");
    /// # Ok(())
    /// # }
    /// ```
    pub fn similar(
        &self,
        document: NewDocument,
        k: Option<u32>,
        limit: usize,
    ) -> Result<Similar, CollectionError> {
        let shared = &*self.shared;
        let k = k.unwrap_or(shared.settings.k);
        if k > shared.settings.k {
            return Err(CollectionError::Limit {
                what: "k",
                limit: shared.settings.k.into(),
                got: k.into(),
            });
        }
        let now = shared.now();
        let prepared = shared.preparer.prepare(document, now)?;
        shared.consistent(|live, transaction| {
            // With the threshold 0, near misses are returned as well as duplicates.
            let rule = Rule {
                k,
                threshold: 0.0,
                ..Rule::of(&shared.settings)
            };
            let there = |row: &Row| !row.is_expired(now);
            let mut found = shared.find(live, transaction, &prepared, rule, there)?;
            let jaccard = |hit: &Match| hit.similarity.map_or(0.0, |(jaccard, _)| jaccard);
            let duplicate =
                |hit: &Match| hit.similarity.is_none() || jaccard(hit) >= shared.settings.threshold;
            found.matches.sort_by(|a, b| {
                let order = duplicate(b).cmp(&duplicate(a));
                let order = order.then(jaccard(b).total_cmp(&jaccard(a)));
                order.then((a.distance, a.ordinal).cmp(&(b.distance, b.ordinal)))
            });
            let many = found.matches.len() as u64;
            found.matches.truncate(limit.min(MAX_LIST_ROWS));
            let hits = found.matches.iter().map(|hit| {
                let record = shared.record(transaction, hit.ordinal)?;
                Ok(Hit {
                    duplicate: duplicate(hit),
                    group_id: live.row(hit.ordinal).map_or(0, |row| row.group),
                    best: BestMatch {
                        id: record.id,
                        hamming: hit.distance,
                        jaccard: hit.similarity.map(|(jaccard, _)| jaccard),
                        containment: hit.similarity.map(|(_, containment)| containment),
                    },
                    url: record.details.url,
                })
            });
            Ok(Similar {
                hits: hits.collect::<Result<_, CollectionError>>()?,
                found: many,
                limited: found.limited,
            })
        })
    }

    /// Groups the documents of a list by the collection's settings. The stored documents are not compared. Returns the
    /// ids of each group, the leader first. The groups have the order of their leaders in the list.
    ///
    /// # Errors
    /// [`CollectionError::Invalid`] or [`CollectionError::Limit`] if a document is invalid.
    pub fn collapse(&self, documents: Vec<NewDocument>) -> Result<Vec<Vec<String>>, CollectionError> {
        let shared = &*self.shared;
        let now = shared.now();
        let prepare = |document| shared.preparer.prepare(document, now);
        let prepared: Vec<Prepared> = documents.into_par_iter().map(prepare).collect::<Result<_, _>>()?;
        let settings = &shared.settings;
        let mut live = Live::new(shared.preparer.profile().bits(), settings.k, settings.threshold);
        let mut groups: Vec<Vec<String>> = Vec::new();
        for (ordinal, document) in (0u64..).zip(&prepared) {
            let same = live.by_text(document.row.text).next().map(|row| row.group);
            let group = if let Some(group) = same {
                Some(group)
            } else {
                let asked = Asked::new(document, settings);
                let found = find(asked, &live, &prepared, Rule::of(settings), |row| {
                    !row.is_expired(now)
                })?;
                found
                    .best()
                    .and_then(|best| live.row(best.ordinal))
                    .map(|row| row.group)
            };
            let leads = group.is_none();
            let group = group.unwrap_or(groups.len() as u64);
            if leads {
                groups.push(Vec::new());
            }
            if let Some(members) = groups.get_mut(group as usize) {
                members.push(document.id.clone());
            }
            // The position in the list serves as the id, because two documents of the list may have the same id.
            let id = u128::from(ordinal);
            live.insert(Row {
                ordinal,
                id,
                group,
                leads,
                ..document.row.clone()
            });
        }
        Ok(groups)
    }
}

impl Shared {
    fn find(
        &self,
        live: &Live,
        transaction: &ReadTransaction,
        prepared: &Prepared,
        rule: Rule,
        there: impl Fn(&Row) -> bool,
    ) -> Result<Found, CollectionError> {
        let asked = Asked::new(prepared, &self.settings);
        let shingles = self.shingles(transaction);
        find(asked, live, &shingles, rule, there)
    }

    fn answer(
        &self,
        live: &Live,
        transaction: &ReadTransaction,
        prepared: &Prepared,
        now: i64,
    ) -> Result<Answer, CollectionError> {
        let verified = prepared.text.is_some() && self.settings.store != StoredContent::None;
        let mut answer = Answer {
            id: prepared.id.clone(),
            verdict: Verdict::New,
            group_id: None,
            story_id: None,
            canonical: None,
            best: None,
            moved: None,
            as_new: None,
            unchanged: false,
            verified,
            limited: false,
            seq: None,
            durable: true,
        };
        let known = live.by_id(prepared.row.id).filter(|row| !row.is_expired(now));
        if let Some(known) = known {
            answer.moved = Some((known.fingerprint ^ prepared.row.fingerprint).count_ones());
        }
        if let Some(known) = known.filter(|known| known.text == prepared.row.text) {
            let copies = live.by_text(known.text).filter(|row| !row.is_expired(now));
            answer.verdict = Verdict::Updated;
            answer.as_new = Some(known.relation(copies));
            answer.unchanged = true;
            let record = self.record(transaction, known.ordinal)?;
            answer.best = self.followed(transaction, known, record.best)?;
            self.add_group(&mut answer, live, transaction, known)?;
            return Ok(answer);
        }
        // An update of a leader is placed before the members of its group. So it cannot join any of them, and the check
        // skips the documents of that group.
        let follows = |row: &Row| known.is_some_and(|known| known.leads && row.group == known.group);
        let there = |row: &Row| !row.is_expired(now) && row.id != prepared.row.id && !follows(row);
        let same = live.by_text(prepared.row.text).find(|row| there(row));
        let decided = if let Some(same) = same {
            answer.verdict = Verdict::Exact;
            let similarity = prepared.text.as_ref().map(|_| (1.0, 1.0));
            Some((same.ordinal, 0, similarity))
        } else {
            let rule = Rule::of(&self.settings);
            let found = self.find(live, transaction, prepared, rule, there)?;
            answer.limited = found.limited;
            found.best().map(|best| {
                answer.verdict = Verdict::Near;
                (best.ordinal, best.distance, best.similarity)
            })
        };
        if known.is_some() {
            let mut copies = live.by_text(prepared.row.text);
            let has_copy = copies.any(|row| !row.is_expired(now) && row.id != prepared.row.id);
            answer.as_new = Some(match answer.verdict {
                Verdict::Near if has_copy => Verdict::Exact,
                verdict => verdict,
            });
            answer.verdict = Verdict::Updated;
        }
        let Some((ordinal, hamming, similarity)) = decided else {
            return Ok(answer);
        };
        answer.best = Some(BestMatch {
            id: self.record(transaction, ordinal)?.id,
            hamming,
            jaccard: similarity.map(|(jaccard, _)| jaccard),
            containment: similarity.map(|(_, containment)| containment),
        });
        if let Some(row) = live.row(ordinal) {
            self.add_group(&mut answer, live, transaction, row)?;
        }
        Ok(answer)
    }

    /// Adds to `answer` the group of the document `row`, the story of that document, and the group's canonical
    /// document.
    fn add_group(
        &self,
        answer: &mut Answer,
        live: &Live,
        transaction: &ReadTransaction,
        row: &Row,
    ) -> Result<(), CollectionError> {
        let group = self.group_of(transaction, row)?;
        answer.group_id = Some(row.group);
        answer.story_id = live.story(row.story);
        answer.canonical = Some(self.document_ref(transaction, group.canonical)?);
        Ok(())
    }
}
