//! Measures additions to an index that is searched at the same time: rates, and the time of a lookup while memtables
//! are flushed and segments are merged.
//!
//! ```text
//! cargo bench -p twinprint-index --bench store -- [rows]
//! ```
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a benchmark talks to its terminal"
)]

mod splitmix;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use twinprint_index::segment::{Codec, Scratch};
use twinprint_index::store::{Index, Options, Settings};

use self::splitmix::number;

fn percentiles(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let rate = times.len() as f64 / times.iter().sum::<Duration>().as_secs_f64();
    println!(
        "{name:24} {rate:>9.0}/s  p50 {:>9.1?}  p99 {:>9.1?}  p99.99 {:>9.1?}  longest {:>9.1?}",
        at(0.5),
        at(0.99),
        at(0.9999),
        at(1.0)
    );
}

/// Looks up planted neighbours, one query at a time.
fn look(index: &Index<u64>, n: u64, count: u64, k: u32) -> Vec<Duration> {
    let mut scratch = Scratch::default();
    let mut times = Vec::new();
    for i in 0..count {
        let id = number(i) % n;
        let query = number(id) ^ 1 << (i % 64);
        let began = Instant::now();
        let mut found = false;
        let looked = index
            .snapshot()
            .lookup(query, k, &mut scratch, |other, _, _| found |= other == id);
        times.push(began.elapsed());
        assert!(looked.is_ok() && found, "{id} is not found");
    }
    times
}

fn main() {
    let rows = std::env::args().find_map(|a| a.parse().ok()).unwrap_or(1_000_000);
    for radius in [3, 6] {
        let directory =
            tempfile::tempdir_in(std::env::var("STORE_DIR").unwrap_or(".".into())).expect("a directory");
        let settings = Settings {
            radius,
            codec: Codec::default(),
            label: String::new(),
        };
        let index = Index::create(directory.path(), &settings, &Options::default()).expect("an index");
        println!("\n{rows} rows, k = {radius}");
        let added = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut times = Vec::new();
                while !added.load(Ordering::Relaxed) {
                    let n = index.snapshot().rows();
                    if n > 0 {
                        times.extend(look(&index, n, 1000, radius));
                    }
                }
                times
            });
            let mut times = Vec::new();
            for id in 0..rows {
                let began = Instant::now();
                index.add(id, number(id)).expect("added");
                times.push(began.elapsed());
            }
            percentiles("adding", &mut times);
            added.store(true, Ordering::Relaxed);
            percentiles("looking up meanwhile", &mut looking.join().expect("no panic"));
        });
        let began = Instant::now();
        index.commit().expect("committed");
        println!("commit of the rest       {:.1?}", began.elapsed());
        let segments = |index: &Index<u64>| {
            index
                .snapshot()
                .segments()
                .map(twinprint_index::Segment::len)
                .collect::<Vec<_>>()
        };
        println!("segments                 {:?}", segments(&index));
        percentiles("looking up at rest", &mut look(&index, rows, 100_000, radius));
        let began = Instant::now();
        index.compact().expect("compacted");
        println!("compaction into one      {:.1?}", began.elapsed());
        percentiles("looking up in one", &mut look(&index, rows, 100_000, radius));
        drop(index);
        let began = Instant::now();
        let index = Index::<u64>::open(directory.path(), &Options::default()).expect("opened");
        println!("opening                  {:.1?}", began.elapsed());
        percentiles("looking up afterwards", &mut look(&index, rows, 100_000, radius));
    }
}
