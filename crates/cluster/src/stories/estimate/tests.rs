use proptest::prelude::*;

use super::super::vector::{dot, norm};
use super::*;

/// The estimate by its definition: all cosines by `dot`, and every division of the nearest cosines.
fn naive(vectors: &[Vec<TermWeight>]) -> Option<(f64, f64)> {
    let cosine = |a: &[TermWeight], b: &[TermWeight]| dot(a.iter().copied(), b.iter().copied());
    let mut distinct: Vec<&Vec<TermWeight>> = Vec::new();
    for vector in vectors.iter().filter(|vector| !vector.is_empty()) {
        if distinct.iter().all(|other| cosine(vector, other) < COPY_COSINE) {
            distinct.push(vector);
        }
    }
    if distinct.len() < MIN_ITEMS {
        return None;
    }
    let (mut pairs, mut nearest) = (Vec::new(), vec![0.0f64; distinct.len()]);
    for (i, a) in distinct.iter().enumerate() {
        for (j, b) in distinct.iter().enumerate().filter(|&(j, _)| j != i) {
            nearest[i] = nearest[i].max(cosine(a, b));
            if j < i {
                pairs.push(cosine(a, b));
            }
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let spread = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let (mut share, mut threshold) = (0.0, 0.0);
    for &cut in &nearest {
        let (low, high): (Vec<f64>, Vec<f64>) = nearest.iter().partition(|&&value| value <= cut);
        let explained = 1.0 - (spread(&low) + spread(&high)) / spread(&nearest);
        if !high.is_empty() && explained > share {
            (share, threshold) = (explained, f64::midpoint(mean(&low), mean(&high)));
        }
    }
    if share <= EVEN_SHARE {
        let roots: Vec<f64> = pairs.iter().map(|value| value.sqrt()).collect();
        let mut sorted = nearest.clone();
        sorted.sort_by(f64::total_cmp);
        threshold = f64::midpoint(mean(&roots), sorted[sorted.len() / 4].sqrt()).powi(2);
    }
    let threshold = threshold.clamp(0.01, COPY_COSINE);
    let merge = 2.0 * mean(&pairs) / mean(&nearest).max(0.01);
    Some((threshold, merge.clamp(threshold, COPY_COSINE)))
}

fn vector(terms: &std::collections::BTreeMap<u32, u8>) -> Vec<TermWeight> {
    let length = norm(terms.values().map(|&weight| f32::from(weight)));
    let scaled = |(&term, &weight): (&u32, &u8)| TermWeight {
        term,
        weight: (f64::from(weight) / length) as f32,
    };
    terms.iter().map(scaled).collect()
}

proptest! {
    #[test]
    fn an_estimate_follows_its_definition(
        items in prop::collection::vec(prop::collection::btree_map(0u32..60, 1u8..9, 0..6), 20..70),
    ) {
        let vectors: Vec<Vec<TermWeight>> = items.iter().map(vector).collect();
        let found = estimate(&vectors);
        let expected = naive(&vectors);
        prop_assert_eq!(found.is_some(), expected.is_some());
        if let (Some(found), Some((threshold, merge))) = (found, expected) {
            prop_assert!((found.threshold - threshold).abs() < 2e-6, "{} {}", found.threshold, threshold);
            prop_assert!((found.merge - merge).abs() < 2e-6, "{} {}", found.merge, merge);
            let read: Estimate = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
            prop_assert_eq!(&read, &found);
            prop_assert_eq!(found.nearest.counts().iter().sum::<u64>(), found.distinct);
            let pairs = found.distinct * (found.distinct - 1) / 2;
            prop_assert_eq!(found.background.counts().iter().sum::<u64>(), pairs);
        }
    }
}

/// Unit vectors: `items` of which each group of `size` shares a term of the given weight.
fn groups(items: u32, size: u32, shared: f32) -> Vec<Vec<TermWeight>> {
    let own = (1.0 - shared * shared).sqrt();
    let item = |n: u32| {
        let shared = TermWeight {
            term: n / size,
            weight: shared,
        };
        vec![
            shared,
            TermWeight {
                term: items + n,
                weight: own,
            },
        ]
    };
    (0..items).map(item).collect()
}

#[test]
fn related_items_are_separated_from_the_background() {
    let found = estimate(&groups(200, 10, 0.5)).unwrap();
    assert!(!found.two_kinds);
    assert!((0.05..0.2).contains(&found.threshold), "{}", found.threshold);
    assert!(found.merge >= found.threshold);
}

#[test]
fn items_without_a_related_item_are_separated_from_the_others() {
    let mut vectors = groups(100, 5, 0.7);
    let lonely = groups(100, 100, 0.3);
    vectors.extend(lonely.into_iter().map(|mut vector| {
        for weighted in &mut vector {
            weighted.term += 1000;
        }
        vector
    }));
    let found = estimate(&vectors).unwrap();
    assert!(found.two_kinds);
    // The cosines are 0.49 within a group and 0.09 among the others.
    assert!((0.15..0.35).contains(&found.threshold), "{}", found.threshold);
}

#[test]
fn copies_alone_give_no_estimate() {
    assert_eq!(estimate(&vec![groups(1, 1, 0.5).remove(0); 100]), None);
}
