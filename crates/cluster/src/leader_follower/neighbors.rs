//! The candidates of items and their verification: the two things that leader–follower grouping asks its caller
//! for.

use std::ops::Range;

/// An earlier item that may be a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The earlier item.
    pub id: u32,
    /// Its position in keep order, which decides ties.
    pub rank: u32,
    /// Hamming distance of the two fingerprints.
    pub distance: u32,
}

/// The similarity of two texts of a verified pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// Shingles in both texts over shingles in either, 0..=1.
    pub jaccard: f64,
    /// Shingles in both texts over shingles of the smaller text, 0..=1.
    pub containment: f64,
}

/// The part that an item takes in the join of open items.
///
/// Most candidate pairs are known beforehand: they are the items' links. Other pairs are found by a join while
/// items are placed, and the role of both items decides whether they can be such a pair: one of them is `Core`,
/// and the other is `Core` or `Fringe`. Items with one of these two roles are *open*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum JoinRole {
    /// No role: every candidate of the item is a link.
    #[default]
    None,
    /// The item may have core items as further candidates.
    Fringe,
    /// The item may have fringe and core items as further candidates.
    Core,
}

/// The candidate pairs of the items, given by the caller.
pub trait Neighbors {
    /// Returns whether the item can have any candidate, earlier or later. Items that cannot are never loaded.
    fn connected(&self, item: u32) -> bool;
    /// The item's role in the join.
    fn join_role(&self, item: u32) -> JoinRole;
    /// Appends the item's links: its known candidates with a number from `since` up to its own.
    fn links(&self, item: u32, since: u32, out: &mut Vec<u32>);
    /// Appends the candidates of `item` in a range of placed items that `is_wanted` accepts. For an open item these
    /// include the candidates that are not links.
    fn candidates(
        &self,
        item: u32,
        range: Range<u32>,
        is_wanted: &dyn Fn(u32) -> bool,
        out: &mut Vec<Candidate>,
    );
    /// Records that an open item has been placed, as a leader or a follower.
    fn place(&mut self, item: u32, leads: bool);
}

/// The verification of candidate pairs on the texts, given by the caller.
pub trait Verify {
    /// Bytes of memory that the item takes while it is loaded for verification.
    fn cost(&self, item: u32) -> usize;
    /// Loads the items of a block for verification, and keeps them until the next call.
    fn begin_block(&mut self, items: &[u32]);
    /// Loads the items of these pairs for verification.
    fn load(&mut self, pairs: &[(u32, Candidate)]);
    /// The similarity of two items; `None` if they are not duplicates or their Jaccard is below `at_least`.
    fn verify(&self, item: u32, candidate: Candidate, at_least: f64) -> Option<Similarity>;
}

/// The candidate pairs that are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Pairs with a leader that may be the best of their item. Grouping needs no others.
    Leaders,
    /// All candidate pairs, so that every verified pair is reported.
    All,
}
