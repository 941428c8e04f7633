//! The block-parallel grouping compared with a plain sequential loop.

use std::ops::Range;

use super::*;
use proptest::prelude::*;

/// Points on a line: candidates within `reach`, duplicates within `near`. Similarity falls with the distance. Two of every `every`
/// points are set-join members. Pairs of members, of which one is core, are reported only as candidates after the earlier point is
/// placed.
struct Line {
    positions: Vec<i64>,
    reach: i64,
    near: i64,
    every: u32,
    placed: Vec<(u32, bool)>,
}

impl Line {
    fn gap(&self, a: u32, b: u32) -> i64 {
        (self.positions[a as usize] - self.positions[b as usize]).abs()
    }
}

impl Line {
    /// Returns whether a pair is found only by the set join, as items are placed.
    fn is_set_join_pair(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.join_role(a), self.join_role(b));
        a.min(b) != JoinRole::None && a.max(b) == JoinRole::Core
    }
}

impl Neighbors for Line {
    fn connected(&self, item: u32) -> bool {
        (0..self.positions.len() as u32).any(|other| other != item && self.gap(item, other) <= self.reach)
    }
    fn join_role(&self, item: u32) -> JoinRole {
        match item % self.every {
            0 => JoinRole::Core,
            1 => JoinRole::Fringe,
            _ => JoinRole::None,
        }
    }
    fn links(&self, item: u32, since: u32, out: &mut Vec<u32>) {
        let link = |&id: &u32| self.gap(item, id) <= self.reach && !self.is_set_join_pair(id, item);
        out.extend((since..item).filter(link));
    }
    fn candidates(
        &self,
        item: u32,
        range: Range<u32>,
        wanted: &dyn Fn(u32) -> bool,
        out: &mut Vec<Candidate>,
    ) {
        let mut ids = Vec::new();
        self.links(item, range.start, &mut ids);
        if self.join_role(item) != JoinRole::None {
            let is_candidate = |id: u32| self.is_set_join_pair(item, id) && self.gap(item, id) <= self.reach;
            let near = self.placed.iter().filter(|(id, _)| is_candidate(*id));
            ids.extend(near.map(|(id, _)| *id));
        }
        for id in ids.into_iter().filter(|&id| range.contains(&id) && wanted(id)) {
            out.push(Candidate {
                id,
                rank: id,
                distance: self.gap(item, id) as u32,
            });
        }
    }
    fn place(&mut self, item: u32, leads: bool) {
        if self.join_role(item) == JoinRole::None {
            return;
        }
        let is_set_join_pair = |&&(id, _): &&(u32, bool)| self.is_set_join_pair(item, id);
        let last = self
            .placed
            .iter()
            .filter(is_set_join_pair)
            .map(|(id, _)| *id)
            .max();
        assert!(
            last.is_none_or(|last| last < item),
            "set-join members are placed in order"
        );
        self.placed.push((item, leads));
    }
}

impl Verify for Line {
    fn cost(&self, _: u32) -> usize {
        1
    }
    fn begin_block(&mut self, _: &[u32]) {}
    fn is_apart(&self, item: u32, earlier: u32) -> bool {
        // Some pairs are only found to be no duplicates when they are verified.
        self.gap(item, earlier) > self.near && !(item + earlier).is_multiple_of(3)
    }
    fn load(&mut self, pairs: &[(u32, Candidate)]) {
        assert!(
            pairs
                .iter()
                .all(|&(item, candidate)| !self.is_apart(item, candidate.id))
        );
    }
    fn verify(&self, item: u32, candidate: Candidate, at_least: f64) -> Option<Similarity> {
        let gap = self.gap(item, candidate.id);
        let jaccard = 1.0 - gap as f64 / 100.0;
        (gap <= self.near && jaccard >= at_least).then_some(Similarity {
            jaccard,
            containment: jaccard,
        })
    }
}

/// The leaders by the definition: each item joins the nearest verified earlier leader, or leads.
fn sequential(positions: &[i64], near: i64) -> Vec<u32> {
    let mut leader: Vec<u32> = Vec::new();
    for (i, x) in positions.iter().enumerate() {
        let nearest = (0..i)
            .filter(|&j| leader[j] == j as u32 && (positions[j] - x).abs() <= near)
            .min_by_key(|&j| ((positions[j] - x).abs(), j));
        leader.push(nearest.unwrap_or(i) as u32);
    }
    leader
}

proptest! {
    #[test]
    fn groups_and_pairs_equal_those_of_the_sequential_loop(
        positions in prop::collection::vec(0i64..300, 0..120), near in 0i64..12, memory in 1usize..240,
        all in any::<bool>(), every in 1u32..9,
    ) {
        let n = positions.len() as u32;
        let mut line = Line { positions: positions.clone(), reach: 15, near, every, placed: Vec::new() };
        let mode = if all { Pairs::All } else { Pairs::Leaders };
        let (mut seen, mut verified) = (Vec::new(), Vec::new());
        let mut on_pair = |item, candidate: Candidate, similarity| {
            seen.push((item, candidate.id));
            let (earlier, distance) = (candidate.id, candidate.distance);
            verified.push(VerifiedPair { item, earlier, distance, similarity });
        };
        let outcome = leader_follower(n, &mut line, mode, memory, &mut on_pair, |_| true);
        if all {
            verified.reverse();
            prop_assert_eq!(groups_of_pairs(n, &mut verified), outcome.groups.clone());
        }
        let leaders: Vec<u32> = outcome.groups.iter().map(|g| g.leader).collect();
        prop_assert_eq!(leaders, sequential(&positions, near));
        let mut expected = Vec::new();
        if all {
            for a in 0..n {
                for b in 0..a {
                    if (positions[a as usize] - positions[b as usize]).abs() <= near {
                        expected.push((a, b));
                    }
                }
            }
        }
        prop_assert_eq!(seen, expected);
    }
}

#[test]
fn grouping_stops_when_progress_returns_false() {
    let positions: Vec<i64> = (0..40).collect();
    let mut line = Line {
        positions,
        reach: 1,
        near: 1,
        every: 3,
        placed: Vec::new(),
    };
    let outcome = leader_follower(40, &mut line, Pairs::Leaders, 8, |_, _, _| {}, |done| done < 8);
    assert!(outcome.groups.len() >= 8 && outcome.groups.len() < 40);
}
