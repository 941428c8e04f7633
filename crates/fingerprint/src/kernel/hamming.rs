//! Hamming distances of blocks of fingerprints.
//!
//! The work is register-blocked: four rows of `a` stay in registers while `b` streams by, and lower bounds of
//! the distances of a tile are reduced to their minimum, so that one comparison and one branch serve 4 rows × 2
//! vectors. Only where a bound is within k are distances computed.
//!
//! Counters are zipped second everywhere, so that none is advanced past the last row and overflows.
//!
//! Invariant: the order of hits is that of [`by_definition`], whatever the number of lanes: groups of four
//! rows of `a` in turn; within a group j ascending, and for each j, i ascending.

use super::dispatch::{Level, dispatch};
use super::lanes::Words;
use crate::Width;

/// Rows of `a` held in registers. Part of the order of hits, so part of the contract.
const GROUP: usize = 4;

/// The kernels of one width. Private in effect, which seals [`Width`].
pub trait RowKernels: Sized {
    /// Hits of one query, as (index, distance).
    fn one_to_many(self, level: Level, rows: &[Self], k: u32, hit: impl FnMut(u32, u8));
    /// Hits between two blocks.
    fn many_to_many(level: Level, a: &[Self], b: &[Self], k: u32, hit: &mut impl FnMut(u32, u32, u8));
    /// Hits i < j within a block.
    fn within(level: Level, rows: &[Self], k: u32, hit: &mut impl FnMut(u32, u32, u8));
}

/// A fingerprint whose rows fill lanes of 64 bits.
///
/// The lanes compare the *floor*, a lower bound of the distance, and a row whose floor is within k is checked
/// exactly. At 64 bits the floor is the distance. At 128 bits it is the ones of (the difference of the low
/// halves) | (that of the high halves), one count instead of two: for unrelated rows it is Binomial(64, ¾), of
/// which one in 10⁷ lies within 30.
trait LaneRow: Width {
    type Lanes<V: Words>: Copy;

    unsafe fn splat<V: Words>(self) -> Self::Lanes<V>;
    /// `V::LANES` rows.
    unsafe fn load<V: Words>(from: *const Self) -> Self::Lanes<V>;
    /// `n < V::LANES` rows, zeros above.
    unsafe fn load_partial<V: Words>(from: *const Self, n: usize) -> Self::Lanes<V>;
    unsafe fn floor<V: Words>(a: Self::Lanes<V>, b: Self::Lanes<V>) -> V;
}

impl LaneRow for u64 {
    type Lanes<V: Words> = V;

    #[inline(always)]
    unsafe fn splat<V: Words>(self) -> V {
        // SAFETY: the caller vouches for the instructions.
        unsafe { V::splat(self) }
    }

    #[inline(always)]
    unsafe fn load<V: Words>(from: *const Self) -> V {
        // SAFETY: the caller vouches for the instructions and the rows.
        unsafe { V::load(from) }
    }

    #[inline(always)]
    unsafe fn load_partial<V: Words>(from: *const Self, n: usize) -> V {
        // SAFETY: the caller vouches for the instructions and the rows.
        unsafe { V::load_partial(from, n) }
    }

    #[inline(always)]
    unsafe fn floor<V: Words>(a: V, b: V) -> V {
        // SAFETY: the caller vouches for the instructions.
        unsafe { a.xor(b).count_ones() }
    }
}

impl LaneRow for u128 {
    type Lanes<V: Words> = (V, V);

    #[inline(always)]
    unsafe fn splat<V: Words>(self) -> (V, V) {
        // SAFETY: the caller vouches for the instructions.
        unsafe { (V::splat(self as u64), V::splat((self >> 64) as u64)) }
    }

    #[inline(always)]
    unsafe fn load<V: Words>(from: *const Self) -> (V, V) {
        // SAFETY: the caller vouches for the instructions and the rows.
        unsafe { V::load_halves(from) }
    }

    #[inline(always)]
    unsafe fn load_partial<V: Words>(from: *const Self, n: usize) -> (V, V) {
        // SAFETY: the caller vouches for the instructions and the rows.
        unsafe { V::load_halves_partial(from, n) }
    }

    #[inline(always)]
    unsafe fn floor<V: Words>(a: (V, V), b: (V, V)) -> V {
        // SAFETY: the caller vouches for the instructions.
        unsafe { a.0.xor(b.0).or_xor(a.1, b.1).count_ones() }
    }
}

/// The smallest floor of each row of a block to the rows of the group. Not a closure: those are not always
/// compiled inside the function that enables the instructions.
#[inline(always)]
unsafe fn least<V: Words, R: LaneRow, const G: usize>(rows: &[R::Lanes<V>; G], block: R::Lanes<V>) -> V {
    // SAFETY: the caller vouches for the instructions of V.
    unsafe {
        let mut least = R::floor::<V>(rows[0], block);
        for row in &rows[1..] {
            least = least.min_small(R::floor::<V>(*row, block));
        }
        least
    }
}

