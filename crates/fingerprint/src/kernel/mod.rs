//! The SIMD kernels: hot loops over integers, behind safe slice functions.
//!
//! Each kernel is written once over a vector type and compiled for scalar code, AVX2, AVX-512 and NEON; [`level`]
//! selects one, once per process. Every function `x` has a twin `x_at` that takes the [`Level`]. A level proves that
//! the CPU has its instructions, so both functions are safe. Results, including the order of hits, are the same at
//! every level; the tests compare each level with the plain definition.
//!
//! This module is the only one with unsafe code. Each unsafe function states what the caller must guarantee, and each
//! unsafe block says why the guarantee holds.
//!
//! ```
//! use twinprint_fingerprint::kernel::{self, RowDistance};
//!
//! let rows = [0b0000u64, 0b0001, 0b0111, u64::MAX];
//! let mut hits = Vec::new();
//! kernel::hamming_one_to_many(0b0011, &rows, 1, &mut hits);
//! assert_eq!(hits, [RowDistance { row: 1, distance: 1 }, RowDistance { row: 2, distance: 1 }]);
//! ```

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod byte_kinds;
mod canonical;
mod columns;
mod definition;
mod differing;
mod dispatch;
mod hamming;
mod lanes;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod packed;
mod plane_table;
mod planes;
mod prefetch;
mod scalar;
mod siphash;
mod unpack;
mod vote;

pub use crate::hits::{PairHit, RangeHit, RowDistance};
pub use byte_kinds::{ByteKinds, byte_kinds, byte_kinds_at, code_points, code_points_at};
pub use canonical::{Canonicalised, CharacterEffect, SimpleCharacters, canonicalise, canonicalise_at};
pub use differing::{differ_in_at_most, differ_in_at_most_at};
pub use packed::{PackedRows, RowRange};
pub use planes::MAX_PLANE_ROWS;
pub use prefetch::prefetch_read;
pub(crate) use siphash::{
    BATCH, Batch, GROUP, MAX_BLOCKS, last_block, siphash_one, siphash_short, siphash_windows,
};

pub use crate::level::{Level, level};
use crate::width::Width;

/// Appends every row within Hamming distance `k` of the query to `out`, with its distance, in ascending order of row
/// numbers.
///
/// A row number has 32 bits: rows from number 2³² − 1 on are ignored. O(rows).
pub fn hamming_one_to_many<W: Width>(query: W, rows: &[W], k: u32, out: &mut Vec<RowDistance>) {
    hamming_one_to_many_at(level(), query, rows, k, out);
}

/// [`hamming_one_to_many`] at a given SIMD level.
pub fn hamming_one_to_many_at<W: Width>(
    level: Level,
    query: W,
    rows: &[W],
    k: u32,
    out: &mut Vec<RowDistance>,
) {
    query.one_to_many(level, addressable(rows), k, out);
}

/// Calls `hit(i, j, distance)` for every row i of `a` and row j of `b` within Hamming distance `k` of each other.
///
/// The order of hits is the same at every level. Rows of `a` are taken in groups of four (0–3, 4–7, …), one group after
/// the other; within a group hits are ordered by j, and for each j by i. Rows from number 2³² − 1 on are ignored. O(a ·
/// b). `b` should be the set that fits the cache. If it has at most [`MAX_PLANE_ROWS`] rows, tables of bit planes
/// may be used, which are faster.
///
/// ```
/// use twinprint_fingerprint::kernel;
///
/// let (a, b) = ([0b0000u64, 0b1111], [0b0001u64, 0b0111]);
/// let mut hits = Vec::new();
/// kernel::hamming_many_to_many(&a, &b, 1, &mut |i, j, distance| hits.push((i, j, distance)));
/// assert_eq!(hits, [(0, 0, 1), (1, 1, 1)]);
/// ```
pub fn hamming_many_to_many<W: Width>(a: &[W], b: &[W], k: u32, hit: &mut PairHit) {
    hamming_many_to_many_at(level(), a, b, k, hit);
}

/// [`hamming_many_to_many`] at a given SIMD level.
pub fn hamming_many_to_many_at<W: Width>(level: Level, a: &[W], b: &[W], k: u32, hit: &mut PairHit) {
    W::many_to_many(level, addressable(a), addressable(b), k, hit);
}

/// Calls `hit(i, j, distance)` for every pair of rows i < j within Hamming distance `k` of each other, in the order of
/// [`hamming_many_to_many`]. O(rows²). Tables of bit planes may be used for at most
/// [`MAX_PLANE_ROWS`] rows.
///
/// ```
/// use twinprint_fingerprint::kernel;
///
/// let mut pairs = Vec::new();
/// kernel::hamming_within(&[0b00u64, 0b01, 0b11], 1, &mut |i, j, _| pairs.push((i, j)));
/// assert_eq!(pairs, [(0, 1), (1, 2)]);
/// ```
pub fn hamming_within<W: Width>(rows: &[W], k: u32, hit: &mut PairHit) {
    hamming_within_at(level(), rows, k, hit);
}

/// [`hamming_within`] at a given SIMD level.
pub fn hamming_within_at<W: Width>(level: Level, rows: &[W], k: u32, hit: &mut PairHit) {
    W::within(level, addressable(rows), k, hit);
}

