//! MD5 and SimHash under a small change.

use anyhow::Result;
use md5::{Digest as _, Md5};
use twinprint_fingerprint::{HashKey, Width};
use twinprint_text::{Analyzer, Profile};

use crate::corpus::Corpus;
use crate::figure::number;
use crate::random::Random;
use crate::{Report, Setup, Verdict};

/// The greetings of the listing, without and with a comma, and their published digests.
const GREETINGS: [(&str, &str); 2] = [
    ("你好世界", "65396ee4aad0b4f17aacd1c6112ee364"),
    ("你好,世界", "27444ee2d245c3e8e11ed8b9b035c43b"),
];

fn digest(text: &str) -> u128 {
    u128::from_be_bytes(Md5::digest(text.as_bytes()).into())
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let digests = GREETINGS.map(|(text, _)| digest(text));
    let names = [("md5", "MD5 of 你好世界"), ("md5-with-comma", "MD5 of 你好,世界")];
    for ((name, claim), ((_, published), digest)) in names.into_iter().zip(GREETINGS.into_iter().zip(digests)) {
        report.exact(name, &[1], claim, published, digest.to_hex());
    }
    let profile = Profile::parse("tp1-words-lntf-128")?;
    let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
    let corpus = Corpus::labelled(setup, "news-topics-zh", "topic", setup.pick(60, 400))?;
    let mut random = Random::new(setup.seed);
    let (mut by_md5, mut by_simhash) = (0.0, 0.0);
    let n = corpus.documents.len() as f64;
    for document in &corpus.documents {
        let mut changed: Vec<char> = document.text.chars().collect();
        let at = random.below(changed.len());
        if let Some(letter) = changed.get_mut(at) {
            *letter = if *letter == 'z' { 'q' } else { 'z' };
        }
        let changed: String = changed.into_iter().collect();
        by_md5 += f64::from(digest(&document.text).distance(digest(&changed))) / n;
        let fingerprints = [&document.text, &changed].map(|text| analyzer.fingerprint(text));
        by_simhash += f64::from(fingerprints[0].distance(fingerprints[1])) / n;
    }
    report.number("md5 bits", by_md5);
    report.number("simhash bits", by_simhash);
    report.claim(
        "one-character",
        &[1, 3, 4],
        "one changed character changes MD5 completely, and SimHash in a few bits",
        [
            "only a few bits".to_owned(),
            format!("of 128 bits: MD5 {}, SimHash {}", number(by_md5), number(by_simhash)),
        ],
        Verdict::of(by_md5 > 60.0 && by_simhash < 12.0),
        format!("mean over {n} articles."),
    );
    let short = GREETINGS.map(|(text, _)| analyzer.fingerprint(text));
    report.claim(
        "comma",
        &[1],
        "a comma more or less does not change the fingerprint much",
        ["similar".to_owned(), format!("distance {} of 128", short[0].distance(short[1]))],
        Verdict::of(short[0] == short[1]),
        "the canonical text has no punctuation, so both have the same words.",
    );
    Ok(report)
}
