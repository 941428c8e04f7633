//! Decides a batch of writes in order: the verdict and the group of each document, in one transaction.
//!
//! Each document is compared with two sets: the *settled* documents, which earlier commits have stored, and the *fresh*
//! documents, which earlier writes of the same batch have added. The settled documents are searched in parallel before
//! the first decision. So of near-duplicates that arrive at the same time exactly one is new, and each document of a
//! request is compared with the documents before it. Readers see a batch only after its commit.
//!
//! **Groups.** A document joins the leader of highest Jaccard among its verified duplicates (ties: smaller distance,
//! then earlier). A document without a duplicate leads a new group. The number of the group is the number of the change
//! that added the leader. Only leaders are candidates, so groups contain no chains of duplicates. When a leader is
//! removed, its members are placed again ([`groups`]). So every member is always a verified duplicate of its leader. A
//! leader whose text changes is placed before its members, and keeps its group number if it leads again.

mod groups;
mod stories;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use twinprint_text::Measure;
use twinprint_text::overlap::ShingleSet;

use super::document::{Answer, BestMatch, DocumentRef, Verdict};
use super::error::CollectionError;
use super::live::{Live, StoryMerge};
use super::prepare::Prepared;
use super::record::{Change, ChangeKind, DocumentRecord};
use super::row::Row;
use super::settings::{Settings, StoredContent};
use super::stories::StoryEngine;
use super::tables::Tables;
use super::verify::{Asked, Found, Match, Rule, Shingles, find};

/// The state of a batch of writes while its documents are decided one after the other.
pub(crate) struct Commit<'a, 't, S> {
    pub(crate) settings: &'a Settings,
    /// The documents that earlier commits have stored.
    pub(crate) settled: &'a Live,
    pub(crate) tables: Tables<'t>,
    /// The source of the shingle sets of settled documents.
    pub(crate) shingles: &'a S,
    /// The Unix time in seconds at which the batch is decided.
    pub(crate) now: i64,
    /// The story engine, already changed by the writes so far; `None` if the collection keeps no stories.
    pub(crate) stories: Option<&'a mut StoryEngine>,
    /// The merges of stories that this batch has caused.
    pub(crate) merged: Vec<StoryMerge>,
    /// The documents that this batch has added or changed.
    pub(crate) fresh: Live,
    /// The numbers of the settled documents that this batch has removed or changed.
    pub(crate) removed: FxHashSet<u64>,
    /// The groups that lost their leader, each with the hash of that leader's text.
    pub(crate) orphans: BTreeMap<u64, u128>,
    /// The groups that lost their canonical document.
    pub(crate) without_canonical: BTreeSet<u64>,
    /// The documents that this batch has added, by number. Their shingle sets are made from memory, without the store.
    pub(crate) prepared: FxHashMap<u64, Arc<Prepared>>,
}

/// A source of shingle sets: documents of the batch from memory, settled documents from the store.
struct BatchShingles<'a, S> {
    prepared: &'a FxHashMap<u64, Arc<Prepared>>,
    settled: &'a S,
}

impl<S: Shingles> Shingles for BatchShingles<'_, S> {
    fn of(&self, row: &Row, measure: Measure) -> Result<Option<Arc<ShingleSet>>, CollectionError> {
        match self.prepared.get(&row.ordinal) {
            Some(prepared) => Ok(prepared.set(measure)),
            None => self.settled.of(row, measure),
        }
    }
}

impl<S: Shingles> Commit<'_, '_, S> {
    /// The row of the document with this number, as the batch has left it so far.
    fn row(&self, ordinal: u64) -> Option<&Row> {
        let settled = || {
            self.settled
                .row(ordinal)
                .filter(|_| !self.removed.contains(&ordinal))
        };
        self.fresh.row(ordinal).or_else(settled)
    }

    /// The row of the document whose id has this hash, as the batch has left it so far.
    fn by_id(&self, id: u128) -> Option<&Row> {
        let settled = || {
            let row = self.settled.by_id(id)?;
            (!self.removed.contains(&row.ordinal)).then_some(row)
        };
        self.fresh.by_id(id).or_else(settled)
    }

    /// The documents whose text has this hash: first the settled ones, then the fresh ones, each ascending by number.
    fn by_text(&self, text: u128) -> [impl DoubleEndedIterator<Item = &Row>; 2] {
        [self.settled, &self.fresh].map(|live| {
            let gone = |row: &Row| std::ptr::eq(live, self.settled) && self.removed.contains(&row.ordinal);
            let there = move |row: &&Row| !row.is_expired(self.now) && !gone(row);
            live.by_text(text).filter(there)
        })
    }

    /// The earliest document whose text has this hash.
    fn first_of_text(&self, text: u128) -> Option<&Row> {
        let first = self
            .by_text(text)
            .into_iter()
            .filter_map(|mut copies| copies.next());
        first.min_by_key(|row| row.ordinal)
    }

    /// The verdict that describes a stored document now: new if it leads a group, exact if another document has the
    /// same text, otherwise near.
    fn relation(&self, row: &Row) -> Verdict {
        row.relation(self.by_text(row.text).into_iter().flatten())
    }

