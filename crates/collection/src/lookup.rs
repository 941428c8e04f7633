//! Lookups of documents and groups that several queries share.
//!
//! After a commit, the index in memory is updated a moment later than the store on disk. So a query may find a document
//! in one of the two and not in the other. If a commit came during the query, the query is repeated. Otherwise the
//! collection is damaged.

use std::sync::atomic::Ordering;
use std::time::Duration;

use redb::ReadTransaction;

use super::database::GroupRecord;
use super::document::{BestMatch, DocumentRef};
use super::error::CollectionError;
use super::live::Live;
use super::record::DocumentRecord;
use super::row::Row;
use super::shared::Shared;

/// The largest number of times that a query is tried while commits disturb it.
const MAX_ATTEMPTS: usize = 50;
/// The pause before a query is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

impl Shared {
    /// Runs a query on the index in memory and the store on disk at the same commit. If a commit came between the two
    /// reads and the query failed because they differ, the query is repeated.
    pub(crate) fn consistent<T>(
        &self,
        query: impl Fn(&Live, &ReadTransaction) -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        let mut attempt = 0;
        loop {
            let version = self.version.load(Ordering::Acquire);
            let result = {
                let live = self.live.read().map_err(|_| CollectionError::Closed)?;
                self.store.reading(|transaction| query(&live, transaction))
            };
            let is_unchanged = version.is_multiple_of(2) && self.version.load(Ordering::Acquire) == version;
            attempt += 1;
            match result {
                Err(CollectionError::Damaged { .. }) if !is_unchanged && attempt < MAX_ATTEMPTS => {
                    std::thread::sleep(RETRY_PAUSE);
                }
                result => return result,
            }
        }
    }

    /// Reads the stored record of the document with this number. If the record is missing, the collection is damaged.
    pub(crate) fn record(
        &self,
        transaction: &ReadTransaction,
        number: u64,
    ) -> Result<DocumentRecord, CollectionError> {
        let record = self.store.read_document(transaction, number)?;
        record.ok_or_else(|| {
            self.store
                .damaged(format!("the record of document {number} is lost"))
        })
    }

    /// Returns the leader of a document's group, with the document's similarity to it from `stored`; `None` if the
    /// document is a leader.
    pub(crate) fn followed(
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

    /// Reads the stored record of the group that a document belongs to.
    pub(crate) fn group_of(
        &self,
        transaction: &ReadTransaction,
        row: &Row,
    ) -> Result<GroupRecord, CollectionError> {
        let group = self.store.read_group(transaction, row.group)?;
        group.ok_or_else(|| {
            self.store
                .damaged(format!("the record of group {} is lost", row.group))
        })
    }

    /// Reads the id and the URL of the document with this number.
    pub(crate) fn document_ref(
        &self,
        transaction: &ReadTransaction,
        number: u64,
    ) -> Result<DocumentRef, CollectionError> {
        let record = self.record(transaction, number)?;
        Ok(DocumentRef {
            id: record.id,
            url: record.details.url,
        })
    }
}
