//! The hot loops, behind safe slice functions.
//!
//! Each is written once over a vector type and compiled for scalar code, AVX2, AVX-512 and NEON; [`level`] says
//! which is used, found out once. Every function `x` has a twin `x_at` that takes the [`Level`]: a level is a
//! proof that the CPU has it, so both are safe. Results, the order of hits included, are the same at every level;
//! the tests hold each level against the plain definition.
//!
//! This module is the only one with unsafe code.
#![allow(
    clippy::inline_always,
    clippy::wildcard_imports,
    reason = "code over a vector type must be compiled inside the function that enables its instructions; \
              the intrinsics of one architecture are one vocabulary"
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod columns;
mod dispatch;
mod hamming;
mod lanes;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod packed;
mod prefetch;
mod scalar;
mod siphash;
mod unpack;
mod vote;

pub use dispatch::{Level, level};
pub(crate) use hamming::RowKernels;
pub use packed::{PackedRows, Run};
pub use prefetch::prefetch_read;
pub(crate) use siphash::{BATCH, Batch, GROUP, MAX_BLOCKS, last_block, siphash_one, siphash_windows};

use crate::Width;

/// Appends (index, distance) of every row within k of the query, by ascending index.
///
/// Indices are 32 bits: at most 2³² − 1 rows are looked at. O(rows).
pub fn hamming_one_to_many<W: Width>(query: W, rows: &[W], k: u32, out: &mut Vec<(u32, u8)>) {
    hamming_one_to_many_at(level(), query, rows, k, out);
}

/// [`hamming_one_to_many`] at a given level.
pub fn hamming_one_to_many_at<W: Width>(
    level: Level,
    query: W,
    rows: &[W],
    k: u32,
    out: &mut Vec<(u32, u8)>,
) {
    query.one_to_many(level, addressable(rows), k, |i, distance| out.push((i, distance)));
}

/// Calls `hit(i, j, distance)` for every row i of `a` and row j of `b` within k of each other.
///
/// The order is the same everywhere: rows of `a` in groups of four (0–3, 4–7, …), the groups in turn; within a
/// group by ascending j, and for each j by ascending i. At most 2³² − 1 rows of each are looked at. O(a · b); `b` is
/// walked once for every four rows of `a`, so let it be the block that fits the cache.
pub fn hamming_many_to_many<W: Width>(a: &[W], b: &[W], k: u32, hit: &mut impl FnMut(u32, u32, u8)) {
    hamming_many_to_many_at(level(), a, b, k, hit);
}

/// [`hamming_many_to_many`] at a given level.
pub fn hamming_many_to_many_at<W: Width>(
    level: Level,
    a: &[W],
    b: &[W],
    k: u32,
    hit: &mut impl FnMut(u32, u32, u8),
) {
    W::many_to_many(level, addressable(a), addressable(b), k, hit);
}

/// Calls `hit(i, j, distance)` for every i < j with rows i and j within k of each other, in the order of
/// [`hamming_many_to_many`]. O(rows²).
pub fn hamming_within<W: Width>(rows: &[W], k: u32, hit: &mut impl FnMut(u32, u32, u8)) {
    hamming_within_at(level(), rows, k, hit);
}

/// [`hamming_within`] at a given level.
pub fn hamming_within_at<W: Width>(level: Level, rows: &[W], k: u32, hit: &mut impl FnMut(u32, u32, u8)) {
    W::within(level, addressable(rows), k, hit);
}

/// Calls `hit(i, distance)` for every row within k of a query of N words, by ascending i. Word i of every column is row i; where columns
/// differ in length, the shortest counts.
///
/// At most 2³² − 1 rows are looked at. O(N · rows).
pub fn hamming_columns<const N: usize>(
    query: [u64; N],
    columns: [&[u64]; N],
    k: u32,
    hit: &mut impl FnMut(u32, u32),
) {
    hamming_columns_at(level(), query, columns, k, hit);
}

/// [`hamming_columns`] at a given level.
pub fn hamming_columns_at<const N: usize>(
    level: Level,
    query: [u64; N],
    columns: [&[u64]; N],
    k: u32,
    hit: &mut impl FnMut(u32, u32),
) {
    columns::within(level, query, columns.map(addressable), k, hit);
}

/// The rows that 32-bit indices can name.
#[inline]
fn addressable<W>(rows: &[W]) -> &[W] {
    &rows[..rows.len().min(u32::MAX as usize)]
}

/// Unpacks `out.len()` unsigned values of `width_bits` bits each, from value `first` on.
///
/// Value i takes bits i·w to (i + 1)·w − 1 of the string, bit b being bit b % 8 of byte b / 8. Bits past the end
/// of `packed` read as zeros; a width of 0 gives zeros and one above 64 counts as 64.
pub fn unpack_bits(packed: &[u8], width_bits: u32, first: usize, out: &mut [u64]) {
    unpack_bits_at(level(), packed, width_bits, first, out);
}

/// [`unpack_bits`] at a given level.
pub fn unpack_bits_at(level: Level, packed: &[u8], width_bits: u32, first: usize, out: &mut [u64]) {
    if width_bits == 0 {
        out.fill(0);
    } else {
        unpack::unpack(level, packed, width_bits.min(64), first, out);
    }
}

/// Adds to `ones[b / 64][b % 64]` the weight of the features whose hash has bit b set.
///
/// Features are taken in pairs up to the shorter slice.
pub fn vote_128(hashes: &[u128], weights: &[u16], ones: &mut [[u64; 64]; 2]) {
    vote_128_at(level(), hashes, weights, ones);
}

/// [`vote_128`] at a given level.
pub fn vote_128_at(level: Level, hashes: &[u128], weights: &[u16], ones: &mut [[u64; 64]; 2]) {
    vote::vote_128(level, hashes, weights, ones);
}

/// [`vote_128`] on the low 64 bits alone.
pub fn vote_low_64(hashes: &[u128], weights: &[u16], ones: &mut [u64; 64]) {
    vote_low_64_at(level(), hashes, weights, ones);
}

/// [`vote_low_64`] at a given level.
pub fn vote_low_64_at(level: Level, hashes: &[u128], weights: &[u16], ones: &mut [u64; 64]) {
    vote::vote_low_64(level, hashes, weights, ones);
}

/// Adds to `ones[b]` the weight of the features whose 64-bit hash has bit b set.
///
/// Features are taken in pairs up to the shorter slice.
pub fn vote_64(hashes: &[u64], weights: &[u16], ones: &mut [u64; 64]) {
    vote_64_at(level(), hashes, weights, ones);
}

/// [`vote_64`] at a given level.
pub fn vote_64_at(level: Level, hashes: &[u64], weights: &[u16], ones: &mut [u64; 64]) {
    vote::vote_64(level, hashes, weights, ones);
}

/// [`vote_64`] where every weight is 1.
pub fn vote_unit_64(hashes: &[u64], ones: &mut [u64; 64]) {
    vote_unit_64_at(level(), hashes, ones);
}

/// [`vote_unit_64`] at a given level.
pub fn vote_unit_64_at(level: Level, hashes: &[u64], ones: &mut [u64; 64]) {
    vote::vote_unit_64(level, hashes, ones);
}
