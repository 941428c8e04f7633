//! The index and the cache compared with their brute-force twins: lists that every lookup scans.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use twinprint_text::overlap::{ShingleSet, overlap};

use super::*;

const MEASURES: [Measure; 2] = [Measure::WordGrams, Measure::CharGrams];

/// A leader of the brute-force twin.
#[derive(Clone, Debug)]
struct TwinLeader {
    fingerprint: u128,
    measure: Measure,
    shingles: Vec<u64>,
}

#[derive(Clone, Debug)]
enum Step {
    Insert(TwinLeader),
    /// Removes the leader at this position, modulo the number of leaders.
    Remove(usize),
    /// Inserts a removed leader again, under its old id.
    InsertRemoved(usize),
    Maintain(u8),
    Rebuild(Measure),
    Lookup(TwinLeader),
}

fn leaders() -> impl Strategy<Value = TwinLeader> {
    let shingles = prop::collection::btree_set(0u64..24, 1..16);
    let shingles = shingles.prop_map(|set| set.into_iter().map(|s| s.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    let fingerprint = prop::collection::vec(0u32..128, 0..5)
        .prop_map(|bits| bits.into_iter().fold(0u128, |word, bit| word | 1 << bit));
    (fingerprint, prop::sample::select(&MEASURES), shingles).prop_map(|(fingerprint, measure, shingles)| {
        let mut shingles: Vec<u64> = shingles.collect();
        shingles.sort_unstable();
        TwinLeader {
            fingerprint,
            measure,
            shingles,
        }
    })
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => leaders().prop_map(Step::Insert),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => any::<usize>().prop_map(Step::InsertRemoved),
        2 => any::<u8>().prop_map(Step::Maintain),
        1 => prop::sample::select(&MEASURES).prop_map(Step::Rebuild),
        3 => leaders().prop_map(Step::Lookup),
    ]
}

/// The index and its brute-force twin.
struct Pair {
    index: LeaderIndex,
    mask: u128,
    threshold: f64,
    next_id: u64,
    present: BTreeMap<u64, TwinLeader>,
    removed: BTreeMap<u64, TwinLeader>,
}

impl Pair {
    fn insert(&mut self, id: u64, leader: TwinLeader) {
        let prefix = ShinglePrefix::new(&leader.shingles, leader.measure, self.threshold);
        self.index.insert_fingerprint(id, leader.fingerprint & self.mask);
        self.index.insert_short_text(id, &prefix);
        self.present.insert(id, leader);
    }

    fn apply(&mut self, step: Step) -> Result<(), TestCaseError> {
        let nth = |leaders: &BTreeMap<u64, TwinLeader>, at: usize| {
            leaders.keys().nth(at % leaders.len().max(1)).copied()
        };
        match step {
            Step::Insert(leader) => {
                self.insert(self.next_id, leader);
                self.next_id += 1;
            }
            Step::Remove(at) => {
                if let Some((id, leader)) =
                    nth(&self.present, at).and_then(|id| self.present.remove_entry(&id))
                {
                    self.index.remove_fingerprint(id);
                    self.index.remove_short_text(leader.measure);
                    self.removed.insert(id, leader);
                }
            }
            Step::InsertRemoved(at) => {
                if let Some((id, leader)) =
                    nth(&self.removed, at).and_then(|id| self.removed.remove_entry(&id))
                {
                    self.insert(id, leader);
                }
            }
            Step::Maintain(how) => match how % 3 {
                0 => self.index.maintain(),
                1 => self.index.maintain_in_background(),
                _ => self.index.merge(),
            },
            Step::Rebuild(measure) => {
                self.index.clear_short_texts(measure);
                for (&id, leader) in self
                    .present
                    .iter()
                    .filter(|(_, leader)| leader.measure == measure)
                {
                    let prefix = ShinglePrefix::new(&leader.shingles, measure, self.threshold);
                    self.index.insert_short_text(id, &prefix);
                }
            }
            Step::Lookup(query) => self.check_lookups(&query)?,
        }
        Ok(())
    }

    fn check_lookups(&self, query: &TwinLeader) -> Result<(), TestCaseError> {
        for radius in [0, 3, 5] {
            let mut neighbors = Vec::new();
            self.index
                .lookup_fingerprint(query.fingerprint & self.mask, radius, &mut neighbors);
            neighbors.sort_unstable();
            let distances = self.present.iter().map(|(&id, leader)| Neighbor {
                id,
                distance: ((leader.fingerprint ^ query.fingerprint) & self.mask).count_ones(),
            });
            let expected: Vec<Neighbor> = distances.filter(|row| row.distance <= radius).collect();
            prop_assert_eq!(neighbors, expected);
        }
        let prefix = ShinglePrefix::new(&query.shingles, query.measure, self.threshold);
        let candidates = self.index.lookup_shingles(&prefix);
        prop_assert!(candidates.is_sorted_by(|a, b| a < b));
        let is_duplicate = |leader: &TwinLeader| {
            leader.measure == query.measure
                && overlap(&leader.shingles, &query.shingles).jaccard() >= self.threshold
        };
        let verified: Vec<u64> = candidates
            .into_iter()
            .filter(|id| self.present.get(id).is_some_and(is_duplicate))
            .collect();
        let duplicates = self.present.iter().filter(|(_, leader)| is_duplicate(leader));
        let expected: Vec<u64> = duplicates.map(|(&id, _)| id).collect();
        prop_assert_eq!(verified, expected);
        Ok(())
    }
}

proptest! {
    #[test]
    fn lookups_find_what_a_scan_finds(
        steps in prop::collection::vec(steps(), 0..80),
        bits in prop::sample::select(&[64u32, 128]),
        threshold in prop::sample::select(&[0.5, 0.8, 1.0]),
    ) {
        let mut pair = Pair {
            index: LeaderIndex::new(LeaderIndexOptions {
                bits,
                radius: 3,
                threshold,
                merge_policy: MergePolicy { tail_rows: 4, size_ratio: 1 },
            }),
            mask: u128::MAX >> (128 - bits),
            threshold,
            next_id: 0,
            present: BTreeMap::new(),
            removed: BTreeMap::new(),
        };
        for step in steps {
            pair.apply(step)?;
        }
    }

    #[test]
    fn a_cache_returns_the_set_inserted_last_or_none(
        operations in prop::collection::vec((0u32..12, prop::sample::select(&MEASURES), any::<bool>()), 0..200),
    ) {
        const MAX_BYTES: usize = 2000;
        let mut cache = ShingleSetCache::new(MAX_BYTES);
        for (document, measure, insert) in operations {
            let shingles = || (0..u64::from(document) + u64::from(measure == Measure::CharGrams)).collect::<Vec<_>>();
            let found = cache.get(document, measure);
            prop_assert!(found.as_ref().is_none_or(|set| set.shingles() == shingles()));
            if insert && found.is_none() {
                cache.insert(document, measure, Arc::new(ShingleSet::new(shingles())));
                prop_assert!(cache.get(document, measure).is_some());
            }
            prop_assert!(cache.bytes() <= MAX_BYTES);
        }
    }
}

#[test]
fn a_rebuild_is_due_when_most_short_texts_are_removed() {
    let mut index = LeaderIndex::new(LeaderIndexOptions {
        bits: 64,
        radius: 3,
        threshold: 0.8,
        merge_policy: MergePolicy::default(),
    });
    for id in 0..5000 {
        let shingles = [id];
        index.insert_short_text(id, &ShinglePrefix::new(&shingles, Measure::WordGrams, 0.8));
    }
    for _ in 0..4096 {
        index.remove_short_text(Measure::WordGrams);
    }
    assert!(!index.is_rebuild_due(Measure::WordGrams));
    index.remove_short_text(Measure::WordGrams);
    assert!(index.is_rebuild_due(Measure::WordGrams) && !index.is_rebuild_due(Measure::CharGrams));
    index.clear_short_texts(Measure::WordGrams);
    assert!(!index.is_rebuild_due(Measure::WordGrams));
    let query = ShinglePrefix::new(&[1], Measure::WordGrams, 0.8);
    assert!(index.lookup_shingles(&query).is_empty());
}
