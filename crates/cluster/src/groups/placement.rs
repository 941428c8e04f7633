//! The input and the result of placing an item in a group, and counts of the work done.

use serde::{Deserialize, Serialize};

use super::canonical::Member;
use crate::leader_follower::Similarity;

/// An item to be placed in a group.
#[derive(Clone, Debug)]
pub struct GroupItem {
    /// The item's fingerprint.
    pub fingerprint: u128,
    /// The item's number, its time, and the properties that the policy for the canonical member compares.
    pub member: Member,
}

/// The group that an item was placed in.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPlacement {
    /// The id of the group.
    pub group: u64,
    /// The leader that the item was verified against, as a number in the stream; the item itself if it founded the
    /// group.
    pub leader: u64,
    /// Hamming distance between the item and that leader. If the leader was found through the group's centre, it is the
    /// distance to the centre.
    pub distance: u32,
    /// Similarity of the item to that leader.
    pub similarity: Similarity,
    /// The ids of the groups that were merged because of this item.
    pub merged: Vec<u64>,
}

/// Counts of the work done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCounts {
    /// Number of verified pairs. It is serialized as 0, because it depends on the random key of the search for short
    /// texts.
    #[serde(serialize_with = "zero")]
    pub verified: u64,
    /// Number of leaders and centres near an item that were not compared with it, because of the limit
    /// [`GroupOptions::compared`](super::GroupOptions::compared).
    pub passed_over: u64,
    /// Number of groups founded.
    pub founded: u64,
    /// Number of groups merged into others.
    pub merged: u64,
    /// Number of groups retired.
    pub retired: u64,
}

/// Serializes any counter as 0.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn zero<S: serde::Serializer>(_: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(0)
}
