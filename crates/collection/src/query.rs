//! Queries for stored documents and for changes.

use redb::{ReadTransaction, ReadableTable as _};
use serde::{Deserialize, Serialize};
use twinprint_text::compare::{Comparison, compare};
use twinprint_text::fingerprint_hex;

use super::collection::Collection;
use super::database::{CHANGES, ROWS};
use super::document::{BestMatch, Details, Verdict};
use super::error::CollectionError;
use super::limits::MAX_LIST_ROWS;
use super::prepare::decompress;
use super::record::Change;
use super::row::Row;
use super::settings::StoredContent;
use super::shared::Shared;

/// A stored document with its details, its text, its group and its story.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Document {
    /// The id of the document.
    pub id: String,
    /// Data that is stored with the document.
    #[serde(flatten)]
    pub details: Details,
    /// The text of the document; `None` if the collection does not store texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The fingerprint in hexadecimal; `None` if the collection makes fingerprints under a secret key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The number of the group that the document belongs to.
    pub group_id: u64,
    /// The number of the story that the document is in; `None` if the collection keeps no stories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story_id: Option<u64>,
    /// True if the document is the leader of its group.
    pub leads: bool,
    /// The verdict that the document got when its current text was added.
    pub verdict: Verdict,
    /// The leader of the document's group, and the similarity to it; `None` if the document is the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestMatch>,
    /// The number of the document's last change.
    pub seq: u64,
    /// The Unix time in seconds when the document's current text was added.
    pub added: i64,
    /// The Unix time in seconds when the document last changed.
    pub changed: i64,
    /// The Unix time in seconds when the document expires; `None` if it never expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
}

impl Collection {
    /// The number of stored documents. An expired document counts until it is deleted.
    pub fn len(&self) -> usize {
        self.shared.live.read().map_or(0, |live| live.len())
    }

    /// True if the collection contains no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the stored document with this id.
    ///
    /// # Errors
    /// [`CollectionError::NoDocument`] if no document has the id, [`CollectionError::Damaged`].
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

    /// Returns a page of the stored documents, ascending by number: at most `limit`, and at most 10,000, with numbers
    /// above `after`. Also returns the value of `after` that continues the list; `None` if no documents follow.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`].
    ///
    /// # Examples
    ///
    /// An export reads all documents page by page:
    ///
    /// ```
    /// # use twinprint_collection::{Collection, CollectionError, Content, Details, Durability, NewDocument, Settings};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let collection = Collection::create(&dir.path().join("seen"), Settings::default())?;
    /// # let page = |n: u32| NewDocument {
    /// #     id: n.to_string(),
    /// #     content: Content::Text(format!("Page {n} of the archive")),
    /// #     details: Details::default(),
    /// #     ttl: None,
    /// # };
    /// # collection.add((0..25).map(page).collect(), false, Durability::Synced)?;
    /// let mut ids = Vec::new();
    /// let mut after = Some(0);
    /// while let Some(start) = after {
    ///     let (documents, next) = collection.documents(start, 10)?;
    ///     ids.extend(documents.into_iter().map(|document| document.id));
    ///     after = next;
    /// }
    /// assert_eq!(ids.len(), 25);
    /// # Ok(())
    /// # }
    /// ```
    pub fn documents(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<Document>, Option<u64>), CollectionError> {
        let shared = &*self.shared;
        shared.consistent(|live, transaction| {
            let table = shared.store.table(transaction, ROWS)?;
            let range = table
                .range(after.saturating_add(1)..)
                .map_err(|error| shared.store.unreadable(error))?;
            let mut documents = Vec::new();
            let mut last = None;
            for entry in range.take(limit.clamp(1, MAX_LIST_ROWS)) {
                let (key, _) = entry.map_err(|error| shared.store.unreadable(error))?;
                last = Some(key.value());
                // A document of the latest commit may be missing in memory for a moment. It is then skipped.
                if let Some(row) = live.row(key.value()).filter(|row| !row.is_expired(shared.now())) {
                    documents.push(shared.stored(transaction, row, live.story(row.story))?);
                }
            }
            Ok((documents, last))
        })
    }

    /// Compares the texts of two stored documents: distance, similarities, and the features and fingerprint bits in
    /// which they differ.
    ///
    /// # Errors
    /// [`CollectionError::NoDocument`] if no document has the id `a` or `b`, [`CollectionError::Invalid`] if the
    /// collection stores no texts, [`CollectionError::Damaged`].
    pub fn explain(&self, a: &str, b: &str) -> Result<Comparison, CollectionError> {
        if self.shared.settings.store != StoredContent::Text {
            return Err(CollectionError::invalid(
                "explain: this collection stores no texts to compare (its setting store is not text)",
            ));
        }
        let (a, b) = (self.get(a)?, self.get(b)?);
        let text = |document: Document| document.text.unwrap_or_default();
        let public = twinprint_text::Profile::parse(&self.shared.settings.profile)
            .map_err(|error| CollectionError::Invalid(error.to_string()))?;
        let mut comparison = compare(&text(a), &text(b), &public, true);
        if self.shared.settings.keyed {
            // `compare` has used the public key. The collection's own fingerprints are secret, so no fingerprint is
            // returned.
            comparison.fingerprints = [String::new(), String::new()];
            if let Some(explanation) = &mut comparison.explanation {
                explanation.bits.clear();
            }
        }
        Ok(comparison)
    }

    /// Returns the stored changes from number `since` on, at most `limit` and at most 10,000, ascending by number.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`].
    pub fn changes(&self, since: u64, limit: usize) -> Result<Vec<Change>, CollectionError> {
        let shared = &*self.shared;
        shared.consistent(|_, transaction| {
            shared
                .store
                .read_changes(transaction, since, limit.min(MAX_LIST_ROWS))
        })
    }

    /// Returns the number of the oldest stored change; `None` if no change is stored. Only the latest million changes
    /// are stored.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`].
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
    /// Reads the stored document of a row.
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
                        .damaged(format!("the text of document {} is lost", row.ordinal))
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
}
