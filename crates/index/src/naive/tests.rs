//! The naive ways compared with the definition of the Hamming distance, and with one another.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::samples;

fn check<W: Width>(shape: samples::Shape, k: u32, seed: u64) {
    let rows: Vec<W> = samples::rows(shape, 40, k, seed);
    let sorted = SortedRows::new(&rows);
    let stored = StoredVariations::build(&rows, k, u64::MAX).unwrap();
    let bill = Bill::of::<W>(rows.len() as u64, k);
    assert_eq!(stored.entries() as u128, bill.entries);
    for query in samples::queries(&rows, k, seed) {
        let mut expected: Vec<Match> = (0..)
            .zip(&rows)
            .map(|(id, row)| Match {
                id,
                distance: row.distance(query) as u8,
            })
            .filter(|m| u32::from(m.distance) <= k)
            .collect();
        expected.sort_unstable_by_key(|m| (m.distance, m.id));
        let found = expected.len() as u64;
        let stats = |probes: u128, candidates| Stats {
            probes: probes as u64,
            candidates,
        };
        let mut out = vec![Match { id: 9, distance: 9 }];
        assert_eq!(scan(&rows, query, k, &mut out), stats(0, rows.len() as u64));
        assert_eq!(out, expected);
        assert_eq!(sorted.lookup(query, k, &mut out), stats(bill.variations, found));
        assert_eq!(out, expected);
        assert_eq!(stored.lookup(query, &mut out), stats(1, found));
        assert_eq!(out, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn the_naive_ways_find_what_the_definition_says(shape in samples::shape(), seed: u64) {
        for k in [0, 1, 3] {
            check::<u16>(shape, k, seed);
        }
        for k in [0, 2] {
            check::<u32>(shape, k, seed);
        }
        check::<u64>(shape, 1, seed);
        check::<u128>(shape, 1, seed);
    }

    #[test]
    fn variations_are_all_fingerprints_within_the_distance(fingerprint: u16, k in 0u32..18) {
        let mut variations = Vec::new();
        each_variation(fingerprint, k, &mut |variation| variations.push(variation));
        prop_assert_eq!(variations.len() as u128, variation_count(16, k));
        let expected: HashSet<u16> = (0..=u16::MAX).filter(|f| f.distance(fingerprint) <= k).collect();
        prop_assert_eq!(variations.into_iter().collect::<HashSet<_>>(), expected);
    }
}

#[test]
fn a_table_of_variations_beyond_the_limit_is_refused_with_its_bill() {
    let rows = [1u64, 2];
    let bill = Bill::of::<u64>(2, 3);
    assert_eq!(bill.variations, 43_745);
    assert_eq!(bill.entries, 87_490);
    let limit = u64::try_from(bill.bytes).unwrap();
    assert!(StoredVariations::build(&rows, 3, limit).is_ok());
    let refused = StoredVariations::build(&rows, 3, limit - 1).unwrap_err();
    assert_eq!(
        refused,
        TooLarge {
            bill,
            limit: limit - 1
        }
    );
    assert!(
        refused
            .to_string()
            .contains("43745 variations of each of 2 fingerprints are 87490 entries")
    );
    // The numbers of a very large table saturate.
    let most = Bill::of::<u128>(u64::MAX, 128);
    assert_eq!(most.bytes, u128::MAX);
    assert_eq!(variation_count(64, 64), 1 << 64);
    assert_eq!(variation_count(64, 200), 1 << 64);
    assert_eq!(variation_count(127, 127), 1 << 127);
    assert_eq!(variation_count(128, 127), u128::MAX);
}
