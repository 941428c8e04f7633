//! Features of a document: its heaviest keywords, or all words; and the weights.

use anyhow::Result;
use twinprint_fingerprint::{HashKey, Width};
use twinprint_text::{Analyzer, GivenFeatures, KeywordExtractor, Profile};

use crate::corpus::Corpus;
use crate::figure::{number, percent};
use crate::pairs::{best_cut, cut_at, score};
use crate::{Report, Setup, Table, Verdict};

const THRESHOLD: f64 = 0.8;
/// The profile whose table has the rarities of words.
const PROFILE: &str = "tp1-words-lntf.zhen1-64";
/// Profiles of weights without and with rarities.
const PROFILES: [(&str, &str); 4] = [
    ("tp1-words-set-64", "all words, weight 1"),
    ("tp1-words-tf-64", "all words, tf"),
    ("tp1-words-lntf-64", "all words, 1 + ln tf"),
    ("tp1-words-lntf.zhen1-64", "all words, (1 + ln tf) · idf"),
];

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let corpus = Corpus::labelled(setup, "revisions-zh", "page", 2000)?;
    let mut table = Table::new(
        format!("Features and weights at 64 bits, pairs from Jaccard {THRESHOLD}, {} documents of {}", corpus.documents.len(), corpus.name),
        ["features", "recall at k = 3", "precision at k = 3", "best F1", "its k"],
    );
    let mut row = |name: &str, fingerprints: &[u64]| {
        let scored = score(&corpus, THRESHOLD, |a, b| -f64::from(fingerprints[a].distance(fingerprints[b])));
        let strict = cut_at(&scored, -3.0);
        let best = best_cut(scored);
        report.number(format!("{name}: recall"), strict.recall);
        report.number(format!("{name}: F1"), best.f1());
        table.push([
            name.to_owned(),
            percent(strict.recall),
            percent(strict.precision),
            number(best.f1()),
            number(-best.score),
        ]);
    };
    let mut extractor = KeywordExtractor::new(&Profile::parse(PROFILE)?, HashKey::PUBLIC)?;
    let rules = GivenFeatures::of_profile(&Profile::default_for(64)?, HashKey::PUBLIC);
    for top in [10, 20, 50, 200] {
        let fingerprints: Result<Vec<u64>, _> = corpus
            .documents
            .iter()
            .map(|document| rules.votes(extractor.keywords(&document.text, top)).map(|votes| votes.fingerprint as u64))
            .collect();
        row(&format!("{top} keywords, tf · idf"), &fingerprints?);
    }
    for (profile, name) in PROFILES {
        let mut analyzer = Analyzer::new(&Profile::parse(profile)?, HashKey::PUBLIC);
        let fingerprints: Vec<u64> =
            corpus.documents.iter().map(|document| analyzer.fingerprint(&document.text) as u64).collect();
        row(name, &fingerprints);
    }
    report.tables.push(table);
    let figure = |name: &str| report.numbers.get(name).copied().unwrap_or(0.0);
    let [ten, two_hundred, all] =
        ["10 keywords, tf · idf: F1", "200 keywords, tf · idf: F1", "all words, 1 + ln tf: F1"].map(figure);
    let [plain, rare] = ["all words, 1 + ln tf: F1", "all words, (1 + ln tf) · idf: F1"].map(figure);
    report.claim(
        "ten-keywords",
        &[1],
        "the features are keywords with their weights, for example the first 10",
        ["10".to_owned(), format!("best F1 {} with 10 keywords, {} with 200, {} with all words", number(ten), number(two_hundred), number(all))],
        Verdict::Depends,
        "few keywords make every edit of one of them count; a page of thousands of words needs more.",
    );
    report.claim(
        "idf",
        &[0, 3],
        "weights may be the term frequency, TF-IDF, or approximated by document frequency",
        ["any".to_owned(), format!("best F1 {} by 1 + ln tf, {} with idf", number(plain), number(rare))],
        Verdict::Depends,
        "all weights work; which is best depends on the set.",
    );
    Ok(report)
}
