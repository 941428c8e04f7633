//! Compares the storage formats of rows in segments: bytes per fingerprint, time to build, and lookups, singly and in
//! batches.
//!
//! ```text
//! cargo bench -p twinprint-index --bench codecs -- [rows] [radius] [tables …] [planned] [codec …] [clumped]
//! ```
//!
//! With `planned` the tables are those that the planner chooses for each codec, as for `twinprint index build`.
//! Fingerprints have 64 bits and are uniform. With `clumped`, seven of eight differ from one of n / 8 centres in up to
//! 12 bits. A codec is selected by any part of its printed name. Half of the queries are exactly `radius` bits from a
//! stored fingerprint, and half are random; every planted neighbour must be found. The segment is loaded into memory.
//! Times are CPU times, of one thread for lookups and of all threads for the build, so that other work on the machine
//! has little effect. Each lookup figure is the median of three.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a benchmark talks to its terminal"
)]

mod splitmix;

use std::path::Path;
use std::time::Instant;

use twinprint_index::Segment;
use twinprint_index::plan::Plan;
use twinprint_index::segment::{Builder, Codec, DirectoryForm, Options, Scratch, SegmentError};
use twinprint_index::store::{Settings, segment_options};

use self::splitmix::number;

/// Returns the CPU seconds of this thread, in steps of a nanosecond, or 0 if the system does not state them.
fn thread_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}

/// Returns the CPU seconds of all threads, including those that have ended, or 0 if the system does not state them.
fn process_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // Adds user and system time, which are in ticks of 10 ms.
    let ticks = fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Returns fingerprint number `i`.
fn row(i: u64, clumped: bool) -> u64 {
    if !clumped || i.is_multiple_of(8) {
        return number(i);
    }
    let random = number(!i);
    (0..random % 13).fold(number(i / 8 * 8), |row, flip| {
        row ^ 1 << (number(random ^ flip) % 64)
    })
}

fn queries(n: u64, k: u32, clumped: bool, count: u64) -> Vec<u64> {
    let query = |i: u64| {
        let random = number(u64::MAX / 2 + i);
        if i % 2 == 1 {
            return random;
        }
        let mut bits = 0u64;
        let mut draw = random;
        while bits.count_ones() < k {
            draw = number(draw);
            bits |= 1 << (draw % 64);
        }
        row(random % n, clumped) ^ bits
    };
    (0..count).map(query).collect()
}

/// Returns the nanoseconds per query, the median of three rounds, and the number of matches.
fn timed(
    count: u64,
    mut round: impl FnMut() -> Result<u64, SegmentError>,
) -> Result<(f64, u64), SegmentError> {
    let mut times = [0.0; 3];
    let mut found = 0;
    for time in &mut times {
        let clock = thread_seconds();
        found = round()?;
        *time = (thread_seconds() - clock) * 1e9 / count as f64;
    }
    times.sort_by(f64::total_cmp);
    Ok((times[1], found))
}

fn run(
    path: &Path,
    name: &str,
    (n, k, clumped): (u64, u32, bool),
    options: &Options,
) -> Result<(), SegmentError> {
    let (clock, cpu) = (Instant::now(), process_seconds());
    let mut builder = Builder::new(path, options)?;
    for id in 0..n {
        builder.push(row(id, clumped), id)?;
    }
    let built = builder.finish()?;
    let (wall, cpu) = (clock.elapsed().as_secs_f64(), process_seconds() - cpu);
    drop(built);
    let segment = Segment::<u64>::load(path)?;
    let mut scratch = Scratch::default();
    let many = queries(n, k, clumped, 1_000_000);
    let few = &many[..20_000];
    let (single, found) = timed(few.len() as u64, || {
        let mut found = 0;
        for &query in few {
            segment.lookup(query, k, &mut scratch, |_, _, _| found += 1)?;
        }
        Ok(found)
    })?;
    assert!(found >= few.len() as u64 / 2, "a planted neighbour was missed");
    let (batch, found) = timed(many.len() as u64, || {
        let mut found = 0;
        segment.lookup_batch(&many, k, &mut scratch, |_, _, _, _| found += 1)?;
        Ok(found)
    })?;
    assert!(found >= many.len() as u64 / 2, "a planted neighbour was missed");
    println!(
        "{name:32} {:>6.2} bytes  build {wall:>6.2} s ({cpu:>6.2} of CPU)  single {single:>8.0} ns  batch {batch:>8.0} ns  {found} found",
        segment.bytes() as f64 / n as f64
    );
    std::fs::remove_file(path).map_err(|source| SegmentError::Io {
        path: path.to_owned(),
        source,
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let n = numbers.first().copied().unwrap_or(1_000_000);
    let k = numbers.get(1).copied().unwrap_or(3) as u32;
    let mut tables = numbers.get(2..).unwrap_or_default().to_vec();
    if tables.is_empty() {
        tables = vec![2, 3];
    }
    let mut named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a.parse::<u64>().is_err() && !a.starts_with("--"))
        .collect();
    let mut word = |word: &str| {
        let before = named.len();
        named.retain(|name| name != word);
        named.len() < before
    };
    let (clumped, planned) = (word("clumped"), word("planned"));
    if planned {
        tables = vec![0];
    }
    let directory = tempfile::tempdir()?;
    for tables in tables {
        for (name, codec) in [
            ("packed", Codec::Packed(DirectoryForm::Plain)),
            ("packed, Elias-Fano", Codec::Packed(DirectoryForm::EliasFano)),
            ("Huffman, 32 a page", Codec::Huffman { page_rows: 32 }),
            ("Huffman, 128 a page", Codec::HUFFMAN),
            ("Huffman, 512 a page", Codec::Huffman { page_rows: 512 }),
        ] {
            let options = if planned {
                let settings = Settings {
                    radius: k,
                    codec,
                    label: String::new(),
                };
                segment_options::<u64>(n, &settings)?
            } else {
                Options {
                    plan: Some(Plan::even_parts(64, k, tables as u32)?),
                    codec,
                    ..Options::default()
                }
            };
            let chosen = options.plan.as_ref().map_or(0, |plan| plan.tables.len());
            let name = format!("{chosen} tables by {:?}, {name}", options.address_bits);
            if named.is_empty() || named.iter().any(|part| name.contains(part.as_str())) {
                run(&directory.path().join("a.seg"), &name, (n, k, clumped), &options)?;
            }
        }
    }
    Ok(())
}
