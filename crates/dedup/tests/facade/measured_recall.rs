//! The measured recall of runs whose radius misses pairs.

use std::collections::BTreeSet;

use twinprint_dedup::{Auto, DedupOptions, PairRows};

use crate::brute_force::BruteForce;
use crate::job::run;
use crate::words::{Words, join};

/// Groups of an original and edited copies of it, with other texts between them.
fn corpus(seed: u64) -> Vec<String> {
    let mut words = Words::new(seed);
    let mut texts = Vec::new();
    for _ in 0..40 {
        let chinese = words.below(4) == 0;
        let units = words.units(90, chinese);
        for _ in 0..=words.below(4) {
            let mut copy = units.clone();
            let edits = words.below(4);
            words.edit(&mut copy, edits, chinese);
            texts.push(join(&copy, chinese));
        }
        texts.push(join(&words.units(60, chinese), chinese));
    }
    texts
}

/// The recall by the definition: of each text with duplicates the share that has a row of `pairs.jsonl`, averaged. Equal
/// texts count as one.
fn true_recall(
    texts: &[String],
    truth: &BruteForce,
    options: &DedupOptions,
    found: &BTreeSet<(usize, usize)>,
) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    let duplicates = truth.duplicates(options, 128, 0);
    let first = |i: usize| !texts[..i].contains(&texts[i]);
    for i in (0..texts.len()).filter(|&i| first(i)) {
        let key = |j: usize| (i.min(j), i.max(j));
        let of_text: Vec<usize> = (0..texts.len())
            .filter(|&j| j != i && first(j) && duplicates.contains_key(&key(j)))
            .collect();
        if !of_text.is_empty() {
            let hits = of_text.iter().filter(|&&j| found.contains(&key(j))).count();
            sum += hits as f64 / of_text.len() as f64;
            count += 1;
        }
    }
    sum / f64::from(count)
}

#[test]
fn the_interval_contains_the_true_recall_in_95_of_100_corpora() {
    let (mut covered, mut below_one) = (0, 0);
    for seed in 0..100 {
        let texts = corpus(seed);
        let options = DedupOptions {
            bits: Auto::Fixed(128),
            hamming: Auto::Fixed(8 + (seed % 5) as u32),
            pairs: PairRows::All,
            seed,
            ..DedupOptions::new().unwrap()
        };
        let done = run(&texts, &[], &options);
        let measured = done.report.recall.unwrap();
        let found: BTreeSet<(usize, usize)> = done.pairs.iter().map(|row| (row.a, row.b)).collect();
        let recall = true_recall(&texts, &BruteForce::new(&texts, &options), &options, &found);
        covered += usize::from((measured.low..=measured.high).contains(&recall));
        below_one += usize::from(recall < 0.95);
        assert!(
            !measured.exact && measured.sampled > 0 && measured.trials > 20,
            "{measured:?}"
        );
        assert_eq!(
            measured.recall,
            Some(measured.found as f64 / measured.trials as f64)
        );
    }
    assert!(covered >= 95, "{covered}");
    assert!(
        below_one >= 30,
        "the radius misses pairs in only {below_one} corpora"
    );
}

#[test]
fn a_low_recall_is_measured_and_does_not_depend_on_threads() {
    let texts = corpus(5);
    let options = DedupOptions {
        bits: Auto::Fixed(128),
        hamming: Auto::Fixed(2),
        ..DedupOptions::new().unwrap()
    };
    let recall = run(&texts, &[], &options).report.recall.unwrap();
    assert!(recall.may_be_low() && recall.high < 0.9, "{recall:?}");
    let again = run(
        &texts,
        &[],
        &DedupOptions {
            threads: 1,
            ..options.clone()
        },
    );
    let other = again.report.recall.unwrap();
    assert_eq!(
        (recall.trials, recall.found, recall.sampled),
        (other.trials, other.found, other.sampled)
    );
    // A run without verification measures nothing.
    let unverified = run(
        &texts,
        &[],
        &DedupOptions {
            verify: false,
            ..options
        },
    );
    assert!(unverified.report.recall.is_none());
}

#[test]
fn a_corpus_without_duplicates_has_no_measured_recall() {
    let mut words = Words::new(3);
    let texts: Vec<String> = (0..50).map(|_| join(&words.units(80, false), false)).collect();
    let options = DedupOptions {
        hamming: Auto::Fixed(20),
        ..DedupOptions::new().unwrap()
    };
    let recall = run(&texts, &[], &options).report.recall.unwrap();
    assert_eq!((recall.trials, recall.recall), (0, None));
    assert!(recall.has_few_trials() && !recall.may_be_low());
    // No interval is empty, and none is more certain than its trials.
    assert!(recall.low <= 0.0 && recall.high >= 1.0);
}
