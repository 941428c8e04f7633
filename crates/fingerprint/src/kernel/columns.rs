//! Hamming distances of rows of several words, kept in columns: word i of every column is row i.
//!
//! In columns a vector holds the same word of as many rows, so that distances add up lane by lane and are exact before anything is looked
//! at again. That is what a wide radius asks for: the lower bounds of [`hamming`](super::hamming) let nearly every row through there.

use super::dispatch::{Level, dispatch};
use super::lanes::Words;

/// Distances of `n` rows from `j` on, at most `V::LANES`.
///
/// # Safety
/// The CPU has the instructions of V, and every column has `j + n` words.
#[inline(always)]
unsafe fn distances<V: Words, const N: usize>(
    query: &[V; N],
    columns: &[&[u64]; N],
    j: usize,
    n: usize,
) -> V {
    // SAFETY: the caller vouches for the instructions and the words.
    unsafe {
        let mut sum = V::splat(0);
        for (word, column) in query.iter().zip(columns) {
            let from = column.as_ptr().add(j);
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

/// Reports the rows `j + i` for the bits i of `near`.
///
/// # Safety
/// The CPU has the instructions of V.
#[inline(always)]
unsafe fn emit<V: Words, F: FnMut(u32, u32)>(distances: V, mut near: u32, j: usize, hit: &mut F) {
    // More than any level has.
    let mut lanes = [0u64; 8];
    const { assert!(V::LANES <= 8) };
    // SAFETY: the caller vouches for the instructions of V, and there are at least `V::LANES` places.
    unsafe { distances.store(lanes.as_mut_ptr()) };
    while near != 0 {
        let lane = near.trailing_zeros() as usize;
        near &= near - 1;
        hit((j + lane) as u32, lanes[lane] as u32);
    }
}

#[inline(always)]
unsafe fn body<V: Words, const N: usize, F: FnMut(u32, u32)>(
    query: [u64; N],
    columns: [&[u64]; N],
    k: u32,
    hit: &mut F,
) {
    let rows = columns.iter().map(|column| column.len()).min().unwrap_or(0);
    // SAFETY: the caller vouches for the instructions of V. Loads start at `j` and take `LANES` words where j + LANES <= rows, and
    // rows - j < LANES words at the end; no column is shorter than `rows`.
    unsafe {
        // A distance is at most 64 N, so a greater radius means the same.
        let bound = V::splat(u64::from(k.min(64 * N as u32)) + 1);
        let mut splats = [V::splat(0); N];
        for (splat, word) in splats.iter_mut().zip(query) {
            *splat = V::splat(word);
        }
        let mut j = 0;
        while j + V::LANES <= rows {
            let found = distances(&splats, &columns, j, V::LANES);
            let near = found.below(bound);
            if near != 0 {
                emit(found, near, j, hit);
            }
            j += V::LANES;
        }
        let left = rows - j;
        if left > 0 {
            let found = distances(&splats, &columns, j, left);
            emit(found, found.below(bound) & ((1 << left) - 1), j, hit);
        }
    }
}

dispatch!(on_lanes [const N: usize, F: FnMut(u32, u32)] [N, F]
    (query: [u64; N], columns: [&[u64]; N], k: u32, hit: &mut F) = body::<U64s>);

/// Calls `hit` with every row within `k` of the query and its distance.
pub(super) fn within<const N: usize>(
    level: Level,
    query: [u64; N],
    columns: [&[u64]; N],
    k: u32,
    hit: &mut impl FnMut(u32, u32),
) {
    on_lanes(level, query, columns, k, hit);
}
