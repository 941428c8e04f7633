//! Measures the speed of text extraction on one core, and the similarity of the extracted text to a reference.
//!
//! `cargo run --release -p twinprint-text --features html --example html -- REFERENCE FILE.jsonl…` reads the page of
//! each record from its field `html`, and the reference text from the field that REFERENCE names.
#![expect(clippy::print_stdout, reason = "a program that prints its result")]

use std::error::Error;
use std::time::Instant;

use twinprint_fingerprint::HashKey;
use twinprint_text::html::{Extractor, Part};
use twinprint_text::overlap::{Shingler, overlap};
use twinprint_text::{Measure, canonical};

/// Number of times that all pages are extracted. The fastest time is printed.
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let reference = arguments.next().ok_or("name the field of the reference")?;
    for path in arguments {
        let mut pages = Vec::new();
        for line in std::fs::read_to_string(&path)?.lines() {
            let record: serde_json::Value = serde_json::from_str(line)?;
            let field = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
            pages.push((field("html"), field(&reference), field("id")));
        }
        measure(&path, &pages)?;
    }
    Ok(())
}

fn measure(path: &str, pages: &[(String, String, String)]) -> Result<(), Box<dyn Error>> {
    let bytes: usize = pages.iter().map(|page| page.0.len()).sum();
    let mut extractor = Extractor::new();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for page in pages {
            extractor.extract(&page.0)?;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let mut shingler = Shingler::new(HashKey::PUBLIC);
    let (mut jaccards, mut main) = (Vec::new(), 0);
    for (markup, reference, id) in pages {
        let extracted = extractor.extract(markup)?;
        main += usize::from(extracted.part == Part::Main);
        let (a, b) = (canonical(&extracted.text), canonical(reference));
        let measure = Measure::of(&a).with(Measure::of(&b));
        let jaccard = overlap(&shingler.shingle(&a, measure), &shingler.shingle(&b, measure)).jaccard();
        jaccards.push((jaccard, id));
        if let Ok(wanted) = std::env::var("PAGE")
            && *id == wanted
        {
            println!("{:?}\n{}", extracted.part, extracted.text);
        }
    }
    jaccards.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mean = jaccards.iter().map(|j| j.0).sum::<f64>() / jaccards.len() as f64;
    println!(
        "{path}: {} pages, {:.1} MB, {:.0} MB/s; main content of {main}; Jaccard with {:.3} at the mean, {:.3} at 1 %, {:.3} at 10 %",
        pages.len(),
        bytes as f64 / 1e6,
        bytes as f64 / 1e6 / best,
        mean,
        jaccards[jaccards.len() / 100].0,
        jaccards[jaccards.len() / 10].0
    );
    for (jaccard, id) in jaccards.iter().take(8) {
        println!("  {jaccard:.3} {id}");
    }
    Ok(())
}
