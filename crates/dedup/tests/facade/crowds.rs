//! Crowds: pages of one template, beside pairs of documents that have nothing in common with them.

use std::collections::BTreeMap;

use twinprint_dedup::{Auto, DedupOptions, Keep, PairRows};

use crate::brute_force::{BruteForce, Pair};
use crate::job::run;
use crate::words::{Words, join};

/// More pages than a row may have neighbours without being hot.
const PAGES: usize = 1150;
const PAIRS: usize = 30;
const WORDS: usize = 80;

/// A crowd of pages of one template, and pairs of near-duplicates spread among them. `edits` is the largest number of
/// words in which a page differs from the template.
fn corpus(edits: usize) -> Vec<String> {
    let mut words = Words::new(11);
    let template = words.units(WORDS, false);
    let mut texts = Vec::new();
    for page in 0..PAGES {
        let mut units = template.clone();
        for _ in 0..=words.below(edits) {
            let at = words.below(WORDS);
            units[at] = words.word();
        }
        texts.push(join(&units, false));
        if page % (PAGES / PAIRS) == 0 {
            let mut units = words.units(WORDS, false);
            texts.push(join(&units, false));
            let at = words.below(WORDS);
            units[at] = words.word();
            texts.push(join(&units, false));
        }
    }
    texts
}

fn options(hamming: Auto, bits: Auto) -> DedupOptions {
    DedupOptions {
        hamming,
        bits,
        ..DedupOptions::new().unwrap()
    }
}

#[test]
fn groups_in_a_crowd_and_pairs_beside_it_are_those_of_the_definition() {
    for edits in [2, 8] {
        let texts = corpus(edits);
        // The set join of all texts, and fingerprints: every page of the crowd is within this radius of all others.
        for options in [
            options(Auto::Auto, Auto::Auto),
            options(Auto::Fixed(36), Auto::Fixed(128)),
        ] {
            let done = run(&texts, &[], &options);
            let truth = BruteForce::new(&texts, &options);
            let duplicates: BTreeMap<(usize, usize), Pair> = truth.duplicates(&options, 128, 128);
            let leaders = truth.leaders(&duplicates, Keep::First, &[]);
            let found: Vec<usize> = done.clusters.iter().map(|row| row.cluster_id).collect();
            assert_eq!(found, leaders, "{edits} edits, {:?}", options.hamming);
            let removed = leaders
                .iter()
                .enumerate()
                .filter(|&(i, &leader)| i != leader)
                .count();
            assert!(removed >= PAIRS, "{removed}");
            let recall = done.report.recall.unwrap();
            assert!(
                recall.exact == (options.hamming == Auto::Auto) && !recall.may_be_low(),
                "{recall:?}"
            );
            if let Auto::Fixed(_) = options.hamming {
                assert!(!done.report.hot_rows.is_empty(), "the rows of the crowd are hot");
                let one_thread = run(
                    &texts,
                    &[],
                    &DedupOptions {
                        threads: 1,
                        ..options.clone()
                    },
                );
                assert_eq!(one_thread.clusters, done.clusters);
                assert_eq!(one_thread.report.search.matches, done.report.search.matches);
            }
        }
    }
}

#[test]
fn the_pairs_of_a_crowd_are_those_of_the_definition() {
    let texts = corpus(8);
    for hamming in [Auto::Auto, Auto::Fixed(36)] {
        let options = DedupOptions {
            pairs: PairRows::All,
            ..options(hamming, Auto::Fixed(128))
        };
        let done = run(&texts, &[], &options);
        let truth = BruteForce::new(&texts, &options);
        let expected: Vec<(usize, usize)> = truth.duplicates(&options, 128, 128).into_keys().collect();
        let mut found: Vec<(usize, usize)> = done.pairs.iter().map(|row| (row.a, row.b)).collect();
        found.sort_unstable();
        assert!(expected.len() > PAGES, "{}", expected.len());
        assert!(
            found == expected,
            "{} pairs, expected {}",
            found.len(),
            expected.len()
        );
    }
}
