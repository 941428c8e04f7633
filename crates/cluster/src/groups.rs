//! Duplicate groups of a stream: leader–follower clustering, one item at a time, never revisited.
//!
//! An item joins the group of the nearest leader among those it was verified against, or founds one. An item that joins, but is not very
//! like its leader (below [`GroupOptions::lead_below`]), becomes a further leader of the group, so that a page that drifts from one
//! revision to the next stays one group without a follower that was not verified against a leader. An item that is verified against
//! leaders of several groups merges them: the oldest group's id stays, the others become redirects. Two bounds keep groups from growing
//! along chains: who leads or merges must be related to the founder (the diameter guard), and a group has at most [`LEADERS`] leaders.
//!
//! What is near is told by a [`Space`], which also holds the leaders' texts. The group's centre, each bit as most members have it, is
//! another way to be found by it and decides nothing.
//!
//! Invariants: every follower was verified against its leader; a group's id is the number of its founder and the smallest number in it, unless
//! the clock of the stream has retired the group before; the result depends on the order of items alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::leader_follower::Similarity;
use crate::recency::Recency;

mod canonical;
mod centre;
#[cfg(test)]
mod tests;

pub use canonical::{Canonicals, Member, Preference, UnknownPreference};

use centre::Centre;

/// Leaders of a group at most; beyond that, items unlike their leader are followers like others.
pub const LEADERS: usize = 64;
/// Members from which on a group's centre is another way to find it.
const CENTRE_FROM: u64 = 3;

/// Something near the item at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// A leader.
    Leader(u32),
    /// The centre of a group.
    Centre(u64),
}

/// What surrounds the item at hand.
pub trait Space {
    /// Appends what is near, the nearest first, with the Hamming distance. Of what comes after the first `most` leaders it may leave
    /// something out, and returns how much.
    fn near(&mut self, most: usize, out: &mut Vec<(Near, u32)>) -> usize;
    /// The similarity of the item and a leader, or nothing when they are no duplicates.
    fn verify(&mut self, leader: u32) -> Option<Similarity>;
    /// Whether the item is at least a relative of a leader.
    fn related(&mut self, leader: u32) -> bool;
    /// Holds the item as a leader from now on.
    fn lead(&mut self, leader: u32);
    /// Forgets a leader.
    fn retire(&mut self, leader: u32);
    /// A group's centre is there now, or nowhere.
    fn centre(&mut self, group: u64, at: Option<u128>);
}

/// How groups are formed.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupOptions {
    /// An item whose Jaccard with its leader is below becomes a leader itself.
    pub lead_below: f64,
    /// Seconds after which a group that gained no member is retired; none where groups stay.
    pub window: Option<i64>,
    /// Live groups at most; those that gained no member for longest are retired beyond that.
    pub live: usize,
    /// Leaders compared with an item at most, the nearest of those found.
    pub compared: usize,
    /// Which member stands for a group.
    pub policy: Vec<Preference>,
}

impl Default for GroupOptions {
    fn default() -> Self {
        Self {
            lead_below: 0.9,
            window: None,
            live: 1_000_000,
            compared: 64,
            policy: vec![Preference::First],
        }
    }
}

/// A group of duplicates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DuplicateGroup {
    /// The number of its founder.
    pub id: u64,
    /// Members.
    pub size: u64,
    /// When the first and the last of them were seen, in seconds.
    pub seen: [i64; 2],
    /// Groups that were merged into it.
    pub merged: Vec<u64>,
    /// Who stands for it.
    pub canonicals: Canonicals,
    /// What the caller keeps with it; a merged group keeps the oldest one's.
    pub label: u64,
    /// The founder first.
    leaders: Vec<u32>,
    /// The founder's fingerprint, where the centre begins.
    founder: u128,
    /// From the second member on.
    centre: Option<Centre>,
}

/// An item to be placed.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its fingerprint.
    pub fingerprint: u128,
    /// Number, time, and what the policy asks for.
    pub member: Member,
}

