//! The committed state of an index, and the stamp that a commit is bound to.

use std::sync::Arc;

use super::manifest::{Manifest, NamesFile};
use super::names::Names;

/// The state of the index on disk.
#[derive(Debug)]
pub(super) struct CommittedState {
    /// The manifest as last written.
    pub(super) manifest: Manifest,
    /// The stamp of the last commit.
    pub(super) stamp: u64,
    /// The number of the next file. A compaction takes a number before it writes, so a number may stay unused.
    pub(super) next: u64,
    /// The names of the ids, including those that the next commit will bind; `None` if ids are numbers.
    pub(super) names: Option<Arc<Names>>,
    /// The file of names that the next commit will bind.
    pub(super) staged_names: Option<NamesFile>,
}

impl CommittedState {
    /// Takes a number for a new file.
    pub(super) fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

/// The last change that a commit includes.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommitPoint {
    /// The stamp of the last change that the commit includes.
    pub(super) stamp: u64,
    /// The caller's position at that stamp; see `Index::mark`.
    pub(super) checkpoint: u64,
}
