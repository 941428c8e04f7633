//! Reads documents, groups and changes. Nothing here changes anything.
//!
//! Memory follows the disk a moment after each commit. A question that trips over the difference (a document that one has and the other
//! does not) is asked again; one that trips while nothing was committed has found damage.

use std::sync::atomic::Ordering;

use redb::{ReadTransaction, ReadableTable};
use serde::{Deserialize, Serialize};

use super::document::{BestMatch, Details, DocumentRef, Verdict};
use super::error::CollectionError;
use super::live::Live;
use super::prepare::decompress;
use super::record::Change;
use super::row::Row;
use super::settings::StoredContent;
use super::database::{CHANGES, GROUPS, GroupRecord, MEMBERS};
use super::{Collection, Shared};
use twinprint_text::compare::{Comparison, compare};
use twinprint_text::fingerprint_hex;

/// Times a question is asked again while commits come in between.
const ATTEMPTS: usize = 50;
/// Rows of any list at most.
pub(crate) const MAX_LIST: usize = 10_000;

/// A stored document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Document {
    /// Its id.
    pub id: String,
    /// What is kept beside it.
    #[serde(flatten)]
    pub details: Details,
    /// Its text, where it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its fingerprint in hexadecimal; not where it is made under a secret key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The group it belongs to.
    pub group_id: u64,
    /// The story it is in, where the collection keeps stories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story_id: Option<u64>,
    /// Whether it leads the group.
    pub leads: bool,
    /// What it was when its text came in.
    pub verdict: Verdict,
    /// The leader of its group, which it was verified against; none of a leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestMatch>,
    /// The last change to it.
    pub seq: u64,
    /// Unix time in seconds at which it came in.
    pub added: i64,
    /// At which it last changed.
    pub changed: i64,
    /// At which it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Group {
    /// Its number.
    pub group_id: u64,
    /// Documents in it.
    pub size: u64,
    /// The document that others were verified against.
    pub leader: DocumentRef,
    /// The document that stands for it.
    pub canonical: DocumentRef,
    /// Some of its members, in order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<DocumentRef>,
    /// Ask for the members after this number for more; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<u64>,
}

/// Some of the groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupList {
    /// In order of their numbers.
    pub groups: Vec<Group>,
    /// Ask for the groups after this one for more; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<u64>,
}

