//! The input and the result of placing an item, and the counters of the work.

use serde::{Deserialize, Serialize};

use super::canonical::Member;
use crate::leader_follower::Similarity;

/// An item to be placed.
#[derive(Clone, Debug)]
pub struct GroupItem {
    /// Its fingerprint.
    pub fingerprint: u128,
    /// Its number, its time and the properties that the policy compares.
    pub member: Member,
}

/// The group that an item was placed in.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPlacement {
    /// The group.
    pub group: u64,
    /// The leader it was verified against, by its number in the stream; the item itself if it founded the group.
    pub leader: u64,
    /// Hamming distance to that leader, or to the centre that led to it.
    pub distance: u32,
    /// Similarity to that leader.
    pub similarity: Similarity,
    /// The groups that this item merged into it.
    pub merged: Vec<u64>,
}

/// Counters of the work done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCounts {
    /// Pairs verified. Serialized as 0, because it depends on the random key of the search for short texts.
    #[serde(serialize_with = "zero")]
    pub verified: u64,
    /// Points near an item that were not compared with it because of
    /// [`GroupOptions::compared`](super::GroupOptions::compared).
    pub passed_over: u64,
    /// Groups founded.
    pub founded: u64,
    /// Groups merged into others.
    pub merged: u64,
    /// Groups retired.
    pub retired: u64,
}

/// Serializes a counter as 0.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn zero<S: serde::Serializer>(_: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(0)
}
