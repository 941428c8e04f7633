//! Compares features and weights: recall and candidates of many combinations on labelled documents.
//!
//! Run `cargo run --release -p twinprint-text --example features -- DOCS.jsonl PAIRS.jsonl`. DOCS has records `{id,
//! text}`, PAIRS has records `{a, b, jaccard}`. Recall is the share of the listed pairs whose fingerprints are within
//! the radius. Candidates are all pairs within the radius, divided by the number of documents.
#![expect(clippy::print_stdout, reason = "the example prints its result")]

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write;

use serde_json::Value;
use twinprint_fingerprint::{HashKey, Votes, Width, hash_one};
use twinprint_text::{Analyzer, Feature, Features, IdfTable, Profile, Weight};

/// Jaccard thresholds for which recall is reported.
const THRESHOLDS: [f64; 3] = [0.8, 0.7, 0.5];
/// Pairs of a fingerprint width in bits and the Hamming radius that is measured at this width.
const RADII: [(u32, u32); 2] = [(64, 12), (128, 24)];
/// Some recipes use only the first words of a text: this number.
const MAX_WORDS: usize = 500;

/// Maps a document's features, the heaviest first, to the hashes and weights that vote.
type Recipe<'t> = Box<dyn Fn(&[Feature]) -> Vec<(u128, f64)> + 't>;

fn lntf(feature: &Feature) -> f64 {
    f64::from(Weight::LogTf.of(feature.tf))
}

/// A recipe that uses every feature of a positive weight.
fn each<'t>(weight: impl Fn(&Feature) -> f64 + 't) -> Recipe<'t> {
    Box::new(move |features| {
        let weighed = features.iter().map(|f| (f.hash, weight(f)));
        weighed.filter(|&(_, weight)| weight > 0.0).collect()
    })
}

/// A recipe that uses only the heaviest features. `count` maps the number of distinct features to the number of
/// features used.
fn top<'t>(weight: impl Fn(&Feature) -> f64 + 't, count: impl Fn(usize) -> usize + 't) -> Recipe<'t> {
    Box::new(move |features| {
        let mut weighed: Vec<(u128, f64)> = features.iter().map(|f| (f.hash, weight(f))).collect();
        weighed.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        weighed.truncate(count(weighed.len()));
        weighed
    })
}

fn recipes(table: &IdfTable) -> Vec<(&'static str, Features, Recipe<'_>)> {
    use Features::{CharShingles, WordShingles, Words, WordsAndBigrams};
    let idf = |f: &Feature| f64::from(table.value(&f.text)) / 16.0;
    let digits = |f: &Feature| f.text.bytes().all(|b| b.is_ascii_digit());
    let zero = hash_one(&HashKey::PUBLIC, b"0");
    vec![
        ("words, set", Words, each(|_| 1.0)),
        ("words, tf", Words, each(|f| f64::from(f.tf))),
        ("words, 1 + ln tf (default)", Words, each(lntf)),
        (
            "words, levels 1 to 5 by tf",
            Words,
            each(|f| f64::from(Weight::Levels.of(f.tf))),
        ),
        ("words, (1 + ln tf) · idf", Words, each(move |f| lntf(f) * idf(f))),
        (
            "words, (1 + ln tf) · √idf",
            Words,
            each(move |f| lntf(f) * idf(f).sqrt()),
        ),
        (
            "words, levels 1 to 5 by df",
            Words,
            each(move |f| (idf(f) / 2.4).ceil().clamp(1.0, 5.0)),
        ),
        ("words + bigrams, 1 + ln tf", WordsAndBigrams, each(lntf)),
        ("word 3-grams, set", WordShingles(3), each(|_| 1.0)),
        ("characters 3, 1 + ln tf", CharShingles(3), each(lntf)),
        ("characters 4, 1 + ln tf", CharShingles(4), each(lntf)),
        ("characters 5, set", CharShingles(5), each(|_| 1.0)),
        (
            "top 20 words by tf·idf",
            Words,
            top(move |f| f64::from(f.tf) * idf(f), |_| 20),
        ),
        (
            "top 100 words by tf·idf",
            Words,
            top(move |f| f64::from(f.tf) * idf(f), |_| 100),
        ),
        (
            "top half of the words",
            Words,
            top(move |f| f64::from(f.tf) * idf(f), |n| n.div_ceil(2)),
        ),
        (
            "words, no stop words (idf ≤ 1)",
            Words,
            each(move |f| if idf(f) <= 1.0 { 0.0 } else { lntf(f) }),
        ),
        (
            "words of two characters and more",
            Words,
            each(|f| if f.text.chars().count() < 2 { 0.0 } else { lntf(f) }),
        ),
        (
            "words up to 12 characters",
            Words,
            each(|f| if f.text.chars().count() > 12 { 0.0 } else { lntf(f) }),
        ),
        (
            "words, no numbers",
            Words,
            each(move |f| if digits(f) { 0.0 } else { lntf(f) }),
        ),
        (
            "words, numbers as one",
            Words,
            Box::new(move |features| {
                let numbers: u32 = features.iter().filter(|f| digits(f)).map(|f| f.tf).sum();
                let words = features.iter().filter(|f| !digits(f)).map(|f| (f.hash, lntf(f)));
                let folded = (numbers > 0).then(|| (zero, f64::from(Weight::LogTf.of(numbers))));
                words.chain(folded).collect()
            }),
        ),
    ]
}

