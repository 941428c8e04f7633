//! Hamming distances of blocks of fingerprints.
//!
//! The work is register-blocked: four rows of `a` stay in registers while the rows of `b` are read one after the other.
//! Lower bounds of the distances of a tile are reduced to their minimum, so that one comparison and one branch serve 4
//! rows × 2 vectors. Distances are computed only where a bound is within k.
//!
//! Wherever rows are zipped with a row counter, the rows come first. So the counter is not advanced past the last row,
//! where it could overflow.
//!
//! Hits are rare, so they are passed to a `dyn FnMut`. The kernels are then compiled once for each width and
//! instruction set, and not once more for every caller.
//!
//! Invariant: the order of hits is that of [`definition`](super::definition) for any number of lanes: groups of
//! four rows of `a` in turn; within a group j ascending, and for each j, i ascending.

use super::definition::GROUP;
use super::dispatch::dispatch;
use super::lanes::WordVector;
use super::planes::{self, Comparison, Pairs};
use crate::hits::{PairHit, RowDistance};
use crate::level::Level;
use crate::width::{HammingKernels, Width};

/// Consecutive rows of a block, with the number of the first one in the block.
struct IndexedRows<'a, R> {
    first: u32,
    rows: &'a [R],
}

impl<R> Clone for IndexedRows<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for IndexedRows<'_, R> {}

/// A fingerprint whose rows fill 64-bit lanes: half a lane for a row of 32 bits, one lane for a row of 64, two for a
/// row of 128.
///
/// A vector kernel compares a lower bound of the distance in each lane; a row whose bound is within k is then checked
/// exactly. At 32 and 64 bits the bound is the distance. At 128 bits it is the number of ones of (the difference of the low
/// halves) | (the difference of the high halves), which takes one bit count instead of two: for unrelated rows it is
/// Binomial(64, ¾), which is within 30 for one row in 10⁷.
trait LaneRow: Width {
    /// The vector or vectors that contain [`count`](Self::count) rows.
    type Lanes<V: WordVector>: Copy;

    /// Returns the number of rows of `Lanes`, at most 16.
    #[inline(always)]
    fn count<V: WordVector>() -> usize {
        V::LANES
    }

    /// Copies `self` into every lane.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    unsafe fn splat<V: WordVector>(self) -> Self::Lanes<V>;

    /// Loads as many rows as [`count`](Self::count) returns.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`, and `from` is valid for reading these rows.
    unsafe fn load<V: WordVector>(from: *const Self) -> Self::Lanes<V>;

    /// Loads `n` rows; the lanes from lane `n` on are zero.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`, `n` is less than the number of rows of `Lanes`, and `from` is valid for
    /// reading `n` rows.
    unsafe fn load_partial<V: WordVector>(from: *const Self, n: usize) -> Self::Lanes<V>;

    /// Returns, in each lane, a lower bound of the distance of the two rows of that lane.
    fn lower_bounds<V: WordVector>(a: Self::Lanes<V>, b: Self::Lanes<V>) -> V;

    /// Returns a number whose copies in every lane are `bound` for every row.
    #[inline(always)]
    fn in_lane(bound: u32) -> u64 {
        u64::from(bound)
    }

    /// Returns the rows whose lower bound is less than `bound`, one bit for each.
    #[inline(always)]
    fn less_than<V: WordVector>(bounds: V, bound: V) -> u32 {
        bounds.less_than(bound)
    }
}

impl LaneRow for u32 {
    type Lanes<V: WordVector> = V;

    #[inline(always)]
    fn count<V: WordVector>() -> usize {
        2 * V::LANES
    }

    #[inline(always)]
    unsafe fn splat<V: WordVector>(self) -> V {
        // SAFETY: the caller guarantees that the CPU has the instructions of V.
        unsafe { V::splat(u64::from(self) | u64::from(self) << 32) }
    }

    #[inline(always)]
    unsafe fn load<V: WordVector>(from: *const Self) -> V {
        // SAFETY: the caller guarantees that the CPU has the instructions of V and that 2 LANES rows are readable at
        // `from`.
        unsafe { V::load_u32(from) }
    }

