//! Measures lookups in a segment, compared with peers: `lookups -n 10000000 -k 3`.
//!
//! Everything runs on one thread. Batches are measured by CPU time, single lookups by wall time. Half of the queries
//! are exactly k bits from a stored fingerprint, the others are random. The run fails if twinprint misses a planted
//! neighbour, or if two contenders find different numbers of matches. `peers/faiss_lookups.py` runs FAISS on the files
//! that `--export` writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bench::clock::{median, percentiles, thread_seconds};
use bench::rows::{self, Shape};
use bench::table::Table;
use clap::{Parser, ValueEnum};
use fastrand::Rng;
use twinprint_fingerprint::{Width, kernel};
use twinprint_index::plan::Plan;
use twinprint_index::segment::{Builder, Codec, DirectoryForm, Options, Scratch, Segment};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Directory {
    Compact,
    Plain,
    EliasFano,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bits {
    #[value(name = "64")]
    B64,
    #[value(name = "128")]
    B128,
}

#[derive(Parser)]
#[command(about = "Lookups in a segment, compared with peers")]
struct Cli {
    /// Number of fingerprints.
    #[arg(short, default_value_t = 1_000_000)]
    n: usize,
    /// Largest Hamming distances of a match, which are measured one by one.
    #[arg(short, num_args = 1.., default_values_t = [3])]
    k: Vec<u32>,
    /// Distribution of the fingerprints.
    #[arg(long, value_enum, default_value_t = Shape::Uniform)]
    shape: Shape,
    /// A JSONL file whose documents' fingerprints are used instead of random ones.
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,
    /// Numbers of tables. The masks of the tables are disjoint.
    #[arg(long, num_args = 1.., default_values_t = [2, 3])]
    tables: Vec<u32>,
    /// Encodings of the tables' directories.
    #[arg(long, value_enum, num_args = 1.., default_values = ["compact", "elias-fano"])]
    directory: Vec<Directory>,
    /// Number of queries in a batch.
    #[arg(long, default_value_t = 1_000_000)]
    queries: usize,
    /// Number of queries that are also looked up one at a time.
    #[arg(long, default_value_t = 100_000)]
    singles: usize,
    /// Number of times that the batch is measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Map the segment into memory instead of loading it.
    #[arg(long)]
    mapped: bool,
    /// Width of the fingerprints; those of 128 bits have two halves of the same shape.
    #[arg(long, value_enum, default_value = "64")]
    bits: Bits,
    /// Measure mih-rs too, with this number of queries. It takes fingerprints of 64 bits.
    #[arg(long, value_name = "QUERIES")]
    mih: Option<usize>,
    /// Measure the comparison of all rows with this number of queries.
    #[arg(long, value_name = "QUERIES")]
    scan: Option<usize>,
    /// Directory to write rows.u64 and queries.u64 to, for other programs. They have fingerprints of 64 bits.
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
    /// Directory for the temporary segment.
    #[arg(long, default_value = "/tmp")]
    work: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let (name, rows) = match &cli.docs {
        Some(path) => ("documents", rows::of_documents(path, cli.n)?),
        None => (cli.shape.name(), rows::random(cli.shape, cli.n, 42)),
    };
    match cli.bits {
        Bits::B64 => measure(&cli, name, &rows),
        Bits::B128 => {
            anyhow::ensure!(
                cli.docs.is_none() && cli.mih.is_none() && cli.export.is_none(),
                "documents, mih-rs and exported files have fingerprints of 64 bits"
            );
            let high = rows::random(cli.shape, cli.n, 43);
            let wide = |(&low, &high): (&u64, &u64)| u128::from(high) << 64 | u128::from(low);
            let rows: Vec<u128> = rows.iter().zip(&high).map(wide).collect();
            measure(&cli, name, &rows)
        }
    }
}

fn measure<W: Width>(cli: &Cli, name: &str, rows: &[W]) -> anyhow::Result<()> {
    let mut table = Table::new([
        "rows",
        "n",
        "k",
        "contender",
        "build s",
        "bytes each",
        "batch /s",
        "one p50 us",
        "p99 us",
        "probes",
        "candidates",
        "matches",
    ]);
    let mut matches = Matches::default();
    for &tables in &cli.tables {
        for &directory in &cli.directory {
            ours(cli, name, rows, (tables, directory), &mut matches, &mut table)?;
        }
    }
    for &k in &cli.k {
        let queries = queries(rows, k, cli.queries);
        if let Some(directory) = &cli.export {
            fs::create_dir_all(directory)?;
            write(&directory.join("rows.u64"), rows)?;
            write(&directory.join(format!("queries-{k}.u64")), &queries)?;
        }
        if let Some(asked) = cli.mih {
            let queries = &queries[..asked.min(queries.len())];
            mih(name, rows, queries, k, &mut matches, &mut table)?;
        }
        if let Some(asked) = cli.scan {
            let queries = &queries[..asked.min(queries.len())];
            scan(name, rows, queries, k, &mut matches, &mut table)?;
        }
    }
    println!("{table}");
    Ok(())
}

/// Returns random queries: half of them are exactly `k` bits from a row.
fn queries<W: Width>(rows: &[W], k: u32, count: usize) -> Vec<W> {
    let mut rng = Rng::with_seed(7);
    (0..count)
        .map(|i| {
            if i % 2 == 1 {
                return W::truncate(rng.u128(..));
            }
            let row = rows[rng.usize(..rows.len())];
            rows::planted(row, k, &mut rng)
        })
        .collect()
}

/// The number of matches for each radius and number of queries, as the first contender found it.
#[derive(Default)]
struct Matches(BTreeMap<(u32, usize), u64>);

impl Matches {
    fn agree(&mut self, k: u32, queries: usize, contender: &str, matches: u64) -> anyhow::Result<()> {
        let others = *self.0.entry((k, queries)).or_insert(matches);
        anyhow::ensure!(
            others == matches,
            "{contender} found {matches} matches within {k} of {queries} queries, others {others}"
        );
        Ok(())
    }
}

fn write<W: Width>(path: &Path, numbers: &[W]) -> anyhow::Result<()> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.low_u64().to_le_bytes()).collect();
    Ok(fs::write(path, bytes)?)
}

