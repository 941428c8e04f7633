//! Groups of small sets, compared with their invariants and their definition.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const THRESHOLD: f64 = 0.6;

/// A space of small sets in which every leader and every centre is nearby.
#[derive(Default)]
struct Sets {
    /// The set of the current item.
    item: BTreeSet<u8>,
    leaders: BTreeMap<u32, BTreeSet<u8>>,
    centres: BTreeMap<u64, u128>,
    /// Minimum Jaccard of items related to a founder.
    related: f64,
}

fn jaccard(a: &BTreeSet<u8>, b: &BTreeSet<u8>) -> f64 {
    let both = a.intersection(b).count();
    let either = a.union(b).count();
    if either == 0 {
        1.0
    } else {
        both as f64 / either as f64
    }
}

impl GroupSpace for Sets {
    fn nearby(&mut self, _: usize, out: &mut Vec<NearbyPoint>) -> usize {
        let leaders = self.leaders.keys().map(|&leader| (GroupPoint::Leader(leader), 0));
        let centres = self.centres.keys().map(|&group| (GroupPoint::Centre(group), 1));
        out.extend(
            leaders
                .chain(centres)
                .map(|(point, distance)| NearbyPoint { point, distance }),
        );
        0
    }

    fn verify(&mut self, leader: u32) -> Option<Similarity> {
        let jaccard = jaccard(&self.item, &self.leaders[&leader]);
        (jaccard >= THRESHOLD).then_some(Similarity {
            jaccard,
            containment: jaccard,
        })
    }

    fn is_related(&mut self, leader: u32) -> bool {
        jaccard(&self.item, &self.leaders[&leader]) >= self.related
    }

    fn add_leader(&mut self, leader: u32) {
        self.leaders.insert(leader, self.item.clone());
    }

    fn remove_leader(&mut self, leader: u32) {
        assert!(self.leaders.remove(&leader).is_some());
    }

    fn set_centre(&mut self, group: u64, centre: Option<u128>) {
        match centre {
            Some(centre) => self.centres.insert(group, centre),
            None => self.centres.remove(&group),
        };
    }
}

fn item(document: u64, set: &BTreeSet<u8>) -> GroupItem {
    GroupItem {
        fingerprint: set.iter().fold(0, |f, &x| f | 1 << (x % 128)),
        member: Member {
            document,
            name: document.to_string().into(),
            site: "".into(),
            score: None,
            time: document as i64,
            length: 0,
            https: false,
            url_length: u32::MAX,
        },
    }
}

fn run(sets: &[BTreeSet<u8>], options: GroupOptions, related: f64) -> (Groups, Sets, Vec<GroupPlacement>) {
    let mut groups = Groups::new(options);
    let mut space = Sets {
        related,
        ..Sets::default()
    };
    let mut placed = Vec::new();
    for (document, set) in (0..).zip(sets) {
        space.item.clone_from(set);
        groups.advance(document as i64, &mut space);
        placed.push(groups.place(item(document, set), document as i64, &mut space));
    }
    (groups, space, placed)
}

fn stream() -> impl Strategy<Value = Vec<BTreeSet<u8>>> {
    let set = proptest::collection::btree_set(0u8..9, 0..8);
    proptest::collection::vec(set, 1..60)
}

