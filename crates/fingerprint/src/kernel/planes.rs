//! Hamming distances of two blocks of fingerprints, by planes of bits.
//!
//! The rows of `b` are taken in blocks of as many rows as a vector has bits. A [table](super::plane_table) of a block has vectors
//! with one bit for each row. A row of `a` selects one vector for each column of the fingerprint. Its bit r is 1 if row r
//! differs in the column. The number of columns in which two rows differ is a lower bound of their distance. Adders on
//! vectors count the columns for all rows of a block at a time. This takes five instructions for a column of 256 rows with AVX2. The
//! kernel of [`hamming`](super::hamming) takes about twelve for four distances. Distances are computed only where the bound is within k.
//!
//! The layout is that of bit-parallel scans of columns (Li and Patel 2013, BitWeaving). The adders are those of Harley and Seal (Muła,
//! Kurz and Lemire 2018, Faster population counts using AVX2 instructions).
//!
//! Invariant: the order of hits is that of [`hamming`](super::hamming).

use super::definition::GROUP;
use super::dispatch::dispatch;
use super::lanes::WordVector;
use super::plane_table::{Columns, WORD_ROWS, make_table, select};
use crate::hits::PairHit;
use crate::level::Level;
use crate::width::Width;

/// The smallest number of rows of `a` for which making the tables pays.
const MIN_ROWS_OF_A: usize = 64;
/// The smallest number of rows of `b`: those of a vector of AVX2.
const MIN_ROWS_OF_B: usize = 256;
/// The largest number of rows of the second set that [`hamming_many_to_many`](super::hamming_many_to_many) compares by tables,
/// which is several times as fast as without. The tables of that many rows stay in the second-level cache.
pub const TILE_ROWS: usize = 4096;
/// The number of rows of `a` that are compared with one table after the other.
const CHUNK_ROWS: usize = 64;
/// The number of columns that are counted at a time.
const STEP: usize = 8;
/// The adders count up to 2⁷ − 1: the columns, and the number that is added so that the highest bit shows an excess.
const COUNTER_BITS: usize = 6;

/// The pairs of rows that are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pairs {
    /// All pairs of a row of `a` and a row of `b`.
    All,
    /// The pairs of which the row of `b` has the greater number.
    Later,
}

/// The arguments of a comparison.
#[derive(Clone, Copy)]
pub(super) struct Comparison<'r, R> {
    pub(super) a: &'r [R],
    pub(super) b: &'r [R],
    pub(super) pairs: Pairs,
    /// The radius.
    pub(super) k: u32,
}

/// A fingerprint that may be compared by planes.
pub(super) trait PlaneRow: Width {
    /// Radii, ascending, and the number of columns up to each. Fewer columns are counted sooner but give a lower bound, so more
    /// distances are computed. At 128 bits the numbers are those with the shortest joins of edited revisions in English and
    /// Chinese (bench/record/2026-11-29-bit-planes.md).
    const COLUMNS: &[(u32, usize)] = &[];

    /// Compares with the given number of columns, which is one of [`COLUMNS`](Self::COLUMNS).
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn by_planes<V: WordVector>(_columns: usize, _rows: Comparison<'_, Self>, _hit: &mut PairHit) {}
}

impl PlaneRow for u32 {}

impl PlaneRow for u64 {
    const COLUMNS: &[(u32, usize)] = &[(8, 16), (12, 32), (20, 64)];

    #[inline(always)]
    unsafe fn by_planes<V: WordVector>(columns: usize, rows: Comparison<'_, Self>, hit: &mut PairHit) {
        // SAFETY: the caller guarantees that the CPU has the instructions of V.
        unsafe {
            match columns {
                16 => by_columns::<V, Self, 16>(rows, hit),
                32 => by_columns::<V, Self, 32>(rows, hit),
                _ => by_columns::<V, Self, 64>(rows, hit),
            }
        }
    }
}

impl PlaneRow for u128 {
    const COLUMNS: &[(u32, usize)] = &[(18, 32), (22, 40), (25, 48), (32, 64)];

