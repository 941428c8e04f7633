//! Pending writes: committed and visible to later writes, but not yet durable.

use super::super::error::CollectionError;
use super::super::shared::Shared;
use twinprint_io::guard::guarded;

/// Keeps track of the pending writes of a collection, so that they can be rolled back.
///
/// Dropping this value rolls the pending writes back. Otherwise redb would make them durable when the store is closed.
pub(super) struct PendingWrites<'a> {
    shared: &'a Shared,
    /// The state of the store before the first pending write; `None` if no writes are pending.
    before: Option<redb::Savepoint>,
}

impl<'a> PendingWrites<'a> {
    /// Starts without pending writes.
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, before: None }
    }

    /// True if at least one write is pending.
    pub(super) fn exist(&self) -> bool {
        self.before.is_some()
    }

    /// Records the current state of the store, to which a rollback returns. If that fails, the collection refuses
    /// writes.
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

    /// Called after a synced commit, which has made the pending writes durable: drops the recorded state. If the commit
    /// failed, the recorded state is kept, and the pending writes are rolled back when the collection is closed.
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
        // After the rollback, memory contains documents that are not on disk, so the collection must accept no more
        // writes.
        self.shared.poison(&CollectionError::Closed);
        // The rollback fails only if a write has failed before. After a failed write redb makes nothing durable any
        // more, so the pending writes are lost in that case, too.
        let _failed = self.roll_back(savepoint);
    }
}