proptest! {
    #[test]
    fn every_member_was_verified_with_its_leader(sets in stream(), related in 0.0..1.0f64) {
        let (groups, _, placed) = run(&sets, GroupOptions::default(), related);
        for (document, placed) in (0u64..).zip(&placed) {
            let similarity = jaccard(&sets[document as usize], &sets[placed.leader as usize]);
            prop_assert!(similarity >= THRESHOLD);
            prop_assert!((similarity - placed.similarity.jaccard).abs() < 1e-12);
            let group = groups.resolve(placed.group);
            prop_assert!(group <= document);
            // The leader is in the same group.
            prop_assert_eq!(groups.resolve(placed_group(&placed_groups(&groups, &sets, related), placed.leader)), group);
        }
        prop_assert_eq!(groups.live().map(|group| group.size).sum::<u64>(), sets.len() as u64);
    }

    #[test]
    fn without_a_guard_all_duplicates_of_an_item_are_one_group(sets in stream()) {
        // Every item leads unless it equals its leader, so groups are the connected components of duplicates.
        let options = GroupOptions { lead_below: 1.1, ..GroupOptions::default() };
        let (groups, _, placed) = run(&sets, options, 0.0);
        let mut component: Vec<usize> = (0..sets.len()).collect();
        for a in 0..sets.len() {
            for b in 0..a {
                if jaccard(&sets[a], &sets[b]) >= THRESHOLD && component[a] != component[b] {
                    let (from, to) = (component[a].max(component[b]), component[a].min(component[b]));
                    component.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
                }
            }
        }
        for (placed, component) in placed.iter().zip(component) {
            prop_assert_eq!(groups.resolve(placed.group), component as u64);
        }
    }

    #[test]
    fn live_groups_stay_within_their_bounds(sets in stream(), live in 1usize..5, window in 0i64..20) {
        let options = GroupOptions { live, window: Some(window), ..GroupOptions::default() };
        let (mut groups, space, _) = run(&sets, options, 0.0);
        // The last item may exceed the limit by one group, because groups are retired before an item is placed.
        prop_assert!(groups.live().len() <= live + 1);
        prop_assert_eq!(space.leaders.len(), groups.live().map(|group| group.leaders.len()).sum::<usize>());
        let now = sets.len() as i64 - 1;
        for group in groups.live() {
            prop_assert!(now - group.seen[1] <= window);
        }
        let retired: u64 = groups.take_retired().iter().map(|group| group.size).sum();
        prop_assert_eq!(retired + groups.live().map(|group| group.size).sum::<u64>(), sets.len() as u64);
    }
}

/// The group of each document in a second run.
fn placed_groups(groups: &Groups, sets: &[BTreeSet<u8>], related: f64) -> Vec<u64> {
    let (_, _, placed) = run(sets, groups.options.clone(), related);
    placed.iter().map(|placed| placed.group).collect()
}

fn placed_group(groups: &[u64], document: u64) -> u64 {
    groups[document as usize]
}

#[test]
fn a_merged_group_keeps_the_older_id_and_reports_the_other() {
    let sets = [&[1u8, 2, 3, 4][..], &[3, 4, 5, 6], &[2, 3, 4, 5]].map(|set| set.iter().copied().collect());
    let (groups, space, placed) = run(&sets, GroupOptions::default(), 0.0);
    assert_eq!([placed[0].group, placed[1].group, placed[2].group], [0, 1, 0]);
    assert_eq!(placed[2].merged, [1]);
    assert_eq!((groups.resolve(1), groups.counts().merged), (0, 1));
    let group = groups.live().next().expect("a group");
    assert_eq!((group.id, group.size, group.merged.as_slice()), (0, 3, &[1][..]));
    assert_eq!(space.leaders.len(), 3, "the third item is a further leader");
}

#[test]
fn items_unrelated_to_the_founder_neither_lead_nor_merge() {
    let sets = [&[1u8, 2, 3, 4][..], &[3, 4, 5, 6], &[2, 3, 4, 5]].map(|set| set.iter().copied().collect());
    let (groups, space, placed) = run(&sets, GroupOptions::default(), 0.9);
    assert_eq!([placed[0].group, placed[1].group, placed[2].group], [0, 1, 0]);
    assert_eq!((groups.counts().merged, space.leaders.len()), (0, 2));
}

#[test]
fn no_more_leaders_are_compared_than_allowed() {
    let sets: Vec<BTreeSet<u8>> = (0..20).map(|i| [i].into()).collect();
    let options = GroupOptions {
        compared: 3,
        ..GroupOptions::default()
    };
    let (groups, _, _) = run(&sets, options, 0.0);
    let counts = groups.counts();
    assert_eq!(
        (counts.verified, counts.passed_over),
        (1 + 2 + 3 * 17, (1..17).sum())
    );
}