fn ours<W: Width>(
    cli: &Cli,
    name: &str,
    rows: &[W],
    (tables, directory): (u32, Directory),
    agreed: &mut Matches,
    table: &mut Table,
) -> anyhow::Result<()> {
    let (name_of_form, form) = match directory {
        Directory::Compact => ("compact", DirectoryForm::Compact),
        Directory::Plain => ("plain", DirectoryForm::Plain),
        Directory::EliasFano => ("Elias-Fano", DirectoryForm::EliasFano),
    };
    let contender = format!("twinprint, {tables} tables, {name_of_form}");
    let options = Options {
        plan: Some(Plan::even_parts(W::BITS, 3.max(tables - 1), tables)?),
        codec: Codec::Packed(form),
        ..Options::default()
    };
    let path = cli.work.join("lookups.seg");
    let clock = Instant::now();
    let mut builder = Builder::new(&path, &options)?;
    for (id, &row) in (0..).zip(rows) {
        builder.push(row, id)?;
    }
    builder.finish()?;
    let built = clock.elapsed().as_secs_f64();
    let segment = if cli.mapped {
        Segment::<W>::open(&path)?
    } else {
        Segment::load(&path)?
    };
    let mut scratch = Scratch::default();
    for &k in &cli.k {
        let queries = queries(rows, k, cli.queries);
        // A peer and a scan answer only these numbers of queries.
        let asked = [cli.mih, cli.scan].map(|asked| asked.unwrap_or(0).min(queries.len()));
        let (mut times, mut matches, mut stats) = (Vec::new(), 0, twinprint_index::segment::Stats::default());
        for _ in 0..cli.rounds {
            let mut planted = vec![false; queries.len()];
            matches = 0u64;
            let mut of_asked = [0; 2];
            let clock = thread_seconds();
            stats = segment.lookup_batch(&queries, k, &mut scratch, |q, _, _, _| {
                planted[q] = true;
                matches += 1;
                for (of_asked, asked) in of_asked.iter_mut().zip(asked) {
                    *of_asked += u64::from(q < asked);
                }
            })?;
            times.push(thread_seconds() - clock);
            anyhow::ensure!(
                planted.iter().step_by(2).all(|&found| found),
                "a planted neighbour was missed"
            );
            agreed.agree(k, queries.len(), &contender, matches)?;
            for (asked, of_asked) in asked.into_iter().zip(of_asked) {
                agreed.agree(k, asked, &contender, of_asked)?;
            }
        }
        let mut singles: Vec<f64> = Vec::new();
        let mut seen = 0u64;
        for &query in queries.iter().take(cli.singles) {
            let clock = Instant::now();
            segment.lookup(query, k, &mut scratch, |_, _, _| seen += 1)?;
            singles.push(clock.elapsed().as_secs_f64() * 1e6);
        }
        let [middle, high] = percentiles(singles, [0.5, 0.99]);
        let each = |count: u64| format!("{:.1}", count as f64 / queries.len() as f64);
        table.row([
            name.to_owned(),
            rows.len().to_string(),
            k.to_string(),
            contender.clone(),
            format!("{built:.2}"),
            format!("{:.2}", segment.bytes() as f64 / rows.len() as f64),
            format!("{:.0}", queries.len() as f64 / median(times)),
            format!("{middle:.2}"),
            format!("{high:.2}"),
            each(stats.probes),
            each(stats.candidates),
            matches.to_string(),
        ]);
    }
    fs::remove_file(&path)?;
    Ok(())
}

