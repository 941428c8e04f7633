//! The search for leaders and centres near an item of a stream. The caller implements it.

use crate::leader_follower::Similarity;

/// A result of a search near an item: a leader or the centre of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupPoint {
    /// A leader, by the number under which it was added.
    Leader(u32),
    /// The centre of a group, by the id of the group.
    Centre(u64),
}

/// A leader or centre near the current item of a [`GroupSpace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearbyPoint {
    /// The leader or centre found.
    pub point: GroupPoint,
    /// Hamming distance of the point from the current item.
    pub distance: u32,
}

/// The leaders and centres of all live groups. Each method searches or compares for one item, the *current item*.
///
/// [`Groups`](super::Groups) calls this trait for every change of leaders and centres.
pub trait GroupSpace {
    /// Appends the points near the current item to `out`, the nearest first. After `max_leaders` leaders, it may omit
    /// the other points. Returns the number of points omitted.
    fn nearby(&mut self, max_leaders: usize, out: &mut Vec<NearbyPoint>) -> usize;
    /// Compares the current item with a leader. Returns their similarity; `None` if they are not duplicates.
    fn verify(&mut self, leader: u32) -> Option<Similarity>;
    /// Returns `true` if the current item is at least loosely similar to a leader.
    fn is_related(&mut self, leader: u32) -> bool;
    /// Adds the current item as a leader with the number `leader`.
    fn add_leader(&mut self, leader: u32);
    /// Removes the leader with the number `leader`.
    fn remove_leader(&mut self, leader: u32);
    /// Sets the centre of a group, or removes it if `centre` is `None`.
    fn set_centre(&mut self, group: u64, centre: Option<u128>);
}