    #[inline(always)]
    unsafe fn load_partial<V: WordVector>(from: *const Self, n: usize) -> V {
        // SAFETY: the caller guarantees that the CPU has the instructions of V, that n < 2 LANES, and that `n` rows are
        // readable at `from`.
        unsafe { V::load_u32_partial(from, n) }
    }

    #[inline(always)]
    fn lower_bounds<V: WordVector>(a: V, b: V) -> V {
        a.xor(b).count_ones_u32()
    }

    #[inline(always)]
    fn in_lane(bound: u32) -> u64 {
        u64::from(bound) | u64::from(bound) << 32
    }

    #[inline(always)]
    fn less_than<V: WordVector>(bounds: V, bound: V) -> u32 {
        bounds.less_than_u32(bound)
    }
}

impl LaneRow for u64 {
    type Lanes<V: WordVector> = V;

    #[inline(always)]
    unsafe fn splat<V: WordVector>(self) -> V {
        // SAFETY: the caller guarantees that the CPU has the instructions of V.
        unsafe { V::splat(self) }
    }

    #[inline(always)]
    unsafe fn load<V: WordVector>(from: *const Self) -> V {
        // SAFETY: the caller guarantees that the CPU has the instructions of V and that LANES rows are readable at
        // `from`.
        unsafe { V::load(from) }
    }

    #[inline(always)]
    unsafe fn load_partial<V: WordVector>(from: *const Self, n: usize) -> V {
        // SAFETY: the caller guarantees that the CPU has the instructions of V, that n < LANES, and that `n` rows are
        // readable at `from`.
        unsafe { V::load_partial(from, n) }
    }

    #[inline(always)]
    fn lower_bounds<V: WordVector>(a: V, b: V) -> V {
        a.xor(b).count_ones()
    }
}

impl LaneRow for u128 {
    type Lanes<V: WordVector> = (V, V);

    #[inline(always)]
    unsafe fn splat<V: WordVector>(self) -> (V, V) {
        // SAFETY: the caller guarantees that the CPU has the instructions of V.
        unsafe { (V::splat(self as u64), V::splat((self >> 64) as u64)) }
    }

    #[inline(always)]
    unsafe fn load<V: WordVector>(from: *const Self) -> (V, V) {
        // SAFETY: the caller guarantees that the CPU has the instructions of V and that LANES rows are readable at
        // `from`.
        unsafe { V::load_halves(from) }
    }

    #[inline(always)]
    unsafe fn load_partial<V: WordVector>(from: *const Self, n: usize) -> (V, V) {
        // SAFETY: the caller guarantees that the CPU has the instructions of V, that n < LANES, and that `n` rows are
        // readable at `from`.
        unsafe { V::load_halves_partial(from, n) }
    }

    #[inline(always)]
    fn lower_bounds<V: WordVector>(a: (V, V), b: (V, V)) -> V {
        a.0.xor(b.0).or_xor(a.1, b.1).count_ones()
    }
}

/// Returns, for each lane of `block`, the smallest lower bound of its distances to the rows of the group. This is not a
/// closure, because closures are not always compiled inside the function that enables the SIMD instructions.
#[inline(always)]
fn min_lower_bounds<V: WordVector, R: LaneRow, const G: usize>(
    group: &[R::Lanes<V>; G],
    block: R::Lanes<V>,
) -> V {
    let mut min = R::lower_bounds::<V>(group[0], block);
    for row in &group[1..] {
        min = min.min_small(R::lower_bounds::<V>(*row, block));
    }
    min
}