impl Collection {
    /// Documents there are.
    pub fn len(&self) -> usize {
        self.shared.live.read().map_or(0, |live| live.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The document of an id.
    ///
    /// # Errors
    /// None of that id, or damage.
    pub fn get(&self, id: &str) -> Result<Document, CollectionError> {
        let shared = &*self.shared;
        shared.consistent(|live, transaction| {
            let row = live
                .by_id(shared.preparer.id(id))
                .filter(|row| !row.is_expired(shared.now()));
            match row {
                Some(row) => shared.stored(transaction, row, live.story(row.story)),
                None => Err(CollectionError::NoDocument { id: id.to_owned() }),
            }
        })
    }

    /// Documents in order of their numbers from `after` on, at most `limit`, for export, with the number to go on after.
    ///
    /// # Errors
    /// Damage.
    pub fn documents(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<Document>, Option<u64>), CollectionError> {
        let shared = &*self.shared;
        shared.consistent(|live, transaction| {
            let table = shared.store.table(transaction, super::database::ROWS)?;
            let range = table
                .range(after.saturating_add(1)..)
                .map_err(|error| shared.store.unreadable(error))?;
            let mut documents = Vec::new();
            let mut last = None;
            for entry in range.take(limit.clamp(1, MAX_LIST)) {
                let (key, _) = entry.map_err(|error| shared.store.unreadable(error))?;
                last = Some(key.value());
                // A row that memory does not have yet is not told of yet.
                if let Some(row) = live.row(key.value()).filter(|row| !row.is_expired(shared.now())) {
                    documents.push(shared.stored(transaction, row, live.story(row.story))?);
                }
            }
            Ok((documents, last))
        })
    }

    /// How two stored texts differ.
    ///
    /// # Errors
    /// None of an id, a collection that keeps no texts, damage.
    pub fn explain(&self, a: &str, b: &str) -> Result<Comparison, CollectionError> {
        if self.shared.settings.store != StoredContent::Text {
            return Err(CollectionError::invalid(
                "explain: this collection keeps no texts to be explained (store is not text)",
            ));
        }
        let (a, b) = (self.get(a)?, self.get(b)?);
        let text = |document: Document| document.text.unwrap_or_default();
        let public = twinprint_text::Profile::parse(&self.shared.settings.profile)
            .map_err(|error| CollectionError::Invalid(error.to_string()))?;
        let mut comparison = compare(&text(a), &text(b), &public, true);
        if self.shared.settings.keyed {
            // What follows from the secret key is not told; and what the public key says is not what decided.
            comparison.fingerprints = [String::new(), String::new()];
            if let Some(explanation) = &mut comparison.explanation {
                explanation.bits.clear();
            }
        }
        Ok(comparison)
    }

    /// Groups of `min_size` documents or more after number `after`, at most `limit`, without their members.
    ///
    /// # Errors
    /// Damage.
    pub fn groups(&self, after: u64, min_size: u64, limit: usize) -> Result<GroupList, CollectionError> {
        let shared = &*self.shared;
        shared.consistent(|_, transaction| {
            let table = shared.store.table(transaction, GROUPS)?;
            let range = table
                .range(after.saturating_add(1)..)
                .map_err(|error| shared.store.unreadable(error))?;
            let limit = limit.clamp(1, MAX_LIST);
            let mut groups = Vec::new();
            let mut next_after = None;
            for (looked, entry) in range.enumerate() {
                let (key, value) = entry.map_err(|error| shared.store.unreadable(error))?;
                // Neither the list nor the search for large groups goes on for ever: the caller asks for more.
                if groups.len() == limit || looked == 100 * MAX_LIST {
                    break;
                }
                let number = key.value();
                let record = super::seal::unseal("groups", &number.to_le_bytes(), value.value())
                    .and_then(GroupRecord::decode)
                    .ok_or_else(|| shared.store.wrong("groups", number))?;
                next_after = Some(number);
                if record.size >= min_size {
                    groups.push(shared.group(transaction, number, record, None)?);
                }
            }
            let end = table.last().map_err(|error| shared.store.unreadable(error))?;
            let end = end.map(|(key, _)| key.value());
            Ok(GroupList {
                groups,
                next_after: next_after.filter(|&last| Some(last) != end),
            })
        })
    }

    /// A group with its members after number `after`, at most `limit`. Reads what it tells, however many there are.
    ///
    /// # Errors
    /// None of that number, or damage.
    pub fn group(&self, number: u64, after: u64, limit: usize) -> Result<Group, CollectionError> {
        let shared = &*self.shared;
        shared.consistent(
            |_, transaction| match shared.store.read_group(transaction, number)? {
                Some(record) => {
                    let part = (after, limit.clamp(1, MAX_LIST));
                    shared.group(transaction, number, record, Some(part))
                }
                None => Err(CollectionError::NoGroup(number)),
            },
        )
    }

    /// Changes from number `since` on, at most `limit`, oldest first.
    ///
    /// # Errors
    /// Damage.
    pub fn changes(&self, since: u64, limit: usize) -> Result<Vec<Change>, CollectionError> {
        let shared = &*self.shared;
        shared.consistent(|_, transaction| shared.store.read_changes(transaction, since, limit.min(MAX_LIST)))
    }

    /// The number of the first change that is still told of.
    ///
    /// # Errors
    /// Damage.
    pub fn first_change(&self) -> Result<Option<u64>, CollectionError> {
        let shared = &*self.shared;
        shared.consistent(|_, transaction| {
            let table = shared.store.table(transaction, CHANGES)?;
            let first = table.first().map_err(|error| shared.store.unreadable(error))?;
            Ok(first.map(|(key, _)| key.value()))
        })
    }
}

impl Shared {
    /// Asks again while commits come in between.
    pub(super) fn consistent<T>(
        &self,
        ask: impl Fn(&Live, &ReadTransaction) -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        let mut attempt = 0;
        loop {
            let version = self.version.load(Ordering::Acquire);
            let result = {
                let live = self.live.read().map_err(|_| CollectionError::Closed)?;
                self.store.reading(|transaction| ask(&live, transaction))
            };
            let calm = version.is_multiple_of(2) && self.version.load(Ordering::Acquire) == version;
            attempt += 1;
            match result {
                Err(CollectionError::Damaged { .. }) if !calm && attempt < ATTEMPTS => {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                result => return result,
            }
        }
    }

    pub(super) fn record(
        &self,
        transaction: &ReadTransaction,
        number: u64,
    ) -> Result<super::record::DocumentRecord, CollectionError> {
        let record = self.store.read_document(transaction, number)?;
        record.ok_or_else(|| self.store.damaged(format!("document {number} is lost")))
    }

    /// The likeness of a document to the leader of its group, by what is stored of it; none of a leader.
    pub(super) fn followed(
        &self,
        transaction: &ReadTransaction,
        row: &Row,
        stored: Option<BestMatch>,
    ) -> Result<Option<BestMatch>, CollectionError> {
        let Some(best) = stored.filter(|_| !row.leads) else {
            return Ok(None);
        };
        let leader = self.group_of(transaction, row)?.leader;
        let id = self.record(transaction, leader)?.id;
        Ok(Some(BestMatch { id, ..best }))
    }

    /// The group of a document.
    pub(super) fn group_of(
        &self,
        transaction: &ReadTransaction,
        row: &Row,
    ) -> Result<GroupRecord, CollectionError> {
        let group = self.store.read_group(transaction, row.group)?;
        group.ok_or_else(|| self.store.damaged(format!("group {} is lost", row.group)))
    }

    pub(super) fn named(&self, transaction: &ReadTransaction, number: u64) -> Result<DocumentRef, CollectionError> {
        let record = self.record(transaction, number)?;
        Ok(DocumentRef {
            id: record.id,
            url: record.details.url,
        })
    }

    fn stored(
        &self,
        transaction: &ReadTransaction,
        row: &Row,
        story_id: Option<u64>,
    ) -> Result<Document, CollectionError> {
        let record = self.record(transaction, row.ordinal)?;
        let text = match self.settings.store {
            StoredContent::Text => {
                let lost = || {
                    self.store
                        .damaged(format!("document {} has lost its text", row.ordinal))
                };
                let stored = self.store.read_text(transaction, row.ordinal)?.ok_or_else(lost)?;
                Some(decompress(&stored).ok_or_else(lost)?)
            }
            _ => None,
        };
        let best = self.followed(transaction, row, record.best)?;
        let bits = self.preparer.profile().bits();
        Ok(Document {
            id: record.id,
            details: record.details,
            text,
            fingerprint: (!self.settings.keyed).then(|| fingerprint_hex(row.fingerprint, bits)),
            group_id: row.group,
            story_id,
            leads: row.leads,
            verdict: record.verdict,
            best,
            seq: record.seq,
            added: record.added,
            changed: record.changed,
            expires: (row.expires != i64::MAX).then_some(row.expires),
        })
    }

    /// A group, with the members of a part: after a number, and so many.
    fn group(
        &self,
        transaction: &ReadTransaction,
        number: u64,
        record: GroupRecord,
        part: Option<(u64, usize)>,
    ) -> Result<Group, CollectionError> {
        let (mut numbers, mut next_after) = (Vec::new(), None);
        if let Some((after, limit)) = part {
            let table = self.store.table(transaction, MEMBERS)?;
            let range = table
                .range((number, after.saturating_add(1))..=(number, u64::MAX))
                .map_err(|error| self.store.unreadable(error))?;
            for entry in range.take(limit + 1) {
                let (key, _) = entry.map_err(|error| self.store.unreadable(error))?;
                if numbers.len() == limit {
                    next_after = numbers.last().copied();
                    break;
                }
                numbers.push(key.value().1);
            }
        }
        let members = numbers.iter().map(|&number| self.named(transaction, number));
        Ok(Group {
            group_id: number,
            size: record.size,
            leader: self.named(transaction, record.leader)?,
            canonical: self.named(transaction, record.canonical)?,
            members: members.collect::<Result<_, CollectionError>>()?,
            next_after,
        })
    }
}
