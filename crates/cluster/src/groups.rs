//! Duplicate groups of a stream: leader–follower clustering, one item at a time, without revisiting items.
//!
//! Each item joins the group of the most similar leader that it is a verified duplicate of, or else founds a group. If
//! its Jaccard with that leader is below [`GroupOptions::lead_below`], it becomes a further leader of the group. The
//! revisions of a page that changes over time thus stay one group, although every follower was verified against a
//! leader. An item that duplicates leaders of several groups merges these groups: the oldest group keeps its id, and
//! the other ids become redirects. Two limits keep groups from growing along chains. An item leads or merges only if it
//! is similar to the founder of the group (the diameter guard), and a group has at most [`MAX_LEADERS`] leaders.
//!
//! The caller implements [`GroupSpace`], which finds leaders near an item and compares the texts. The centre of a
//! group, the majority of its members in each bit, is a second way to find the group; it does not decide who joins.
//!
//! Invariants: every follower was verified against its leader. A group's id is the number of its founder, which is the
//! smallest number of its members, unless older members were in a group that had already been retired. The result
//! depends only on the order of the items.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::leader_follower::Similarity;
use crate::recency::Recency;

mod canonical;
mod centre;
mod group;
mod options;
mod placement;
mod space;
#[cfg(test)]
mod tests;

pub use canonical::{Canonicals, Member, Preference, UnknownPreference};
pub use group::DuplicateGroup;
pub use options::GroupOptions;
pub use placement::{GroupCounts, GroupItem, GroupPlacement};
pub use space::{GroupPoint, GroupSpace, NearbyPoint};

use centre::Centre;

/// The maximum number of leaders of a group. In a group with this number of leaders, an item that would lead becomes an
/// ordinary follower.
pub const MAX_LEADERS: usize = 64;
/// The centre of a group is searched only if the group has at least this number of members.
const MIN_CENTRE_MEMBERS: u64 = 3;

/// The groups of a stream.
///
/// Memory is bounded by the live groups, plus 16 bytes for each group that was ever merged into another group.
///
/// ```
/// use twinprint_cluster::Similarity;
/// use twinprint_cluster::groups::{GroupItem, GroupOptions, GroupPoint, GroupSpace, Groups, Member, NearbyPoint};
///
/// /// Numbers on a line; two within 3 of each other are duplicates.
/// #[derive(Default)]
/// struct Line {
///     current: i32,
///     leaders: Vec<(u32, i32)>,
/// }
///
/// impl Line {
///     fn distance(&self, leader: u32) -> Option<u32> {
///         let (_, position) = self.leaders.iter().find(|(number, _)| *number == leader)?;
///         Some(position.abs_diff(self.current))
///     }
/// }
///
/// impl GroupSpace for Line {
///     fn nearby(&mut self, _max_leaders: usize, out: &mut Vec<NearbyPoint>) -> usize {
///         out.extend(self.leaders.iter().map(|&(number, position)| NearbyPoint {
///             point: GroupPoint::Leader(number),
///             distance: position.abs_diff(self.current),
///         }));
///         out.sort_by_key(|near| near.distance);
///         0
///     }
///     fn verify(&mut self, leader: u32) -> Option<Similarity> {
///         let distance = self.distance(leader).filter(|&distance| distance <= 3)?;
///         let jaccard = 1.0 - f64::from(distance) / 10.0;
///         Some(Similarity { jaccard, containment: jaccard })
///     }
///     fn is_related(&mut self, leader: u32) -> bool {
///         self.distance(leader).is_some_and(|distance| distance <= 6)
///     }
///     fn add_leader(&mut self, leader: u32) {
///         self.leaders.push((leader, self.current));
///     }
///     fn remove_leader(&mut self, leader: u32) {
///         self.leaders.retain(|(number, _)| *number != leader);
///     }
///     fn set_centre(&mut self, _group: u64, _centre: Option<u128>) {}
/// }
///
/// let mut line = Line::default();
/// let mut groups = Groups::new(GroupOptions::default());
/// let placed: Vec<u64> = (0..)
///     .zip([10, 50, 11, 13])
///     .map(|(document, position)| {
///         line.current = position;
///         let member = Member {
///             document,
///             name: format!("item {document}").into(),
///             site: "".into(),
///             score: None,
///             time: document as i64,
///             length: 1,
///             https: false,
///             url_length: u32::MAX,
///         };
///         let item = GroupItem { fingerprint: 0, member };
///         groups.place(item, document as i64, &mut line).group
///     })
///     .collect();
/// assert_eq!(placed, [0, 1, 0, 0]);
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Groups {
    /// Not serialized; [`Groups::restored`] sets the options after deserialization.
    #[serde(skip)]
    options: GroupOptions,
    live: BTreeMap<u64, DuplicateGroup>,
    /// For each leader, by its key in the [`GroupSpace`]: the id of its group, and its number in the stream.
    leaders: BTreeMap<u32, (u64, u64)>,
    next_leader: u32,
    redirects: BTreeMap<u64, u64>,
    recency: Recency,
    retired: Vec<DuplicateGroup>,
    counts: GroupCounts,
}