/// Compares the rows of a group with all rows of `b`. `first` is the number of the group's first row.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn compare_group<V: WordVector, R: LaneRow, const G: usize>(
    first: u32,
    group: &[R; G],
    b: IndexedRows<'_, R>,
    k: u32,
    hit: &mut PairHit,
) {
    let rows = b.rows;
    // SAFETY: the caller guarantees that the CPU has the instructions of V. Every load starts at row `j` and stays
    // within `rows`: the two loads of a tile read 2 n rows where j + 2 n <= rows.len(), the single load reads n rows
    // where j + n <= rows.len(), and the partial load reads the last rows.len() - j rows, which are fewer than n.
    unsafe {
        // Distances are at most 128, so a greater radius is equivalent to 128.
        let bound = V::splat(R::in_lane(k.min(128) + 1));
        let n = R::count::<V>();
        let mut splats = [group[0].splat::<V>(); G];
        for (splat, row) in splats.iter_mut().zip(group) {
            *splat = row.splat::<V>();
        }
        let group = IndexedRows { first, rows: group };
        let mut j = 0;
        // The inner loop calls no function, so that the rows of the group stay in registers.
        'tiles: loop {
            let near = loop {
                if j + 2 * n > rows.len() {
                    break 'tiles;
                }
                let one = min_lower_bounds::<V, R, G>(&splats, R::load(rows.as_ptr().add(j)));
                let two = min_lower_bounds::<V, R, G>(&splats, R::load(rows.as_ptr().add(j + n)));
                if R::less_than(one.min_small(two), bound) != 0 {
                    break R::less_than(one, bound) | R::less_than(two, bound) << n;
                }
                j += 2 * n;
            };
            emit::<V, R>(group, b, near, j, k, hit);
            j += 2 * n;
        }
        if j + n <= rows.len() {
            let min = min_lower_bounds::<V, R, G>(&splats, R::load(rows.as_ptr().add(j)));
            let near = R::less_than(min, bound);
            if near != 0 {
                emit::<V, R>(group, b, near, j, k, hit);
            }
            j += n;
        }
        let left = rows.len() - j;
        if left > 0 {
            let tail = R::load_partial(rows.as_ptr().add(j), left);
            let near = R::less_than(min_lower_bounds::<V, R, G>(&splats, tail), bound) & ((1 << left) - 1);
            if near != 0 {
                emit::<V, R>(group, b, near, j, k, hit);
            }
        }
    }
}

/// For every bit i that is set in `near`, compares row `b.rows[j + i]` with the rows of the group, and reports the
/// pairs within `k`.
///
/// The work is done in a function that is not inlined: tiles with hits are rare, and the loop over the other tiles need
/// not save its registers. A function that is not inlined is compiled for the baseline instructions of the target. On
/// x86-64 a second version is therefore compiled with the bit-count instruction POPCNT.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn emit<V: WordVector, R: LaneRow>(
    group: IndexedRows<'_, R>,
    b: IndexedRows<'_, R>,
    near: u32,
    j: usize,
    k: u32,
    hit: &mut PairHit,
) {
    #[cfg(target_arch = "x86_64")]
    if V::LANES > 1 {
        // SAFETY: the caller guarantees that the CPU has the instructions of V. The levels of this architecture with
        // more than one lane are AVX2 and AVX-512, and both include POPCNT.
        unsafe { emit_popcnt(group, b, near, j, k, hit) }
        return;
    }
    emit_portable(group, b, near, j, k, hit);
}

/// [`emit_body`] compiled with the bit-count instruction POPCNT.
///
/// # Safety
/// The CPU has POPCNT.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
#[target_feature(enable = "popcnt")]
fn emit_popcnt<R: LaneRow>(
    group: IndexedRows<'_, R>,
    b: IndexedRows<'_, R>,
    near: u32,
    j: usize,
    k: u32,
    hit: &mut PairHit,
) {
    emit_body(group, b, near, j, k, hit);
}

/// [`emit_body`] compiled for the baseline instructions of the target.
#[cold]
#[inline(never)]
fn emit_portable<R: LaneRow>(
    group: IndexedRows<'_, R>,
    b: IndexedRows<'_, R>,
    near: u32,
    j: usize,
    k: u32,
    hit: &mut PairHit,
) {
    emit_body(group, b, near, j, k, hit);
}

/// The body of [`emit`], inlined into each of its compiled versions.
#[inline(always)]
fn emit_body<R: LaneRow>(
    group: IndexedRows<'_, R>,
    b: IndexedRows<'_, R>,
    mut near: u32,
    j: usize,
    k: u32,
    hit: &mut PairHit,
) {
    while near != 0 {
        let position = j + near.trailing_zeros() as usize;
        near &= near - 1;
        for (row, i) in group.rows.iter().zip(group.first..) {
            let distance = row.distance(b.rows[position]);
            if distance <= k {
                hit(i, b.first + position as u32, distance as u8);
            }
        }
    }
}