/// Where an item ended up.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The group.
    pub group: u64,
    /// The leader it was verified against, by its number in the stream; itself where it founded the group.
    pub leader: u64,
    /// Hamming distance to that leader, or to the centre it was found by.
    pub distance: u32,
    /// Similarity to that leader.
    pub similarity: Similarity,
    /// Groups that are now part of it.
    pub merged: Vec<u64>,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCounts {
    /// Pairs verified. Stored as 0: it depends on the random key by which short texts are found.
    #[serde(serialize_with = "zero")]
    pub verified: u64,
    /// Leaders near an item that were not compared with it, for [`GroupOptions::compared`], and centres that were not looked at.
    pub passed_over: u64,
    /// Groups ever founded.
    pub founded: u64,
    /// Groups merged into others.
    pub merged: u64,
    /// Groups retired.
    pub retired: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn zero<S: serde::Serializer>(_: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(0)
}

/// The groups of a stream. Memory is bounded by the live groups, beside 16 bytes for each group ever merged into another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Groups {
    /// Not stored; see [`Groups::restored`].
    #[serde(skip)]
    options: GroupOptions,
    live: BTreeMap<u64, DuplicateGroup>,
    /// The group and the number of each leader.
    leaders: BTreeMap<u32, (u64, u64)>,
    next_leader: u32,
    redirects: BTreeMap<u64, u64>,
    recency: Recency,
    retired: Vec<DuplicateGroup>,
    counts: GroupCounts,
}

/// A leader that the item at hand is a duplicate of.
struct Duplicate {
    leader: u32,
    group: u64,
    distance: u32,
    similarity: Similarity,
}

impl Groups {
    /// No groups.
    pub fn new(options: GroupOptions) -> Self {
        Self {
            options,
            live: BTreeMap::new(),
            leaders: BTreeMap::new(),
            next_leader: 0,
            redirects: BTreeMap::new(),
            recency: Recency::default(),
            retired: Vec::new(),
            counts: GroupCounts::default(),
        }
    }

    /// These groups after reading a stored state, which has no options.
    #[must_use]
    pub fn restored(self, options: GroupOptions) -> Self {
        Self { options, ..self }
    }

    /// What was done so far.
    pub fn counts(&self) -> GroupCounts {
        self.counts
    }

    /// Live groups by id.
    pub fn live(&self) -> impl ExactSizeIterator<Item = &DuplicateGroup> {
        self.live.values()
    }

    /// A live group.
    pub fn get_mut(&mut self, group: u64) -> Option<&mut DuplicateGroup> {
        self.live.get_mut(&group)
    }

    /// The group that has become of one.
    pub fn resolve(&self, mut group: u64) -> u64 {
        while let Some(&into) = self.redirects.get(&group) {
            group = into;
        }
        group
    }

    /// The groups retired since the last call.
    pub fn take_retired(&mut self) -> Vec<DuplicateGroup> {
        std::mem::take(&mut self.retired)
    }

    /// Retires what has gained no member since the window, or is too much. `now` must not go back.
    pub fn advance<S: Space>(&mut self, now: i64, space: &mut S) {
        let since = self
            .options
            .window
            .map_or(i64::MIN, |window| now.saturating_sub(window));
        while let Some(id) = self.recency.expired(since, self.options.live) {
            let Some(group) = self.live.remove(&id) else {
                continue;
            };
            for &leader in &group.leaders {
                self.leaders.remove(&leader);
                space.retire(leader);
            }
            space.centre(id, None);
            self.counts.retired += 1;
            self.retired.push(group);
        }
    }