/// Calls `hit(i, distance)` for every row i within Hamming distance `k` of a query of N words, in ascending order of i.
/// Row i consists of word i of each column; the shortest column decides the number of rows.
///
/// Rows from number 2³² − 1 on are ignored. O(N · rows).
///
/// ```
/// use twinprint_fingerprint::kernel;
///
/// // Two rows of 128 bits.
/// let (low, high) = ([0b01, 0b11], [0, u64::MAX]);
/// let mut hits = Vec::new();
/// kernel::hamming_columns([0b00, 0], [&low, &high], 3, &mut |row, distance| hits.push((row, distance)));
/// assert_eq!(hits, [(0, 1)]);
/// ```
pub fn hamming_columns<const N: usize>(
    query: [u64; N],
    columns: [&[u64]; N],
    k: u32,
    hit: &mut impl FnMut(u32, u32),
) {
    hamming_columns_at(level(), query, columns, k, hit);
}

/// [`hamming_columns`] at a given SIMD level.
pub fn hamming_columns_at<const N: usize>(
    level: Level,
    query: [u64; N],
    columns: [&[u64]; N],
    k: u32,
    hit: &mut impl FnMut(u32, u32),
) {
    columns::within(level, query, columns.map(addressable), k, hit);
}

/// Returns the rows whose numbers fit 32 bits: at most 2³² − 1 rows.
#[inline]
fn addressable<W>(rows: &[W]) -> &[W] {
    &rows[..rows.len().min(u32::MAX as usize)]
}

/// Unpacks `out.len()` consecutive unsigned values of `width_bits` bits each; the first one is value number `first`.
///
/// With w = `width_bits`, value i takes bits i·w to (i + 1)·w − 1 of the bit string `packed`, of which bit b is bit b %
/// 8 of byte b / 8. Bits past the end of `packed` read as zeros. A width of 0 gives zeros, and a width above 64 counts
/// as 64.
///
/// ```
/// use twinprint_fingerprint::kernel;
///
/// let mut values = [0; 3];
/// kernel::unpack_bits(&[0b1101_0001], 3, 0, &mut values);
/// assert_eq!(values, [0b001, 0b010, 0b011]);
/// ```
pub fn unpack_bits(packed: &[u8], width_bits: u32, first: usize, out: &mut [u64]) {
    unpack_bits_at(level(), packed, width_bits, first, out);
}

/// [`unpack_bits`] at a given SIMD level.
pub fn unpack_bits_at(level: Level, packed: &[u8], width_bits: u32, first: usize, out: &mut [u64]) {
    if width_bits == 0 {
        out.fill(0);
    } else {
        unpack::unpack(level, packed, width_bits.min(64), first, out);
    }
}

/// For every bit b, adds the total weight of the features whose 128-bit hash has bit b set to `ones[b / 64][b % 64]`.
///
/// Hashes and weights are paired up to the end of the shorter slice.
pub fn vote_128(hashes: &[u128], weights: &[u16], ones: &mut [[u64; 64]; 2]) {
    vote_128_at(level(), hashes, weights, ones);
}

/// [`vote_128`] at a given SIMD level.
pub fn vote_128_at(level: Level, hashes: &[u128], weights: &[u16], ones: &mut [[u64; 64]; 2]) {
    vote::vote_128(level, hashes, weights, ones);
}

/// Like [`vote_128`], but counts only the votes on the low 64 bits of the hashes.
pub fn vote_low_64(hashes: &[u128], weights: &[u16], ones: &mut [u64; 64]) {
    vote_low_64_at(level(), hashes, weights, ones);
}

/// [`vote_low_64`] at a given SIMD level.
pub fn vote_low_64_at(level: Level, hashes: &[u128], weights: &[u16], ones: &mut [u64; 64]) {
    vote::vote_low_64(level, hashes, weights, ones);
}

/// For every bit b, adds the total weight of the features whose 64-bit hash has bit b set to `ones[b]`.
///
/// Hashes and weights are paired up to the end of the shorter slice.
///
/// ```
/// use twinprint_fingerprint::kernel;
///
/// let mut ones = [0; 64];
/// kernel::vote_64(&[0b01, 0b11], &[3, 5], &mut ones);
/// assert_eq!(ones[..3], [8, 5, 0]);
/// ```
pub fn vote_64(hashes: &[u64], weights: &[u16], ones: &mut [u64; 64]) {
    vote_64_at(level(), hashes, weights, ones);
}

/// [`vote_64`] at a given SIMD level.
pub fn vote_64_at(level: Level, hashes: &[u64], weights: &[u16], ones: &mut [u64; 64]) {
    vote::vote_64(level, hashes, weights, ones);
}

/// [`vote_64`] with a weight of 1 for every feature.
pub fn vote_unit_64(hashes: &[u64], ones: &mut [u64; 64]) {
    vote_unit_64_at(level(), hashes, ones);
}

/// [`vote_unit_64`] at a given SIMD level.
pub fn vote_unit_64_at(level: Level, hashes: &[u64], ones: &mut [u64; 64]) {
    vote::vote_unit_64(level, hashes, ones);
}
