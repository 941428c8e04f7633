//! Measures an index of a billion fingerprints, step by step: `billion make|build|query|cold|scan -n 1000000000 --work DIR`.
//!
//! `make` writes rows.u64. `build` makes a segment from it within `--memory`. `query` looks up planted and random
//! fingerprints in the segment. `cold` removes the segment from the system's cache, and alternates single lookups with as
//! many raw reads of 4 KiB. `scan` answers the same queries by reading the segment once. Each step prints its time and
//! peak memory.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::time::Instant;

use bench::clock::{Clock, percentiles};
use bench::{disk, rows};
use clap::{Parser, ValueEnum};
use fastrand::Rng;
use twinprint_index::join::ChunkJoin;
use twinprint_index::plan::Plan;
use twinprint_index::segment::{Builder, Codec, DirectoryForm, Options, Scratch, Segment};

#[derive(Clone, Copy, ValueEnum)]
enum Step {
    Make,
    Build,
    Query,
    Cold,
    Scan,
}

#[derive(Parser)]
#[command(about = "A billion fingerprints, step by step")]
struct Cli {
    /// The step to run.
    #[arg(value_enum)]
    step: Step,
    /// Number of fingerprints.
    #[arg(short, default_value_t = 1_000_000_000)]
    n: u64,
    /// Largest Hamming distance of a match.
    #[arg(short, default_value_t = 3)]
    k: u32,
    /// Number of queries, including the planted ones.
    #[arg(long, default_value_t = 1_000_000)]
    queries: usize,
    /// Number of planted queries: each is exactly k bits from a stored fingerprint.
    #[arg(long, default_value_t = 10_000)]
    planted: usize,
    /// Memory for the build, in bytes.
    #[arg(long, default_value_t = 12 << 30)]
    memory: u64,
    /// Number of tables. Their masks are disjoint.
    #[arg(long, default_value_t = 2)]
    tables: u32,
    /// Number of address bits of each table.
    #[arg(long, default_value_t = 28)]
    bits: u32,
    /// Store the directories of the tables in Elias–Fano coding.
    #[arg(long)]
    elias_fano: bool,
    /// Map the segment into memory instead of loading it.
    #[arg(long)]
    mapped: bool,
    /// Remove the segment from the system's cache before `query` and `scan`.
    #[arg(long)]
    evict: bool,
    /// Number of queries that are also looked up one at a time.
    #[arg(long, default_value_t = 20_000)]
    singles: usize,
    /// Number of rows of the segment that `scan` reads [default: all].
    #[arg(long)]
    limit: Option<u64>,
    /// Directory of all files that the steps write and read.
    #[arg(long)]
    work: PathBuf,
}

/// Returns fingerprint number `i`. It is computed (splitmix64), so it can be found without reading the file.
fn row(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let (rows, segment) = (cli.work.join("rows.u64"), cli.work.join("rows.seg"));
    let (clock, wall) = (Clock::start(), Instant::now());
    match cli.step {
        Step::Make => {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(&rows)?);
            for i in 0..cli.n {
                out.write_all(&row(i).to_le_bytes())?;
            }
            out.flush()?;
        }
        Step::Build => {
            let options = Options {
                plan: Some(Plan::even_parts(64, cli.k, cli.tables)?),
                address_bits: vec![cli.bits; cli.tables as usize],
                codec: Codec::Packed(if cli.elias_fano {
                    DirectoryForm::EliasFano
                } else {
                    DirectoryForm::Plain
                }),
                memory: cli.memory,
                ids_below: Some(cli.n),
                ..Options::default()
            };
            let mut builder = Builder::<u64>::new(&segment, &options)?;
            let mut file = BufReader::with_capacity(1 << 20, File::open(&rows)?);
            let mut eight = [0; 8];
            for id in 0..cli.n {
                file.read_exact(&mut eight)?;
                builder.push(u64::from_le_bytes(eight), id)?;
            }
            println!("read and divided: {:.1} s", wall.elapsed().as_secs_f64());
            let built = builder.finish()?;
            let bytes = built.bytes();
            println!(
                "{bytes} bytes, {:.3} a fingerprint with its id",
                bytes as f64 / cli.n as f64
            );
        }
        Step::Query => query(&cli, &segment)?,
        Step::Cold => cold(&cli, &segment)?,
        Step::Scan => scan(&cli, &segment)?,
    }
    let took = clock.elapsed();
    println!(
        "wall {:.1} s, CPU {:.1} s, peak {} MB",
        took.wall,
        took.own,
        peak() / 1024
    );
    Ok(())
}

/// Returns the queries, the planted ones first. The second list has, for each planted query, the stored fingerprint
/// near it.
fn queries(cli: &Cli) -> (Vec<u64>, Vec<u64>) {
    let mut rng = Rng::with_seed(7);
    let planted_rows: Vec<u64> = (0..cli.planted).map(|_| rng.u64(..cli.n)).collect();
    let planted = planted_rows
        .iter()
        .map(|&i| rows::planted(row(i), cli.k, &mut rng));
    let mut queries: Vec<u64> = planted.collect();
    queries.extend((cli.planted..cli.queries).map(|_| rng.u64(..)));
    (queries, planted_rows)
}

