//! Measures the lookup costs of this machine, in about a second.
//!
//! The measurement imitates a table of a given size: it probes packed rows and a directory that do not fit the cache at
//! random, as lookups do.

use std::hint::black_box;
use std::time::Instant;

use twinprint_fingerprint::kernel::{self, PackedRows, RowRange, prefetch_read};

use super::workload::LookupCosts;
use crate::random::Random;

/// The number of probes of a block, as in lookups.
const BLOCK_PROBES: usize = 64;
/// The number of bits of a row in the imitated table.
const ROW_BITS: u32 = 40;
/// The number of blocks of probes that are timed.
const TIMED_BLOCKS: usize = 4000;
/// The number of rows within which the probes of neighbouring queries are.
const NEIGHBOUR_ROWS: u64 = 1 << 14;
/// The number of rows of a probe when the cost of a candidate is measured.
const FULL_BUCKET_ROWS: u32 = 64;

/// Measures the costs of lookups in an imitated table of `bytes` bytes. The cost of a read from disk keeps its default,
/// because the disk of the file is not known.
pub fn measure(bytes: usize) -> LookupCosts {
    let words = (bytes / 8).clamp(1 << 12, 1 << 30);
    let mut random = Random(1);
    let mut next = move || random.next();
    let numbers: Vec<u64> = (0..words).map(|_| next()).collect();
    let packed: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let rows = (packed.len() as u64 * 8 / u64::from(ROW_BITS) - 16) as u32;
    let directory: Vec<u16> = vec![1; rows as usize];
    let compare = PackedRows::new(ROW_BITS);
    let mut near = Vec::new();

    // Times blocks of random probes. As in a lookup, each step reads the bounds of one block, prefetches its rows, and
    // compares the rows of the block before. Each probe reads `count` rows.
    let mut blocks = |spread: u64, count: u32| {
        let mut starts = Vec::with_capacity(TIMED_BLOCKS * BLOCK_PROBES);
        for round in 0..TIMED_BLOCKS {
            // Queries that are sorted by address stay in one region of the table for a while, and so do most of their
            // flips.
            let base = if round % 64 == 0 {
                next()
            } else {
                starts[starts.len() - BLOCK_PROBES]
            };
            let range = u64::from(rows - count);
            starts.extend((0..BLOCK_PROBES).map(|_| base.wrapping_add(next() % spread) % range));
        }
        let (mut before, mut now): (Vec<RowRange>, Vec<RowRange>) = (Vec::new(), Vec::new());
        let clock = Instant::now();
        for starts in starts.chunks_exact(BLOCK_PROBES) {
            for &start in starts {
                prefetch_read(&directory, start as usize);
            }
            now.clear();
            for &start in starts {
                let end = start as u32 + count * u32::from(directory[start as usize]);
                let (first, last) = (
                    start * u64::from(ROW_BITS) / 8,
                    u64::from(end) * u64::from(ROW_BITS) / 8,
                );
                for at in (first..last).step_by(64) {
                    prefetch_read(&packed, at as usize);
                }
                let start = start as u32;
                now.push(RowRange { start, end, query: 0 });
            }
            near.clear();
            compare.within(&packed, &before, &[7u64], 3, &mut near);
            black_box(&near);
            std::mem::swap(&mut before, &mut now);
        }
        clock.elapsed().as_nanos() as f64 / starts.len() as f64
    };
    let anywhere = u64::from(rows);
    let online = blocks(anywhere, 1);
    let batch = blocks(NEIGHBOUR_ROWS, 1);
    // A longer probe reads all its rows from memory. At least 1 ns is assumed for the additional rows, because an
    // inexact clock could make the difference zero or negative.
    let candidate =
        (blocks(NEIGHBOUR_ROWS, FULL_BUCKET_ROWS) - batch).max(1.0) / f64::from(FULL_BUCKET_ROWS - 1);

    let mut found = Vec::new();
    let clock = Instant::now();
    kernel::hamming_one_to_many(7u64, &numbers, 3, &mut found);
    let scanned = clock.elapsed().as_nanos() as f64 / numbers.len() as f64;
    black_box(found);
    LookupCosts {
        online,
        batch,
        candidate,
        scanned,
        ..LookupCosts::default()
    }
}
