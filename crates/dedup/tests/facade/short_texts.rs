//! Short texts, whose fingerprints depend on few votes: no pair is lost among them, or between a short text and one above the limit of
//! features.

use twinprint_dedup::{DedupOptions, PairRows};
use twinprint_text::MIN_FEATURES;

use crate::brute_force::BruteForce;
use crate::job::run;
use crate::words::{Words, join};

fn options() -> DedupOptions {
    DedupOptions {
        pairs: PairRows::All,
        ..DedupOptions::new().unwrap()
    }
}

/// Returns the precision of the found pairs, the recall of the guaranteed pairs (within the radius, or with a short text), and the number
/// of true pairs that satisfy `wanted`.
fn evaluate(texts: &[String], wanted: impl Fn(&BruteForce, usize, usize) -> bool) -> (f64, f64, usize) {
    let options = options();
    let done = run(texts, &[], &options);
    let truth = BruteForce::new(texts, &options);
    let radius = &done.report.radius;
    let duplicates = truth.duplicates(&options, radius.bits, radius.k);
    let hits = done
        .pairs
        .iter()
        .filter(|row| duplicates.contains_key(&(row.a, row.b)))
        .count();
    let guaranteed = duplicates.iter().filter(|(_, pair)| pair.guaranteed);
    let found: std::collections::BTreeSet<_> = done.pairs.iter().map(|row| (row.a, row.b)).collect();
    let (lost, all) = guaranteed.fold((0, 0), |(lost, all), (key, _)| {
        (lost + usize::from(!found.contains(key)), all + 1)
    });
    let special = duplicates.keys().filter(|&&(i, j)| wanted(&truth, i, j)).count();
    (
        hits as f64 / done.pairs.len() as f64,
        1.0 - f64::from(lost as u32) / f64::from(all as u32),
        special,
    )
}

#[test]
fn pairs_on_both_sides_of_the_limit_are_found() {
    for chinese in [false, true] {
        let mut words = Words::new(23);
        let mut texts = Vec::new();
        for _ in 0..90 {
            // An ideograph is rarely a word, so texts of ideographs have fewer features per character.
            let length = 40 + words.below(31);
            let units = words.units(length, chinese);
            texts.push(join(&units, chinese));
            for edits in [1, 2, 4] {
                let mut copy = units.clone();
                words.edit(&mut copy, edits, chinese);
                texts.push(join(&copy, chinese));
            }
            // A text that is longer by as much as a duplicate can be.
            let mut longer = units.clone();
            longer.extend(words.units(length / 6, chinese));
            texts.push(join(&longer, chinese));
        }
        let across = |truth: &BruteForce, i: usize, j: usize| {
            (truth.features(i) < MIN_FEATURES) != (truth.features(j) < MIN_FEATURES)
        };
        let (precision, recall, across) = evaluate(&texts, across);
        assert!(across > 20, "only {across} pairs across the limit");
        assert_eq!((precision, recall), (1.0, 1.0), "chinese: {chinese}");
    }
}

#[test]
fn variants_of_short_texts_are_found_and_other_texts_are_not() {
    for chinese in [false, true] {
        let mut words = Words::new(5);
        let mut texts = Vec::new();
        for i in 0..200 {
            let length = if chinese { 12 + i % 50 } else { 6 + i % 35 };
            let units = words.units(length, chinese);
            texts.push(join(&units, chinese));
            for variant in 0..4 {
                let mut copy = units.clone();
                match variant {
                    0 => words.edit(&mut copy, 1, chinese),
                    1 => words.edit(&mut copy, 2, chinese),
                    2 => copy.extend(words.units(2, chinese)),
                    _ => copy.insert(0, words.unit(chinese)),
                }
                texts.push(join(&copy, chinese));
            }
        }
        let (precision, recall, all) = evaluate(&texts, |_, _, _| true);
        assert!(all > 300, "only {all} pairs at the threshold");
        let f1 = 2.0 * precision * recall / (precision + recall);
        assert!(f1 >= 0.98, "precision {precision}, recall {recall}");
    }
}

/// A text with few ideographs is compared by characters even if most of it is Latin. It then has many shingles for its length, and few
/// features if its words are long. A duplicate of it may have many more features.
#[test]
fn a_short_text_of_long_words_is_found_in_one_of_many_short_words() {
    let mut words = Words::new(9);
    let mut texts = Vec::new();
    for _ in 0..20 {
        let mut units: Vec<String> = (0..15)
            .map(|_| words.units(8, false).concat().chars().take(24).collect())
            .collect();
        let ideographs = words.units(32, true);
        units.extend(ideographs.chunks(4).map(<[String]>::concat));
        units.extend(ideographs.chunks(4).take(2).map(<[String]>::concat));
        texts.push(units.join(" "));
        units.extend(('a'..='z').map(String::from));
        units.extend((0..36).map(|i| i.to_string()));
        texts.push(units.join(" "));
    }
    let kind = |truth: &BruteForce, i: usize, j: usize| {
        truth.features(i) < MIN_FEATURES && truth.features(j) >= 2 * MIN_FEATURES
    };
    let (precision, recall, special) = evaluate(&texts, kind);
    assert!(special >= 15, "only {special} pairs of the kind");
    assert_eq!((precision, recall), (1.0, 1.0));
}

/// A text with a sentence of ideographs is measured by characters, and the same text without that sentence by words.
/// The pair is compared by characters, in which most of the other texts take no part.
#[test]
fn a_text_is_found_in_one_of_the_other_measure() {
    let mut words = Words::new(31);
    let mut texts = Vec::new();
    for i in 0..150 {
        let units = words.units(40, false);
        texts.push(join(&units, false));
        if i % 10 == 0 {
            let ideographs = words.units(40, true).concat();
            texts.push(format!("{} {ideographs}", join(&units, false)));
        }
    }
    let is_chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    let across = |_: &BruteForce, i: usize, j: usize| is_chinese(&texts[i]) != is_chinese(&texts[j]);
    let (precision, recall, across) = evaluate(&texts, across);
    assert_eq!((precision, recall, across), (1.0, 1.0, 15));
}
