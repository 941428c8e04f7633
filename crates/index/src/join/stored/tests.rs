//! Joins of segments compared with brute force, with little and much memory.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::samples::{at_every_width, for_random, rows, shape};
use crate::segment::{Builder, Options};

/// A segment of distinct rows, and the rows in the order of the segment.
fn segment<W: Width>(directory: &tempfile::TempDir, name: &str, rows: &[W]) -> (Segment<W>, Vec<W>) {
    let mut builder = Builder::new(&directory.path().join(name), &Options::default()).unwrap();
    for (id, &row) in (0..).zip(rows) {
        builder.push(row, id).unwrap();
    }
    let segment = builder.finish().unwrap();
    let mut ordered = Vec::new();
    segment
        .stretches(|_, stretch| {
            ordered.extend_from_slice(stretch);
            Ok::<_, SegmentError>(())
        })
        .unwrap();
    (segment, ordered)
}

/// All pairs that a join reports. Checks that its progress adds up to its work.
fn gathered(
    k: u32,
    memory: u64,
    run: impl Fn(&StoredJoin<'_>, &(dyn Fn(&[Pair]) + Sync)) -> u64,
) -> Vec<Pair> {
    let (pairs, done) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    let join = StoredJoin {
        k,
        memory,
        stop: &|| false,
        done: &|rows| {
            done.fetch_add(rows, Ordering::Relaxed);
        },
    };
    let work = run(&join, &|some: &[Pair]| {
        pairs.lock().unwrap().extend_from_slice(some);
    });
    assert_eq!(done.into_inner(), work);
    let mut pairs = pairs.into_inner().unwrap();
    pairs.sort_unstable();
    pairs
}

fn check<W: Width>(a: &[W], b: &[W], k: u32) {
    let directory = tempfile::tempdir().unwrap();
    let ((a, a_rows), (b, b_rows)) = (segment(&directory, "a", a), segment(&directory, "b", b));
    let brute = |x: &[W], y: &[W], same: bool| {
        let mut pairs = Vec::new();
        for (i, &x) in (0..).zip(x) {
            for (j, &y) in (0..).zip(y) {
                if x.distance(y) <= k && (!same || i < j) {
                    let distance = x.distance(y) as u8;
                    pairs.push(Pair { a: i, b: j, distance });
                }
            }
        }
        pairs
    };
    // All rows at once, and in chunks of the minimum length.
    for memory in [u64::MAX, 0] {
        let self_join = gathered(k, memory, |join, sink| {
            join.with_itself(&a, &|pairs: &[Pair]| sink(pairs)).unwrap();
            join.work_with_itself::<W>(a.rows())
        });
        assert_eq!(self_join, brute(&a_rows, &a_rows, true), "self-join within {k}");
        let both = gathered(k, memory, |join, sink| {
            join.between(&a, &b, &|pairs: &[Pair]| sink(pairs)).unwrap();
            join.work_between::<W>(a.rows(), b.rows())
        });
        assert_eq!(
            both,
            brute(&a_rows, &b_rows, false),
            "join of two segments within {k}"
        );
    }
}

fn pairs_are_those_of_brute_force<W: Width>() {
    let any = (shape(), 0usize..300, 0usize..300, 0..=W::BITS / 8, any::<u64>());
    for_random::<W, _>(20, &any, |(shape, n, m, k, seed)| {
        let all = rows::<W>(shape, n + m, k, seed);
        check(&all[..n], &all[n..], k);
    });
}

fn pairs_of_rows_in_different_chunks_are_found<W: Width>() {
    let all = rows::<W>(crate::samples::Shape::Uniform, 4 * MIN_CHUNK_ROWS, 3, 1);
    check(&all[..3 * MIN_CHUNK_ROWS - 7], &all[MIN_CHUNK_ROWS * 2..], 3);
    let join = |memory| StoredJoin {
        k: 3,
        memory,
        stop: &|| false,
        done: &|_| (),
    };
    assert_eq!(join(0).self_chunk::<W>(1 << 20), MIN_CHUNK_ROWS);
    assert_eq!(join(u64::MAX).self_chunk::<W>(1 << 20), 1 << 20);
    // 40 to a hundred bytes per row, and the candidate rows.
    let some = join(1 << 30).chunk::<W>(1 << 30);
    assert!((4_000_000..30_000_000).contains(&some), "{some}");
}

#[test]
fn the_minimum_memory_is_that_of_the_smallest_chunk() {
    let least = |rows: &[u64]| StoredJoin::least_memory::<u64>(3, rows);
    assert_eq!((least(&[0]), least(&[1000])), (0, 40_000));
    let [some, many] = [1 << 22, 1 << 32].map(|rows| least(&[rows]));
    assert_eq!(some, many);
    assert!((32 << 20..36 << 20).contains(&many), "{many}");
    assert!(least(&[10, 1 << 32]) < many && least(&[10, 10]) < 3000);
}

fn a_stopped_join_returns_an_error<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let (a, _) = segment(
        &directory,
        "a",
        &rows::<W>(crate::samples::Shape::Clumped, 3000, 3, 1),
    );
    let stop = AtomicBool::new(false);
    let join = StoredJoin {
        k: 3,
        memory: 1 << 30,
        stop: &|| stop.load(Ordering::Relaxed),
        done: &|_| (),
    };
    // The callback that receives the pairs stops the join.
    let sink = |_: &[Pair]| stop.store(true, Ordering::Relaxed);
    assert!(matches!(join.with_itself(&a, &sink), Err(SegmentError::Stopped)));
    assert!(matches!(join.between(&a, &a, &sink), Err(SegmentError::Stopped)));
}

at_every_width! {
    pairs_are_those_of_brute_force
    pairs_of_rows_in_different_chunks_are_found
    a_stopped_join_returns_an_error
}
