//! A duplicate group.

use serde::{Deserialize, Serialize};

use super::canonical::Canonicals;
use super::centre::Centre;

/// A group of duplicates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DuplicateGroup {
    /// The number of its founder.
    pub id: u64,
    /// The number of members.
    pub size: u64,
    /// The times at which the first and the last of them were seen, in seconds.
    pub seen: [i64; 2],
    /// The groups merged into it.
    pub merged: Vec<u64>,
    /// Its canonical members.
    pub canonicals: Canonicals,
    /// A number of the caller's; a merged group keeps the one of the oldest group.
    pub label: u64,
    /// The founder first.
    pub(super) leaders: Vec<u32>,
    /// The founder's fingerprint, the first that the centre counts.
    pub(super) founder: u128,
    /// `None` for a group of one.
    pub(super) centre: Option<Centre>,
}
