//! The leaders and centres in the form in which the group policy searches and compares them for one item.

use std::collections::BTreeSet;

use twinprint_cluster::Similarity;
use twinprint_cluster::groups::{GroupPoint, GroupSpace, NearbyPoint};
use twinprint_fingerprint::Width;
use twinprint_index::growing::Neighbor;
use twinprint_text::PreparedText;
use twinprint_text::overlap::{ShingleSet, overlap};

use super::nearest::{SplitNeighbors, split_nearest};
use super::{Leaders, shingle_prefix};
use crate::leader_index::SHORT_TEXT_FEATURES;

/// The number of rows that are read for each leader that may be compared, the nearest first. In a crowd of similar
/// texts, the rows farther away are not even sorted.
const ROWS_PER_LEADER: usize = 4;
/// The minimum Jaccard with which a leader is still similar to the founder, for the diameter guard.
const MIN_RELATED_JACCARD: f64 = 0.3;
/// The minimum containment with which a leader is similar to the founder whatever the Jaccard, for the diameter guard.
const MIN_RELATED_CONTAINMENT: f64 = 0.8;

/// The leaders and centres that the group policy searches for one item.
pub(in super::super) struct LeaderSpace<'l> {
    leaders: &'l mut Leaders,
    item: &'l PreparedText,
}

impl<'l> LeaderSpace<'l> {
    pub(super) fn new(leaders: &'l mut Leaders, item: &'l PreparedText) -> Self {
        Self { leaders, item }
    }

    /// Calls `compare` with the shingle sets of the item and of a leader; `None` if the leader does not exist.
    fn compare<T>(&mut self, leader: u32, compare: impl FnOnce(&ShingleSet, &ShingleSet) -> T) -> Option<T> {
        let measure = self.leaders.by_number.get(&leader)?.measure;
        let measure = measure.with(self.item.measure());
        let set = self.leaders.shingle_set(leader, measure)?;
        Some(compare(self.item.shingle_set(measure), &set))
    }

    /// Appends the short leaders that share shingles with the item, except those that are in `out` already.
    fn append_by_shingles(&self, out: &mut Vec<NearbyPoint>) {
        let leaders = &*self.leaders;
        let known: BTreeSet<u32> = out
            .iter()
            .filter_map(|near| match near.point {
                GroupPoint::Leader(leader) => Some(leader),
                GroupPoint::Centre(_) => None,
            })
            .collect();
        let rows = leaders
            .index
            .lookup_shingles(&shingle_prefix(self.item, leaders.threshold));
        out.extend(rows.into_iter().filter_map(|row| {
            // A removed leader may still be found by its row, which no longer has an entry in `points`.
            let &GroupPoint::Leader(number) = leaders.points.get(&row)? else {
                return None;
            };
            let leader = leaders.by_number.get(&number)?;
            let distance = leader.fingerprint.distance(self.item.fingerprint());
            (!known.contains(&number)).then_some(NearbyPoint {
                point: GroupPoint::Leader(number),
                distance,
            })
        }));
    }
}

impl GroupSpace for LeaderSpace<'_> {
    fn nearby(&mut self, max_leaders: usize, out: &mut Vec<NearbyPoint>) -> usize {
        if self.item.is_empty() {
            return 0;
        }
        let leaders = &*self.leaders;
        let mut neighbors = Vec::new();
        leaders
            .index
            .lookup_fingerprint(self.item.fingerprint(), leaders.radius, &mut neighbors);
        let point = |row: &Neighbor| {
            Some(NearbyPoint {
                point: *leaders.points.get(&row.id)?,
                distance: row.distance,
            })
        };
        let max_rows = ROWS_PER_LEADER.saturating_mul(max_leaders);
        let SplitNeighbors { near, far } = split_nearest(&mut neighbors, max_rows);
        out.extend(near.iter().filter_map(point));
        let found_leaders = out
            .iter()
            .filter(|near| matches!(near.point, GroupPoint::Leader(_)));
        let mut left_out = far.len();
        if found_leaders.count() < max_leaders {
            out.extend(far.iter().filter_map(point));
            left_out = 0;
        }
        if self.item.features() < SHORT_TEXT_FEATURES {
            self.append_by_shingles(out);
        }
        // Rows are not used for sorting, because a state does not store them, so they differ after the state is read.
        out.sort_unstable_by_key(|near| match near.point {
            GroupPoint::Leader(leader) => (near.distance, false, u64::from(leader)),
            GroupPoint::Centre(group) => (near.distance, true, group),
        });
        left_out
    }

    fn verify(&mut self, leader: u32) -> Option<Similarity> {
        let threshold = self.leaders.threshold;
        let overlap = self.compare(leader, |a, b| a.overlap_at_least(b, threshold))??;
        Some(Similarity {
            jaccard: overlap.jaccard(),
            containment: overlap.containment(),
        })
    }

    fn is_related(&mut self, leader: u32) -> bool {
        let overlap = self.compare(leader, |a, b| overlap(a.shingles(), b.shingles()));
        overlap.is_some_and(|overlap| {
            overlap.jaccard() >= MIN_RELATED_JACCARD || overlap.containment() >= MIN_RELATED_CONTAINMENT
        })
    }

    fn add_leader(&mut self, leader: u32) {
        self.leaders.insert(leader, self.item);
    }

    fn remove_leader(&mut self, leader: u32) {
        self.leaders.remove(leader);
    }

    fn set_centre(&mut self, group: u64, at: Option<u128>) {
        self.leaders.set_centre(group, at);
    }
}
