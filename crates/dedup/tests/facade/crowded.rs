//! Hot rows: many different texts with one fingerprint, and many equal texts.

use std::collections::BTreeSet;

use twinprint_dedup::{Auto, DedupOptions, PairRows};
use twinprint_text::{Features, Profile, Weight};

use crate::brute_force::BruteForce;
use crate::job::run;
use crate::words::{Words, join};

/// One word is repeated until it outvotes all others, so that the fingerprint of every text is the hash of this word.
#[test]
fn different_texts_with_one_fingerprint_are_distinguished() {
    const TEXTS: usize = 2000;
    let mut words = Words::new(77);
    let head = vec!["again".to_owned(); 150];
    let mut texts = Vec::new();
    let mut planted = BTreeSet::new();
    while texts.len() < TEXTS {
        let mut units = words.units(60, false);
        texts.push(join(&[head.clone(), units.clone()].concat(), false));
        // Every tenth text has a copy with two words changed.
        if texts.len() % 10 == 0 {
            words.edit(&mut units, 2, false);
            texts.push(join(&[head.clone(), units].concat(), false));
            planted.insert((texts.len() - 2, texts.len() - 1));
        }
    }
    let options = DedupOptions {
        profile: Profile::new(Features::Words, Weight::Tf, 128).unwrap(),
        pairs: PairRows::All,
        // Without a given radius the set join of all texts finds the pairs of so few texts.
        hamming: Auto::Fixed(24),
        ..DedupOptions::new().unwrap()
    };
    let done = run(&texts, &[], &options);
    assert_eq!(
        done.report.search.fingerprints, 1,
        "all texts have one fingerprint"
    );
    let hot = &done.report.hot_rows;
    assert_eq!((hot.len(), hot[0].texts), (1, TEXTS as u64));
    assert_eq!(hot[0].example, "0");

    let truth = BruteForce::new(&texts, &options);
    let duplicates = truth.duplicates(&options, 128, 0);
    let expected: BTreeSet<_> = duplicates.into_keys().collect();
    let found: BTreeSet<_> = done.pairs.iter().map(|row| (row.a, row.b)).collect();
    assert_eq!(found, expected);
    assert!(expected.is_superset(&planted) && planted.len() > 150);
    // Two million pairs share the fingerprint. Only pairs that share rare shingles are verified.
    let verified = done.report.search.verified;
    assert!(verified < 20 * TEXTS as u64, "{verified} pairs were verified");
}

#[test]
fn equal_texts_are_compared_once() {
    const COPIES: usize = 5000;
    let mut words = Words::new(3);
    let text = join(&words.units(200, false), false);
    let mut texts = vec![text.clone(); COPIES];
    texts[COPIES / 2] = text.to_uppercase();
    texts.push(join(&words.units(200, false), false));
    let options = DedupOptions {
        pairs: PairRows::Distinct,
        ..DedupOptions::new().unwrap()
    };
    let done = run(&texts, &[], &options);
    let report = &done.report;
    assert_eq!((report.search.texts, report.search.fingerprints), (2, 2));
    assert_eq!(report.search.verified, 0, "equal texts need no verification");
    assert_eq!(report.records.removed, COPIES as u64 - 1);
    assert_eq!(report.records.equal_texts, COPIES as u64 - 1);
    assert_eq!(done.pairs.len(), COPIES - 1, "one row for each copy");
    assert!(
        done.pairs
            .iter()
            .all(|row| row.a == 0 && row.jaccard >= Some(1.0) && row.hamming == 0)
    );
    assert_eq!((report.largest[0].size, report.largest.len()), (COPIES as u32, 1));
    assert!(report.hot_rows.is_empty(), "equal texts are not a hot row");
}
