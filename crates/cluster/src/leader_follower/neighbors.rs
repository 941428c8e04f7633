//! The traits that a caller of leader–follower grouping implements: candidates of each item, and verification.

use std::ops::Range;

/// An earlier item that may be a duplicate of the current item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The number of the earlier item.
    pub id: u32,
    /// The position of the earlier item in keep order. The smaller position wins ties.
    pub rank: u32,
    /// Hamming distance of the two items' fingerprints.
    pub distance: u32,
}

/// The similarity of the two texts of a verified pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// Jaccard: shingles that both texts have over shingles that at least one has, from 0 to 1.
    pub jaccard: f64,
    /// Containment: shingles that both texts have over the shingles of the smaller text, from 0 to 1.
    pub containment: f64,
}

/// The role of an item in the join of open items.
///
/// Most candidate pairs of an item are known beforehand: its links. A join finds further pairs while items are placed.
/// Two items can be such a pair if one of them has the role `Core`, and the other has the role `Core` or `Fringe`.
/// Items with one of these two roles are called *open*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum JoinRole {
    /// The item takes no part in the join: all its candidates are links.
    #[default]
    None,
    /// The join may pair the item with core items.
    Fringe,
    /// The join may pair the item with core items and with fringe items.
    Core,
}

/// The candidate pairs of the items. The caller implements this trait.
pub trait Neighbors {
    /// Returns `false` if the item has no candidates and is not a candidate itself. Such an item is never loaded.
    fn connected(&self, item: u32) -> bool;
    /// The item's role in the join of open items.
    fn join_role(&self, item: u32) -> JoinRole;
    /// Appends the item's links to `out`: its candidates known beforehand, with numbers from `since` up to, but not
    /// including, its own.
    fn links(&self, item: u32, since: u32, out: &mut Vec<u32>);
    /// Appends the candidates of `item` to `out` that are in `range`, whose items are all placed, and that `is_wanted`
    /// accepts. For an open item, this includes candidates from the join.
    fn candidates(
        &self,
        item: u32,
        range: Range<u32>,
        is_wanted: &dyn Fn(u32) -> bool,
        out: &mut Vec<Candidate>,
    );
    /// Records that a connected item has been placed. `leads` is true if it is a leader, and false if it is a follower.
    fn place(&mut self, item: u32, leads: bool);
}

/// The verification of candidate pairs by their texts. The caller implements this trait.
pub trait Verify {
    /// Memory in bytes that the item needs while it is loaded for verification.
    fn cost(&self, item: u32) -> usize;
    /// Loads the items of a block for verification, and keeps those that may still be compared until the next call.
    fn begin_block(&mut self, items: &[u32]);
    /// Returns `true` if it is known that an item of the block and an item before the block are not duplicates, without
    /// loading them. Such a pair is neither loaded nor verified, but it counts as verified. Nothing is known by default.
    fn is_apart(&self, _item: u32, _earlier: u32) -> bool {
        false
    }
    /// Loads the earlier items of these pairs for verification.
    fn load(&mut self, pairs: &[(u32, Candidate)]);
    /// Compares two items. Returns their similarity; `None` if they are not duplicates or if their Jaccard is below
    /// `at_least`.
    fn verify(&self, item: u32, candidate: Candidate, at_least: f64) -> Option<Similarity>;
}

/// The candidate pairs that are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Only pairs with a leader that may be the most similar one of the item. Grouping needs no other pairs.
    Leaders,
    /// All candidate pairs, so that every verified pair is reported.
    All,
}
