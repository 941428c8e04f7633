//! The condition variable that wakes the background thread.

use std::sync::{Condvar, Mutex, PoisonError};

use super::locks::lock;

/// A flag with a condition variable, which wakes the background thread. A notification that arrives while the thread
/// works makes it run once more.
#[derive(Debug, Default)]
pub(super) struct Wakeup {
    is_pending: Mutex<bool>,
    changed: Condvar,
}

impl Wakeup {
    /// Sets the flag and wakes the background thread.
    pub(super) fn notify(&self) {
        *lock(&self.is_pending) = true;
        self.changed.notify_one();
    }

    /// Waits until the flag is set, and clears it.
    pub(super) fn wait(&self) {
        let mut is_pending = lock(&self.is_pending);
        while !*is_pending {
            is_pending = self
                .changed
                .wait(is_pending)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *is_pending = false;
    }
}
