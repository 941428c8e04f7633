//! Runs `dedup` on corpora of `corpus templates`, and compares the result with the truth: `templates --twinprint T F…`.
//!
//! For each corpus F.jsonl the planted pairs are in F.pairs.jsonl. A pair is found if both documents are represented by
//! the same kept document. Corpora of `corpus distinct` are measured likewise. The decisions in crowds are compared with
//! brute force: documents are kept in input order unless their Jaccard with a kept one reaches the threshold.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context;
use bench::corpus::TruePair;
use bench::engine::Engine;
use bench::table::Table;
use bench::truth::{Shingles, Truth};
use clap::Parser;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// The minimum Jaccard of a duplicate.
const THRESHOLD: f64 = 0.8;
/// The number of documents that are compared with the kept documents at a time.
const BLOCK: usize = 512;

#[derive(Parser)]
#[command(about = "Pairs beside crowds of pages of one template")]
struct Cli {
    /// Path of the program `twinprint`.
    #[arg(long, value_name = "FILE")]
    twinprint: PathBuf,
    /// Directory for temporary results.
    #[arg(long, default_value = "/tmp", value_name = "DIR")]
    work: PathBuf,
    /// The largest corpus whose crowds are compared with brute force.
    #[arg(long, default_value_t = 25_000, value_name = "COUNT")]
    brute_force: usize,
    /// Further options of `dedup`.
    #[arg(long, num_args = 1, allow_hyphen_values = true, value_name = "OPTION")]
    option: Vec<String>,
    /// Corpora that `corpus templates` wrote.
    #[arg(required = true, value_name = "FILE")]
    corpora: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Record {
    id: String,
    text: String,
}

#[derive(Deserialize)]
struct Decision {
    id: String,
    duplicate_of: Option<String>,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let engine = Engine {
        program: cli.twinprint.clone(),
        work: cli.work.clone(),
        threads: 2,
    };
    let mut table = Table::new([
        "corpus",
        "documents",
        "pairs found",
        "removed",
        "by brute force",
        "decisions found",
        "radius",
        "candidates a document",
        "recall of the report",
        "wall s",
        "CPU s",
        "stages, s",
        "peak MB",
    ]);
    for path in &cli.corpora {
        let mut options = vec!["--mode".to_owned(), "report".to_owned()];
        options.extend(cli.option.iter().cloned());
        let finished = engine.dedup(path, &options)?;
        let report = &finished.report;
        let decisions: FxHashMap<String, Option<String>> =
            lines::<Decision>(&finished.directory.join("clusters.jsonl"))?
                .into_iter()
                .map(|row| (row.id, row.duplicate_of))
                .collect();
        let pairs = lines::<TruePair>(&path.with_extension("pairs.jsonl"))?;
        let kept = |id: &'_ str| {
            decisions
                .get(id)
                .map(|kept| kept.clone().unwrap_or_else(|| id.to_owned()))
        };
        let found = pairs.iter().filter(|pair| kept(&pair.a) == kept(&pair.b)).count();
        let removed = decisions.values().flatten().count();
        let (truth, agreed) = if decisions.len() <= cli.brute_force {
            let truth = removed_by_brute_force(path)?;
            let is_removed = |id: &&String| matches!(decisions.get(*id), Some(Some(_)));
            let agreed = truth.iter().filter(is_removed).count();
            (
                truth.len().to_string(),
                format!("{:.4}", agreed as f64 / truth.len().max(1) as f64),
            )
        } else {
            ("not compared".to_owned(), String::new())
        };
        table.row([
            path.file_stem().unwrap_or_default().display().to_string(),
            decisions.len().to_string(),
            format!("{found} of {}", pairs.len()),
            removed.to_string(),
            truth,
            agreed,
            report.radius.described(),
            format!("{:.1}", report.search.candidates_a_document),
            report.recall_text(),
            format!("{:.1}", finished.wall),
            format!("{:.1}", finished.cpu),
            report.stages(),
            format!("{:.0}", report.peak_megabytes()),
        ]);
        eprintln!("{table}");
    }
    println!("{table}");
    Ok(())
}

/// The documents that are removed if they are decided in input order, each compared with all kept documents.
fn removed_by_brute_force(path: &Path) -> anyhow::Result<Vec<String>> {
    let records = lines::<Record>(path)?;
    let sets: Vec<Shingles> = records
        .par_iter()
        .map_init(Truth::default, |truth, record| truth.shingles(&record.text))
        .collect();
    let (mut kept, mut removed): (Vec<usize>, Vec<String>) = (Vec::new(), Vec::new());
    for start in (0..sets.len()).step_by(BLOCK) {
        let block = start..(start + BLOCK).min(sets.len());
        let is_duplicate = |a: usize, b: usize| sets[a].jaccard(&sets[b]) >= THRESHOLD;
        let of_earlier: Vec<bool> = block
            .clone()
            .into_par_iter()
            .map(|i| kept.iter().any(|&other| is_duplicate(i, other)))
            .collect();
        let earlier = kept.len();
        for (i, of_earlier) in block.zip(of_earlier) {
            if of_earlier || kept[earlier..].iter().any(|&other| is_duplicate(i, other)) {
                removed.push(records[i].id.clone());
            } else {
                kept.push(i);
            }
        }
    }
    Ok(removed)
}

fn lines<T: for<'a> Deserialize<'a>>(path: &Path) -> anyhow::Result<Vec<T>> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    BufReader::new(file)
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect()
}
