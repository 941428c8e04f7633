//! Rabin fingerprints of shingles: polynomials over GF(2) as the hash of the features.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use twinprint_fingerprint::{HashKey, Width, rabin};
use twinprint_text::{Analyzer, Profile};

use crate::corpus::Corpus;
use crate::figure::{count, number};
use crate::pairs::{best_cut, score};
use crate::random::Random;
use crate::{Report, Setup, Table, Verdict};

const THRESHOLD: f64 = 0.8;
/// Shingles of three words, by the usual hash and by Rabin fingerprints.
const PROFILES: [(&str, &str); 2] = [
    ("SipHash", "tp1-words3-set-64"),
    ("Rabin", "tp1-words3-set-64+hash.rabin"),
];

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let corpus = Corpus::labelled(setup, "newswire-en", "title", 1500)?;
    let mut table = Table::new(
        format!("Shingles of three words as features, 64 bits, pairs from Jaccard {THRESHOLD}, {} documents of {}", corpus.documents.len(), corpus.name),
        ["hash", "best F1", "its k"],
    );
    let mut best = Vec::new();
    for (name, profile) in PROFILES {
        let mut analyzer = Analyzer::new(&Profile::parse(profile)?, HashKey::PUBLIC);
        let fingerprints: Vec<u64> =
            corpus.documents.iter().map(|document| analyzer.fingerprint(&document.text) as u64).collect();
        let cut = best_cut(score(&corpus, THRESHOLD, |a, b| -f64::from(fingerprints[a].distance(fingerprints[b]))));
        report.number(format!("F1 by {name}"), cut.f1());
        table.push([name.to_owned(), number(cut.f1()), number(-cut.score)]);
        best.push(cut.f1());
    }
    report.tables.push(table);
    report.claim(
        "rabin",
        &[3],
        "Rabin fingerprints, a polynomial of the bits of a string, find repeated content",
        ["another method".to_owned(), format!("best F1 {} as the hash of the features, {} by SipHash", number(best[1]), number(best[0]))],
        Verdict::of((best[0] - best[1]).abs() < 0.1),
        "for texts that nobody prepares they serve as well as any hash.",
    );
    collisions(&corpus, &mut report)?;
    linear(setup, &mut report);
    Ok(report)
}

/// Counts the different shingles of all documents, and their different Rabin fingerprints.
fn collisions(corpus: &Corpus, report: &mut Report) -> Result<()> {
    let mut analyzer = Analyzer::new(&Profile::parse(PROFILES[1].1)?, HashKey::PUBLIC);
    let mut shingles: BTreeMap<String, u64> = BTreeMap::new();
    for document in &corpus.documents {
        shingles.extend(analyzer.explain(&document.text).into_iter().map(|feature| (feature.text, feature.hash as u64)));
    }
    let different: BTreeSet<u64> = shingles.values().copied().collect();
    report.number("collisions", (shingles.len() - different.len()) as f64);
    report.claim(
        "collisions",
        &[3],
        "the fingerprint of a string stands for the string",
        ["different strings differ".to_owned(), format!("{} shingles, {} fingerprints of 64 bits", count(shingles.len() as u64), count(different.len() as u64))],
        Verdict::of(different.len() == shingles.len()),
        "",
    );
    Ok(())
}

/// Checks that the fingerprints are linear: those of four strings whose bits cancel cancel too.
fn linear(setup: &Setup, report: &mut Report) {
    let mut random = Random::new(setup.seed);
    let rounds: u32 = setup.pick(100, 10_000);
    let cancel = |random: &mut Random| {
        let [a, b, c] = [random.bits(), random.bits(), random.bits()];
        let of = |string: u64| rabin::hash_one_64(&string.to_le_bytes());
        of(a) ^ of(b) ^ of(c) ^ of(a ^ b ^ c) == 0
    };
    let cancelled = (0..rounds).filter(|_| cancel(&mut random)).count();
    report.number("linear", cancelled as f64 / f64::from(rounds));
    report.claim(
        "polynomial",
        &[3],
        "the string b1 … bn with b1 = 1 is a polynomial of degree n − 1 (and its fingerprint is a remainder)",
        ["a polynomial".to_owned(), format!(
                "{} of {} sums of four strings cancel",
                count(cancelled as u64),
                count(u64::from(rounds))
            )],
        Verdict::of(cancelled == rounds as usize),
        "remainders are linear, so anybody can make two strings of one fingerprint: the default hash has a key instead.",
    );
}
