//! Measures self-joins under Hamming distance, compared with peers: `joins -n 10000000 -k 3`.
//!
//! Peers have no join: their index is built and queried for every row, on the same number of threads. The run fails unless all find the
//! same number of pairs.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use bench::clock::{Clock, Elapsed, median};
use bench::rows::{self, Shape};
use bench::table::Table;
use clap::{Parser, ValueEnum};
use gaoya::simhash::SimHashIndex;
use rayon::prelude::*;
use twinprint_index::join::{Pair, self_join};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Peer {
    Gaoya,
    Mih,
}

#[derive(Parser)]
#[command(about = "Self-joins under Hamming distance, compared with peers")]
struct Cli {
    /// Fingerprints.
    #[arg(short, default_value_t = 1_000_000)]
    n: usize,
    /// Radius.
    #[arg(short, default_value_t = 3)]
    k: u32,
    /// Their distributions.
    #[arg(long, value_enum, num_args = 1.., default_values = ["uniform", "clumped", "biased"])]
    shape: Vec<Shape>,
    /// Join the fingerprints of these documents (JSONL) too.
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,
    /// Peers to run, once each.
    #[arg(long, value_enum, num_args = 0..)]
    peers: Vec<Peer>,
    /// Blocks of gaoya's index, at least k + 1: more are faster and use more memory.
    #[arg(long)]
    gaoya_blocks: Option<usize>,
    /// Rounds of twinprint.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    rayon::ThreadPoolBuilder::new()
        .num_threads(cli.threads)
        .build_global()?;
    let mut table = Table::new([
        "n",
        "k",
        "rows",
        "contender",
        "wall s",
        "CPU s",
        "pairs",
        "wall ratio",
    ]);
    for &shape in &cli.shape {
        let rows = rows::random(shape, cli.n, 42);
        join(&cli, shape.name(), &rows, &mut table)?;
    }
    if let Some(path) = &cli.docs {
        let mut rows = rows::of_documents(path, cli.n)?;
        // Equal fingerprints are collapsed before a join.
        rows.par_sort_unstable();
        rows.dedup();
        join(&cli, "documents", &rows, &mut table)?;
    }
    println!("{table}");
    Ok(())
}

fn join(cli: &Cli, shape: &str, rows: &[u64], table: &mut Table) -> anyhow::Result<()> {
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    let mut plan = String::new();
    let mut pairs = 0;
    for _ in 0..cli.rounds.max(1) {
        let seen = AtomicU64::new(0);
        let clock = Clock::start();
        let stats = self_join(rows, cli.k, &|batch: &[Pair]| {
            seen.fetch_add(batch.len() as u64, Ordering::Relaxed);
        });
        let Elapsed { wall, own, .. } = clock.elapsed();
        walls.push(wall);
        cpus.push(own);
        plan = stats.plan;
        pairs = seen.into_inner();
    }
    let ours = median(walls);
    let mut row = |contender: String, wall: f64, cpu: f64, pairs: u64| {
        table.row([
            rows.len().to_string(),
            cli.k.to_string(),
            shape.to_owned(),
            contender,
            format!("{wall:.3}"),
            format!("{cpu:.2}"),
            pairs.to_string(),
            format!("{:.2}", wall / ours),
        ]);
    };
    row(format!("twinprint, {plan}"), ours, median(cpus), pairs);
    for peer in &cli.peers {
        let clock = Clock::start();
        let (contender, found) = match peer {
            Peer::Gaoya => gaoya(rows, cli.k as usize, cli.gaoya_blocks),
            Peer::Mih => mih(rows, cli.k as usize)?,
        };
        let Elapsed { wall, own, .. } = clock.elapsed();
        anyhow::ensure!(found == pairs, "{contender} found {found} pairs, not {pairs}");
        row(contender, wall, own, found);
    }
    Ok(())
}

/// gaoya's search returns distances *below* the given one.
fn gaoya(rows: &[u64], k: usize, blocks: Option<usize>) -> (String, u64) {
    let blocks = blocks.unwrap_or(k + 2).max(k + 1);
    let mut index: SimHashIndex<u64, u32> = SimHashIndex::new(blocks, k + 1);
    index.par_bulk_insert_pairs((0..).zip(rows.iter().copied()).collect());
    let found = (0u32..).zip(rows).collect::<Vec<_>>();
    let found = found
        .par_iter()
        .map(|&(id, row)| index.query(row).into_iter().filter(|&&other| other < id).count() as u64)
        .sum();
    (format!("gaoya SimHashIndex({blocks}, {})", k + 1), found)
}

fn mih(rows: &[u64], k: usize) -> anyhow::Result<(String, u64)> {
    let index = mih_rs::Index::new(rows.to_vec())?;
    let numbered = (0u32..).zip(rows).collect::<Vec<_>>();
    let found = numbered
        .par_iter()
        .map_init(
            || index.range_searcher(),
            |searcher, &(id, &row)| searcher.run(row, k).iter().filter(|&&other| other < id).count() as u64,
        )
        .sum();
    Ok((format!("mih-rs, {} blocks", index.num_blocks()), found))
}
