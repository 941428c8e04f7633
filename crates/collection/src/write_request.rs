//! Requests to the writing thread and their results.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use twinprint_io::runs::EndedRun;

use super::document::{Answer, Durability};
use super::error::CollectionError;
use super::prepare::Prepared;

/// The largest number of writes that may wait for the writing thread.
pub(crate) const MAX_QUEUED_WRITES: u64 = 20_000;

/// One write.
pub(crate) enum WriteOp {
    /// Adds or updates a document; with `only_new`, a duplicate is answered and not stored.
    Put { prepared: Arc<Prepared>, only_new: bool },
    /// Deletes the document whose id has this keyed hash.
    Delete(u128),
    /// Stores the record of a run.
    RecordRun(Box<EndedRun>),
}

/// The moment at which a write becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteDurability {
    /// As the caller chose.
    Chosen(Durability),
    /// With the next synced write; the write is rolled back if none comes.
    Pending,
}

/// The result of one write.
#[derive(Debug)]
pub(crate) enum WriteResult {
    /// The answer for a document.
    Answer(Box<Answer>),
    /// The number of the change; `None` if there was no such document.
    Deleted(Option<u64>),
    /// The record of the run is stored.
    RunRecorded,
}

/// Writes that are committed together or not at all.
pub(crate) struct WriteRequest {
    pub(crate) ops: Vec<WriteOp>,
    pub(crate) durability: WriteDurability,
    pub(crate) reply: SyncSender<Result<Vec<WriteResult>, CollectionError>>,
}
