//! Measures candidates per document, recall, memory and time as the corpus grows: `scale --twinprint T --docs D --pairs
//! P`.
//!
//! The corpus is one that `corpus distinct` wrote; its first n documents are a corpus too. Recall is the share of the
//! planted near-duplicates that are found; their exact Jaccard is known.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context;
use bench::corpus::TruePair;
use bench::engine::{Engine, Finished};
use bench::figure::{Limit, Panel, Scale, draw};
use bench::table::Table;
use clap::Parser;
use rustc_hash::FxHashSet;
use serde::Deserialize;

/// The minimum Jaccard of a planted pair that counts for recall.
const THRESHOLD: f64 = 0.8;

#[derive(Parser)]
#[command(about = "Candidates a document and recall as the corpus grows")]
struct Cli {
    /// Path of the program `twinprint`.
    #[arg(long, value_name = "FILE")]
    twinprint: PathBuf,
    /// Directory for temporary results.
    #[arg(long, default_value = "/tmp", value_name = "DIR")]
    work: PathBuf,
    /// The corpus, a JSONL file.
    #[arg(long, value_name = "FILE")]
    docs: PathBuf,
    /// The file of the planted near-duplicate pairs.
    #[arg(long, value_name = "FILE")]
    pairs: PathBuf,
    /// Numbers of documents: each run uses that many documents from the start of the corpus.
    #[arg(long, num_args = 1.., default_values_t = [10_000, 100_000, 1_000_000])]
    sizes: Vec<u64>,
    /// Widths and radii to measure: auto, or for example 64/10.
    #[arg(long, num_args = 1.., default_values = ["auto", "64/10"])]
    settings: Vec<String>,
    /// File to write the figure to.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// The figures of one run, at one number of documents.
struct Point {
    documents: f64,
    candidates: f64,
    recall: f64,
    peak: f64,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let engine = Engine {
        program: cli.twinprint.clone(),
        work: cli.work.clone(),
        threads: 2,
    };
    let truth = lines::<TruePair>(&cli.pairs)?;
    let mut table = Table::new([
        "documents",
        "asked",
        "bits / k",
        "candidates a document",
        "true pairs",
        "recall",
        "wall s",
        "CPU s",
        "MB/s",
        "peak MB",
        "bound MB",
    ]);
    let mut lines = Vec::new();
    for setting in &cli.settings {
        let mut points = Vec::new();
        for &size in &cli.sizes {
            let finished = engine.dedup(&cli.docs, &options(setting, size)?)?;
            let truth = truth
                .iter()
                .filter(|pair| pair.jaccard >= THRESHOLD && number(&pair.b).is_some_and(|b| b < size))
                .collect::<Vec<_>>();
            let recall = recall(&truth, &finished)?;
            let report = &finished.report;
            eprintln!("{size}, {setting}: {:.1} s, {}", finished.wall, report.stages());
            table.row([
                size.to_string(),
                setting.clone(),
                format!("{} / {}", report.radius.bits, report.radius.k),
                format!("{:.3}", report.search.candidates_a_document),
                truth.len().to_string(),
                format!("{recall:.4}"),
                format!("{:.1}", finished.wall),
                format!("{:.1}", finished.cpu),
                format!("{:.1}", report.input.bytes as f64 / finished.wall / 1e6),
                format!("{:.0}", report.peak_megabytes()),
                format!("{:.0}", bound(size as f64)),
            ]);
            points.push(Point {
                documents: size as f64,
                candidates: report.search.candidates_a_document,
                recall,
                peak: report.peak_megabytes(),
            });
        }
        lines.push(points);
    }
    println!("{table}");
    if let Some(path) = &cli.svg {
        let svg = figure(&lines, &cli.settings, &cli.sizes);
        std::fs::write(path, svg).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Returns the allowed memory in MB for a number of documents.
fn bound(documents: f64) -> f64 {
    600.0 + 64.0 * documents / 1e6
}

fn options(setting: &str, size: u64) -> anyhow::Result<Vec<String>> {
    let width = match setting.split_once('/') {
        Some((bits, k)) => format!(" --bits {bits} --hamming {k}"),
        None if setting == "auto" => String::new(),
        None => anyhow::bail!("{setting:?} is neither auto nor width and radius such as 64/10"),
    };
    let options = format!("--limit {size} --mode report --pairs=all{width}");
    Ok(options.split(' ').map(str::to_owned).collect())
}

/// Returns the number in an id such as `d17`.
fn number(id: &str) -> Option<u64> {
    id.strip_prefix('d')?.parse().ok()
}

fn lines<T: for<'a> Deserialize<'a>>(path: &Path) -> anyhow::Result<Vec<T>> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    BufReader::new(file)
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect()
}

/// Returns the share of the true pairs that the run wrote to `pairs.jsonl`.
fn recall(truth: &[&TruePair], finished: &Finished) -> anyhow::Result<f64> {
    #[derive(Deserialize)]
    struct Row {
        a: String,
        b: String,
    }
    let rows = lines::<Row>(&finished.directory.join("pairs.jsonl"))?;
    let found: FxHashSet<(&str, &str)> = rows.iter().map(|row| (&*row.a, &*row.b)).collect();
    let hits = truth
        .iter()
        .filter(|pair| found.contains(&(&*pair.a, &*pair.b)))
        .count();
    Ok(hits as f64 / truth.len().max(1) as f64)
}

fn figure(lines: &[Vec<Point>], settings: &[String], sizes: &[u64]) -> String {
    let each = |value: fn(&Point) -> f64| -> Vec<Vec<(f64, f64)>> {
        let line = |points: &Vec<Point>| points.iter().map(|p| (p.documents, value(p))).collect();
        lines.iter().map(line).collect()
    };
    let limit = |value: fn(f64) -> f64, name, upper| Limit {
        points: sizes.iter().map(|&n| (n as f64, value(n as f64))).collect(),
        name,
        upper,
    };
    let ticks = |values: &[f64]| values.iter().map(|&v| (v, v.to_string())).collect();
    let panels = [
        Panel {
            title: "Candidates a document",
            scale: Scale::Log(0.01, 100.0),
            ticks: ticks(&[0.01, 0.1, 1.0, 10.0, 100.0]),
            limit: limit(|_| 5.0, "at most 5", true),
            lines: each(|point| point.candidates),
        },
        Panel {
            title: "Recall at Jaccard ≥ 0.8",
            scale: Scale::Linear(0.9, 1.0),
            ticks: ticks(&[0.9, 0.95, 1.0]),
            limit: limit(|_| 0.97, "at least 0.97", false),
            lines: each(|point| point.recall),
        },
        Panel {
            title: "Peak memory, MB",
            scale: Scale::Linear(0.0, 800.0),
            ticks: ticks(&[0.0, 200.0, 400.0, 600.0, 800.0]),
            limit: limit(bound, "at most 600 MB + 64 B each", true),
            lines: each(|point| point.peak),
        },
    ];
    let names: Vec<String> = settings
        .iter()
        .map(|setting| match setting.split_once('/') {
            Some((bits, k)) => format!("{bits} bits, k = {k}"),
            None => "width and radius chosen".to_owned(),
        })
        .collect();
    let marks: Vec<(f64, String)> = sizes.iter().map(|&n| (n as f64, power(n))).collect();
    draw(&panels, &names, &marks)
}

/// Formats a power of ten with an exponent, such as 10⁵ for 100,000.
fn power(n: u64) -> String {
    const DIGITS: [&str; 10] = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];
    let zeros = n.max(1).ilog10();
    match DIGITS.get(zeros as usize) {
        Some(digit) if n == 10u64.pow(zeros) => format!("10{digit}"),
        _ => n.to_string(),
    }
}
