//! The prefix index compared with brute force over families of similar sets.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use super::*;

/// The Jaccard of two sets, by its definition.
fn jaccard(x: &BTreeSet<u64>, y: &BTreeSet<u64>) -> f64 {
    let both = x.intersection(y).count();
    both as f64 / (x.len() + y.len() - both) as f64
}

/// Sets with near-duplicates: each set is random, or an earlier set with a few tokens changed.
fn family() -> impl Strategy<Value = Vec<BTreeSet<u64>>> {
    let set = prop::collection::btree_set(0u64..60, 1..40);
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0u64..60), 0..6);
    prop::collection::vec((set, edits, any::<bool>(), any::<prop::sample::Index>()), 1..24).prop_map(
        |drafts| {
            let mut sets: Vec<BTreeSet<u64>> = Vec::new();
            for (fresh, edits, copy, of) in drafts {
                let mut set = if copy && !sets.is_empty() {
                    of.get(&sets).clone()
                } else {
                    fresh
                };
                for (at, token) in edits {
                    let old = at.get(&set.iter().copied().collect::<Vec<_>>()).to_owned();
                    if token % 2 == 0 && set.len() > 1 {
                        set.remove(&old);
                    }
                    set.insert(token);
                }
                sets.push(set);
            }
            sets
        },
    )
}

