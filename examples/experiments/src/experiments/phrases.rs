//! "the cat sat on the mat" and its two companions: ordinary hashes, the three published codes, and the six steps.

use std::collections::BTreeSet;

use anyhow::Result;
use twinprint_fingerprint::{HashKey, Width, accumulate, hash_one};
use twinprint_text::{Analyzer, Profile};

use crate::figure::{binary, number, percent};
use crate::{Report, Setup, Verdict};

const PHRASES: [&str; 3] = [
    "the cat sat on the mat",
    "the cat sat on a mat",
    "we all scream for ice cream",
];
/// The published codes and their binary forms.
const CODES: [(u32, &str); 3] = [
    (851_459_198, "00110010110000000011110001111110"),
    (847_263_864, "00110010100000000011100001111000"),
    (984_968_088, "00111010101101010110101110011000"),
];
/// The published values of an ordinary hash.
const RUBY: [u32; 3] = [415_542_861, 668_720_516, 767_429_688];
/// The published bigrams of the first phrase.
const BIGRAMS: [&str; 15] = [
    "th", "he", "e ", " c", "ca", "at", "t ", " s", "sa", " o", "on", "n ", " t", " m", "ma",
];
/// The pairs of phrases.
const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let distances = |codes: [u32; 3]| PAIRS.map(|(a, b)| codes[a].distance(codes[b]));
    let written = |distances: [u32; 3]| distances.map(|d| d.to_string()).join(", ");
    let codes = CODES.map(|(code, _)| code);
    let binaries = CODES.map(|(_, text)| text).join(" ");
    report.exact(
        "binary",
        &[4],
        "the three codes in binary",
        binaries,
        codes.map(|code| binary(code.into(), 32)).join(" "),
    );
    report.exact(
        "distances",
        &[4],
        "distances of the three codes, p1-p2, p1-p3, p2-p3",
        "4, 16, 12",
        written(distances(codes)),
    );
    let ordinary = PHRASES.map(|phrase| hash_one(&HashKey::PUBLIC, phrase.as_bytes()) as u32);
    report.claim(
        "ordinary-hash",
        &[4],
        "an ordinary hash does not show which phrases are similar",
        [
            format!("distances {} of 32 (from the printed values)", written(distances(RUBY))),
            format!("{} of 32 with SipHash", written(distances(ordinary))),
        ],
        Verdict::Holds,
        "the distances scatter around half of the bits; Ruby's hash has a new key in every process, so the printed values cannot be reproduced.",
    );
    bigrams(&mut report)?;
    six_steps(setup, &mut report)?;
    Ok(report)
}

fn analyzer(key: HashKey) -> Result<Analyzer> {
    Ok(Analyzer::new(&Profile::parse("tp1-chars2-set-32")?, key))
}

fn bigrams(report: &mut Report) -> Result<()> {
    let features = analyzer(HashKey::PUBLIC)?.explain(PHRASES[0]);
    let found: BTreeSet<&str> = features.iter().map(|feature| feature.text.as_str()).collect();
    let published: BTreeSet<&str> = BIGRAMS.into();
    report.claim(
        "bigrams",
        &[4],
        "pairs of characters of the first phrase, as a set",
        [
            format!("{} pairs: th he e_ …", published.len()),
            format!("{} pairs, {} of them published", found.len(), found.intersection(&published).count()),
        ],
        Verdict::of(found == published),
        "a pair that occurs twice counts once.",
    );
    report.number("bigrams", found.len() as f64);
    Ok(())
}

/// Makes fingerprints of 32 bits of the pairs of characters under many keys, by the usual rule and by that of the
/// documents, which sets a bit only if its sum is above 1.
fn six_steps(setup: &Setup, report: &mut Report) -> Result<()> {
    let keys = setup.pick(200, 20_000);
    let mut mean = [[0.0; 3]; 2];
    let mut in_order = [0; 2];
    for key in 0..keys {
        let mut analyzer = analyzer(HashKey::new(setup.seed, key))?;
        let mut codes = [[0u32; 3]; 2];
        for (i, phrase) in PHRASES.iter().enumerate() {
            let hashes: Vec<u32> = analyzer.explain(phrase).iter().map(|f| f.hash as u32).collect();
            let sums = accumulate(&hashes, &vec![1; hashes.len()]);
            let above_one: Vec<i64> = sums.iter().map(|sum| sum - 1).collect();
            codes[0][i] = u32::from_sums(&sums);
            codes[1][i] = u32::from_sums(&above_one);
        }
        for rule in 0..2 {
            let distances = distances_of(codes[rule]);
            for (mean, distance) in mean[rule].iter_mut().zip(distances) {
                *mean += f64::from(distance) / keys as f64;
            }
            in_order[rule] += u32::from(distances[0] < distances[1].min(distances[2]));
        }
    }
    let shares = in_order.map(|count| f64::from(count) / keys as f64);
    for (rule, name) in ["above 0", "above 1"].into_iter().enumerate() {
        report.number(format!("in order, {name}"), shares[rule]);
        report.number(format!("p1-p2, {name}"), mean[rule][0]);
        report.number(format!("p1-p3, {name}"), mean[rule][1]);
    }
    report.claim(
        "six-steps",
        &[4],
        "the six steps give p1 and p2 a small distance, and p3 a large one from both",
        ["4, 16, 12".to_owned(), format!("mean {}", mean[0].map(number).join(", "))],
        Verdict::of(shares[0] > 0.95),
        format!("the order is right under {} of the hash keys.", percent(shares[0])),
    );
    report.claim(
        "above-one",
        &[4],
        "step 6 sets a bit if its sum is greater than 1",
        ["> 1".to_owned(), format!("order right: {} with > 1, {} with > 0", percent(shares[1]), percent(shares[0]))],
        Verdict::Depends,
        "both rules work; Charikar's rule is > 0, and > 1 biases the bits to 0.",
    );
    Ok(())
}

fn distances_of(codes: [u32; 3]) -> [u32; 3] {
    PAIRS.map(|(a, b)| codes[a].distance(codes[b]))
}
