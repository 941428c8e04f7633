//! The requests to the writing thread, and their results.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use twinprint_io::runs::EndedRun;

use super::document::{Answer, Durability};
use super::error::CollectionError;
use super::prepare::Prepared;

/// The largest number of writes that may wait for the writing thread.
pub(crate) const MAX_QUEUED_WRITES: u64 = 20_000;

/// One write: a document to add, a document to delete, or a run to store.
pub(crate) enum WriteOp {
    /// Adds or updates a document. If `only_new` is true, a duplicate gets an answer but is not stored.
    Put { prepared: Arc<Prepared>, only_new: bool },
    /// Deletes the document whose id has this keyed hash.
    Delete(u128),
    /// Stores a run with its answers.
    RecordRun(Box<EndedRun>),
}

/// The moment at which a write becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteDurability {
    /// The durability that the caller has chosen.
    Chosen(Durability),
    /// The write becomes durable with the next synced write. If the collection is closed before that, the write is
    /// rolled back.
    Pending,
}

/// The result of one write.
#[derive(Debug)]
pub(crate) enum WriteResult {
    /// The answer for a document that was added.
    Answer(Box<Answer>),
    /// The number of the change that deleted a document; `None` if no such document was stored.
    Deleted(Option<u64>),
    /// The run is stored.
    RunRecorded,
}

/// A request to the writing thread: writes that are committed together or not at all, and the channel for their
/// results.
pub(crate) struct WriteRequest {
    pub(crate) ops: Vec<WriteOp>,
    pub(crate) durability: WriteDurability,
    pub(crate) reply: SyncSender<Result<Vec<WriteResult>, CollectionError>>,
}
