//! The join compared with brute force, for every kind of plan and every shape of data.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;

use super::*;
use crate::plan::Plan;
use crate::samples::{SHAPES, Shape, at_every_width, fewer, plans, rows, shape};

/// All pairs within `k`, by comparing every two rows.
fn brute<W: Width>(rows: &[W], k: u32) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (b, &y) in (0u32..).zip(rows) {
        for (a, &x) in (0..b).zip(rows) {
            let distance = x.distance(y);
            if distance <= k {
                pairs.push(Pair {
                    a,
                    b,
                    distance: distance as u8,
                });
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

fn collect(join: impl FnOnce(&(dyn Fn(&[Pair]) + Sync)) -> JoinStats) -> Vec<Pair> {
    let all = Mutex::new(Vec::new());
    let stats = join(&|batch: &[Pair]| all.lock().unwrap().extend_from_slice(batch));
    let mut all = all.into_inner().unwrap();
    assert_eq!(stats.pairs, all.len() as u64);
    all.sort_unstable();
    all
}

/// Compares the join with one plan with the expected pairs.
fn check<W: Width>(rows: &[W], k: u32, plan: &JoinPlan, expected: &[Pair]) {
    let got = collect(|sink| self_join_with(rows, k, plan, &sink));
    assert!(
        got == expected,
        "{plan:?} at k = {k}: {} pairs, expected {}",
        got.len(),
        expected.len()
    );
}

/// Runs on one thread. Thousands of small joins would spend their time waking a second one.
fn on_one_thread<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    static POOL: std::sync::OnceLock<rayon::ThreadPool> = std::sync::OnceLock::new();
    POOL.get_or_init(|| rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap())
        .install(run)
}

fn check_all<W: Width>(rows: &[W], k: u32, widths: &[u32]) {
    on_one_thread(|| check_each(rows, k, widths));
}

fn check_each<W: Width>(rows: &[W], k: u32, widths: &[u32]) {
    let expected = brute(rows, k);
    check(rows, k, &JoinPlan::Scan, &expected);
    assert_eq!(collect(|sink| self_join(rows, k, &sink)), expected);
    for plan in plans::<W>(k) {
        let ball: f64 = plan
            .tables
            .iter()
            .map(|t| crate::flips::ball_size(widths[0], t.radius))
            .sum();
        if ball < 3000.0 {
            let plan = JoinPlan::from_plan(&plan, widths).unwrap();
            check(rows, k, &plan, &expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_plan_finds_every_pair_once_at_64_bits(
        shape in shape(), n in 0usize..160, k in 0u32..=12, u in 1u32..12, v in 1u32..12, seed: u64,
    ) {
        check_all::<u64>(&rows(shape, n, k, seed), k, &[u, v, u, v, u, v, u, v, u, v, u, v]);
    }

    #[test]
    fn every_plan_finds_every_pair_once_at_128_bits(
        shape in shape(), n in 0usize..100, k in 0u32..=40, u in 1u32..10, seed: u64,
    ) {
        check_all::<u128>(&rows(shape, n, k, seed), k, &[u; 128]);
    }

    #[test]
    fn narrow_fingerprints_and_any_radius_are_correct(
        shape in shape(), n in 0usize..100, k in 0u32..200, seed: u64,
    ) {
        let expected = |rows: &[u64]| brute(rows, k);
        let wide = rows::<u64>(shape, n, k.min(64), seed);
        prop_assert_eq!(on_one_thread(|| collect(|sink| self_join(&wide, k, &sink))), expected(&wide));
        check_all::<u16>(&rows(shape, n, k.min(16), seed), k, &[8; 16]);
        check_all::<u32>(&rows(shape, n, k.min(32), seed), k, &[8; 32]);
    }
}

/// Checks that a join with closed rows emits every pair with an open row, each pair at most once, and no pair of rows that
/// were closed before.
fn check_closed<W: Width>(rows: &[W], k: u32, plan: &JoinPlan, max_degree: u32) {
    let expected = brute(rows, k);
    let counts = || -> Vec<AtomicU32> { rows.iter().map(|_| AtomicU32::new(0)).collect() };
    let true_degrees = counts();
    for pair in &expected {
        true_degrees[pair.a as usize].fetch_add(1, Ordering::Relaxed);
        true_degrees[pair.b as usize].fetch_add(1, Ordering::Relaxed);
    }
    let degrees = counts();
    let exceeds =
        |degrees: &[AtomicU32], row: u32| degrees[row as usize].load(Ordering::Relaxed) > max_degree;
    let all = Mutex::new(Vec::new());
    self_join_of_open(
        rows,
        k,
        plan,
        &|row| exceeds(&degrees, row),
        &|batch: &[Pair]| {
            for pair in batch {
                degrees[pair.a as usize].fetch_add(1, Ordering::Relaxed);
                degrees[pair.b as usize].fetch_add(1, Ordering::Relaxed);
            }
            all.lock().unwrap().extend_from_slice(batch);
        },
    );
    let closed: Vec<bool> = (0..rows.len() as u32).map(|row| exceeds(&degrees, row)).collect();
    let truly: Vec<bool> = (0..rows.len() as u32)
        .map(|row| exceeds(&true_degrees, row))
        .collect();
    assert_eq!(closed, truly, "the closed rows are those of too many neighbours");
    let open = |pair: &&Pair| !closed[pair.a as usize] || !closed[pair.b as usize];
    let mut found = all.into_inner().unwrap();
    found.sort_unstable();
    assert!(found.windows(2).all(|w| w[0] < w[1]), "a pair came twice");
    let [found, expected] =
        [&found, &expected].map(|pairs| pairs.iter().filter(open).copied().collect::<Vec<Pair>>());
    assert!(
        found == expected,
        "{} pairs, expected {}",
        found.len(),
        expected.len()
    );
    // All rows of these pairs are closed from the start.
    let none = collect(|sink| self_join_of_open(rows, k, plan, &|_| true, &sink));
    assert_eq!(none, []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn closed_rows_are_those_of_too_many_neighbours(
        shape in shape(), n in 0usize..600, k in 0u32..=12, u in 1u32..9, max_degree in 0u32..60, seed: u64,
    ) {
        let sample = rows::<u64>(shape, n, k, seed);
        check_closed(&sample, k, &JoinPlan::Scan, max_degree);
        let plan = Plan::even_parts(64, k, k / 3 + 1).unwrap();
        check_closed(&sample, k, &JoinPlan::from_plan(&plan, &[u; 8]).unwrap(), max_degree);
    }
}

#[test]
fn a_crowd_is_not_compared_with_itself() {
    // 6,000 rows within 4 bits of one centre, and other rows elsewhere.
    let mut sample = rows::<u64>(Shape::Uniform, 6000, 3, 5);
    for row in &mut sample[..5000] {
        *row = (1 << (*row & 63)) ^ (1 << (*row >> 8 & 63));
    }
    let pairs = AtomicU32::new(0);
    let degrees: Vec<AtomicU32> = sample.iter().map(|_| AtomicU32::new(0)).collect();
    let is_closed = |row: u32| degrees[row as usize].load(Ordering::Relaxed) > 10;
    for plan in [
        JoinPlan::Scan,
        JoinPlan::from_plan(&Plan::even_parts(64, 4, 2).unwrap(), &[4; 2]).unwrap(),
    ] {
        pairs.store(0, Ordering::Relaxed);
        for degree in &degrees {
            degree.store(0, Ordering::Relaxed);
        }
        on_one_thread(|| {
            self_join_of_open(&sample, 4, &plan, &is_closed, &|batch: &[Pair]| {
                pairs.fetch_add(batch.len() as u32, Ordering::Relaxed);
                for pair in batch {
                    degrees[pair.a as usize].fetch_add(1, Ordering::Relaxed);
                    degrees[pair.b as usize].fetch_add(1, Ordering::Relaxed);
                }
            });
        });
        // All pairs of the crowd would be 12 million.
        let found = pairs.load(Ordering::Relaxed);
        assert!(found < 1_000_000, "{found} pairs");
    }
}

fn large_buckets_and_many_tiles<W: Width>() {
    for (i, &shape) in SHAPES.iter().enumerate() {
        let n = fewer::<W>(if shape == Shape::Uniform { 10_000 } else { 2_500 });
        for k in [3, 10] {
            let sample = rows::<W>(shape, n, k, i as u64 + 1);
            let expected = brute(&sample, k);
            check(&sample, k, &JoinPlan::Scan, &expected);
            for (s, u) in [(k / 2, 9), (k / 3 + 1, 6)] {
                let plan = Plan::even_parts(W::BITS, k, s.max(1)).unwrap();
                check(
                    &sample,
                    k,
                    &JoinPlan::from_plan(&plan, &[u; 8]).unwrap(),
                    &expected,
                );
            }
        }
    }
}

fn a_plan_for_another_width_or_radius_is_not_used<W: Width>() {
    let sample = rows::<W>(Shape::Clumped, 50, 6, 1);
    for plan in [
        Plan::halves(2 * W::BITS % 192, 6).unwrap(),
        Plan::halves(W::BITS, 5).unwrap(),
    ] {
        let plan = JoinPlan::from_plan(&plan, &[8, 8]).unwrap();
        check(&sample, 6, &plan, &brute(&sample, 6));
        assert_eq!(self_join_with(&sample, 6, &plan, &|_| ()).plan, "scan");
    }
}

fn an_inexact_plan_is_refused<W: Width>() {
    let mut plan = Plan::halves(W::BITS, 6).unwrap();
    plan.tables[1].radius -= 1;
    assert!(JoinPlan::from_plan(&plan, &[]).is_err());
}

at_every_width! {
    large_buckets_and_many_tiles
    a_plan_for_another_width_or_radius_is_not_used
    an_inexact_plan_is_refused
}
