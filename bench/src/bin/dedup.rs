//! Measures the whole `dedup` command and rensa: `dedup --twinprint T F.jsonl… --python P`.
//!
//! twinprint reads, compares, verifies, and writes kept and removed records. Its result is the median of several runs. rensa runs on one
//! thread and has all lines in memory, so it reads only the first part of each file. MB/s make both comparable.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use bench::clock::median;
use bench::engine::Engine;
use bench::table::Table;
use clap::Parser;
use serde::Deserialize;

#[derive(Parser)]
#[command(about = "The whole dedup command, compared with rensa")]
struct Cli {
    /// The program `twinprint`.
    #[arg(long, value_name = "FILE")]
    twinprint: PathBuf,
    /// Directory of temporary results.
    #[arg(long, default_value = "/tmp", value_name = "DIR")]
    work: PathBuf,
    /// Runs of twinprint.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Threads of twinprint.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// A Python with rensa; without it only twinprint runs.
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// The script that runs rensa.
    #[arg(
        long,
        default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/rensa_dedup.py"),
        value_name = "FILE"
    )]
    script: PathBuf,
    /// Megabytes of each file that rensa reads.
    #[arg(long, default_value_t = 100)]
    peer_megabytes: u64,
    /// Corpora.
    #[arg(required = true, value_name = "FILE")]
    docs: Vec<PathBuf>,
}

/// The line that the script prints.
#[derive(Deserialize)]
struct Peer {
    documents: u64,
    bytes: u64,
    kept: u64,
    wall: f64,
    cpu: f64,
    peak_bytes: u64,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let engine = Engine {
        program: cli.twinprint.clone(),
        work: cli.work.clone(),
        threads: cli.threads,
    };
    let mut table = Table::new([
        "corpus",
        "contender",
        "documents",
        "MB",
        "wall s",
        "CPU s",
        "MB/s",
        "peak MB",
        "kept",
        "ratio",
    ]);
    for path in &cli.docs {
        let name = path.file_stem().unwrap_or_default().display();
        let (mut walls, mut cpus) = (Vec::new(), Vec::new());
        let mut last = None;
        for round in 0..cli.rounds.max(1) {
            let finished = engine.dedup(path, &[])?;
            eprintln!(
                "{name}, round {round}: {:.2} s, {}",
                finished.wall,
                finished.report.stages()
            );
            walls.push(finished.wall);
            cpus.push(finished.cpu);
            last = Some(finished);
        }
        let finished = last.context("no round")?;
        let report = &finished.report;
        let wall = median(walls);
        let megabytes = report.input.bytes as f64 / 1e6;
        let ours = megabytes / wall;
        table.row([
            name.to_string(),
            format!("twinprint {}, {} threads", report.version, cli.threads),
            report.records.read.to_string(),
            format!("{megabytes:.0}"),
            format!("{wall:.2}"),
            format!("{:.2}", median(cpus)),
            format!("{ours:.1}"),
            format!("{:.0}", report.peak_megabytes()),
            report.records.kept.to_string(),
            "1.00".to_owned(),
        ]);
        for kind in ["readme", "shingles"] {
            let Some(python) = &cli.python else { continue };
            let peer = peer(&cli, python, kind, path)?;
            let megabytes = peer.bytes as f64 / 1e6;
            table.row([
                name.to_string(),
                format!("rensa, {kind}"),
                peer.documents.to_string(),
                format!("{megabytes:.0}"),
                format!("{:.2}", peer.wall),
                format!("{:.2}", peer.cpu),
                format!("{:.1}", megabytes / peer.wall),
                format!("{:.0}", peer.peak_bytes as f64 / 1e6),
                peer.kept.to_string(),
                format!("{:.2}", megabytes / peer.wall / ours),
            ]);
        }
    }
    println!("{table}");
    Ok(())
}

fn peer(cli: &Cli, python: &Path, kind: &str, path: &Path) -> anyhow::Result<Peer> {
    let out = cli.work.join("rensa-kept.jsonl");
    let output = Command::new(python)
        .arg(&cli.script)
        .arg(kind)
        .arg(path)
        .arg((cli.peer_megabytes * 1_000_000).to_string())
        .arg(&out)
        .output()
        .with_context(|| format!("running {}", python.display()))?;
    anyhow::ensure!(
        output.status.success(),
        "rensa failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::remove_file(&out)?;
    Ok(serde_json::from_slice(&output.stdout)?)
}
