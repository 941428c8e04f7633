//! Measures the speed of each step of text analysis on one core.
//!
//! `cargo run --release -p twinprint-text --example throughput -- FILE.jsonl…` reads the field `text` of each record.
//! If the environment variable `DICTIONARY` names a directory of cppjieba's dictionaries, cppjieba's fingerprints are
//! measured too.
#![expect(clippy::print_stdout, reason = "a program that prints its result")]

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use jieba_rs::Jieba;
use twinprint_fingerprint::HashKey;
use twinprint_text::compat::{Dictionaries, Recipe, RecipeFingerprinter};
use twinprint_text::overlap::{Shingler, overlap};
use twinprint_text::{Analyzer, Measure, Profile, canonical, normalise};

/// Number of times that each step runs. The fastest time is printed.
const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let mut texts = Vec::new();
        for line in std::fs::read_to_string(&path)?.lines() {
            let record: serde_json::Value = serde_json::from_str(line)?;
            texts.extend(record["text"].as_str().map(str::to_owned));
        }
        let bytes: usize = texts.iter().map(String::len).sum();
        println!("{path}: {} texts, {:.1} MB", texts.len(), bytes as f64 / 1e6);
        measure(&texts)?;
    }
    Ok(())
}

fn measure(texts: &[String]) -> Result<(), Box<dyn Error>> {
    let canonicals: Vec<String> = texts.iter().map(|text| canonical(text)).collect();
    let mut analyzer = Analyzer::new(&Profile::default_for(64)?, HashKey::PUBLIC);
    let mut wide = Analyzer::new(&Profile::default_for(128)?, HashKey::PUBLIC);
    let mut windows = Analyzer::new(&Profile::parse("tp1-chars4-tf-64")?, HashKey::PUBLIC);
    let mut shingler = Shingler::new(HashKey::PUBLIC);
    let jieba = Jieba::new();
    step("normalise", texts, |text| normalise(text).len());
    step("canonical", texts, |text| canonical(text).len());
    step("analyze, 64 bits", texts, |text| {
        analyzer.analyze(text).features as usize
    });
    step("analyze, 128 bits", texts, |text| {
        wide.analyze(text).features as usize
    });
    step("analyze, chars4", texts, |text| {
        windows.analyze(text).features as usize
    });
    if let Some(directory) = std::env::var_os("DICTIONARY") {
        let dictionaries = Arc::new(Dictionaries::open(Path::new(&directory))?);
        let mut fingerprinter = RecipeFingerprinter::new(Recipe::parse("cppjieba")?, Some(dictionaries))?;
        step("as cppjieba", texts, |text| {
            fingerprinter
                .fingerprint(text)
                .map_or(0, |found| found.features as usize)
        });
    }
    step("jieba-rs alone", texts, |text| jieba.cut(text, false).len());
    step("shingle", &canonicals, |text| {
        shingler.shingle(text, Measure::of(text)).len()
    });
    let sets: Vec<Vec<u64>> = canonicals
        .iter()
        .map(|text| shingler.shingle(text, Measure::of(text)))
        .collect();
    let members: usize = sets.iter().map(Vec::len).sum();
    for apart in [1, 7] {
        let seconds = quickest(|| {
            let pairs = sets.iter().zip(sets.iter().skip(apart));
            pairs.map(|(a, b)| overlap(a, b).common as usize).sum()
        });
        println!(
            "  {:<20} {:>8.2} µs a pair, {:.2} ns a member",
            format!("overlap, {apart} apart"),
            seconds * 1e6 / sets.len() as f64,
            seconds * 1e9 / (2 * members) as f64
        );
    }
    Ok(())
}

fn step(name: &str, texts: &[String], mut work: impl FnMut(&str) -> usize) {
    let seconds = quickest(|| texts.iter().map(|text| work(text)).sum());
    let bytes: usize = texts.iter().map(String::len).sum();
    println!(
        "  {name:<20} {:>8.1} MB/s {:>8.2} µs a text",
        bytes as f64 / seconds / 1e6,
        seconds * 1e6 / texts.len() as f64
    );
}

fn quickest(mut work: impl FnMut() -> usize) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(work());
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}