/// Compares every row with every query.
fn scan<W: Width>(
    name: &str,
    rows: &[W],
    queries: &[W],
    k: u32,
    agreed: &mut Matches,
    table: &mut Table,
) -> anyhow::Result<()> {
    let mut matches = 0u64;
    let clock = thread_seconds();
    // The block of rows fits the first-level cache.
    for block in rows.chunks(2048) {
        kernel::hamming_many_to_many(queries, block, k, &mut |_, _, _| matches += 1);
    }
    let took = thread_seconds() - clock;
    agreed.agree(k, queries.len(), "a scan", matches)?;
    let figures = Peer {
        contender: "scan".to_owned(),
        built: String::new(),
        bytes: size_of::<W>().to_string(),
        per_second: queries.len() as f64 / took,
        matches,
    };
    figures.add_to(table, (name, rows.len(), k, queries.len()));
    Ok(())
}

/// The figures of another way to answer the queries.
struct Peer {
    contender: String,
    built: String,
    bytes: String,
    per_second: f64,
    matches: u64,
}

impl Peer {
    fn add_to(self, table: &mut Table, (name, rows, k, queries): (&str, usize, u32, usize)) {
        table.row([
            name.to_owned(),
            rows.to_string(),
            k.to_string(),
            self.contender,
            self.built,
            self.bytes,
            format!("{:.0}", self.per_second),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            format!("{} of {queries} queries", self.matches),
        ]);
    }
}

fn mih<W: Width>(
    name: &str,
    rows: &[W],
    queries: &[W],
    k: u32,
    agreed: &mut Matches,
    table: &mut Table,
) -> anyhow::Result<()> {
    let words: Vec<u64> = rows.iter().map(|row| row.low_u64()).collect();
    let clock = thread_seconds();
    let index = mih_rs::Index::new(words)?;
    let built = thread_seconds() - clock;
    let mut searcher = index.range_searcher();
    let mut matches = 0;
    let clock = thread_seconds();
    for &query in queries {
        matches += searcher.run(query.low_u64(), k as usize).len();
    }
    let took = thread_seconds() - clock;
    agreed.agree(k, queries.len(), "mih-rs", matches as u64)?;
    let figures = Peer {
        contender: format!("mih-rs, {} blocks", index.num_blocks()),
        built: format!("{built:.2}"),
        bytes: String::new(),
        per_second: queries.len() as f64 / took,
        matches: matches as u64,
    };
    figures.add_to(table, (name, rows.len(), k, queries.len()));
    Ok(())
}