    #[inline(always)]
    unsafe fn by_planes<V: WordVector>(columns: usize, rows: Comparison<'_, Self>, hit: &mut PairHit) {
        // SAFETY: the caller guarantees that the CPU has the instructions of V.
        unsafe {
            match columns {
                32 => by_columns::<V, Self, 32>(rows, hit),
                40 => by_columns::<V, Self, 40>(rows, hit),
                48 => by_columns::<V, Self, 48>(rows, hit),
                _ => by_columns::<V, Self, 64>(rows, hit),
            }
        }
    }
}

/// Calls `hit(i, j, distance)` for the pairs of a row i of `a` and a row j of `b` within Hamming distance `k`, and returns true. Returns
/// false, and does nothing, where tables do not pay: for few rows, too many rows of `b`, or a wide radius.
pub(super) fn compare<R: PlaneRow>(level: Level, rows: Comparison<'_, R>, hit: &mut PairHit) -> bool {
    let Comparison { a, b, k, .. } = rows;
    let columns = R::COLUMNS.iter().find(|&&(most, _)| k <= most);
    let Some(&(_, columns)) = columns else {
        return false;
    };
    if a.len() < MIN_ROWS_OF_A || !(MIN_ROWS_OF_B..=TILE_ROWS).contains(&b.len()) {
        return false;
    }
    run(level, columns, rows, hit);
    true
}

dispatch!(run [R: PlaneRow] [R] (columns: usize, rows: Comparison<'_, R>, hit: &mut PairHit) = body::<U64s>);

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn body<V: WordVector, R: PlaneRow>(columns: usize, rows: Comparison<'_, R>, hit: &mut PairHit) {
    // SAFETY: the caller guarantees that the CPU has the instructions of V.
    unsafe { R::by_planes::<V>(columns, rows, hit) }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn by_columns<V: WordVector, R: Width, const COLUMNS: usize>(
    Comparison { a, b, pairs, k }: Comparison<'_, R>,
    hit: &mut PairHit,
) {
    let columns = const { &Columns::<COLUMNS>::of_width(R::BITS) };
    let table_len = COLUMNS * columns.patterns * V::LANES;
    let blocks = b.len().div_ceil(WORD_ROWS * V::LANES);
    let mut tables = vec![0; blocks * table_len];
    for (table, rows) in tables
        .chunks_exact_mut(table_len)
        .zip(b.chunks(WORD_ROWS * V::LANES))
    {
        make_table::<V, R, COLUMNS>(columns, rows, table);
    }
    // The adders start at 2⁶ − 1 − k, so that their highest bit is set if and only if a count exceeds k.
    let start = u64::from((1 << COUNTER_BITS) - 1 - k.min((1 << COUNTER_BITS) - 1));
    let mut excess = vec![u64::MAX; CHUNK_ROWS * blocks * V::LANES];
    let mut selected = [[0u16; COLUMNS]; CHUNK_ROWS];
    for (rows, first) in a.chunks(CHUNK_ROWS).zip((0..).step_by(CHUNK_ROWS)) {
        for (selected, &row) in selected.iter_mut().zip(rows) {
            select::<V, R, COLUMNS>(columns, row, selected);
        }
        for (block, table) in tables.chunks_exact(table_len).enumerate() {
            for (i, selected) in selected.iter().take(rows.len()).enumerate() {
                let to = &mut excess[(i * blocks + block) * V::LANES..][..V::LANES];
                // SAFETY: the caller guarantees that the CPU has the instructions of V. `select` wrote positions of complete vectors
                // of a table. `to` has LANES words.
                unsafe {
                    exceeding::<V, COLUMNS>(table, selected, start).store(to.as_mut_ptr());
                }
            }
        }
        // The last group may be incomplete. No row of `b` is near the rows that it lacks.
        excess[rows.len() * blocks * V::LANES..].fill(u64::MAX);
        let chunk = Chunk {
            first,
            rows,
            excess: &excess,
            words: blocks * V::LANES,
        };
        chunk.emit(b, pairs, k, hit);
    }
}

/// Adds three bits of equal weight: returns the sum bit and the carry.
#[inline(always)]
fn add<V: WordVector>(x: V, y: V, z: V) -> (V, V) {
    let differing = x.xor(y);
    // The two terms of the carry are never both 1.
    (differing.xor(z), x.and(y).xor(differing.and(z)))
}

/// Returns the rows of a block for which `start` and the number of differing columns are together at least 2⁶, a bit for each.
///
/// # Safety
/// The CPU has the instructions of `V`, and each position in `selected` is at least LANES words before the end of `table`.
#[inline(always)]
unsafe fn exceeding<V: WordVector, const COLUMNS: usize>(
    table: &[u64],
    selected: &[u16; COLUMNS],
    start: u64,
) -> V {
    // SAFETY: the caller guarantees that the CPU has the instructions of V and that complete vectors are readable at the selected
    // positions.
    unsafe {
        let mut ones = V::splat((start & 1).wrapping_neg());
        let mut twos = V::splat((start >> 1 & 1).wrapping_neg());
        let mut fours = V::splat((start >> 2 & 1).wrapping_neg());
        let mut eights = V::splat((start >> 3 & 1).wrapping_neg());
        let mut sixteens = V::splat((start >> 4 & 1).wrapping_neg());
        let mut thirty_twos = V::splat((start >> 5 & 1).wrapping_neg());
        let mut excess = V::splat(0);
        for step in selected.as_chunks::<STEP>().0 {
            let mut x = [V::splat(0); STEP];
            for (x, &at) in x.iter_mut().zip(step) {
                *x = V::load(table.as_ptr().add(usize::from(at)));
            }
            let [a, b, c, d, e, f, g, h] = x;
            let (sum, two_1) = add(ones, a, b);
            let (sum, two_2) = add(sum, c, d);
            let (twos_sum, four_1) = add(twos, two_1, two_2);
            let (sum, two_3) = add(sum, e, f);
            let (sum, two_4) = add(sum, g, h);
            ones = sum;
            let (twos_sum, four_2) = add(twos_sum, two_3, two_4);
            twos = twos_sum;
            let (fours_sum, eight) = add(fours, four_1, four_2);
            fours = fours_sum;
            let (eights_sum, sixteen) = (eights.xor(eight), eights.and(eight));
            eights = eights_sum;
            let (sixteens_sum, thirty_two) = (sixteens.xor(sixteen), sixteens.and(sixteen));
            sixteens = sixteens_sum;
            // The sum stays below 2⁷, so the last bit is carried into once at most.
            excess = excess.xor(thirty_twos.and(thirty_two));
            thirty_twos = thirty_twos.xor(thirty_two);
        }
        excess
    }
}

/// Some rows of `a`, with the rows of `b` that are too far from them.
struct Chunk<'c, R> {
    /// The number of the first row.
    first: u32,
    rows: &'c [R],
    /// For each row, a bit for each row of `b`: 1 if the distance exceeds the radius.
    excess: &'c [u64],
    /// The number of words of `excess` for each row.
    words: usize,
}

impl<R: Width> Chunk<'_, R> {
    /// Passes on the pairs within the radius, in the order of hits.
    #[inline(always)]
    fn emit(&self, b: &[R], pairs: Pairs, k: u32, hit: &mut PairHit) {
        let groups = self.rows.chunks(GROUP).zip((self.first..).step_by(GROUP));
        for ((group, first), excess) in groups.zip(self.excess.chunks_exact(GROUP * self.words)) {
            let mut of_rows = excess.chunks_exact(self.words);
            let mut next = || of_rows.next().unwrap_or_default();
            let (x, y, z, w) = (next(), next(), next(), next());
            let of_words = x.iter().zip(y).zip(z).zip(w);
            for ((rows, j), (((x, y), z), w)) in
                b.chunks(WORD_ROWS).zip((0u32..).step_by(WORD_ROWS)).zip(of_words)
            {
                let mut any = !(x & y & z & w) & u64::MAX >> (WORD_ROWS - rows.len());
                while any != 0 {
                    let at = any.trailing_zeros();
                    any &= any - 1;
                    for ((&row, i), excess) in group.iter().zip(first..).zip([x, y, z, w]) {
                        if excess >> at & 1 == 1 || pairs == Pairs::Later && j + at <= i {
                            continue;
                        }
                        let distance = row.distance(rows[at as usize]);
                        if distance <= k {
                            hit(i, j + at, distance as u8);
                        }
                    }
                }
            }
        }
    }
}
