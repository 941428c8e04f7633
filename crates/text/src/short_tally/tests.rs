use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

use proptest::prelude::*;
use twinprint_fingerprint::{Span, WindowFeature};

use super::*;

fn check<F: NumberFeature + Hash + Debug>(
    tally: &mut ShortTally<F>,
    features: &[F],
    announced: usize,
    skipped: F,
) {
    tally.start(announced);
    // The upper bound of the size hint is larger than the number of features.
    let skipped = [skipped; 3];
    for features in features.chunks(STRIDE) {
        let features = features.iter().chain(&skipped).copied();
        tally.add(features.filter(|&feature| feature != skipped[0]));
    }
    let mut distinct = Vec::new();
    let mut expected: HashMap<F, u32> = HashMap::new();
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

    let first = ShortFeature::new(b"first").unwrap();
    for kept in 0..3 {
        let (mut sorted, mut counts) = (vec![first; 3], vec![7; 5]);
        tally.sorted(kept, &mut sorted, &mut counts);
        assert_eq!(sorted[..kept], [first; 3][..kept]);
        assert_eq!(counts[..kept], [7; 3][..kept]);
        let classes = counts[kept..]
            .iter()
            .map(|&count| (count as usize).min(SORTED_COUNTS));
        assert!(classes.is_sorted());
        assert_eq!(sorted.len(), counts.len());
        let sorted: HashMap<_, _> = sorted.into_iter().zip(counts).skip(kept).collect();
        let expected = expected.iter().map(|(&feature, &count)| (feature.into(), count));
        assert_eq!(sorted, expected.collect());
    }
}

/// A feature that no test counts.
fn skipped() -> ShortFeature {
    ShortFeature::new(b"skipped").unwrap()
}

fn numbered(numbers: impl Iterator<Item = u32>) -> Vec<ShortFeature> {
    let feature = |number: u32| ShortFeature::new(number.to_string().as_bytes());
    numbers.filter_map(feature).collect()
}

#[test]
fn one_table_is_reused_for_small_and_large_documents() {
    let mut tally = ShortTally::new();
    for length in [0u32, 1, 31, 32, 33, 255, 256, 257, 2000, 1, 5000, 40_000, 10] {
        let repeated = numbered((0..length).map(|i| i * (i % 13) % 7919));
        check(&mut tally, &repeated, length as usize, skipped());
        check(&mut tally, &numbered(0..length), length as usize, skipped());
        check(&mut tally, &numbered(0..length), 0, skipped());
    }
}

proptest! {
    #[test]
    fn equals_a_map(words in prop::collection::vec("[ab]{0,4}|[a-z]{15}", 0..700), announced in 0usize..100) {
        let features: Vec<ShortFeature> = words.iter().filter_map(|word| ShortFeature::new(word.as_bytes())).collect();
        let mut tally = ShortTally::new();
        check(&mut tally, &features, announced, skipped());
        check(&mut tally, &features, announced, skipped());
    }

    #[test]
    fn windows_equal_a_map(text in "[ab ]{0,700}", width in 1u32..=7, announced in 0usize..100) {
        let starts = 0..(text.len() as u32 + 1).saturating_sub(width);
        let features = starts.filter_map(|start| WindowFeature::cut(text.as_bytes(), Span { start, end: start + width }));
        let features: Vec<WindowFeature> = features.collect();
        let mut tally = ShortTally::new();
        let skipped = WindowFeature::first(b"skipped ", 7).unwrap();
        check(&mut tally, &features, announced, skipped);
        check(&mut tally, &features, announced, skipped);
    }
}
