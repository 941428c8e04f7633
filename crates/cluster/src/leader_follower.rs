//! Leader–follower grouping of a whole corpus.
//!
//! Items are placed one after another. An item joins the leader with the highest Jaccard among its verified duplicates
//! (ties: smaller distance, then earlier in keep order). If no leader is a duplicate of it, it becomes a leader. The
//! decision about an item depends only on the decisions about those of its candidates that come before it in keep
//! order. Therefore every numbering in which these candidates have smaller numbers gives the same groups. Callers can
//! number items so that neighbours are close together, and data is used soon after it is loaded.
//!
//! Items are processed in blocks. First the pairs of a block's items with all items before the block are verified in
//! parallel. Then the items of the block are decided level by level. The level of an item is higher than the levels of
//! the items it is linked to, so it is known by then which of these lead; the items of one level are decided in
//! parallel. The result is the same as that of the plain sequential loop, on any number of threads.

use std::cmp::Ordering;
use std::sync::atomic::AtomicBool;

mod block;
mod gather;
mod neighbors;
mod of_pairs;
mod search;

pub use neighbors::{Candidate, JoinRole, Neighbors, Pairs, Similarity, Verify};
pub use of_pairs::{VerifiedPair, groups_of_pairs};

use block::{Block, Duplicate};

/// The maximum number of items of a block.
const MAX_BLOCK_ITEMS: usize = 8192;

/// The items of a block take about one part in this number of the memory. The rest keeps earlier items, which would otherwise be
/// loaded again for each block.
const BLOCK_SHARE: usize = 4;

/// The group of an item, with the item's similarity to the leader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// The leader of the group; the item itself if it is the leader.
    pub leader: u32,
    /// Hamming distance of the item to the leader.
    pub distance: u32,
    /// Similarity of the item to the leader; 1 for the leader itself.
    pub similarity: Similarity,
}

impl Group {
    /// The group of a follower.
    pub(super) fn follower(leader: u32, distance: u32, similarity: Similarity) -> Self {
        Self {
            leader,
            distance,
            similarity,
        }
    }

    /// Orders the groups that an item may join: the higher Jaccard first, then the smaller distance.
    pub(super) fn cmp_nearest(&self, other: &Self) -> Ordering {
        let jaccard = other.similarity.jaccard.total_cmp(&self.similarity.jaccard);
        jaccard.then(self.distance.cmp(&other.distance))
    }

    /// The group of an item that leads.
    pub(super) fn leader(item: u32) -> Self {
        let similarity = Similarity {
            jaccard: 1.0,
            containment: 1.0,
        };
        Self {
            leader: item,
            distance: 0,
            similarity,
        }
    }
}

/// The groups of all items, and counts of the work done.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The group of each item, indexed by item.
    pub groups: Vec<Group>,
    /// Number of verified pairs: calls of [`Verify::verify`].
    pub verified: u64,
    /// Number of verified pairs that are duplicates. With [`Pairs::Leaders`], a duplicate may be missing from this
    /// count if a more similar duplicate of the same item was found before it.
    pub duplicates: u64,
}

