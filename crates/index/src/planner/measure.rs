//! Prices of this machine, measured in about a second.
//!
//! A table of the size given is imitated: packed rows and a directory that do not fit the cache, probed at random as lookups do.

use std::hint::black_box;
use std::time::Instant;

use fingerprint::kernel::{self, PackedRows, Run, prefetch_read};

use super::segment::LookupPrices;

/// Probes of a block, as in lookups.
const BLOCK: usize = 64;
/// Bits of an imitated row.
const WIDTH: u32 = 40;

/// The prices with `bytes` of rows; a read from disk stays as it is by default, since where the file will lie is not known.
pub fn measure(bytes: usize) -> LookupPrices {
    let words = (bytes / 8).clamp(1 << 12, 1 << 30);
    let mut random = 1u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let numbers: Vec<u64> = (0..words).map(|_| next()).collect();
    let packed: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let rows = (packed.len() as u64 * 8 / u64::from(WIDTH) - 16) as u32;
    let directory: Vec<u16> = vec![1; rows as usize];
    let compare = PackedRows::new(WIDTH);
    let mut near = Vec::new();

    // Blocks of probes at random: bounds, then rows, then comparing those of the block before.
    let mut blocks = |spread: u64, next: &mut dyn FnMut() -> u64| {
        let (mut before, mut now): (Vec<Run>, Vec<Run>) = (Vec::new(), Vec::new());
        let rounds = 20_000;
        let clock = Instant::now();
        let mut base = 0;
        for round in 0..rounds {
            if round % 16 == 0 {
                base = next();
            }
            let starts: Vec<u32> = (0..BLOCK)
                .map(|_| (base.wrapping_add(next() % spread) % u64::from(rows - 2)) as u32)
                .collect();
            for &start in &starts {
                prefetch_read(&directory, start as usize);
            }
            now.clear();
            for &start in &starts {
                let count = u32::from(directory[start as usize]);
                prefetch_read(&packed, start as usize * WIDTH as usize / 8);
                now.push(Run {
                    start,
                    end: start + count,
                    slot: 0,
                });
            }
            near.clear();
            compare.within(&packed, &before, &[7u64], 3, &mut near);
            black_box(&near);
            std::mem::swap(&mut before, &mut now);
        }
        clock.elapsed().as_nanos() as f64 / f64::from(rounds) / BLOCK as f64
    };
    let online = blocks(u64::from(rows), &mut next);
    let batch = blocks(1 << 14, &mut next);

    let runs = [Run {
        start: 0,
        end: rows.min(20_000),
        slot: 0,
    }; 100];
    let clock = Instant::now();
    compare.within(&packed, &runs, &[7u64], 3, &mut near);
    let candidate = clock.elapsed().as_nanos() as f64 / (100.0 * f64::from(rows.min(20_000)));
    black_box(&near);

    let mut found = Vec::new();
    let clock = Instant::now();
    kernel::hamming_one_to_many(7u64, &numbers, 3, &mut found);
    let scanned = clock.elapsed().as_nanos() as f64 / numbers.len() as f64;
    black_box(found);
    LookupPrices {
        online,
        batch,
        candidate,
        scanned,
        ..LookupPrices::default()
    }
}
