//! What a document would be: new, or which it duplicates; what lies near it; and documents among themselves.

use rayon::prelude::*;
use redb::ReadTransaction;
use serde::{Deserialize, Serialize};

use super::document::{Answer, Best, NewDocument, Verdict};
use super::error::CollectionError;
use super::live::Live;
use super::prepare::Prepared;
use super::query::MAX_LIST;
use super::row::Row;
use super::settings::Store;
use super::verify::{Found, Stored, find};
use super::{Collection, Inner};

/// A leader near a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hit {
    /// Its group.
    pub group_id: u64,
    /// The document, its distance and likeness.
    #[serde(flatten)]
    pub best: Best,
    /// Where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// What lies near a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Similar {
    /// Leaders, the most alike first.
    pub hits: Vec<Hit>,
    /// The limit of texts looked at was reached.
    pub limited: bool,
}

impl Collection {
    /// What documents would be if they came in now, each by itself. Writes nothing. Parallel on the threads of the pool.
    ///
    /// # Errors
    /// Damage. A document that cannot be one has its own error.
    pub fn check(
        &self,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError> {
        let inner = &*self.inner;
        let now = inner.now();
        let one = |document| inner.workshop.prepare(document, now);
        let few = documents.len() < 8;
        let prepared: Vec<Result<Prepared, CollectionError>> = if few {
            documents.into_iter().map(one).collect()
        } else {
            documents.into_par_iter().map(one).collect()
        };
        inner.consistent(|live, transaction| {
            let answer = |prepared: &Result<Prepared, CollectionError>| match prepared {
                Ok(prepared) => {
                    let answer = || inner.answer(live, transaction, prepared, now);
                    inner.store.guard(answer).map(Ok)
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

    /// Leaders within `k` of a document or at its threshold, the most alike first, at most `limit`.
    ///
    /// # Errors
    /// A document that cannot be one, a radius beyond the collection's, damage.
    pub fn similar(
        &self,
        document: NewDocument,
        k: Option<u32>,
        limit: usize,
    ) -> Result<Similar, CollectionError> {
        let inner = &*self.inner;
        let k = k.unwrap_or(inner.settings.k);
        if k > inner.settings.k {
            return Err(CollectionError::Limit {
                what: "k",
                limit: inner.settings.k.into(),
                got: k.into(),
            });
        }
        let now = inner.now();
        let prepared = inner.workshop.prepare(document, now)?;
        inner.consistent(|live, transaction| {
            let mut found = inner.find(live, transaction, &prepared, k, now)?;
            found.matches.sort_by(|a, b| {
                let jaccard = |similarity: Option<(f64, f64)>| similarity.map_or(0.0, |(jaccard, _)| jaccard);
                let order = jaccard(b.similarity).total_cmp(&jaccard(a.similarity));
                order.then((a.distance, a.ordinal).cmp(&(b.distance, b.ordinal)))
            });
            found.matches.truncate(limit.min(MAX_LIST));
            let hits = found.matches.iter().map(|hit| {
                let record = inner.record(transaction, hit.ordinal)?;
                Ok(Hit {
                    group_id: live.row(hit.ordinal).map_or(0, |row| row.group),
                    best: Best {
                        doc_id: record.id,
                        hamming: hit.distance,
                        jaccard: hit.similarity.map(|(jaccard, _)| jaccard),
                        containment: hit.similarity.map(|(_, containment)| containment),
                    },
                    url: record.details.url,
                })
            });
            Ok(Similar {
                hits: hits.collect::<Result<_, CollectionError>>()?,
                limited: found.limited,
            })
        })
    }

    /// Groups documents among themselves by the rules of the collection, without a look at what is in it: the ids of each group, the
    /// document that leads first, groups in order of their leaders.
    ///
    /// # Errors
    /// A document that cannot be one.
    pub fn collapse(&self, documents: Vec<NewDocument>) -> Result<Vec<Vec<String>>, CollectionError> {
        let inner = &*self.inner;
        let now = inner.now();
        let prepare = |document| inner.workshop.prepare(document, now);
        let prepared: Vec<Prepared> = documents.into_par_iter().map(prepare).collect::<Result<_, _>>()?;
        let settings = &inner.settings;
        let mut live = Live::new(inner.workshop.profile().bits(), settings.k, settings.threshold);
        let mut groups: Vec<Vec<String>> = Vec::new();
        for (ordinal, document) in (0u64..).zip(&prepared) {
            let same = live.by_text(document.row.text).next().map(|row| row.group);
            let group = if let Some(group) = same {
                Some(group)
            } else {
                let found = find(document, &live, &prepared, (settings, settings.k), now)?;
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
            // The same id twice in a list is two results.
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

impl Inner {
    fn find(
        &self,
        live: &Live,
        transaction: &ReadTransaction,
        prepared: &Prepared,
        k: u32,
        now: i64,
    ) -> Result<Found, CollectionError> {
        let shingles = Stored {
            store: &self.store,
            transaction,
            workshop: &self.workshop,
            cache: &self.cache,
        };
        find(prepared, live, &shingles, (&self.settings, k), now)
    }

    fn answer(
        &self,
        live: &Live,
        transaction: &ReadTransaction,
        prepared: &Prepared,
        now: i64,
    ) -> Result<Answer, CollectionError> {
        let verified = prepared.canonical.is_some() && self.settings.store != Store::None;
        let mut answer = Answer {
            doc_id: prepared.id.clone(),
            verdict: Verdict::New,
            group_id: None,
            story_id: None,
            canonical: None,
            best: None,
            moved: None,
            verified,
            limited: false,
            seq: None,
            durable: true,
        };
        let known = live.by_id(prepared.row.id).filter(|row| !row.is_expired(now));
        if let Some(known) = known {
            answer.moved = Some((known.fingerprint ^ prepared.row.fingerprint).count_ones());
        }
        let same = live
            .by_text(prepared.row.text)
            .find(|row| !row.is_expired(now) && row.id != prepared.row.id);
        let decided = if let Some(same) = same {
            answer.verdict = Verdict::Exact;
            let similarity = prepared.canonical.as_ref().map(|_| (1.0, 1.0));
            Some((same.ordinal, 0, similarity))
        } else {
            let found = self.find(live, transaction, prepared, self.settings.k, now)?;
            answer.limited = found.limited;
            found.best().map(|best| {
                answer.verdict = Verdict::Near;
                (best.ordinal, best.distance, best.similarity)
            })
        };
        if known.is_some() {
            answer.verdict = Verdict::Updated;
        }
        let Some((ordinal, hamming, similarity)) = decided else {
            return Ok(answer);
        };
        answer.best = Some(Best {
            doc_id: self.record(transaction, ordinal)?.id,
            hamming,
            jaccard: similarity.map(|(jaccard, _)| jaccard),
            containment: similarity.map(|(_, containment)| containment),
        });
        if let Some(row) = live.row(ordinal) {
            let group = self.store.read_group(transaction, row.group)?;
            let group = group.ok_or_else(|| self.store.damaged(format!("group {} is lost", row.group)))?;
            answer.group_id = Some(row.group);
            answer.story_id = live.story(row.story);
            answer.canonical = Some(self.named(transaction, group.canonical)?);
        }
        Ok(answer)
    }
}