/// Compares a group of rows, the first of which has index `first`, with `b`, whose first has index `first_b`.
#[inline(always)]
unsafe fn group<V: Words, R: LaneRow, F: FnMut(u32, u32, u8), const G: usize>(
    (first, rows): (u32, &[R; G]),
    (first_b, b): (u32, &[R]),
    k: u32,
    hit: &mut F,
) {
    // SAFETY: the caller vouches for the instructions of V. Loads start at `j` and take `LANES` rows where
    // j + LANES <= b.len(), and b.len() - j < LANES rows at the end.
    unsafe {
        // Distances are at most 128, so a greater radius means the same as 128.
        let bound = V::splat(u64::from(k.min(128)) + 1);
        let mut splats = [rows[0].splat::<V>(); G];
        for (splat, row) in splats.iter_mut().zip(rows) {
            *splat = row.splat::<V>();
        }
        let group = (first, rows.as_slice());
        let mut j = 0;
        // The inner loop calls nothing, so that the rows stay in registers.
        'tiles: loop {
            let near = loop {
                if j + 2 * V::LANES > b.len() {
                    break 'tiles;
                }
                let one = least::<V, R, G>(&splats, R::load(b.as_ptr().add(j)));
                let two = least::<V, R, G>(&splats, R::load(b.as_ptr().add(j + V::LANES)));
                if one.min_small(two).below(bound) != 0 {
                    break one.below(bound) | two.below(bound) << V::LANES;
                }
                j += 2 * V::LANES;
            };
            emit::<V, R, F>(group, (first_b, b), near, j, k, hit);
            j += 2 * V::LANES;
        }
        if j + V::LANES <= b.len() {
            let near = least::<V, R, G>(&splats, R::load(b.as_ptr().add(j))).below(bound);
            if near != 0 {
                emit::<V, R, F>(group, (first_b, b), near, j, k, hit);
            }
            j += V::LANES;
        }
        let left = b.len() - j;
        if left > 0 {
            let tail = least::<V, R, G>(&splats, R::load_partial(b.as_ptr().add(j), left));
            let near = tail.below(bound) & ((1 << left) - 1);
            if near != 0 {
                emit::<V, R, F>(group, (first_b, b), near, j, k, hit);
            }
        }
    }
}

/// Reports the hits among the rows `j + i` of `b` for the bits i of `near`.
///
/// Out of line, because tiles with hits are rare and the rows of the others should not be saved around this call. Code of its own is
/// compiled for no more than the target has, hence the twin that may count bits by one instruction.
///
/// # Safety
/// The CPU has the instructions of V.
#[inline(always)]
unsafe fn emit<V: Words, R: LaneRow, F: FnMut(u32, u32, u8)>(
    rows: (u32, &[R]),
    b: (u32, &[R]),
    near: u32,
    j: usize,
    k: u32,
    hit: &mut F,
) {
    #[cfg(target_arch = "x86_64")]
    if V::LANES > 1 {
        // SAFETY: of the levels of this architecture all that have more than one lane have the bit count.
        unsafe { emit_counting(rows, b, near, j, k, hit) }
        return;
    }
    emit_plain(rows, b, near, j, k, hit);
}

#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
#[target_feature(enable = "popcnt")]
fn emit_counting<R: LaneRow, F: FnMut(u32, u32, u8)>(
    rows: (u32, &[R]),
    b: (u32, &[R]),
    near: u32,
    j: usize,
    k: u32,
    hit: &mut F,
) {
    emit_body(rows, b, near, j, k, hit);
}

#[cold]
#[inline(never)]
fn emit_plain<R: LaneRow, F: FnMut(u32, u32, u8)>(
    rows: (u32, &[R]),
    b: (u32, &[R]),
    near: u32,
    j: usize,
    k: u32,
    hit: &mut F,
) {
    emit_body(rows, b, near, j, k, hit);
}

#[inline(always)]
fn emit_body<R: LaneRow, F: FnMut(u32, u32, u8)>(
    (first, rows): (u32, &[R]),
    (first_b, b): (u32, &[R]),
    mut near: u32,
    j: usize,
    k: u32,
    hit: &mut F,
) {
    while near != 0 {
        let at = j + near.trailing_zeros() as usize;
        near &= near - 1;
        for (row, i) in rows.iter().zip(first..) {
            let distance = row.distance(b[at]);
            if distance <= k {
                hit(i, first_b + at as u32, distance as u8);
            }
        }
    }
}

#[inline(always)]
unsafe fn one_body<V: Words, R: LaneRow, F: FnMut(u32, u8)>(query: R, rows: &[R], k: u32, mut hit: F) {
    let mut hit = |_: u32, j: u32, distance: u8| hit(j, distance);
    // SAFETY: the caller vouches for the instructions of V.
    unsafe { group::<V, R, _, 1>((0, &[query]), (0, rows), k, &mut hit) }
}