/// Compares one query with all `rows`, and appends those within `k` to `out`.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn one_body<V: WordVector, R: LaneRow>(query: R, rows: &[R], k: u32, out: &mut Vec<RowDistance>) {
    let mut hit = |_: u32, row: u32, distance: u8| out.push(RowDistance { row, distance });
    let rows = IndexedRows { first: 0, rows };
    // SAFETY: the caller guarantees that the CPU has the instructions of V.
    unsafe { compare_group::<V, R, 1>(0, &[query], rows, k, &mut hit) }
}

/// Compares a group of up to `GROUP` rows with all rows of `b`.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn rows_body<V: WordVector, R: LaneRow>(
    group: IndexedRows<'_, R>,
    b: IndexedRows<'_, R>,
    k: u32,
    hit: &mut PairHit,
) {
    let first = group.first;
    // SAFETY: the caller guarantees that the CPU has the instructions of V.
    unsafe {
        match *group.rows {
            [] => (),
            [r0] => compare_group::<V, R, 1>(first, &[r0], b, k, hit),
            [r0, r1] => compare_group::<V, R, 2>(first, &[r0, r1], b, k, hit),
            [r0, r1, r2] => compare_group::<V, R, 3>(first, &[r0, r1, r2], b, k, hit),
            [r0, r1, r2, r3, ..] => compare_group::<V, R, GROUP>(first, &[r0, r1, r2, r3], b, k, hit),
        }
    }
}

/// Compares all rows of `a` with all rows of `b`.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn many_body<V: WordVector, R: LaneRow>(a: &[R], b: &[R], k: u32, hit: &mut PairHit) {
    for (rows, first) in a.chunks(GROUP).zip((0..).step_by(GROUP)) {
        let b = IndexedRows { first: 0, rows: b };
        // SAFETY: the caller guarantees that the CPU has the instructions of V.
        unsafe { rows_body::<V, R>(IndexedRows { first, rows }, b, k, hit) }
    }
}

/// Compares every pair of two different rows of `rows`.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn within_body<V: WordVector, R: LaneRow>(rows: &[R], k: u32, hit: &mut PairHit) {
    for (group, first) in rows.chunks(GROUP).zip((0..).step_by(GROUP)) {
        // The pairs inside a group are reported first, because their j is smaller than that of any row after the group.
        for (j, &y) in (0u32..).zip(group) {
            for (i, &x) in (0..j).zip(group) {
                let distance = x.distance(y);
                if distance <= k {
                    hit(first + i, first + j, distance as u8);
                }
            }
        }
        let after = first as usize + group.len();
        let b = IndexedRows {
            first: after as u32,
            rows: &rows[after..],
        };
        // SAFETY: the caller guarantees that the CPU has the instructions of V.
        unsafe { rows_body::<V, R>(IndexedRows { first, rows: group }, b, k, hit) }
    }
}

dispatch!(one_to_many [R: LaneRow] [R]
    (query: R, rows: &[R], k: u32, out: &mut Vec<RowDistance>) = one_body::<U64s>);
dispatch!(many_to_many [R: LaneRow] [R]
    (a: &[R], b: &[R], k: u32, hit: &mut PairHit) = many_body::<U64s>);
dispatch!(within [R: LaneRow] [R]
    (rows: &[R], k: u32, hit: &mut PairHit) = within_body::<U64s>);

// These methods are neither generic nor inline, so the kernels are compiled once, in this crate, and not again in every
// crate that calls them.
macro_rules! lane_kernels {
    ($($int:ident)*) => {$(
        impl HammingKernels for $int {
            fn one_to_many(self, level: Level, rows: &[Self], k: u32, out: &mut Vec<RowDistance>) {
                one_to_many(level, self, rows, k, out);
            }

            fn many_to_many(level: Level, a: &[Self], b: &[Self], k: u32, hit: &mut PairHit) {
                if !planes::compare(level, Comparison { a, b, pairs: Pairs::All, k }, hit) {
                    many_to_many(level, a, b, k, hit);
                }
            }

            fn within(level: Level, rows: &[Self], k: u32, hit: &mut PairHit) {
                if !planes::compare(level, Comparison { a: rows, b: rows, pairs: Pairs::Later, k }, hit) {
                    within(level, rows, k, hit);
                }
            }
        }
    )*};
}
lane_kernels!(u32 u64 u128);
