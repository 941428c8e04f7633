//! The neighbour search that a stream's groups are formed with, given by the caller.

use crate::leader_follower::Similarity;

/// A point that a search for similar items can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupPoint {
    /// A leader, by its number.
    Leader(u32),
    /// The centre of a group, by the group's id.
    Centre(u64),
}

/// A point near the current item of a [`GroupSpace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearbyPoint {
    /// The leader or centre.
    pub point: GroupPoint,
    /// Its Hamming distance from the current item.
    pub distance: u32,
}

/// The leaders and centres of all live groups, searched and compared for one item at a time, the *current item*.
///
/// [`Groups`](super::Groups) reports every change of leaders and centres here.
pub trait GroupSpace {
    /// Appends the points near the current item, the nearest first. After the first
    /// `max_leaders` leaders it may leave out points; returns the number left out.
    fn nearby(&mut self, max_leaders: usize, out: &mut Vec<NearbyPoint>) -> usize;
    /// The similarity of the current item and a leader; `None` if they are not duplicates.
    fn verify(&mut self, leader: u32) -> Option<Similarity>;
    /// Returns whether the current item is at least loosely similar to a leader.
    fn is_related(&mut self, leader: u32) -> bool;
    /// Adds the current item as a leader.
    fn add_leader(&mut self, leader: u32);
    /// Removes a leader.
    fn remove_leader(&mut self, leader: u32);
    /// Sets the centre of a group, or removes it if `centre` is `None`.
    fn set_centre(&mut self, group: u64, centre: Option<u128>);
}