/// Groups the items `0..n`.
///
/// `memory` is the maximum number of bytes loaded at a time; only a single item may exceed it. `on_pair(item,
/// candidate, similarity)` is called with [`Pairs::All`] for every verified pair, ordered by item, then by candidate.
/// `on_progress(items)` is called after each block. If it returns `false`, the work stops, and the outcome covers only
/// the items placed so far.
///
/// ```
/// use std::ops::Range;
///
/// use twinprint_cluster::{
///     Candidate, JoinRole, Neighbors, Pairs, Similarity, Verify, leader_follower,
/// };
///
/// /// Numbers on a line: candidates within 5 of each other, duplicates within 3.
/// struct Line(Vec<i32>);
///
/// impl Line {
///     fn distance(&self, a: u32, b: u32) -> u32 {
///         self.0[a as usize].abs_diff(self.0[b as usize])
///     }
/// }
///
/// impl Neighbors for Line {
///     fn connected(&self, _item: u32) -> bool {
///         true
///     }
///     fn join_role(&self, _item: u32) -> JoinRole {
///         JoinRole::None
///     }
///     fn links(&self, item: u32, since: u32, out: &mut Vec<u32>) {
///         out.extend((since..item).filter(|&earlier| self.distance(item, earlier) <= 5));
///     }
///     fn candidates(
///         &self,
///         item: u32,
///         range: Range<u32>,
///         is_wanted: &dyn Fn(u32) -> bool,
///         out: &mut Vec<Candidate>,
///     ) {
///         for id in range.filter(|&id| is_wanted(id) && self.distance(item, id) <= 5) {
///             out.push(Candidate { id, rank: id, distance: self.distance(item, id) });
///         }
///     }
///     fn place(&mut self, _item: u32, _leads: bool) {}
/// }
///
/// impl Verify for Line {
///     fn cost(&self, _item: u32) -> usize {
///         4
///     }
///     fn begin_block(&mut self, _items: &[u32]) {}
///     fn is_apart(&self, item: u32, earlier: u32) -> bool {
///         self.distance(item, earlier) > 3
///     }
///     fn load(&mut self, _pairs: &[(u32, Candidate)]) {}
///     fn verify(&self, _item: u32, candidate: Candidate, at_least: f64) -> Option<Similarity> {
///         let jaccard = 1.0 - f64::from(candidate.distance) / 10.0;
///         let similarity = Similarity { jaccard, containment: jaccard };
///         (candidate.distance <= 3 && jaccard >= at_least).then_some(similarity)
///     }
/// }
///
/// let mut line = Line(vec![0, 2, 4, 20, 21]);
/// let outcome = leader_follower(5, &mut line, Pairs::Leaders, 1 << 20, |_, _, _| {}, |_| true);
/// let leaders: Vec<u32> = outcome.groups.iter().map(|group| group.leader).collect();
/// // 4 is a duplicate of 2, which follows 0, but not of 0 itself. So 4 leads: groups are not chains.
/// assert_eq!(leaders, [0, 0, 2, 3, 3]);
/// ```
pub fn leader_follower<S: Neighbors + Verify + Sync>(
    n: u32,
    space: &mut S,
    pairs: Pairs,
    memory: usize,
    mut on_pair: impl FnMut(u32, Candidate, Similarity),
    mut on_progress: impl FnMut(u32) -> bool,
) -> Outcome {
    let mut outcome = Outcome {
        groups: Vec::with_capacity(n as usize),
        ..Outcome::default()
    };
    let mut items = Vec::new();
    let mut start = 0;
    while start < n {
        let mut end = block_end(space, start, n, pairs, memory / BLOCK_SHARE, &mut items);
        space.begin_block(&items);
        let mut block = Block {
            range: start..end,
            pairs,
            placed: &outcome.groups,
            leads: unset_flags(end - start),
        };
        let before = block.verify_against_placed(space, &items, memory / 2);
        if let Some(cut) = before.cut {
            end = cut;
            block.range.end = cut;
            items.truncate(items.partition_point(|&item| item < cut));
        }
        let decided = block.decide(space, &items, &before.duplicates);
        outcome.verified += before.verified;
        for item in start..end {
            outcome.groups.push(Group::leader(item));
        }
        for item in decided {
            outcome.verified += item.verified;
            outcome.duplicates += item.duplicates.len() as u64;
            outcome.groups[item.item as usize] = item.group;
            if pairs == Pairs::All {
                for (candidate, similarity) in &item.duplicates {
                    on_pair(item.item, *candidate, *similarity);
                }
            }
        }
        start = end;
        if !on_progress(start) {
            break;
        }
    }
    outcome
}

/// Returns one flag for each of `n` items, all false.
fn unset_flags(n: u32) -> Vec<AtomicBool> {
    (0..n).map(|_| AtomicBool::new(false)).collect()
}

/// Collects the connected items of the block that starts at `start` in `items`, and returns the end of the block.
///
/// A block ends before its items need more than `memory` bytes. With [`Pairs::All`] this includes the pairs that are
/// stored until the block is decided: the links of each item, and for an open item its pairs with the open items before
/// it in the block.
fn block_end<S: Neighbors + Verify>(
    space: &S,
    start: u32,
    n: u32,
    pairs: Pairs,
    memory: usize,
    items: &mut Vec<u32>,
) -> u32 {
    items.clear();
    let mut cost = 0;
    let mut end = start;
    let mut open = 0;
    let mut links = Vec::new();
    while end < n && (end == start || items.len() < MAX_BLOCK_ITEMS && cost < memory) {
        if space.connected(end) {
            cost += space.cost(end);
            if pairs == Pairs::All {
                links.clear();
                space.links(end, 0, &mut links);
                let joined = if space.join_role(end) == JoinRole::None {
                    0
                } else {
                    open
                };
                open += usize::from(space.join_role(end) != JoinRole::None);
                cost += (links.len() + joined) * size_of::<Duplicate>();
            }
            items.push(end);
        }
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests;