/// A group of any size up to `GROUP` against `b`.
#[inline(always)]
unsafe fn rows_body<V: Words, R: LaneRow, F: FnMut(u32, u32, u8)>(
    (first, rows): (u32, &[R]),
    b: (u32, &[R]),
    k: u32,
    hit: &mut F,
) {
    // SAFETY: the caller vouches for the instructions of V.
    unsafe {
        match *rows {
            [] => (),
            [r0] => group::<V, R, F, 1>((first, &[r0]), b, k, hit),
            [r0, r1] => group::<V, R, F, 2>((first, &[r0, r1]), b, k, hit),
            [r0, r1, r2] => group::<V, R, F, 3>((first, &[r0, r1, r2]), b, k, hit),
            [r0, r1, r2, r3, ..] => group::<V, R, F, GROUP>((first, &[r0, r1, r2, r3]), b, k, hit),
        }
    }
}

#[inline(always)]
unsafe fn many_body<V: Words, R: LaneRow, F: FnMut(u32, u32, u8)>(a: &[R], b: &[R], k: u32, hit: &mut F) {
    for (rows, first) in a.chunks(GROUP).zip((0..).step_by(GROUP)) {
        // SAFETY: the caller vouches for the instructions of V.
        unsafe { rows_body::<V, R, F>((first, rows), (0, b), k, hit) }
    }
}

#[inline(always)]
unsafe fn within_body<V: Words, R: LaneRow, F: FnMut(u32, u32, u8)>(rows: &[R], k: u32, hit: &mut F) {
    for (group, first) in rows.chunks(GROUP).zip((0..).step_by(GROUP)) {
        // The pairs inside the group come first: their j is smaller than any after it.
        for (j, &y) in (0u32..).zip(group) {
            for (i, &x) in (0..j).zip(group) {
                let distance = x.distance(y);
                if distance <= k {
                    hit(first + i, first + j, distance as u8);
                }
            }
        }
        let after = first as usize + group.len();
        // SAFETY: the caller vouches for the instructions of V.
        unsafe { rows_body::<V, R, F>((first, group), (after as u32, &rows[after..]), k, hit) }
    }
}

dispatch!(one_to_many [R: LaneRow, F: FnMut(u32, u8)] [R, F]
    (query: R, rows: &[R], k: u32, hit: F) = one_body::<U64s>);
dispatch!(many_to_many [R: LaneRow, F: FnMut(u32, u32, u8)] [R, F]
    (a: &[R], b: &[R], k: u32, hit: &mut F) = many_body::<U64s>);
dispatch!(within [R: LaneRow, F: FnMut(u32, u32, u8)] [R, F]
    (rows: &[R], k: u32, hit: &mut F) = within_body::<U64s>);

macro_rules! lane_kernels {
    ($($int:ident)*) => {$(
        impl RowKernels for $int {
            #[inline]
            fn one_to_many(self, level: Level, rows: &[Self], k: u32, hit: impl FnMut(u32, u8)) {
                one_to_many(level, self, rows, k, hit);
            }

            #[inline]
            fn many_to_many(level: Level, a: &[Self], b: &[Self], k: u32, hit: &mut impl FnMut(u32, u32, u8)) {
                many_to_many(level, a, b, k, hit);
            }

            #[inline]
            fn within(level: Level, rows: &[Self], k: u32, hit: &mut impl FnMut(u32, u32, u8)) {
                within(level, rows, k, hit);
            }
        }
    )*};
}
lane_kernels!(u64 u128);

/// Pairs (i, j) with distance ≤ k among those that `wanted` lets through, in the order of the contract.
pub(super) fn by_definition<W: Width>(
    (a, b): (&[W], &[W]),
    k: u32,
    wanted: impl Fn(u32, u32) -> bool,
    hit: &mut impl FnMut(u32, u32, u8),
) {
    for (group, first) in a.chunks(GROUP).zip((0u32..).step_by(GROUP)) {
        for (&y, j) in b.iter().zip(0u32..) {
            for (&x, i) in group.iter().zip(first..) {
                let distance = x.distance(y);
                if wanted(i, j) && distance <= k {
                    hit(i, j, distance as u8);
                }
            }
        }
    }
}

/// The narrow widths are for small tables; the definition is fast enough for them.
macro_rules! plain_kernels {
    ($($int:ident)*) => {$(
        impl RowKernels for $int {
            fn one_to_many(self, _: Level, rows: &[Self], k: u32, mut hit: impl FnMut(u32, u8)) {
                by_definition((&[self], rows), k, |_, _| true, &mut |_, j, distance| hit(j, distance));
            }

            fn many_to_many(_: Level, a: &[Self], b: &[Self], k: u32, hit: &mut impl FnMut(u32, u32, u8)) {
                by_definition((a, b), k, |_, _| true, hit);
            }

            fn within(_: Level, rows: &[Self], k: u32, hit: &mut impl FnMut(u32, u32, u8)) {
                by_definition((rows, rows), k, |i, j| i < j, hit);
            }
        }
    )*};
}
plain_kernels!(u16 u32);