    /// The earliest stored document with the same text as `asked`, as a match; `None` if no stored document has that
    /// text.
    fn copy_of(&self, asked: Asked<'_>) -> Option<Match> {
        let same = self.first_of_text(asked.row().text)?;
        Some(Match {
            ordinal: same.ordinal,
            distance: 0,
            similarity: asked.likeness_to_copy(),
        })
    }

    /// The duplicate whose group a document joins, or `None`. The boolean is true if the limit `max_texts` left
    /// candidates uncompared.
    fn decide(&self, asked: Asked<'_>, settled: &Found) -> Result<(Option<Match>, bool), CollectionError> {
        if let Some(copy) = self.copy_of(asked) {
            return Ok((Some(copy), false));
        }
        let rule = Rule::of(self.settings);
        let there = |row: &Row| !row.is_expired(self.now);
        let mut found = find(asked, &self.fresh, &self.shingles(), rule, there)?;
        found.limited |= settled.limited;
        let there = settled
            .matches
            .iter()
            .filter(|m| !self.removed.contains(&m.ordinal));
        found.matches.extend(there);
        Ok((found.best(), found.limited))
    }

    fn shingles(&self) -> BatchShingles<'_, S> {
        BatchShingles {
            prepared: &self.prepared,
            settled: self.shingles,
        }
    }

    /// Adds or updates a document and returns its answer. `settled` contains its duplicates among the documents of
    /// earlier commits. If `only_new` is true, a duplicate gets an answer but is not stored.
    pub(crate) fn put(
        &mut self,
        prepared: &Arc<Prepared>,
        settled: &Found,
        only_new: bool,
    ) -> Result<Answer, CollectionError> {
        let mut kept_group = None;
        let mut members = Vec::new();
        let mut moved = None;
        let mut left = None;
        self.place_orphans()?;
        let known = self.by_id(prepared.row.id).cloned();
        if known.as_ref().is_some_and(|old| old.is_expired(self.now)) {
            self.delete(prepared.row.id, ChangeKind::Expired)?;
            self.place_orphans()?;
        } else if let Some(old) = known {
            if old.text == prepared.row.text {
                return self.refresh(&old, prepared);
            }
            let both = old.features > 0 && prepared.row.features > 0;
            moved = Some(if both {
                (old.fingerprint ^ prepared.row.fingerprint).count_ones()
            } else {
                0
            });
            self.remove(&old)?;
            if old.leads {
                kept_group = Some(old.group);
                members = self.disband(old.group)?;
            } else {
                self.place_orphans()?;
            }
            left = Some(old);
        }
        let (decided, limited) = self.decide(Asked::new(prepared, self.settings), settled)?;
        let verdict = match decided {
            None => Verdict::New,
            Some(_) if self.first_of_text(prepared.row.text).is_some() => Verdict::Exact,
            Some(_) => Verdict::Near,
        };
        let best = decided.map(|decided| self.best(decided)).transpose()?;
        let joined = decided.and_then(|decided| self.row(decided.ordinal)).cloned();
        let verified = prepared.text.is_some() && self.settings.store != StoredContent::None;
        if only_new && joined.is_some() && moved.is_none() {
            return Ok(Answer {
                id: prepared.id.clone(),
                verdict,
                group_id: joined.as_ref().map(|row| row.group),
                story_id: joined.as_ref().and_then(|row| self.story(row.story)),
                canonical: joined.map(|row| self.canonical(row.group)).transpose()?,
                best,
                moved,
                as_new: None,
                unchanged: false,
                verified,
                limited,
                seq: None,
                durable: true,
            });
        }
        let ordinal = self.tables.next_number();
        let joined = joined.map(|row| row.group);
        let group = joined.or(kept_group).unwrap_or(ordinal);
        let story = self.join_story(prepared, ordinal, joined)?;
        // The old version leaves its story after the new version has joined one. Otherwise a story of only this page
        // would be removed first, and the page could not stay in it.
        if let Some(old) = left {
            self.leave_story(old.story, old.ordinal)?;
        }
        let row = Row {
            ordinal,
            group,
            story,
            leads: joined.is_none(),
            ..prepared.row.clone()
        };
        let record = DocumentRecord {
            id: prepared.id.clone(),
            details: prepared.details.clone(),
            verdict,
            best: decided.map(|decided| self.followed(decided)).transpose()?,
            seq: ordinal,
            added: self.now,
            changed: self.now,
            bytes: prepared.bytes,
        };
        self.write(&row, &record, prepared)?;
        let reported = if moved.is_some() {
            Verdict::Updated
        } else {
            verdict
        };
        self.tables.count(&record, |counts| {
            counts.bytes += record.bytes;
            match reported {
                Verdict::New => counts.new += 1,
                Verdict::Exact => counts.exact += 1,
                Verdict::Near => counts.near += 1,
                Verdict::Updated => counts.updated += 1,
            }
        })?;
        self.note(ordinal, reported.into(), &record.id, group)?;
        self.fresh.insert(row);
        self.prepared.insert(ordinal, Arc::clone(prepared));
        self.place_again(&members)?;
        let placed = self.row(ordinal).filter(|_| moved.is_some());
        let as_new = placed.map(|row| self.relation(row));
        Ok(Answer {
            id: prepared.id.clone(),
            verdict: reported,
            group_id: Some(group),
            story_id: self.story(story),
            canonical: Some(self.canonical(group)?),
            best,
            moved,
            as_new,
            unchanged: false,
            verified,
            limited,
            seq: Some(ordinal),
            durable: true,
        })
    }

    /// Updates a stored document whose text is unchanged: stores the new details and the new time of expiry.
    fn refresh(&mut self, old: &Row, prepared: &Prepared) -> Result<Answer, CollectionError> {
        let before = self.tables.document(old.ordinal)?;
        let seq = self.tables.next_number();
        let record = DocumentRecord {
            details: prepared.details.clone(),
            seq,
            changed: self.now,
            ..before.clone()
        };
        self.tables.set_source(&before, old.ordinal, false)?;
        self.tables.set_source(&record, old.ordinal, true)?;
        self.tables.put_document(old.ordinal, &record)?;
        self.tables.count(&record, |counts| counts.updated += 1)?;
        if old.expires != prepared.row.expires {
            self.replace(Row {
                expires: prepared.row.expires,
                ..old.clone()
            })?;
        }
        if before.details != record.details {
            self.choose_canonical(old.group)?;
        }
        self.note(seq, ChangeKind::Updated, &record.id, old.group)?;
        let verified = prepared.text.is_some() && self.settings.store != StoredContent::None;
        Ok(Answer {
            id: prepared.id.clone(),
            verdict: Verdict::Updated,
            group_id: Some(old.group),
            story_id: self.story(old.story),
            canonical: Some(self.canonical(old.group)?),
            best: self.followed_by(old, &before)?,
            moved: Some(0),
            as_new: Some(self.relation(old)),
            unchanged: true,
            verified,
            limited: false,
            seq: Some(seq),
            durable: true,
        })
    }

    /// Deletes the document whose id has this hash. Returns the number of the change; `None` if no document has the id.
    /// If the document led a group, the caller must call [`place_orphans`](Self::place_orphans) to place the group's
    /// members again.
    pub(crate) fn delete(&mut self, id: u128, kind: ChangeKind) -> Result<Option<u64>, CollectionError> {
        let Some(row) = self.by_id(id).cloned() else {
            return Ok(None);
        };
        let record = self.remove(&row)?;
        self.leave_story(row.story, row.ordinal)?;
        self.tables.count(&record, |counts| counts.deleted += 1)?;
        let seq = self.tables.next_number();
        self.note(seq, kind, &record.id, row.group)?;
        Ok(Some(seq))
    }

    /// Deletes at most `limit` expired documents, and places the members again that lost their leader.
    pub(crate) fn expire(&mut self, limit: usize) -> Result<(), CollectionError> {
        for ordinal in self.settled.expired(self.now, limit) {
            if let Some(row) = self.row(ordinal).filter(|row| row.is_expired(self.now)) {
                let id = row.id;
                self.delete(id, ChangeKind::Expired)?;
            }
        }
        self.place_orphans()
    }

    fn note(&mut self, seq: u64, change: ChangeKind, id: &str, group: u64) -> Result<(), CollectionError> {
        self.tables.put_change(&Change {
            seq,
            change,
            id: id.to_owned(),
            group_id: group,
        })
    }

    fn write(
        &mut self,
        row: &Row,
        record: &DocumentRecord,
        prepared: &Prepared,
    ) -> Result<(), CollectionError> {
        let ordinal = row.ordinal;
        self.tables.put_row(row)?;
        self.tables.put_document(ordinal, record)?;
        self.tables.set_source(record, ordinal, true)?;
        if self.settings.store != StoredContent::None {
            self.tables.put_text(ordinal, &prepared.stored)?;
        }
        self.enter_group(row, record)?;
        self.set_group_story(row)
    }

    fn remove(&mut self, row: &Row) -> Result<DocumentRecord, CollectionError> {
        let ordinal = row.ordinal;
        let record = self.tables.document(ordinal)?;
        self.tables.remove_row(ordinal)?;
        self.tables.remove_document(ordinal, &record)?;
        if self.settled.row(ordinal).is_some() {
            self.removed.insert(ordinal);
        }
        self.fresh.remove(ordinal);
        self.prepared.remove(&ordinal);
        self.leave_group(row)?;
        Ok(record)
    }

    fn canonical(&self, group: u64) -> Result<DocumentRef, CollectionError> {
        let record = self.tables.document(self.tables.group(group)?.canonical)?;
        Ok(DocumentRef {
            id: record.id,
            url: record.details.url,
        })
    }

    fn best(&self, decided: Match) -> Result<BestMatch, CollectionError> {
        Ok(BestMatch {
            id: self.tables.document(decided.ordinal)?.id,
            hamming: decided.distance,
            jaccard: decided.similarity.map(|(jaccard, _)| jaccard),
            containment: decided.similarity.map(|(_, containment)| containment),
        })
    }
}
