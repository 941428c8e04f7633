//! Hamming distances of two blocks of fingerprints, by planes of bits.
//!
//! The rows of `b` are taken in blocks of as many rows as a vector has bits. A [table](super::plane_table) of a block has vectors
//! with one bit for each row. A row of `a` selects one vector for each digit of the fingerprint. Its bit r is 1 if row r
//! differs in the digit. The number of digits in which two rows differ is a lower bound of their distance. Adders on
//! vectors count the digits for all rows of a block at a time. With AVX2 this takes about eight instructions for a digit of 256 rows. The
//! kernel of [`hamming`](super::hamming) takes about twelve for four distances. Distances are computed only where the bound is within k.
//!
//! The layout is that of bit-parallel scans (Li and Patel 2013, BitWeaving). The adders are those of Harley and Seal (Muła,
//! Kurz and Lemire 2018, Faster population counts using AVX2 instructions).
//!
//! Invariant: the order of hits is that of [`hamming`](super::hamming).

use super::definition::GROUP;
use super::dispatch::dispatch;
use super::lanes::WordVector;
use super::plane_table::{Digits, WORD_ROWS, make_table, select};
use crate::hits::PairHit;
use crate::level::Level;
use crate::width::Width;

/// The smallest number of rows of `a` for which making the tables pays.
const MIN_ROWS_OF_A: usize = 64;
/// The smallest number of rows of `b`: those of a vector of AVX2.
const MIN_ROWS_OF_B: usize = 256;
/// The largest number of rows of `b` in [`hamming_many_to_many`](super::hamming_many_to_many), and of all rows in
/// [`hamming_within`](super::hamming_within), that are compared by tables of bit planes. Tables are faster than comparing row by row. They take at most
/// 320 KiB for that many rows, which fits the second-level cache of most CPUs. They also need at least 64 rows of `a` and 256
/// of `b`, fingerprints of 64 or 128 bits, and a radius of at most 20 or 32.
pub const MAX_PLANE_ROWS: usize = 4096;
/// The number of rows of `a` that are compared with one table after the other.
const CHUNK_ROWS: usize = 64;
/// The number of digits that are counted at a time.
const STEP: usize = 8;
/// The number of bits of a counter, without the bit that shows an excess.
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
    /// Compares with a number of digits that depends on the radius, and returns true. Returns false, and does nothing, if the radius is
    /// too wide.
    ///
    /// Fewer digits take less time, but their bound is lower, so more distances are computed. At 128 bits the numbers are those
    /// with the shortest joins of edited revisions in English and Chinese (bench/record/2026-11-29-bit-planes.md). At 64 bits they
    /// are in about the same proportion to the radius.
    fn by_planes(level: Level, rows: Comparison<'_, Self>, hit: &mut PairHit) -> bool;
}

/// Implements [`PlaneRow`] by pairs of the widest radius and the number of digits up to it.
macro_rules! plane_rows {
    ($($int:ident: [$($widest:literal => $digits:literal),*];)*) => {$(
        impl PlaneRow for $int {
            fn by_planes(level: Level, rows: Comparison<'_, Self>, hit: &mut PairHit) -> bool {
                match rows.k {
                    $(..=$widest => run::<Self, $digits>(level, rows, hit),)*
                    _ => return false,
                }
                true
            }
        }
    )*};
}
plane_rows! {
    u64: [8 => 16, 12 => 32, 20 => 64];
    u128: [18 => 32, 22 => 40, 25 => 48, 32 => 64];
}

/// Fingerprints of 32 bits are compared row by row: eight of them fill a vector of AVX2.
impl PlaneRow for u32 {
    fn by_planes(_: Level, _: Comparison<'_, Self>, _: &mut PairHit) -> bool {
        false
    }
}

/// Calls `hit(i, j, distance)` for the pairs of a row i of `a` and a row j of `b` within Hamming distance `k`, and returns true. Returns
/// false, and does nothing, where tables do not pay: for fingerprints of 32 bits, few rows, too many rows of `b`, or a wide radius.
pub(super) fn compare<R: PlaneRow>(level: Level, rows: Comparison<'_, R>, hit: &mut PairHit) -> bool {
    rows.a.len() >= MIN_ROWS_OF_A
        && (MIN_ROWS_OF_B..=MAX_PLANE_ROWS).contains(&rows.b.len())
        && R::by_planes(level, rows, hit)
}

