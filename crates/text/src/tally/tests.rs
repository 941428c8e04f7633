use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn check<W: Width>(tally: &mut Tally<W>, hashes: &[W]) {
    tally.start(hashes.len());
    let (some, more) = hashes.split_at(hashes.len() / 3);
    tally.add(some);
    tally.add(more);
    let mut expected: HashMap<u64, Count> = HashMap::new();
    for (position, &hash) in hashes.iter().enumerate() {
        expected
            .entry(hash.low_u64())
            .or_insert(Count {
                tf: 0,
                first: position as u32,
            })
            .tf += 1;
    }
    assert_eq!(tally.hashes().len(), expected.len());
    assert_eq!(tally.counts().count(), expected.len());
    for (hash, count) in tally.hashes().iter().zip(tally.counts()) {
        assert_eq!(expected[&hash.low_u64()], count);
    }
    assert!(tally.counts().is_sorted_by_key(|count| count.first));
}

#[test]
fn one_table_is_reused_for_small_and_large_documents() {
    let mut tally = Tally::<u128>::new();
    for length in [0u128, 1, 31, 32, 33, 2000, 1, 5000, 40_000, 10] {
        check(&mut tally, &(0..length).map(|i| i * i % 7919).collect::<Vec<_>>());
        check(&mut tally, &(0..length).collect::<Vec<_>>());
    }
}

#[test]
fn a_document_may_have_more_features_than_announced() {
    let mut tally = Tally::<u64>::new();
    tally.start(0);
    let hashes: Vec<u64> = (0..3000).map(|i| i % 2000).collect();
    tally.add(&hashes);
    assert_eq!(tally.hashes(), &hashes[..2000]);
    assert_eq!(tally.counts().map(|count| count.tf).sum::<u32>(), 3000);
}

#[test]
fn the_document_number_wraps_around() {
    let mut tally = Tally::<u64>::new();
    check(&mut tally, &[1, 2, 1]);
    tally.document = u32::MAX - 1;
    for _ in 0..3 {
        check(&mut tally, &[1, 2, 1]);
    }
    tally.document = u32::MAX - 1;
    check(&mut tally, &(0..40_000).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn equals_a_hash_map(documents in prop::collection::vec(prop::collection::vec(0u64..300, 0..400), 1..5)) {
        let mut narrow = Tally::<u64>::new();
        let mut wide = Tally::<u128>::new();
        for document in documents {
            check(&mut narrow, &document);
            // Only the low half identifies features.
            let with_high_half = |&hash: &u64| u128::from(hash) << 64 | u128::from(hash);
            check(&mut wide, &document.iter().map(with_high_half).collect::<Vec<_>>());
        }
    }
}
