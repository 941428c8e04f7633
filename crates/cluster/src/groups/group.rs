//! A duplicate group.

use serde::{Deserialize, Serialize};

use super::canonical::Canonicals;
use super::centre::Centre;

/// A group of duplicates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DuplicateGroup {
    /// The id of the group: the number of its founder in the stream.
    pub id: u64,
    /// The number of members.
    pub size: u64,
    /// The times at which the first and the last member were seen, in seconds.
    pub seen: [i64; 2],
    /// The ids of the groups that were merged into this one.
    pub merged: Vec<u64>,
    /// The canonical members of the group, one for each site.
    pub canonicals: Canonicals,
    /// A number that the caller may set. When groups are merged, the number of the oldest group stays.
    pub label: u64,
    /// The leaders of the group, the founder first.
    pub(super) leaders: Vec<u32>,
    /// The founder's fingerprint, which is the first that the centre counts.
    pub(super) founder: u128,
    /// The centre of the group; `None` if the group has only one member.
    pub(super) centre: Option<Centre>,
}
