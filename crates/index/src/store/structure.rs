//! The committed state of an index, and the moment that a commit is bound to.

use super::manifest::Manifest;

/// The state on disk.
#[derive(Debug)]
pub(super) struct CommittedState {
    /// The manifest as last written.
    pub(super) manifest: Manifest,
    /// The stamp of the last commit.
    pub(super) stamp: u64,
    /// The number of the next file. Compactions take numbers before they have anything to write.
    pub(super) next: u64,
}

impl CommittedState {
    /// Takes a number for a new file.
    pub(super) fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

/// The moment that a commit is bound to.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommitPoint {
    /// The stamp of the last change that is committed.
    pub(super) stamp: u64,
    /// The caller's mark at that stamp.
    pub(super) checkpoint: u64,
}
