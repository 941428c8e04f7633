//! Lookups that queries share: records, groups and documents, in memory and on disk.
//!
//! Memory follows the disk a moment after each commit. A query that finds a document in one and not in the other is repeated if there was a
//! commit in the meantime. Without a commit, the difference is damage.

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

/// The largest number of attempts at a query while there are commits.
const MAX_ATTEMPTS: usize = 50;
/// The pause before another attempt.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

impl Shared {
    /// Runs a query on the memory and the disk of one commit: a query that finds them different is repeated.
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

    /// Reads the record of a document.
    pub(crate) fn record(
        &self,
        transaction: &ReadTransaction,
        number: u64,
    ) -> Result<DocumentRecord, CollectionError> {
        let record = self.store.read_document(transaction, number)?;
        record.ok_or_else(|| self.store.damaged(format!("document {number} is lost")))
    }

    /// Returns the leader of a document's group with the stored similarity to it; `None` for a leader.
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

    /// Reads the record of a document's group.
    pub(crate) fn group_of(
        &self,
        transaction: &ReadTransaction,
        row: &Row,
    ) -> Result<GroupRecord, CollectionError> {
        let group = self.store.read_group(transaction, row.group)?;
        group.ok_or_else(|| self.store.damaged(format!("group {} is lost", row.group)))
    }

    /// Reads the id and address of a document.
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