/// The fingerprint of weighted features. Weights are scaled so that the largest becomes 4000: rounding to integers then
/// affects all recipes equally.
fn fingerprint(weighed: &[(u128, f64)]) -> u128 {
    let most = weighed.iter().map(|w| w.1).fold(1e-9, f64::max);
    let hashes: Vec<u128> = weighed.iter().map(|w| w.0).collect();
    let weights: Vec<u16> = weighed
        .iter()
        .map(|w| (w.1 / most * 4000.0).round() as u16)
        .collect();
    let mut votes = Votes::<u128>::new();
    votes.add(&hashes, &weights);
    votes.finish()
}

fn rows(path: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn report(name: &str, fingerprints: &[u128], pairs: &[(usize, usize, f64)]) {
    let mut line = format!("| {name} |");
    for (bits, k) in RADII {
        let mask = u128::MAX >> (128 - bits);
        let near = |a: usize, b: usize| (fingerprints[a] & mask).distance(fingerprints[b] & mask) <= k;
        for at in THRESHOLDS {
            let true_pairs = pairs.iter().filter(|pair| pair.2 >= at);
            let (mut all, mut found) = (0u32, 0u32);
            for &(a, b, _) in true_pairs {
                all += 1;
                found += u32::from(near(a, b));
            }
            let _ = write!(line, " {:.3}", f64::from(found) / f64::from(all.max(1)));
        }
        let n = fingerprints.len();
        let candidates: usize = (0..n).map(|b| (0..b).filter(|&a| near(a, b)).count()).sum();
        let _ = write!(line, " | {:.2} |", candidates as f64 / n.max(1) as f64);
    }
    println!("{line}");
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(docs), Some(list)) = (arguments.next(), arguments.next()) else {
        return Err("features DOCS.jsonl PAIRS.jsonl".into());
    };
    let mut numbers = HashMap::new();
    let mut texts = Vec::new();
    for row in rows(&docs)? {
        let field = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        numbers.insert(field("id"), texts.len());
        texts.push(twinprint_text::canonical(&field("text")));
    }
    let mut pairs = Vec::new();
    for row in rows(&list)? {
        let side = |key: &str| numbers.get(row[key].as_str().unwrap_or_default()).copied();
        if let (Some(a), Some(b), Some(jaccard)) = (side("a"), side("b"), row["jaccard"].as_f64()) {
            pairs.push((a, b, jaccard));
        }
    }
    println!("{docs}: {} documents, {} pairs", texts.len(), pairs.len());
    println!(
        "| features | 64 bits, k = 12: J ≥ .8 .7 .5 | candidates | 128 bits, k = 24 | candidates |\n|---|---|---|---|---|"
    );
    let table = IdfTable::bundled("zhen1").ok_or("the shipped table cannot be read")?;
    let recipes = recipes(&table);
    let mut kinds: Vec<Features> = Vec::new();
    for (_, kind, _) in &recipes {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    for kind in kinds {
        let mut analyzer = Analyzer::new(&Profile::new(kind, Weight::Tf, 128)?, HashKey::PUBLIC);
        let features: Vec<Vec<Feature>> = texts.iter().map(|text| analyzer.explain(text)).collect();
        for (name, _, recipe) in recipes.iter().filter(|recipe| recipe.1 == kind) {
            let fingerprints: Vec<u128> = features.iter().map(|f| fingerprint(&recipe(f))).collect();
            report(name, &fingerprints, &pairs);
        }
    }
    let mut analyzer = Analyzer::new(&Profile::default_for(128)?, HashKey::PUBLIC);
    let first = |text: &String| text.split(' ').take(MAX_WORDS).collect::<Vec<_>>().join(" ");
    let fingerprints: Vec<u128> = texts
        .iter()
        .map(|text| analyzer.analyze(&first(text)).fingerprint)
        .collect();
    report("words of the first 500 alone", &fingerprints, &pairs);
    Ok(())
}
