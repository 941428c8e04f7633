//! Hamming distances of rows of several words, stored in columns: word i of every column is row i.
//!
//! A vector loaded from one column contains the same word of several rows, so distances add up lane by lane and are
//! exact before any row is reported. Wide radii need this, because nearly every row then passes the lower bounds that
//! [`hamming`](super::hamming) uses.

use super::dispatch::dispatch;
use super::lanes::WordVector;
use crate::level::Level;

/// The maximum number of lanes of a vector at any level.
const MAX_LANES: usize = 8;

/// Computes the Hamming distances of the query to `n` rows from row `start` on, one per lane.
///
/// # Safety
/// The CPU has the instructions of `V`, `n <= V::LANES`, and every column has at least `start + n` words.
#[inline(always)]
unsafe fn distances<V: WordVector, const N: usize>(
    query: &[V; N],
    columns: &[&[u64]; N],
    start: usize,
    n: usize,
) -> V {
    // SAFETY: the caller guarantees that the CPU has the instructions of V and that every column has `n` words from
    // word `start` on; the partial load is used for n < LANES only.
    unsafe {
        let mut sum = V::splat(0);
        for (word, column) in query.iter().zip(columns) {
            let from = column.as_ptr().add(start);
            let words = if n == V::LANES {
                V::load(from)
            } else {
                V::load_partial(from, n)
            };
            sum = sum.add(word.xor(words).count_ones());
        }
        sum
    }
}

/// For every bit i that is set in `near`, reports row `start + i` and the distance in lane i.
#[inline(always)]
fn emit<V: WordVector, F: FnMut(u32, u32)>(distances: V, mut near: u32, start: usize, hit: &mut F) {
    let mut lanes = [0u64; MAX_LANES];
    const { assert!(V::LANES <= MAX_LANES) };
    // SAFETY: `lanes` has room for MAX_LANES values, and V::LANES is at most MAX_LANES.
    unsafe { distances.store(lanes.as_mut_ptr()) };
    while near != 0 {
        let lane = near.trailing_zeros() as usize;
        near &= near - 1;
        hit((start + lane) as u32, lanes[lane] as u32);
    }
}

/// Reports every row within Hamming distance `k` of the query.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn within_body<V: WordVector, const N: usize, F: FnMut(u32, u32)>(
    query: [u64; N],
    columns: [&[u64]; N],
    k: u32,
    hit: &mut F,
) {
    let rows = columns.iter().map(|column| column.len()).min().unwrap_or(0);
    // SAFETY: the caller guarantees that the CPU has the instructions of V. Every column has at least `rows` words. In
    // the loop j + LANES <= rows; after it, the `left` rows from j on end at `rows`.
    unsafe {
        // A distance is at most 64 N, so a greater radius is equivalent to 64 N.
        let bound = V::splat(u64::from(k.min(64 * N as u32)) + 1);
        let mut splats = [V::splat(0); N];
        for (splat, word) in splats.iter_mut().zip(query) {
            *splat = V::splat(word);
        }
        let mut j = 0;
        while j + V::LANES <= rows {
            let found = distances(&splats, &columns, j, V::LANES);
            let near = found.less_than(bound);
            if near != 0 {
                emit(found, near, j, hit);
            }
            j += V::LANES;
        }
        let left = rows - j;
        if left > 0 {
            let found = distances(&splats, &columns, j, left);
            emit(found, found.less_than(bound) & ((1 << left) - 1), j, hit);
        }
    }
}

dispatch!(within_lanes [const N: usize, F: FnMut(u32, u32)] [N, F]
    (query: [u64; N], columns: [&[u64]; N], k: u32, hit: &mut F) = within_body::<U64s>);

/// Calls `hit(row, distance)` for every row within Hamming distance `k` of the query.
pub(super) fn within<const N: usize>(
    level: Level,
    query: [u64; N],
    columns: [&[u64]; N],
    k: u32,
    hit: &mut impl FnMut(u32, u32),
) {
    within_lanes(level, query, columns, k, hit);
}
