//! Lookups compared with brute force.

use proptest::prelude::*;

use super::*;
use crate::samples::{SHAPES, Shape, plans, queries, rows, shape};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_plan_finds_what_a_scan_finds(shape in shape(), n in 0usize..300, k in 0u32..=12, seed: u64) {
        check::<u64>(shape, n, k, seed);
        check::<u128>(shape, n / 2, 2 * k, seed);
        check::<u32>(shape, n, k, seed);
        check::<u16>(shape, n, k.min(16), seed);
    }
}

#[test]
fn ten_thousand_rows_of_every_shape() {
    for shape in SHAPES {
        for k in [3, 8] {
            let sample = rows::<u64>(shape, 10_000, k, 9);
            for plan in [
                Plan::halves(64, k).unwrap(),
                Plan::even_parts(64, k, k / 2 + 1).unwrap(),
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

#[test]
fn work_is_counted_and_an_inexact_plan_refused() {
    let sample = rows::<u64>(Shape::Uniform, 4096, 3, 1);
    let plan = Plan::halves(64, 3).unwrap();
    let tables = Tables::build(&sample, &plan).unwrap();
    assert_eq!(tables.radius(), 3);
    // Ids are stored once, which takes far less than two full copies.
    assert!(tables.bytes() < 4096 * (8 + 8 + 4) + 2 * 4 * 4100 + 1000);
    let stats = tables.lookup(sample[0], 3, &mut Vec::new());
    assert_eq!(stats.probes, 2 * 13);
    assert!((10..2000).contains(&stats.candidates));
    let inexact = Plan { k: 4, ..plan };
    assert!(Tables::build(&sample, &inexact).is_err());
}
