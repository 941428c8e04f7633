//! Measures the prefix index with given parameters: `cargo bench --bench set -- [N] [BLOCK] [COMMON]`.
//!
//! There are N sets of about 140 tokens, whose prefix at Jaccard 0.8 has 29. Half of the prefix tokens are nearly
//! unique to the set; the others are drawn from COMMON tokens by Zipf's law without its most frequent ones, so that a
//! probe meets about a thousand postings. Prints the CPU seconds of inserting, sealing and probing by blocks, the bytes
//! per entry, and the cost of a probe.
#![allow(clippy::print_stdout, reason = "a program for people")]

use twinprint_index::PrefixIndex;

fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns the CPU seconds of all threads of this process so far, in steps of 10 ms.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    let ticks = fields.skip(11).take(2).filter_map(|t| t.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Returns the size and the prefix of a set.
fn set(id: u64, n: u64, common: u64, prefix: &mut Vec<u64>) -> u32 {
    let size = 100 + (mix(id) % 81) as u32;
    let len = size - (size * 4).div_ceil(5) + 1;
    prefix.clear();
    prefix.extend((0..u64::from(len)).map(|j| {
        let draw = mix(id << 8 | j);
        if j % 2 == 0 {
            return mix(draw % (4 * n) + (1 << 40));
        }
        // The rank is drawn by the inverse of Zipf's distribution, between 1/64 of the vocabulary and all of it.
        let unit = (draw >> 11) as f64 / (1u64 << 53) as f64;
        mix((common as f64 * 64f64.powf(unit - 1.0)) as u64)
    }));
    size
}

/// Returns the peak memory of this process in MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number = |i: usize, otherwise: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(otherwise);
    let n = number(0, 1_000_000);
    let block = number(1, 8192).max(1);
    let common = number(2, n / 4).max(1);
    let mut index = PrefixIndex::new(0.8);
    let (mut seal, mut insert, mut sealed, mut young) = (0.0, 0.0, 0.0, 0.0);
    let (mut found, mut prefix) = (Vec::new(), Vec::new());
    let (mut entries, mut candidates) = (0, 0);
    for first in (0..n).step_by(block as usize) {
        let sets: Vec<(u32, Vec<u64>)> = (first..n.min(first + block))
            .map(|id| (set(id, n, common, &mut prefix), prefix.clone()))
            .collect();
        let start = cpu();
        index.seal();
        seal += cpu() - start;
        let start = cpu();
        for (size, prefix) in &sets {
            index.probe_sealed(*size, prefix, false, &mut found);
            candidates += found.len();
        }
        sealed += cpu() - start;
        let start = cpu();
        for (id, (size, prefix)) in (first..).zip(&sets) {
            index.insert(id as u32, *size, prefix);
            entries += prefix.len();
        }
        insert += cpu() - start;
        let start = cpu();
        for (size, prefix) in &sets {
            index.probe_young(*size, prefix, false, &mut found);
            candidates += found.len();
        }
        young += cpu() - start;
    }
    let each = |seconds: f64| seconds * 1e9 / n as f64;
    println!(
        "{n} sets, {entries} entries, {:.1} candidates a set",
        candidates as f64 / n as f64
    );
    println!("seal {seal:.2} s, insert {insert:.2} s");
    println!(
        "probe: sealed {:.0} ns, young {:.0} ns a set; {:.2} s in all",
        each(sealed),
        each(young),
        (sealed + young)
    );
    println!(
        "{:.2} bytes an entry held; peak of the process {} MB",
        index.bytes() as f64 / entries as f64,
        peak()
    );
}