fn query(cli: &Cli, path: &std::path::Path) -> anyhow::Result<()> {
    if cli.evict {
        disk::evict(path)?;
    }
    let clock = Instant::now();
    let segment = if cli.mapped {
        Segment::<u64>::open(path)?
    } else {
        Segment::load(path)?
    };
    println!("opened in {:.1} s", clock.elapsed().as_secs_f64());
    let (queries, planted_rows) = queries(cli);
    let mut scratch = Scratch::default();
    let mut singles = Vec::new();
    for &query in queries.iter().take(cli.singles) {
        let clock = Instant::now();
        segment.lookup(query, cli.k, &mut scratch, |_, _, _| ())?;
        singles.push(clock.elapsed().as_secs_f64() * 1e6);
    }
    let first: Vec<f64> = singles.iter().copied().take(100).collect();
    let [median, high] = percentiles(singles, [0.5, 0.99]);
    println!(
        "one at a time: first hundred {:.1} µs on average, median {median:.2} µs, p99 {high:.2} µs",
        first.iter().sum::<f64>() / first.len().max(1) as f64
    );
    for round in 0..3 {
        let mut found = vec![false; planted_rows.len()];
        let mut matches = 0u64;
        let clock = Clock::start();
        let stats = segment.lookup_batch(&queries, cli.k, &mut scratch, |q, id, _, _| {
            matches += 1;
            if planted_rows.get(q) == Some(&id) {
                found[q] = true;
            }
        })?;
        let took = clock.elapsed();
        println!(
            "round {round}: {:.0} queries/s by wall, {:.0} by CPU; {} of {} planted found, {matches} matches; {:.1} probes, {:.1} candidates a query",
            queries.len() as f64 / took.wall,
            queries.len() as f64 / took.own,
            found.iter().filter(|&&f| f).count(),
            planted_rows.len(),
            stats.probes as f64 / queries.len() as f64,
            stats.candidates as f64 / queries.len() as f64,
        );
    }
    Ok(())
}

/// Looks up single queries in a cold segment, and reads as many places of the file as a lookup has probes after each, all
/// at the same time.
fn cold(cli: &Cli, path: &std::path::Path) -> anyhow::Result<()> {
    disk::evict(path)?;
    let clock = Instant::now();
    let segment = Segment::<u64>::open(path)?;
    println!("opened in {:.3} s", clock.elapsed().as_secs_f64());
    let (queries, _) = queries(cli);
    let mut scratch = Scratch::default();
    let (mut lookups, mut raw) = (Vec::new(), Vec::new());
    let mut reads: Option<disk::RawReads> = None;
    let mut probes = 0;
    for &query in queries.iter().take(cli.singles) {
        let clock = Instant::now();
        let stats = segment.lookup(query, cli.k, &mut scratch, |_, _, _| ())?;
        lookups.push(clock.elapsed().as_secs_f64() * 1e6);
        probes = stats.probes;
        if reads.is_none() {
            reads = Some(disk::RawReads::new(path, probes as usize)?);
        }
        if let Some(reads) = &mut reads {
            raw.push(reads.round().as_secs_f64() * 1e6);
        }
    }
    let first = lookups.first().copied().unwrap_or_default();
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
    let ratio = mean(&lookups) / mean(&raw);
    let [median, high] = percentiles(lookups, [0.5, 0.99]);
    let [raw_median, raw_high] = percentiles(raw, [0.5, 0.99]);
    println!("the first lookup: {first:.0} µs");
    println!("lookups of {probes} probes: median {median:.0} µs, p99 {high:.0} µs");
    println!("{probes} raw reads: median {raw_median:.0} µs, p99 {raw_high:.0} µs");
    println!(
        "ratio of the medians {:.2}, of the means {ratio:.2}",
        median / raw_median
    );
    reads.map_or(Ok(()), disk::RawReads::finish)?;
    Ok(())
}

fn scan(cli: &Cli, path: &std::path::Path) -> anyhow::Result<()> {
    const CHUNK: usize = 1 << 22;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    if cli.evict {
        disk::evict(path)?;
    }
    let segment = Segment::<u64>::open(path)?;
    let (queries, planted_rows) = queries(cli);
    let clock = Clock::start();
    let mut join = pool.install(|| ChunkJoin::new(&queries, CHUNK, cli.k))?;
    let made = clock.elapsed().wall;
    let mut rows = Vec::with_capacity(CHUNK);
    let (mut matches, mut scanned) = (0u64, 0u64);
    let mut found = vec![false; planted_rows.len()];
    let limit = cli.limit.unwrap_or(u64::MAX);
    let clock = Clock::start();
    let mut flush = |rows: &mut Vec<u64>, first: u64| -> anyhow::Result<()> {
        let mut pairs = Vec::new();
        pool.install(|| join.join(rows, |pair| pairs.push(pair)));
        for pair in pairs {
            segment.ids_at((first + u64::from(pair.b)) as u32, |id| {
                matches += 1;
                if planted_rows.get(pair.a as usize) == Some(&id) {
                    found[pair.a as usize] = true;
                }
            })?;
        }
        rows.clear();
        Ok(())
    };
    segment.stretches(|first, stretch| -> anyhow::Result<()> {
        if u64::from(first) >= limit {
            return Ok(());
        }
        if rows.len() + stretch.len() > CHUNK {
            let waiting = rows.len() as u64;
            flush(&mut rows, scanned - waiting)?;
        }
        rows.extend_from_slice(stretch);
        scanned += stretch.len() as u64;
        Ok(())
    })?;
    let left = rows.len() as u64;
    flush(&mut rows, scanned - left)?;
    let took = clock.elapsed();
    println!(
        "tables over the queries in {made:.1} s; {scanned} stored scanned at {:.1} million a second by wall, {:.1} by CPU; {} of {} planted found, {matches} matches",
        scanned as f64 / took.wall / 1e6,
        scanned as f64 / took.own / 1e6,
        found.iter().filter(|&&f| f).count(),
        planted_rows.len(),
    );
    Ok(())
}

/// Returns the peak memory of this process in kB; 0 if the system does not report it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or_default()
}
