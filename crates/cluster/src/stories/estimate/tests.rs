use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::vector::{dot, norm};
use super::*;

fn cosine(a: &[TermWeight], b: &[TermWeight]) -> f64 {
    dot(a.iter().copied(), b.iter().copied())
}

/// The stories of a trial by its definition: each item is compared with the centres of all stories.
fn naive_stories(vectors: &[&Vec<TermWeight>], join: f64, merge: f64) -> Vec<usize> {
    type Centre = BTreeMap<u32, f32>;
    let similarity = |a: &Centre, b: &Centre| {
        let weighted = |(&term, &weight): (&u32, &f32)| TermWeight { term, weight };
        let product = dot(a.iter().map(weighted), b.iter().map(weighted));
        product / (norm(a.values().copied()) * norm(b.values().copied()))
    };
    let mut stories: Vec<(Centre, Vec<usize>)> = Vec::new();
    for (item, vector) in vectors.iter().enumerate() {
        let own: Centre = vector
            .iter()
            .map(|weighted| (weighted.term, weighted.weight))
            .collect();
        let mut near: Vec<(f64, usize)> = Vec::new();
        for (number, (centre, _)) in stories.iter().enumerate() {
            let product = dot(
                vector.iter().copied(),
                centre.iter().map(|(&term, &weight)| TermWeight { term, weight }),
            );
            let cosine = product / norm(centre.values().copied());
            if cosine > 0.0 && cosine >= join {
                near.push((cosine, number));
            }
        }
        near.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
        let mut joined = near.first().map_or(stories.len(), |&(_, number)| number);
        if joined == stories.len() {
            stories.push((Centre::new(), Vec::new()));
        }
        let add = |(centre, members): &mut (Centre, Vec<usize>), terms: &Centre, items: &[usize]| {
            for (&term, &weight) in terms {
                *centre.entry(term).or_default() += weight;
            }
            members.extend(items);
        };
        add(&mut stories[joined], &own, &[item]);
        for &(_, other) in near.iter().skip(1) {
            if similarity(&stories[joined].0, &stories[other].0) >= merge {
                let (centre, members) = std::mem::take(&mut stories[joined.max(other)]);
                joined = joined.min(other);
                add(&mut stories[joined], &centre, &members);
            }
        }
    }
    stories.retain(|(_, members)| !members.is_empty());
    let number = |item: usize| {
        stories
            .iter()
            .position(|(_, members)| members.contains(&item))
            .unwrap()
    };
    (0..vectors.len()).map(number).collect()
}