dispatch!(run [R: Width, const DIGITS: usize] [R, DIGITS]
    (rows: Comparison<'_, R>, hit: &mut PairHit) = by_digits::<U64s>);

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn by_digits<V: WordVector, R: Width, const DIGITS: usize>(
    Comparison { a, b, pairs, k }: Comparison<'_, R>,
    hit: &mut PairHit,
) {
    let digits = const { &Digits::<DIGITS>::of_width(R::BITS) };
    let table_len = DIGITS * digits.patterns * V::LANES;
    let blocks = b.len().div_ceil(WORD_ROWS * V::LANES);
    let mut tables = vec![0; blocks * table_len];
    for (table, rows) in tables
        .chunks_exact_mut(table_len)
        .zip(b.chunks(WORD_ROWS * V::LANES))
    {
        make_table::<V, R, DIGITS>(digits, rows, table);
    }
    // The adders start at 2⁶ − 1 − k, so that their highest bit is set if and only if a count exceeds k.
    let start = u64::from((1 << COUNTER_BITS) - 1 - k.min((1 << COUNTER_BITS) - 1));
    let mut excess = vec![u64::MAX; CHUNK_ROWS * blocks * V::LANES];
    let mut selected = [[0u16; DIGITS]; CHUNK_ROWS];
    for (rows, first) in a.chunks(CHUNK_ROWS).zip((0..).step_by(CHUNK_ROWS)) {
        for (selected, &row) in selected.iter_mut().zip(rows) {
            select::<V, R, DIGITS>(digits, row, selected);
        }
        // With `Later`, no row of the blocks before that of the first row is wanted.
        let from = match pairs {
            Pairs::All => 0,
            Pairs::Later => first as usize / (WORD_ROWS * V::LANES),
        };
        for (block, table) in tables.chunks_exact(table_len).enumerate().skip(from) {
            for (i, selected) in selected.iter().take(rows.len()).enumerate() {
                let to = &mut excess[(i * blocks + block) * V::LANES..][..V::LANES];
                // SAFETY: the caller guarantees that the CPU has the instructions of V. `select` wrote positions of complete vectors
                // of a table. `to` has LANES words.
                unsafe {
                    exceeding::<V, DIGITS>(table, selected, start).store(to.as_mut_ptr());
                }
            }
        }
        // The last chunk may have fewer rows. Ones in their place keep `emit` from stopping at old values.
        excess[rows.len() * blocks * V::LANES..].fill(u64::MAX);
        let chunk = Chunk {
            first,
            rows,
            excess: &excess,
            words: blocks * V::LANES,
            from: from * V::LANES,
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

/// Returns a bit for each row of a block: 1 if `start` plus the number of differing digits is at least 2⁶.
///
/// # Safety
/// The CPU has the instructions of `V`, and each position in `selected` is at least LANES words before the end of `table`.
#[inline(always)]
unsafe fn exceeding<V: WordVector, const DIGITS: usize>(
    table: &[u64],
    selected: &[u16; DIGITS],
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
            // The sum is below 2⁷, so bit 6 is set at most once.
            excess = excess.xor(thirty_twos.and(thirty_two));
            thirty_twos = thirty_twos.xor(thirty_two);
        }
        excess
    }
}

/// Some rows of `a`, with the rows of `b` that are certainly too far from them.
struct Chunk<'c, R> {
    /// The number of the first row.
    first: u32,
    rows: &'c [R],
    /// For each row, a bit for each row of `b`: 1 if the lower bound of the distance exceeds the radius.
    excess: &'c [u64],
    /// The number of words of `excess` for each row.
    words: usize,
    /// The first of these words that counts.
    from: usize,
}

impl<R: Width> Chunk<'_, R> {
    /// Passes on the pairs within the radius, in the order of hits.
    #[inline(always)]
    fn emit(&self, b: &[R], pairs: Pairs, k: u32, hit: &mut PairHit) {
        let groups = self.rows.chunks(GROUP).zip((self.first..).step_by(GROUP));
        for ((group, first), excess) in groups.zip(self.excess.chunks_exact(GROUP * self.words)) {
            let mut of_rows = excess.chunks_exact(self.words);
            let of_rows = [(); GROUP].map(|()| of_rows.next().unwrap_or_default());
            let rows = b.chunks(WORD_ROWS).zip((0u32..).step_by(WORD_ROWS));
            for (word, (rows, j)) in rows.enumerate().skip(self.from) {
                let excess = of_rows.map(|words| words.get(word).copied().unwrap_or(u64::MAX));
                let far = excess.iter().fold(u64::MAX, |far, excess| far & excess);
                let mut near = !far & u64::MAX >> (WORD_ROWS - rows.len());
                while near != 0 {
                    let at = near.trailing_zeros();
                    near &= near - 1;
                    for ((&row, i), excess) in group.iter().zip(first..).zip(excess) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::level;

    fn is_compared<R: PlaneRow>(of_a: usize, of_b: usize, k: u32) -> bool {
        let [a, b] = [of_a, of_b].map(|rows| vec![R::default(); rows]);
        let mut hits = 0;
        let rows = Comparison {
            a: &a,
            b: &b,
            pairs: Pairs::All,
            k,
        };
        let done = compare(level(), rows, &mut |_, _, _| hits += 1);
        assert_eq!(hits, if done { of_a * of_b } else { 0 });
        done
    }

    #[test]
    fn many_rows_within_a_small_radius_are_compared_by_tables() {
        assert!(is_compared::<u128>(64, 256, 0) && !is_compared::<u128>(63, 256, 0));
        assert!(!is_compared::<u128>(64, 255, 0));
        assert!(is_compared::<u128>(64, 4096, 32) && !is_compared::<u128>(64, 4097, 32));
        assert!(!is_compared::<u128>(64, 256, 33));
        assert!(is_compared::<u64>(64, 256, 20) && !is_compared::<u64>(64, 256, 21));
        assert!(!is_compared::<u32>(64, 256, 0));
        for k in 0..=20 {
            assert!(is_compared::<u64>(64, 256, k) && is_compared::<u128>(64, 256, k + 12));
        }
    }
}
