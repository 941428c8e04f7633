//! Lookups compared with brute force.

use proptest::prelude::*;

use super::*;
use crate::samples::{SHAPES, Shape, at_every_width, fewer, for_random, plans, queries, rows, shape};

fn brute<W: Width>(rows: &[W], query: W, k: u32) -> Vec<Match> {
    let mut out: Vec<Match> = (0u32..)
        .zip(rows)
        .filter(|(_, row)| row.distance(query) <= k)
        .map(|(id, row)| Match {
            id,
            distance: row.distance(query) as u8,
        })
        .collect();
    out.sort_by_key(|m| (m.distance, m.id));
    out
}

fn check<W: Width>(shape: Shape, n: usize, k: u32, seed: u64) {
    let sample = rows::<W>(shape, n, k, seed);
    for plan in plans::<W>(k) {
        let tables = Tables::build(&sample, &plan).unwrap();
        let mut out = vec![Match { id: 0, distance: 0 }];
        for query in queries(&sample, k, seed) {
            for radius in [k, k / 2, k + 3] {
                let stats = tables.lookup(query, radius, &mut out);
                assert_eq!(
                    out,
                    brute(&sample, query, radius),
                    "{plan}, {query:?} within {radius}"
                );
                assert!(stats.candidates as usize >= out.iter().filter(|m| m.id == 0).count());
            }
        }
    }
}

fn every_plan_finds_what_a_scan_finds<W: Width>() {
    let any = (shape(), 0usize..200, 0..=W::BITS / 4, any::<u64>());
    for_random::<W, _>(16, &any, |(shape, n, k, seed)| check::<W>(shape, n, k, seed));
}

fn ten_thousand_rows_of_every_shape<W: Width>() {
    for shape in SHAPES {
        for k in [3, 8] {
            let sample = rows::<W>(shape, fewer::<W>(10_000), k, 9);
            for plan in [
                Plan::halves(W::BITS, k).unwrap(),
                Plan::even_parts(W::BITS, k, k / 2 + 1).unwrap(),
            ] {
                let tables = Tables::build(&sample, &plan).unwrap();
                let mut out = Vec::new();
                for query in queries(&sample, k, 3) {
                    tables.lookup(query, k, &mut out);
                    assert_eq!(out, brute(&sample, query, k), "{plan}, {shape:?}");
                }
            }
        }
    }
}

fn work_is_counted_and_an_inexact_plan_refused<W: Width>() {
    let sample = rows::<W>(Shape::Uniform, 4096, 3, 1);
    let plan = Plan::halves(W::BITS, 3).unwrap();
    let tables = Tables::build(&sample, &plan).unwrap();
    assert_eq!(tables.radius(), 3);
    // Ids are stored once, which takes far less than two full copies.
    assert!(tables.bytes() < 4096 * (W::BITS as usize / 4 + 4) + 2 * 4 * 4100 + 1000);
    let stats = tables.lookup(sample[0], 3, &mut Vec::new());
    assert_eq!(stats.probes, 2 * 13);
    assert!((10..2000).contains(&stats.candidates));
    let inexact = Plan { k: 4, ..plan };
    assert!(Tables::build(&sample, &inexact).is_err());
}

at_every_width! {
    every_plan_finds_what_a_scan_finds
    ten_thousand_rows_of_every_shape
    work_is_counted_and_an_inexact_plan_refused
}

at_every_width! {
    bits_16: u16,
    every_plan_finds_what_a_scan_finds
}
