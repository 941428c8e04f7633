//! Tables of bit planes of a block of rows, for [`planes`](super::planes).
//!
//! A *plane* is a vector with the same bit of all rows of a block. The bits of a fingerprint are cut into columns of one to four bits.
//! For every column and every pattern of its bits, the table has a vector whose bit r is 1 if row r differs from the pattern.

use super::lanes::WordVector;
use crate::width::Width;

/// The number of rows that one word of a plane stands for.
pub(super) const WORD_ROWS: usize = u64::BITS as usize;
/// The largest number of lanes of a vector.
const MAX_LANES: usize = 8;

/// A cut of a fingerprint into columns: the bits of each of its words are divided evenly.
pub(super) struct Columns<const COLUMNS: usize> {
    /// The number of columns of a word.
    per_word: usize,
    /// The number of vectors of a column: one for each pattern of its bits, rounded up to that of the widest column.
    pub(super) patterns: usize,
    /// For each column, its first bit in its word.
    first_bits: [u32; COLUMNS],
    /// For each column, a one for each of its bits, the lowest bits of the number.
    masks: [u64; COLUMNS],
}

impl<const COLUMNS: usize> Columns<COLUMNS> {
    pub(super) const fn of_width(bits: u32) -> Self {
        let per_word = COLUMNS * WORD_ROWS / bits as usize;
        let mut columns = Self {
            per_word,
            patterns: 1 << WORD_ROWS.div_ceil(per_word),
            first_bits: [0; COLUMNS],
            masks: [0; COLUMNS],
        };
        let mut column = 0;
        while column < COLUMNS {
            let i = column % per_word;
            let (from, to) = (i * WORD_ROWS / per_word, (i + 1) * WORD_ROWS / per_word);
            columns.first_bits[column] = from as u32;
            columns.masks[column] = (1 << (to - from)) - 1;
            column += 1;
        }
        columns
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
pub(super) fn make_table<V: WordVector, R: Width, const COLUMNS: usize>(
    columns: &Columns<COLUMNS>,
    rows: &[R],
    table: &mut [u64],
) {
    let lanes = V::LANES;
    let mut planes = [0; WORD_ROWS * MAX_LANES];
    let planes = &mut planes[..WORD_ROWS * lanes];
    let of_words = table.chunks_exact_mut(columns.per_word * columns.patterns * lanes);
    for (word, table) in of_words.enumerate() {
        planes.fill(0);
        // Row r of a lane is word r of the lane, until the matrix is transposed.
        for (lane, rows) in rows.chunks(WORD_ROWS).enumerate() {
            for (place, &row) in planes[lane..].iter_mut().step_by(lanes).zip(rows) {
                *place = words(row)[word];
            }
        }
        transpose(planes, lanes);
        let mut planes = planes.chunks_exact(lanes);
        for (table, mask) in table
            .chunks_exact_mut(columns.patterns * lanes)
            .zip(columns.masks)
        {
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

/// Writes the positions in a table of the vectors that a row selects, one for each column.
#[inline(always)]
pub(super) fn select<V: WordVector, R: Width, const COLUMNS: usize>(
    columns: &Columns<COLUMNS>,
    row: R,
    selected: &mut [u16; COLUMNS],
) {
    let words = words(row);
    let patterns = columns.first_bits.iter().zip(&columns.masks).enumerate();
    for (place, (column, (&first, &mask))) in selected.iter_mut().zip(patterns) {
        let pattern = words[column / columns.per_word] >> first & mask;
        // At most 64 columns of 4 patterns, 48 of 8 or 40 of 16, of 8 lanes each.
        *place = ((column * columns.patterns + pattern as usize) * V::LANES) as u16;
    }
}
