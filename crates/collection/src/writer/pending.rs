//! Pending writes: committed in memory, visible to later writes, and not yet durable.

use super::super::error::CollectionError;
use super::super::shared::Shared;
use twinprint_io::guard::guarded;

/// The pending writes of a collection, if there are any.
///
/// Dropping it rolls them back: redb would otherwise make them durable when the store is closed.
pub(super) struct PendingWrites<'a> {
    shared: &'a Shared,
    /// The state of the store before the first pending write; `None` if there is none.
    before: Option<redb::Savepoint>,
}

impl<'a> PendingWrites<'a> {
    /// No pending writes.
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, before: None }
    }

    /// True if there are pending writes.
    pub(super) fn exist(&self) -> bool {
        self.before.is_some()
    }

    /// Records the state to which a rollback returns. If that fails, the collection refuses writes.
    pub(super) fn begin(&mut self) {
        let store = &self.shared.store;
        let begun = store.writing(|db| {
            let transaction = db.begin_write().map_err(|error| store.unreadable(error))?;
            let savepoint = transaction.ephemeral_savepoint();
            savepoint.map_err(|error| store.unreadable(error))
        });
        match begun {
            Ok(savepoint) => self.before = Some(savepoint),
            Err(error) => self.shared.poison(&error),
        }
    }

    /// Ends the pending state after a synced commit. If the commit failed, the collection refuses writes and the store makes nothing durable
    /// any more, so the pending writes stay until the collection is closed.
    pub(super) fn end(&mut self) {
        if self.shared.refusal().is_none() {
            let before = self.before.take();
            let _panicked = guarded(|| drop(before));
        }
    }

    fn roll_back(&self, savepoint: redb::Savepoint) -> Result<(), CollectionError> {
        let store = &self.shared.store;
        store.writing(|db| {
            let mut transaction = db.begin_write().map_err(|error| store.unreadable(error))?;
            transaction.set_quick_repair(true);
            let restored = transaction.restore_savepoint(&savepoint);
            restored.map_err(|error| store.unreadable(error))?;
            let committed = transaction.commit();
            drop(savepoint);
            committed.map_err(|error| store.unreadable(error))
        })
    }
}

impl Drop for PendingWrites<'_> {
    fn drop(&mut self) {
        let Some(savepoint) = self.before.take() else {
            return;
        };
        // From here on, memory contains documents that the disk does not.
        self.shared.poison(&CollectionError::Closed);
        // A rollback fails after a failed write only. Then the store makes nothing durable any more, with the same result.
        let _failed = self.roll_back(savepoint);
    }
}
