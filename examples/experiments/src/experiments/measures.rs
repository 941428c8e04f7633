//! The distances and similarities that the documents list, on two phrases.

use anyhow::Result;
use twinprint_fingerprint::HashKey;
use twinprint_text::compare::compare;
use twinprint_text::measures::{TermVector, mahalanobis, minkowski, pearson};
use twinprint_text::{Analyzer, Profile};

use crate::{Report, Setup, Verdict};

const PHRASES: [&str; 2] = ["the cat sat on the mat", "the cat sat on a mat"];

/// A measure: its name, the name in the documents, the value by its definition, and the value of the library.
struct Measured {
    name: &'static str,
    claim: &'static str,
    defined: f64,
    ours: f64,
}

/// Runs the experiment.
pub(crate) fn run(_setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let profile = Profile::parse("tp1-words-tf-64")?;
    let compared = compare(PHRASES[0], PHRASES[1], &profile, false);
    let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
    let [a, b] = PHRASES.map(|phrase| TermVector::new(&analyzer.explain(phrase)));
    // The counts of the, cat, sat, on, mat, a are 2 1 1 1 1 0 and 1 1 1 1 1 1.
    let variances = TermVector::of_components(
        PHRASES
            .iter()
            .flat_map(|phrase| analyzer.explain(phrase))
            .map(|feature| (feature.hash, 0.125)),
    );
    let measures = [
        Measured { name: "euclidean", claim: "Euclidean distance of the word counts", defined: 2f64.sqrt(), ours: compared.euclidean },
        Measured { name: "manhattan", claim: "Manhattan distance", defined: 2.0, ours: compared.manhattan },
        Measured { name: "minkowski", claim: "Minkowski distance, p = 3", defined: 2f64.cbrt(), ours: minkowski(&a, &b, 3.0) },
        Measured { name: "chebyshev", claim: "Chebyshev distance", defined: 1.0, ours: compared.chebyshev },
        Measured { name: "mahalanobis", claim: "Mahalanobis distance, variance 0.25 of each word, 0.125 of \"a\"", defined: (1.0f64 / 0.25 + 1.0 / 0.125).sqrt(), ours: mahalanobis(&a, &b, &variances).unwrap_or(f64::NAN) },
        Measured { name: "pearson", claim: "Pearson correlation of the counts, over the words of both", defined: 0.0, ours: pearson(&a, &b).unwrap_or(0.0) },
        Measured { name: "cosine", claim: "cosine of the word counts", defined: 6.0 / 48f64.sqrt(), ours: compared.cosine },
        Measured { name: "jaccard-distance", claim: "Jaccard distance of the words, 1 − Jaccard", defined: 1.0 - 5.0 / 6.0, ours: 1.0 - compared.term_jaccard },
        Measured { name: "edit", claim: "edit distance", defined: 3.0, ours: compared.edit.map_or(f64::NAN, |edit| edit as f64) },
        Measured { name: "hamming", claim: "Hamming distance of the fingerprints: the bits that differ", defined: f64::from(hamming(&compared.fingerprints)), ours: f64::from(compared.hamming) },
        Measured { name: "shingles", claim: "shingles as a similarity of sentences: Jaccard of runs of three words", defined: 2.0 / 6.0, ours: compared.jaccard },
    ];
    for Measured { name, claim, defined, ours } in measures {
        report.number(name, ours - defined);
        report.claim(
            name,
            if name == "shingles" { &[3] } else { &[1, 4] },
            claim,
            [format!("{defined:.4} by the definition"), format!("{ours:.4}")],
            Verdict::of((ours - defined).abs() < 1e-9),
            "",
        );
    }
    Ok(report)
}

/// Counts the differing bits of two fingerprints in hexadecimal.
fn hamming(fingerprints: &[String; 2]) -> u32 {
    let [a, b] = fingerprints.each_ref().map(|hex| u64::from_str_radix(hex, 16).unwrap_or(0));
    (a ^ b).count_ones()
}
