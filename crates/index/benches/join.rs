//! Measures a self-join with given parameters: `cargo bench --bench join -- N K BITS KIND [REPEATS] [PLAN]`.
//!
//! KIND is `uniform` or `clumped` (a tenth of the rows are within 8 bits of one of √n centres). PLAN is `auto`, `scan`,
//! or radii with address widths such as `2,2,2,1:16,16,16,14`. Prints wall and CPU seconds of each repeat.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use twinprint_fingerprint::Width;
use twinprint_index::join::{JoinPlan, Pair, self_join_with};
use twinprint_index::plan::Plan;
use twinprint_index::planner;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn row<W: Width>(&mut self) -> W {
        W::truncate(u128::from(self.next()) << 64 | u128::from(self.next()))
    }
}

fn rows<W: Width>(n: usize, kind: &str) -> Vec<W> {
    let mut random = Random(1);
    let centres: Vec<W> = (0..n.isqrt().max(1)).map(|_| random.row()).collect();
    (0..n)
        .map(|i| {
            if kind != "clumped" || i % 10 != 0 {
                return random.row();
            }
            let centre = centres[random.next() as usize % centres.len()];
            (0..random.next() % 9).fold(centre, |row, _| {
                row ^ W::truncate(1 << (random.next() % u64::from(W::BITS)))
            })
        })
        .collect()
}

/// Returns the user CPU seconds of this process so far, or 0 if /proc does not state them.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    fields
        .get(11)
        .and_then(|ticks| ticks.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 100.0
}

fn numbers<T: std::str::FromStr>(list: &str) -> Vec<T> {
    list.split(',').filter_map(|x| x.parse().ok()).collect()
}

fn run<W: Width>(n: usize, k: u32, kind: &str, repeats: usize, plan: &str) {
    let rows = rows::<W>(n, kind);
    let start = Instant::now();
    let choice = planner::plan_join(&rows, k);
    println!("planned in {:.3} s", start.elapsed().as_secs_f64());
    let plan = match plan {
        "auto" => {
            println!("{choice}");
            choice.plan
        }
        "scan" => JoinPlan::Scan,
        text => {
            let (radii, widths) = text.split_once(':').unwrap_or((text, ""));
            let widths: Vec<u32> = numbers(widths);
            let radii = numbers(radii);
            let plan = if widths.iter().sum::<u32>() == W::BITS {
                Plan::parts_of_widths(W::BITS, k, &radii, &widths)
            } else {
                Plan::parts(W::BITS, k, &radii)
            };
            JoinPlan::from_plan(&plan.expect("radii that add up to k - parts + 1"), &widths)
                .expect("an exact plan")
        }
    };
    for _ in 0..repeats {
        let seen = AtomicU64::new(0);
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        let stats = self_join_with(&rows, k, &plan, &|pairs: &[Pair]| {
            seen.fetch_add(pairs.len() as u64, Ordering::Relaxed);
        });
        println!(
            "n {n} k {k} bits {} {kind}: wall {:.3} s, cpu {:.2} s, {} pairs, {:.3e} comparisons, {:.3e} bucket pairs",
            W::BITS,
            wall.elapsed().as_secs_f64(),
            cpu_seconds() - cpu,
            stats.pairs,
            stats.comparisons as f64,
            stats.bucket_pairs as f64,
        );
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let text = |i: usize, otherwise: &str| args.get(i).map_or(otherwise.to_owned(), String::clone);
    let n = text(0, "200000").parse().expect("N is a number");
    let k = text(1, "10").parse().expect("K is a number");
    let kind = text(3, "uniform");
    let repeats = text(4, "2").parse().expect("REPEATS is a number");
    let plan = text(5, "auto");
    match text(2, "64").as_str() {
        "128" => run::<u128>(n, k, &kind, repeats, &plan),
        _ => run::<u64>(n, k, &kind, repeats, &plan),
    }
}
