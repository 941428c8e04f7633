use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn check(tally: &mut ShortTally, features: &[ShortFeature], announced: usize) {
    tally.start(announced);
    // The upper bound of the size hint is larger than the number of features.
    let skipped = [ShortFeature::new(b"skipped").unwrap(); 3];
    for features in features.chunks(STRIDE) {
        let features = features.iter().chain(&skipped).copied();
        tally.add(features.filter(|&feature| feature != skipped[0]));
    }
    let mut distinct = Vec::new();
    let mut expected: HashMap<ShortFeature, u32> = HashMap::new();
    for &feature in features {
        let count = expected.entry(feature).or_default();
        if *count == 0 {
            distinct.push(feature);
        }
        *count += 1;
    }
    assert_eq!(tally.features(), distinct);
    let counts: Vec<u32> = distinct.iter().map(|feature| expected[feature]).collect();
    assert_eq!(tally.counts(), counts);

    let (mut sorted, mut counts) = (vec![ShortFeature::default(); 3], vec![7; 5]);
    tally.sorted(&mut sorted, &mut counts);
    let classes: Vec<usize> = counts
        .iter()
        .map(|&count| (count as usize).min(SORTED_COUNTS))
        .collect();
    assert!(classes.is_sorted());
    assert_eq!(sorted.len(), counts.len());
    assert_eq!(
        sorted.into_iter().zip(counts).collect::<HashMap<_, _>>(),
        expected
    );
}

fn numbered(numbers: impl Iterator<Item = u32>) -> Vec<ShortFeature> {
    let feature = |number: u32| ShortFeature::new(number.to_string().as_bytes());
    numbers.filter_map(feature).collect()
}

#[test]
fn one_table_is_reused_for_small_and_large_documents() {
    let mut tally = ShortTally::new();
    for length in [0u32, 1, 31, 32, 33, 255, 256, 257, 2000, 1, 5000, 40_000, 10] {
        check(
            &mut tally,
            &numbered((0..length).map(|i| i * (i % 13) % 7919)),
            length as usize,
        );
        check(&mut tally, &numbered(0..length), length as usize);
        check(&mut tally, &numbered(0..length), 0);
    }
}

proptest! {
    #[test]
    fn equals_a_map(words in prop::collection::vec("[ab]{0,4}|[a-z]{15}", 0..700), announced in 0usize..100) {
        let features: Vec<ShortFeature> = words.iter().filter_map(|word| ShortFeature::new(word.as_bytes())).collect();
        let mut tally = ShortTally::new();
        check(&mut tally, &features, announced);
        check(&mut tally, &features, announced);
    }
}
