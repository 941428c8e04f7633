use proptest::prelude::*;

use super::super::vector::{dot, norm};
use super::*;

fn cosine(a: &[TermWeight], b: &[TermWeight]) -> f64 {
    dot(a.iter().copied(), b.iter().copied())
}

/// The estimate by its definition: all cosines by `dot`, every division of the nearest cosines, and the given trials.
fn naive(vectors: &[Vec<TermWeight>], trials: &[Trial]) -> Option<(f64, f64)> {
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
        if !high.is_empty() && spread(&nearest) > 1e-9 * nearest.len() as f64 && explained > share {
            (share, threshold) = (explained, f64::midpoint(mean(&low), mean(&high)));
        }
    }
    let silhouette = |i: usize| trials.get(i).map_or(f64::NEG_INFINITY, |trial| trial.silhouette);
    let highest = trials
        .iter()
        .map(|trial| trial.silhouette)
        .fold(f64::NEG_INFINITY, f64::max);
    let separated = (0..trials.len()).rev().find(|&i| {
        let neighbours = [silhouette(i.wrapping_sub(1)), silhouette(i + 1)];
        neighbours.iter().all(|&other| silhouette(i) >= other)
            && silhouette(i) >= 0.25
            && silhouette(i) >= highest * 2.0 / 3.0
    });
    if share <= EVEN_SHARE
        && let Some(best) = separated
    {
        threshold = trials[best].threshold;
    } else if share <= EVEN_SHARE {
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
        let trials = found.as_ref().map_or(&[][..], |found| &found.trials);
        let expected = naive(&vectors, trials);
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
    assert_eq!(found.basis, Basis::Separated);
    assert!((0.05..=0.25).contains(&found.threshold), "{}", found.threshold);
    assert!(found.merge >= found.threshold);
    // The trial of the threshold formed the groups.
    let trial = found
        .trials
        .iter()
        .find(|trial| (trial.threshold - found.threshold).abs() < 1e-9);
    assert_eq!(trial.map(|trial| trial.stories), Some(20));
}

#[test]
fn events_are_preferred_to_subjects() {
    // Ten subjects, each of four events with five items. The cosine is 0.16 within a subject and 0.41 within an event.
    let item = |n: u32| {
        let weighted = |term: u32, square: f32| TermWeight {
            term,
            weight: square.sqrt(),
        };
        vec![
            weighted(n / 20, 0.16),
            weighted(1000 + n / 5, 0.25),
            weighted(2000 + n, 0.59),
        ]
    };
    let found = estimate(&(0..200).map(item).collect::<Vec<_>>()).unwrap();
    let trial = found
        .trials
        .iter()
        .find(|trial| (trial.threshold - found.threshold).abs() < 1e-9);
    assert_eq!(
        (found.basis, trial.map(|trial| trial.stories)),
        (Basis::Separated, Some(40))
    );
}

#[test]
fn items_that_are_alike_in_equal_measure_are_not_separated() {
    let found = estimate(&groups(100, 100, 0.6)).unwrap();
    assert_eq!(found.basis, Basis::Halfway);
    assert!(found.trials.iter().all(|trial| trial.silhouette < 0.25));
}

proptest! {
    #[test]
    fn a_silhouette_follows_its_definition(
        items in prop::collection::vec((prop::collection::btree_map(0u32..30, 1u8..9, 1..6), 0usize..5), 1..30),
    ) {
        let vectors: Vec<Vec<TermWeight>> = items.iter().map(|(terms, _)| vector(terms)).collect();
        let mut matrix = CosineMatrix::default();
        for (n, own) in vectors.iter().enumerate() {
            matrix.push(&vectors[..n].iter().map(|other| cosine(own, other)).collect::<Vec<_>>());
        }
        let stories: Vec<usize> = items.iter().map(|&(_, story)| story).collect();
        let mean = |n: usize, others: Vec<usize>| {
            let sum: f64 = others.iter().map(|&other| cosine(&vectors[n], &vectors[other])).sum();
            sum / others.len().max(1) as f64
        };
        let of_one = |n: usize| {
            let others = || (0..items.len()).filter(|&other| other != n);
            let of = |story: usize| others().filter(|&other| stories[other] == story).collect::<Vec<_>>();
            if of(stories[n]).is_empty() {
                return 0.0;
            }
            let a = mean(n, of(stories[n]));
            let strangers = (0..5).filter(|&story| story != stories[n]).map(|story| mean(n, of(story)));
            let b = strangers.fold(mean(n, others().collect()), f64::max);
            if a.max(b) > 0.0 { (a - b) / a.max(b) } else { 0.0 }
        };
        let expected = (0..items.len()).map(of_one).sum::<f64>() / items.len() as f64;
        prop_assert!((matrix.silhouette(&stories) - expected).abs() < 1e-4);
    }

    #[test]
    fn a_trial_puts_every_item_into_one_story(
        items in prop::collection::vec(prop::collection::btree_map(0u32..30, 1u8..9, 1..6), 1..40),
        join in 0.01f64..0.6,
    ) {
        let vectors: Vec<Vec<TermWeight>> = items.iter().map(vector).collect();
        let slices: Vec<&[TermWeight]> = vectors.iter().map(Vec::as_slice).collect();
        let stories = TrialSample::new(&slices).stories(join, join);
        prop_assert_eq!(stories.len(), items.len());
        // The numbers of stories are 0, 1, 2 and so on, and items of one story share a term with another of it.
        let count = stories.iter().max().map_or(0, |&last| last + 1);
        prop_assert!((0..count).all(|story| stories.contains(&story)));
        for (n, &story) in stories.iter().enumerate() {
            let others = || (0..items.len()).filter(|&other| other != n && stories[other] == story);
            let is_near = others().any(|other| cosine(&vectors[n], &vectors[other]) > 0.0);
            prop_assert!(is_near || others().next().is_none());
        }
    }
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
    assert_eq!((found.basis, found.trials.len()), (Basis::TwoKinds, 0));
    // The cosines are 0.49 within a group and 0.09 among the others.
    assert!((0.15..0.35).contains(&found.threshold), "{}", found.threshold);
}

#[test]
fn copies_alone_give_no_estimate() {
    assert_eq!(estimate(&vec![groups(1, 1, 0.5).remove(0); 100]), None);
}