    /// Places an item seen at `now` by the clock of the stream, which must not go back.
    /// Takes what the space takes to find and verify at most [`GroupOptions::compared`] leaders.
    pub fn place<S: Space>(&mut self, item: Item, now: i64, space: &mut S) -> Placed {
        let duplicates = self.duplicates(space);
        let best = duplicates.iter().min_by(|a, b| {
            let by_jaccard = b.similarity.jaccard.total_cmp(&a.similarity.jaccard);
            by_jaccard
                .then(a.distance.cmp(&b.distance))
                .then(a.leader.cmp(&b.leader))
        });
        let Some(best) = best else {
            return self.found(item, now, space);
        };
        let (leader, distance, similarity) = (best.leader, best.distance, best.similarity);
        let mut groups: Vec<u64> = duplicates.iter().map(|duplicate| duplicate.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let leads = similarity.jaccard < self.options.lead_below;
        let mut group = best.group;
        let mut merged = Vec::new();
        if leads || groups.len() > 1 {
            // Only relatives of its founder extend a group.
            groups.retain(|&group| {
                let founder = self.live.get(&group).and_then(|group| group.leaders.first());
                founder.is_some_and(|&founder| space.related(founder))
            });
            if groups.contains(&group) {
                for &other in groups.iter().filter(|&&other| other != best.group) {
                    merged.push(group.max(other));
                    group = self.merge(group, other, space);
                }
                if leads {
                    self.lead(group, &item, space);
                }
            }
        }
        let leader = self.leaders.get(&leader).map_or(group, |&(_, document)| document);
        self.join(group, item, now, space);
        Placed {
            group,
            leader,
            distance,
            similarity,
            merged,
        }
    }

    /// The leaders that the item is a duplicate of.
    fn duplicates<S: Space>(&mut self, space: &mut S) -> Vec<Duplicate> {
        let mut near = Vec::new();
        let left_out = space.near(self.options.compared, &mut near);
        let mut leaders: Vec<(u32, u32)> = Vec::with_capacity(near.len());
        for (near, distance) in near {
            match near {
                Near::Leader(leader) => leaders.push((leader, distance)),
                Near::Centre(group) => {
                    let group = self.live.get(&group);
                    let own = group.iter().flat_map(|group| &group.leaders);
                    leaders.extend(own.map(|&leader| (leader, distance)));
                }
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        leaders.retain(|&(leader, _)| seen.insert(leader));
        let passed_over = leaders.len().saturating_sub(self.options.compared);
        self.counts.passed_over += (left_out + passed_over) as u64;
        leaders.truncate(self.options.compared);
        self.counts.verified += leaders.len() as u64;
        let verified = leaders.into_iter().filter_map(|(leader, distance)| {
            let &(group, _) = self.leaders.get(&leader)?;
            Some(Duplicate {
                leader,
                group,
                distance,
                similarity: space.verify(leader)?,
            })
        });
        verified.collect()
    }

    fn found<S: Space>(&mut self, item: Item, now: i64, space: &mut S) -> Placed {
        let id = item.member.document;
        self.live.insert(
            id,
            DuplicateGroup {
                id,
                size: 0,
                seen: [item.member.time; 2],
                merged: Vec::new(),
                canonicals: Canonicals::default(),
                label: 0,
                leaders: Vec::new(),
                founder: item.fingerprint,
                centre: None,
            },
        );
        self.counts.founded += 1;
        self.lead(id, &item, space);
        self.join(id, item, now, space);
        Placed {
            group: id,
            leader: id,
            distance: 0,
            similarity: Similarity {
                jaccard: 1.0,
                containment: 1.0,
            },
            merged: Vec::new(),
        }
    }

    fn lead<S: Space>(&mut self, group: u64, item: &Item, space: &mut S) {
        let Some(of) = self.live.get_mut(&group).filter(|of| of.leaders.len() < LEADERS) else {
            return;
        };
        let leader = self.next_leader;
        self.next_leader += 1;
        of.leaders.push(leader);
        self.leaders.insert(leader, (group, item.member.document));
        space.lead(leader);
    }

    fn join<S: Space>(&mut self, group: u64, item: Item, now: i64, space: &mut S) {
        let Some(of) = self.live.get_mut(&group) else {
            return;
        };
        of.size += 1;
        of.seen = [of.seen[0].min(item.member.time), of.seen[1].max(item.member.time)];
        self.recency.touch(group, now);
        of.canonicals.offer(item.member, &self.options.policy);
        if of.size > 1 {
            let centre = of.centre.get_or_insert_with(|| Centre::new(of.founder));
            if centre.add(item.fingerprint) && of.size >= CENTRE_FROM {
                space.centre(group, Some(centre.fingerprint()));
            }
        }
    }

    /// Makes one of two groups; returns the older, which stays.
    fn merge<S: Space>(&mut self, a: u64, b: u64, space: &mut S) -> u64 {
        let (older, younger) = (a.min(b), a.max(b));
        let Some(gone) = self.live.remove(&younger) else {
            return older;
        };
        self.recency.remove(younger);
        self.redirects.insert(younger, older);
        self.counts.merged += 1;
        space.centre(younger, None);
        for leader in &gone.leaders {
            if let Some((group, _)) = self.leaders.get_mut(leader) {
                *group = older;
            }
        }
        if let Some(stays) = self.live.get_mut(&older) {
            stays.size += gone.size;
            stays.seen = [stays.seen[0].min(gone.seen[0]), stays.seen[1].max(gone.seen[1])];
            stays.leaders.extend(gone.leaders);
            stays.merged.push(younger);
            stays.merged.extend(gone.merged);
            stays.canonicals.merge(gone.canonicals, &self.options.policy);
        }
        older
    }
}
