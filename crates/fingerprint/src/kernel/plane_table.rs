//! Tables of bit planes of a block of rows, for [`planes`](super::planes).
//!
//! A *plane* is a vector with the same bit of all rows of a block. The bits of a fingerprint are cut into digits of one to four bits.
//! For every digit and every pattern of its bits, the table has a vector whose bit r is 1 if row r differs from the pattern.

use super::lanes::WordVector;
use crate::width::Width;

/// The number of rows that one word of a plane stands for.
pub(super) const WORD_ROWS: usize = u64::BITS as usize;
/// The largest number of lanes of a vector.
const MAX_LANES: usize = 8;

/// A cut of a fingerprint into digits: the bits of each of its words are divided evenly.
pub(super) struct Digits<const DIGITS: usize> {
    /// The number of digits of a word.
    per_word: usize,
    /// The number of vectors of each digit: as many as the widest digit has patterns.
    pub(super) patterns: usize,
    /// For each digit, its first bit in its word.
    first_bits: [u32; DIGITS],
    /// For each digit, a one for each of its bits, the lowest bits of the number.
    masks: [u64; DIGITS],
}

impl<const DIGITS: usize> Digits<DIGITS> {
    /// The cut of fingerprints of `bits` bits. The kernel evaluates it when it is compiled.
    ///
    /// # Panics
    /// If the digits cannot be counted in steps of 8 up to 64, or if a position in a table exceeds 16 bits.
    pub(super) const fn of_width(bits: u32) -> Self {
        assert!(
            DIGITS.is_multiple_of(8) && DIGITS <= 64,
            "digits are counted in steps of 8"
        );
        let per_word = DIGITS * WORD_ROWS / bits as usize;
        let mut digits = Self {
            per_word,
            patterns: 1 << WORD_ROWS.div_ceil(per_word),
            first_bits: [0; DIGITS],
            masks: [0; DIGITS],
        };
        assert!(
            DIGITS * digits.patterns * MAX_LANES <= 1 << 16,
            "positions in a table have 16 bits"
        );
        let mut digit = 0;
        while digit < DIGITS {
            let i = digit % per_word;
            let (from, to) = (i * WORD_ROWS / per_word, (i + 1) * WORD_ROWS / per_word);
            digits.first_bits[digit] = from as u32;
            digits.masks[digit] = (1 << (to - from)) - 1;
            digit += 1;
        }
        digits
    }
}

/// The words of a fingerprint, the lowest first. Only those of its width are used.
#[inline(always)]
fn words<R: Width>(row: R) -> [u64; 2] {
    let full = row.widen();
    [full as u64, (full >> 64) as u64]
}

/// Writes the table of a block of rows.
#[inline(always)]
pub(super) fn make_table<V: WordVector, R: Width, const DIGITS: usize>(
    digits: &Digits<DIGITS>,
    rows: &[R],
    table: &mut [u64],
) {
    let lanes = V::LANES;
    let mut planes = [0; WORD_ROWS * MAX_LANES];
    let planes = &mut planes[..WORD_ROWS * lanes];
    let word_tables = table.chunks_exact_mut(digits.per_word * digits.patterns * lanes);
    for (word, table) in word_tables.enumerate() {
        planes.fill(0);
        // Row r of a lane is word r of the lane, until the matrix is transposed.
        for (lane, rows) in rows.chunks(WORD_ROWS).enumerate() {
            for (place, &row) in planes[lane..].iter_mut().step_by(lanes).zip(rows) {
                *place = words(row)[word];
            }
        }
        transpose(planes, lanes);
        let mut planes = planes.chunks_exact(lanes);
        for (table, mask) in table.chunks_exact_mut(digits.patterns * lanes).zip(digits.masks) {
            table[..lanes].fill(0);
            let mut filled = lanes;
            for plane in planes.by_ref().take(mask.count_ones() as usize) {
                // The patterns so far have a 0 at this bit. Their copies have a 1.
                let (zeros, ones) = table[..2 * filled].split_at_mut(filled);
                for (zeros, ones) in zeros.chunks_exact_mut(lanes).zip(ones.chunks_exact_mut(lanes)) {
                    for ((zero, one), &bits) in zeros.iter_mut().zip(ones).zip(plane) {
                        *one = *zero | !bits;
                        *zero |= bits;
                    }
                }
                filled *= 2;
            }
        }
    }
}

/// Transposes a matrix of 64 × 64 bits in each lane: bit r of word i becomes bit i of word r. Word i of lane l is at
/// `i · lanes + l` (Warren 2012, Hacker's Delight, 7-3).
#[inline(always)]
fn transpose(matrices: &mut [u64], lanes: usize) {
    let mut half = WORD_ROWS / 2;
    let mut low_bits = u64::MAX >> half;
    while half > 0 {
        for rows in matrices.chunks_exact_mut(2 * half * lanes) {
            let (upper, lower) = rows.split_at_mut(half * lanes);
            for (x, y) in upper.iter_mut().zip(lower) {
                let swapped = (*x >> half ^ *y) & low_bits;
                *x ^= swapped << half;
                *y ^= swapped;
            }
        }
        half /= 2;
        low_bits ^= low_bits << half;
    }
}

/// Writes the positions in a table of the vectors that a row selects, one for each digit.
#[inline(always)]
pub(super) fn select<V: WordVector, R: Width, const DIGITS: usize>(
    digits: &Digits<DIGITS>,
    row: R,
    selected: &mut [u16; DIGITS],
) {
    let words = words(row);
    let patterns = digits.first_bits.iter().zip(&digits.masks).enumerate();
    for (place, (digit, (&first, &mask))) in selected.iter_mut().zip(patterns) {
        let pattern = words[digit / digits.per_word] >> first & mask;
        // A position fits 16 bits: see `of_width`.
        *place = ((digit * digits.patterns + pattern as usize) * V::LANES) as u16;
    }
}