/// The mean silhouette by its definition.
fn naive_silhouette(vectors: &[&Vec<TermWeight>], stories: &[usize]) -> f64 {
    let count = stories.iter().max().map_or(0, |&last| last + 1);
    let of_one = |n: usize| {
        let mean = |is_counted: &dyn Fn(usize) -> bool| {
            let others = (0..vectors.len()).filter(|&other| other != n && is_counted(stories[other]));
            let cosines: Vec<f64> = others.map(|other| cosine(vectors[n], vectors[other])).collect();
            (!cosines.is_empty()).then(|| mean(&cosines))
        };
        let own = stories[n];
        let strangers = (0..count)
            .filter(|&story| story != own)
            .filter_map(|story| mean(&|other| other == story));
        let b = strangers.chain(mean(&|_| true)).fold(0.0, f64::max);
        match mean(&|other| other == own) {
            Some(a) if a.max(b) > 0.0 => (a - b) / a.max(b),
            _ => 0.0,
        }
    };
    mean(&(0..vectors.len()).map(of_one).collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The number of stories and the silhouette of each trial, by its definition.
fn naive_trials(vectors: &[&Vec<TermWeight>], merge: f64) -> Vec<(u64, f64)> {
    let trial = |threshold: f64| {
        let stories = naive_stories(vectors, threshold, merge.max(threshold));
        let count = stories.iter().max().map_or(0, |&last| last as u64 + 1);
        (count, naive_silhouette(vectors, &stories))
    };
    trials::THRESHOLDS.map(trial).into()
}

/// The vectors without copies and empty ones.
fn distinct(vectors: &[Vec<TermWeight>]) -> Vec<&Vec<TermWeight>> {
    let mut distinct: Vec<&Vec<TermWeight>> = Vec::new();
    for vector in vectors.iter().filter(|vector| !vector.is_empty()) {
        if distinct.iter().all(|other| cosine(vector, other) < COPY_COSINE) {
            distinct.push(vector);
        }
    }
    distinct
}

/// The thresholds of joining and merging by their definition: all cosines by `dot`, every division of the nearest cosines,
/// and every peak of the given silhouettes. The threshold of merging may be below that of joining.
fn naive(distinct: &[&Vec<TermWeight>], silhouettes: &[f64]) -> (f64, f64) {
    let (mut pairs, mut nearest) = (Vec::new(), vec![0.0f64; distinct.len()]);
    for (i, a) in distinct.iter().enumerate() {
        for (j, b) in distinct.iter().enumerate().filter(|&(j, _)| j != i) {
            nearest[i] = nearest[i].max(cosine(a, b));
            if j < i {
                pairs.push(cosine(a, b));
            }
        }
    }
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
    let separated = (0..silhouettes.len()).rev().find(|&i| {
        let is_inner = i > 0 && i + 1 < silhouettes.len();
        is_inner
            && silhouettes[i] >= silhouettes[i - 1]
            && silhouettes[i] >= silhouettes[i + 1]
            && silhouettes[i] >= 0.25
    });
    if share <= EVEN_SHARE
        && let Some(best) = separated
    {
        threshold = trials::THRESHOLDS[best];
    } else if share <= EVEN_SHARE {
        let roots: Vec<f64> = pairs.iter().map(|value| value.sqrt()).collect();
        let mut sorted = nearest.clone();
        sorted.sort_by(f64::total_cmp);
        threshold = f64::midpoint(mean(&roots), sorted[sorted.len() / 4].sqrt()).powi(2);
    }
    let merge = (2.0 * mean(&pairs) / mean(&nearest).max(0.01)).clamp(0.01, COPY_COSINE);
    (threshold.clamp(0.01, COPY_COSINE), merge)
}

fn vector(terms: &BTreeMap<u32, u8>) -> Vec<TermWeight> {
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
        let distinct = distinct(&vectors);
        let found = estimate(&vectors);
        prop_assert_eq!(found.is_some(), distinct.len() >= MIN_ITEMS);
        if let Some(found) = found {
            let silhouettes: Vec<f64> = found.trials.iter().map(|trial| trial.silhouette).collect();
            let (threshold, merge) = naive(&distinct, &silhouettes);
            prop_assert!((found.threshold - threshold).abs() < 2e-6, "{} {}", found.threshold, threshold);
            prop_assert!((found.merge - merge.max(threshold)).abs() < 2e-6, "{} {}", found.merge, merge);
            if found.basis != Basis::TwoKinds {
                let trials = naive_trials(&distinct, rounded(merge));
                prop_assert_eq!(trials.len(), found.trials.len());
                for (found, (stories, silhouette)) in found.trials.iter().zip(trials) {
                    prop_assert_eq!(found.stories, stories);
                    prop_assert!((found.silhouette - silhouette).abs() < 1e-4, "{} {}", found.silhouette, silhouette);
                }
            }
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

/// The trial of the threshold of an estimate.
fn chosen(found: &Estimate) -> Option<&Trial> {
    let is_chosen = |trial: &&Trial| trial.threshold.total_cmp(&found.threshold).is_eq();
    found.trials.iter().find(is_chosen)
}

#[test]
fn related_items_are_separated_from_the_background() {
    let found = estimate(&groups(200, 10, 0.5)).unwrap();
    assert_eq!(found.basis, Basis::Separated);
    assert!((0.05..=0.25).contains(&found.threshold), "{}", found.threshold);
    assert!(found.merge >= found.threshold);
    // The trial of the threshold formed the groups.
    let trial = chosen(&found);
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
    let trial = chosen(&found);
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
        let expected = naive_silhouette(&vectors.iter().collect::<Vec<_>>(), &stories);
        prop_assert!((matrix.silhouette(&stories) - expected).abs() < 1e-4);
    }

    #[test]
    fn a_trial_follows_its_definition(
        items in prop::collection::vec(prop::collection::btree_map(0u32..30, 1u8..9, 1..6), 1..40),
        join in 0.01f64..0.6,
        merge in 0.01f64..0.6,
    ) {
        let vectors: Vec<Vec<TermWeight>> = items.iter().map(vector).collect();
        let slices: Vec<&[TermWeight]> = vectors.iter().map(Vec::as_slice).collect();
        let mut sample = TrialSample::new(&slices);
        // A second trial finds nothing of the first.
        for join in [join, join / 2.0] {
            let expected = naive_stories(&vectors.iter().collect::<Vec<_>>(), join, merge.max(join));
            prop_assert_eq!(sample.stories(join, merge.max(join)), expected);
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

#[test]
fn the_peak_of_the_highest_threshold_is_chosen() {
    let chosen = |silhouettes: &[f64]| {
        let trials: Vec<Trial> = (0..)
            .zip(silhouettes)
            .map(|(stories, &silhouette)| Trial {
                threshold: 0.1,
                silhouette,
                stories,
            })
            .collect();
        separated(&trials).map(|trial| trial.stories)
    };
    assert_eq!(chosen(&[0.1, 0.8, 0.2, 0.3, 0.1]), Some(3));
    // Weak peaks and the ends do not count.
    assert_eq!(chosen(&[0.1, 0.8, 0.1, 0.2, 0.1]), Some(1));
    assert_eq!(chosen(&[0.8, 0.4, 0.1, 0.4, 0.9]), None);
    assert_eq!(chosen(&[]), None);
}
