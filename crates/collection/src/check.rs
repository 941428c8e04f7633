//! Checks: the verdict that a document would get, the leaders similar to it, and the groups of a list of documents. Nothing is stored.

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

/// A leader that is similar to a text: a duplicate or a near miss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hit {
    /// True if a document with the text would join the group: its Jaccard reaches the threshold, or there are no shingles to verify.
    pub duplicate: bool,
    /// The group that it leads.
    pub group_id: u64,
    /// The leader, with its distance and similarity.
    #[serde(flatten)]
    pub best: BestMatch,
    /// The address of the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The leaders that are similar to a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Similar {
    /// Duplicates, then near misses, each with the highest Jaccard first.
    pub hits: Vec<Hit>,
    /// The number of leaders that were found. `hits` contains at most `limit` of them.
    pub found: u64,
    /// True if there were more candidates than texts may be compared (`max_texts`), so a more distant duplicate may have been missed.
    pub limited: bool,
}

impl Collection {
    /// Returns the answers that documents would get if each of them were added now. Stores nothing. Works in parallel, on the threads of
    /// rayon's current pool.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`]. A document that is not allowed gets its own error.
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

    /// Returns at most `limit` leaders within `k` of a document, or found by its shingles: duplicates, and near misses below the threshold.
    /// The most similar come first. `None` stands for the radius of the collection.
    ///
    /// # Errors
    /// [`CollectionError::Invalid`] or [`CollectionError::Limit`] for a document that is not allowed or a radius above the collection's,
    /// [`CollectionError::Damaged`].
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
            // With the threshold 0, every candidate that can be verified is returned.
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

    /// Groups a list of documents by the rules of the collection, without comparing them with the stored documents. Returns the ids of each
    /// group, the leader first. Groups are in the order of their leaders in the list.
    ///
    /// # Errors
    /// [`CollectionError::Invalid`] or [`CollectionError::Limit`] for a document that is not allowed.
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
            // Equal ids in the list are different documents.
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
        // When the text of a leader changes, the leader is placed before its members, so it cannot join them.
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

    /// Completes an answer with the group of a row, its story and its canonical document.
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