fn scramble(token: u64) -> u64 {
    (token + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

proptest! {
    #[test]
    fn no_pair_at_or_above_the_threshold_is_lost(
        sets in family(),
        steps in 1u32..=20,
        odd in 0.001f64..=1.0,
        backwards: bool,
    ) {
        for threshold in [f64::from(steps) / 20.0, odd] {
            let order = TokenOrder::new(1 << 18);
            let sets: Vec<BTreeSet<u64>> =
                sets.iter().map(|s| s.iter().map(|&t| scramble(t)).collect()).collect();
            let tokens: Vec<Vec<u64>> = sets.iter().map(|s| s.iter().copied().collect()).collect();
            for set in &tokens {
                order.count(set);
            }
            let mut index = PrefixIndex::new(threshold);
            // A probe of a set in a crowd finds fewer sets below the threshold.
            let mut found_in_crowd = Vec::new();
            let mut prefixes: HashMap<u32, Vec<u64>> = HashMap::new();
            let mut ids: Vec<u32> = (0..sets.len() as u32).collect();
            if backwards {
                ids.reverse();
            }
            let mut found = vec![7];
            for (turn, &id) in ids.iter().enumerate() {
                let set = &sets[id as usize];
                let mut prefix = Vec::new();
                order.sort_prefix(&tokens[id as usize], index.prefix_len(set.len()), &mut prefix);
                prop_assert_eq!(prefix.len(), index.prefix_len(set.len()));
                index.probe(set.len() as u32, &prefix, false, &mut found);
                prop_assert!(found.windows(2).all(|w| w[0] < w[1]));
                index.probe(set.len() as u32, &prefix, true, &mut found_in_crowd);
                prop_assert!(found_in_crowd.windows(2).all(|w| w[0] < w[1]));
                prop_assert!(found_in_crowd.iter().all(|id| ids[..turn].contains(id)));
                for other in &ids[..turn] {
                    let y = &sets[*other as usize];
                    let sizes = set.len().min(y.len()) as f64 / set.len().max(y.len()) as f64;
                    let shared = prefix.iter().enumerate().any(|(at, t)| {
                        prefixes[other].contains(t) && PrefixFilter::new(threshold).admits(set.len() as u32, at, y.len() as u32)
                    });
                    let expected = shared && sizes >= threshold * (1.0 - 1e-9);
                    prop_assert_eq!(found.contains(other), expected, "sizes {}", sizes);
                    if jaccard(set, y) >= threshold {
                        prop_assert!(found.contains(other), "J = {} at {}", jaccard(set, y), threshold);
                        prop_assert!(found_in_crowd.contains(other), "in a crowd, J = {}", jaccard(set, y));
                    }
                }
                prop_assert!(found.iter().all(|f| ids[..turn].contains(f)));
                index.insert(id, set.len() as u32, &prefix);
                prefixes.insert(id, prefix);
            }
            prop_assert_eq!(index.len(), sets.len());
        }
    }

    #[test]
    fn a_bitmap_excludes_no_pair_at_the_threshold(sets in family(), threshold in 0.001f64..=1.0) {
        let filter = PrefixFilter::new(threshold);
        let tokens = |set: &BTreeSet<u64>| -> Vec<u64> { set.iter().copied().collect() };
        for x in &sets {
            for y in &sets {
                let difference = TokenBitmap::of(&tokens(x)).difference(TokenBitmap::of(&tokens(y))) as usize;
                prop_assert!(difference <= x.symmetric_difference(y).count());
                if jaccard(x, y) >= threshold {
                    prop_assert!(difference <= filter.most_different(x.len(), y.len()));
                }
            }
        }
    }

    #[test]
    fn a_prefix_is_long_enough_and_no_longer(size in 0usize..5000, percent in 1u32..=100) {
        // In integers, the minimum overlap is ceil(percent * size / 100).
        let need = (size * percent as usize).div_ceil(100);
        let len = PrefixIndex::new(f64::from(percent) / 100.0).prefix_len(size);
        prop_assert_eq!(len, if size == 0 { 0 } else { size - need + 1 });
    }

    #[test]
    fn a_prefix_holds_the_rarest(counts in prop::collection::vec(0usize..9, 1..50), len in 0usize..60) {
        let order = TokenOrder::new(1 << 18);
        let tokens: Vec<u64> = (0..counts.len() as u64).map(scramble).collect();
        for (&token, &count) in tokens.iter().zip(&counts) {
            order.count(&vec![token; count]);
        }
        let mut expected: Vec<(u32, u64)> = tokens.iter().map(|&t| (order.frequency(t), t)).collect();
        expected.sort_unstable();
        expected.truncate(len);
        let mut prefix = vec![1];
        order.sort_prefix(&tokens, len, &mut prefix);
        prop_assert_eq!(prefix, expected.iter().map(|e| e.1).collect::<Vec<_>>());
        for (&token, &count) in tokens.iter().zip(&counts) {
            prop_assert!(order.frequency(token) as usize >= count);
        }
    }
}

/// The next change of an index.
#[derive(Clone, Debug)]
enum Step {
    Insert(BTreeSet<u64>),
    Seal,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (prop::collection::btree_set(0u64..40, 0..24), 0u32..4);
    prop::collection::vec(step, 1..80).prop_map(|drafts| {
        drafts
            .into_iter()
            .map(|(set, die)| if die == 0 { Step::Seal } else { Step::Insert(set) })
            .collect()
    })
}

proptest! {
    #[test]
    fn sealed_and_young_entries_are_probed_separately_and_together(
        steps in steps(),
        least_run in 0usize..40,
        threshold in 0.001f64..=1.0,
        repeat in 1u32..9,
    ) {
        let mut index = PrefixIndex::with_least_run(threshold, least_run);
        // The id, the tokens and the prefix of each insertion. The order of tokens is their numeric order.
        let mut inserted: Vec<(u32, BTreeSet<u64>, Vec<u64>)> = Vec::new();
        let mut sealed = 0;
        let (mut old, mut young, mut all) = (vec![3], vec![4], vec![5]);
        for step in steps {
            match step {
                Step::Seal => {
                    index.seal();
                    sealed = inserted.len();
                }
                Step::Insert(set) => {
                    let prefix: Vec<u64> = set.iter().copied().take(index.prefix_len(set.len())).collect();
                    let size = set.len() as u32;
                    index.probe_sealed(size, &prefix, false, &mut old);
                    index.probe_young(size, &prefix, false, &mut young);
                    index.probe(size, &prefix, false, &mut all);
                    let expected = |part: &[(u32, BTreeSet<u64>, Vec<u64>)]| -> Vec<u32> {
                        let fits = |y: &BTreeSet<u64>| {
                            let (small, large) = (set.len().min(y.len()), set.len().max(y.len()));
                            small as f64 >= threshold * large as f64 * (1.0 - 1e-12)
                        };
                        let found = part.iter().filter(|(_, y, other)| {
                            let admits = |at| PrefixFilter::new(threshold).admits(size, at, y.len() as u32);
                            fits(y) && prefix.iter().enumerate().any(|(at, t)| other.contains(t) && admits(at))
                        });
                        found.map(|x| x.0).collect::<BTreeSet<u32>>().into_iter().collect()
                    };
                    prop_assert_eq!(&old, &expected(&inserted[..sealed]));
                    prop_assert_eq!(&young, &expected(&inserted[sealed..]));
                    prop_assert_eq!(&all, &expected(&inserted));
                    for (id, y, _) in &inserted {
                        if !set.is_empty() && !y.is_empty() && jaccard(&set, y) >= threshold {
                            prop_assert!(old.contains(id) || young.contains(id));
                        }
                    }
                    // Ids that are neither ascending nor unique.
                    let id = (inserted.len() as u32).wrapping_mul(0x9E37_79B9) % (repeat * 16);
                    index.insert(id, size, &prefix);
                    inserted.push((id, set, prefix));
                }
            }
        }
        prop_assert_eq!(index.len(), inserted.len());
        let runs = index.runs();
        prop_assert!(runs.windows(2).all(|w| w[1] * 8 < w[0]), "{:?}", runs);
        prop_assert!(runs.iter().all(|&len| len >= least_run), "{:?}", runs);
    }
}

#[test]
fn a_large_index_finds_all_sets_after_merges_and_stays_small() {
    // Every set shares one of 20 tokens with thousands of sets, one with one other set, and the rest with none.
    let prefix_of = |id: u32| -> Vec<u64> {
        // The shared tokens are first, where they admit all suitable sizes.
        let shared = [u64::MAX / 2 + u64::from(id % 20), u64::from(id / 2) << 8];
        let own = (2..12).map(|j| u64::from(id) << 8 | j);
        shared.into_iter().chain(own).map(scramble).collect()
    };
    let size_of = |id: u32| 40 + id % 50;
    let n = 60_000u32;
    let mut index = PrefixIndex::with_least_run(0.8, 3000);
    for id in 0..n {
        if id % 97 == 0 {
            index.seal();
        }
        index.insert(id, size_of(id), &prefix_of(id));
    }
    index.seal();
    assert!(index.runs().len() < 6, "{:?}", index.runs());
    let bytes = index.bytes() as f64 / (f64::from(n) * 12.0);
    assert!(bytes < 10.5, "{bytes} bytes an entry");
    let (mut found, mut young) = (Vec::new(), vec![1]);
    for id in (0..n).step_by(499) {
        let size = size_of(id);
        let fits = |other: u32| size.min(other) * 5 >= size.max(other) * 4;
        let expected: Vec<u32> = (0..n)
            .filter(|&other| (other % 20 == id % 20 || other / 2 == id / 2) && fits(size_of(other)))
            .collect();
        index.probe_sealed(size, &prefix_of(id), false, &mut found);
        assert_eq!(found, expected);
        index.probe_young(size, &prefix_of(id), false, &mut young);
        assert!(young.is_empty());
    }
}

#[test]
fn extreme_sizes_are_compared_exactly() {
    for threshold in [0.0, 1e-300, 1e-9, 0.1, 1.0 / 3.0, 0.8, 1.0] {
        let sizes = [
            0u32,
            1,
            2,
            7,
            8,
            9,
            999,
            1000,
            1250,
            1251,
            1 << 31,
            u32::MAX - 1,
            u32::MAX,
        ];
        let mut index = PrefixIndex::with_least_run(threshold, 1);
        for (id, &size) in sizes.iter().enumerate() {
            index.insert(id as u32, size, &[42]);
        }
        index.seal();
        assert_eq!(index.runs(), [sizes.len()]);
        let mut found = Vec::new();
        for size in sizes {
            let fits = |&id: &u32| {
                let other = sizes[id as usize];
                let least = (threshold * f64::from(size.max(other)) * (1.0 - 1e-12)).ceil();
                f64::from(size.min(other)) >= least
            };
            index.probe_sealed(size, &[42], false, &mut found);
            let expected: Vec<u32> = (0..sizes.len() as u32).filter(fits).collect();
            assert_eq!(found, expected, "{size} at {threshold}");
        }
    }
}

#[test]
fn size_classes_are_monotonic() {
    let sizes =
        || (0u32..5000).chain((3..32).flat_map(|b| [(1 << b) - 1, 1 << b, (1 << b) + (1 << (b - 2))]));
    let mut sizes: Vec<u32> = sizes().chain([u32::MAX]).collect();
    sizes.sort_unstable();
    assert!(sizes.windows(2).all(|w| place::class(w[0]) <= place::class(w[1])));
    assert_eq!((place::class(0), place::class(u32::MAX)), (0, 255));
}

#[test]
fn thresholds_out_of_range_are_clamped() {
    assert_eq!(PrefixIndex::new(f64::NAN).prefix_len(10), 10);
    assert_eq!(PrefixIndex::new(-1.0).prefix_len(10), 10);
    assert_eq!(PrefixIndex::new(7.0).prefix_len(10), 1);
    assert_eq!(PrefixIndex::new(0.0).prefix_len(0), 0);
}

#[test]
fn a_token_of_one_set_is_not_counted_as_shared() {
    let order = TokenOrder::new(6);
    order.count(&[1, 2, 3]);
    order.count(&[2, 4]);
    order.count(&[2, 3]);
    assert_eq!(order.most_shared(&[1, 2, 3]), 2);
    assert_eq!(order.most_shared(&[2, 4]), 1);
    assert_eq!(order.most_shared(&[4, 4, 2, 2]), 2);
}

#[test]
fn counts_end_at_the_limit() {
    let order = TokenOrder::new(10);
    for _ in 0..300 {
        order.count(&[5; 300]);
    }
    assert_eq!(order.frequency(5), u32::from(u16::MAX / 2));
    order.count(&[6]);
    assert_eq!(order.frequency(6), 1);
}

#[test]
fn counts_of_several_threads_equal_those_of_one() {
    let (one, many) = (TokenOrder::new(10_000), TokenOrder::new(10_000));
    let tokens: Vec<u64> = (0..10_000).map(|i| scramble(i % 700)).collect();
    one.count(&tokens);
    std::thread::scope(|scope| {
        for part in tokens.chunks(1000) {
            let many = &many;
            scope.spawn(move || many.count(part));
        }
    });
    assert!(tokens.iter().all(|&t| one.frequency(t) == many.frequency(t)));
}

#[test]
fn entries_use_few_bytes_and_a_frequent_token_is_found() {
    let mut index = PrefixIndex::new(0.8);
    let mut worst = 0.0f64;
    for id in 0..60_000u32 {
        let prefix: Vec<u64> = (0..10).map(|j| scramble(u64::from(id) * 10 + j)).collect();
        index.insert(id, 50, &prefix);
        if id % 5000 == 4999 {
            worst = worst.max(index.bytes() as f64 / (f64::from(id + 1) * 10.0));
        }
    }
    assert!(worst < 24.0, "{worst} bytes an entry");
    let mut found = Vec::new();
    index.probe(50, &[scramble(123)], false, &mut found);
    assert_eq!(found, [12]);
    // One token is in every set. Its entries are a list, not entries of the table.
    for id in 0..60_000 {
        index.insert(id, 50, &[scramble(u64::MAX - 1)]);
    }
    index.probe(50, &[scramble(u64::MAX - 1)], false, &mut found);
    assert_eq!(found.len(), 60_000);
    index.probe(40, &[scramble(u64::MAX - 1)], false, &mut found);
    assert_eq!(found.len(), 60_000);
    index.probe(39, &[scramble(u64::MAX - 1)], false, &mut found);
    assert!(found.is_empty());
}

#[test]
fn bitmaps_exclude_most_sets_that_share_a_part() {
    // Tokens are hashes. Scrambled once, they would have the bits of the bitmap in a regular pattern.
    let hash = |n: u64| scramble(scramble(n).rotate_left(32) ^ n);
    // Each set has 60 tokens, and 15 of them are in all sets. Jaccard 0.8 allows 12 different tokens.
    let allowed = PrefixFilter::new(0.8).most_different(60, 60);
    let of_set = |id: u64| {
        let own = (0..45).map(|token| hash(1000 * id + token));
        TokenBitmap::of(
            &(0..15)
                .map(|token| hash(u64::MAX / 2 + token))
                .chain(own)
                .collect::<Vec<_>>(),
        )
    };
    let passed = (1..1000).filter(|&id| of_set(0).difference(of_set(id)) as usize <= allowed);
    assert_eq!((allowed, passed.count()), (12, 0));
}

#[test]
fn sets_that_share_a_template_below_the_threshold_are_not_candidates() {
    // Two of eleven tokens are unique to a set. 9 of 13 are shared, which is too few, although each prefix has one of the nine.
    let mut index = PrefixIndex::new(0.8);
    let mut found = Vec::new();
    for id in 0..1000u64 {
        let prefix = [scramble(2 * id + 100), scramble(2 * id + 101), scramble(1)];
        assert_eq!(index.prefix_len(11), prefix.len());
        index.probe(11, &prefix, false, &mut found);
        assert!(found.is_empty());
        index.insert(id as u32, 11, &prefix);
    }
}

#[test]
fn in_a_crowd_every_pair_at_the_threshold_and_few_others_are_found() {
    // Each set is a template of 100 tokens with up to 29 tokens exchanged for its own.
    const SETS: u64 = 1500;
    let sets: Vec<BTreeSet<u64>> = (0..SETS)
        .map(|id| {
            let edits = scramble(id) % 30;
            let exchanged: BTreeSet<u64> = (0..edits).map(|edit| scramble(id * 64 + edit) % 100).collect();
            let token = |token: u64| {
                if exchanged.contains(&token) {
                    scramble(1000 + id * 100 + token)
                } else {
                    scramble(token)
                }
            };
            (0..100).map(token).collect()
        })
        .collect();
    let order = TokenOrder::new(1 << 18);
    let tokens: Vec<Vec<u64>> = sets.iter().map(|set| set.iter().copied().collect()).collect();
    for set in &tokens {
        order.count(set);
    }
    let mut index = PrefixIndex::new(0.8);
    let (mut found, mut prefix) = (Vec::new(), Vec::new());
    let (mut at_threshold, mut candidates) = (0, 0);
    for (id, set) in (0u32..).zip(&tokens) {
        if id % 400 == 0 {
            index.seal();
        }
        order.sort_prefix(set, index.prefix_len(set.len()), &mut prefix);
        index.probe(set.len() as u32, &prefix, true, &mut found);
        for other in 0..id {
            let shared = jaccard(&sets[id as usize], &sets[other as usize]);
            at_threshold += usize::from(shared >= 0.8);
            assert!(
                shared < 0.8 || found.contains(&other),
                "{id} and {other} have J = {shared}"
            );
        }
        candidates += found.len();
        index.insert(id, set.len() as u32, &prefix);
    }
    assert!(
        at_threshold > 10_000 && candidates < 4 * at_threshold,
        "{candidates} for {at_threshold}"
    );
}