/// A leader, with its group, that the current item was verified to be a duplicate of.
struct Duplicate {
    leader: u32,
    group: u64,
    distance: u32,
    similarity: Similarity,
}

impl Groups {
    /// Creates a clustering without groups.
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

    /// Returns these groups with the given options. Needed after deserialization, because the options are not
    /// serialized.
    #[must_use]
    pub fn restored(self, options: GroupOptions) -> Self {
        Self { options, ..self }
    }

    /// Counts of the work done so far: verifications, and groups founded, merged and retired.
    pub fn counts(&self) -> GroupCounts {
        self.counts
    }

    /// The live groups, by ascending id.
    pub fn live(&self) -> impl ExactSizeIterator<Item = &DuplicateGroup> {
        self.live.values()
    }

    /// Returns a live group by its id; `None` if the group was merged or retired.
    pub fn get_mut(&mut self, group: u64) -> Option<&mut DuplicateGroup> {
        self.live.get_mut(&group)
    }

    /// Returns the id of the group that `group` is part of after all merges; `group` itself if it was never merged into
    /// another.
    pub fn resolve(&self, mut group: u64) -> u64 {
        while let Some(&into) = self.redirects.get(&group) {
            group = into;
        }
        group
    }

    /// Returns the groups that were retired since the last call, and removes them.
    pub fn take_retired(&mut self) -> Vec<DuplicateGroup> {
        std::mem::take(&mut self.retired)
    }

    /// Retires the groups that gained no member within [`GroupOptions::window`], and those least recently joined above
    /// the limit [`GroupOptions::live`]. `now` is the time of the stream in seconds; it must not decrease from call to
    /// call.
    pub fn advance<S: GroupSpace>(&mut self, now: i64, space: &mut S) {
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
                space.remove_leader(leader);
            }
            space.set_centre(id, None);
            self.counts.retired += 1;
            self.retired.push(group);
        }
    }

    /// Places an item in a group. `now` is the time of the stream in seconds; it must not decrease from call to call.
    ///
    /// Costs one search of the space and at most [`GroupOptions::compared`] verifications.
    pub fn place<S: GroupSpace>(&mut self, item: GroupItem, now: i64, space: &mut S) -> GroupPlacement {
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
            // The diameter guard: the item leads or merges only groups whose founder it is similar to.
            groups.retain(|&group| {
                let founder = self.live.get(&group).and_then(|group| group.leaders.first());
                founder.is_some_and(|&founder| space.is_related(founder))
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
        GroupPlacement {
            group,
            leader,
            distance,
            similarity,
            merged,
        }
    }

    /// Finds the leaders that the current item is a verified duplicate of.
    fn duplicates<S: GroupSpace>(&mut self, space: &mut S) -> Vec<Duplicate> {
        let mut near = Vec::new();
        let left_out = space.nearby(self.options.compared, &mut near);
        let mut leaders: Vec<(u32, u32)> = Vec::with_capacity(near.len());
        for NearbyPoint { point, distance } in near {
            match point {
                GroupPoint::Leader(leader) => leaders.push((leader, distance)),
                GroupPoint::Centre(group) => {
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

    /// Founds a group with the current item as its first leader and member.
    fn found<S: GroupSpace>(&mut self, item: GroupItem, now: i64, space: &mut S) -> GroupPlacement {
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
        GroupPlacement {
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

    /// Makes the current item a leader of a group, unless the group has [`MAX_LEADERS`] leaders already.
    fn lead<S: GroupSpace>(&mut self, group: u64, item: &GroupItem, space: &mut S) {
        let live = self.live.get_mut(&group);
        let Some(joined) = live.filter(|joined| joined.leaders.len() < MAX_LEADERS) else {
            return;
        };
        let leader = self.next_leader;
        self.next_leader += 1;
        joined.leaders.push(leader);
        self.leaders.insert(leader, (group, item.member.document));
        space.add_leader(leader);
    }

    /// Adds the current item to the members of a group.
    fn join<S: GroupSpace>(&mut self, group: u64, item: GroupItem, now: i64, space: &mut S) {
        let Some(joined) = self.live.get_mut(&group) else {
            return;
        };
        joined.size += 1;
        let time = item.member.time;
        joined.seen = [joined.seen[0].min(time), joined.seen[1].max(time)];
        self.recency.touch(group, now);
        joined.canonicals.offer(item.member, &self.options.policy);
        if joined.size > 1 {
            let centre = joined.centre.get_or_insert_with(|| Centre::new(joined.founder));
            if centre.add(item.fingerprint) && joined.size >= MIN_CENTRE_MEMBERS {
                space.set_centre(group, Some(centre.fingerprint()));
            }
        }
    }

    /// Merges two groups. The younger becomes a redirect to the older, whose id is returned.
    fn merge<S: GroupSpace>(&mut self, a: u64, b: u64, space: &mut S) -> u64 {
        let (older, younger) = (a.min(b), a.max(b));
        let Some(gone) = self.live.remove(&younger) else {
            return older;
        };
        self.recency.remove(younger);
        self.redirects.insert(younger, older);
        self.counts.merged += 1;
        space.set_centre(younger, None);
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
