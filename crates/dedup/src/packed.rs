//! Tables of numbers that take few bits each.
//!
//! The rows of a table are numbered by ids, and are packed in blocks of 128. Within a block, the numbers of a column
//! are a straight line plus a remainder each, and only the remainders are stored, all with as many bits as the
//! largest one. So lines that follow one another, or the ends of ids of one length, take no bits, and small numbers
//! take few. Any numbers are stored exactly. A row that was added does not change.

use std::marker::PhantomData;

use crate::ids::Id;

/// The number of rows of a block.
const BLOCK_ROWS: usize = 128;
const WORD_BITS: u32 = u64::BITS;

/// A table of numbers in `K` columns.
#[derive(Debug)]
pub(crate) struct PackedRows<I, const K: usize> {
    blocks: Vec<Block<K>>,
    words: Vec<u64>,
    /// The rows after the last whole block.
    open: Vec<[u64; K]>,
    id: PhantomData<I>,
}

/// A table of numbers in one column.
pub(crate) type PackedNumbers<I> = PackedRows<I, 1>;

/// The place of the rows of a block, one after another.
#[derive(Debug)]
struct Block<const K: usize> {
    /// The first word of the block.
    start: u64,
    row_bits: u32,
    columns: [Column; K],
}

/// The coding of a column in a block.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    /// The value of the line at the first row.
    base: u64,
    /// The difference of the line between two rows.
    slope: i32,
    /// The first bit of the remainder in a row.
    offset: u16,
    /// The number of bits of a remainder.
    width: u8,
}

impl<I, const K: usize> Default for PackedRows<I, K> {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            words: Vec::new(),
            open: Vec::new(),
            id: PhantomData,
        }
    }
}

impl<I: Id, const K: usize> PackedRows<I, K> {
    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.blocks.len() * BLOCK_ROWS + self.open.len()
    }

    /// Adds a row and returns its id.
    pub(crate) fn push(&mut self, row: [u64; K]) -> I {
        let id = I::from_index(self.len());
        self.open.push(row);
        if self.open.len() == BLOCK_ROWS {
            self.close_block();
        }
        id
    }

    /// The number in a column of a row.
    #[inline]
    pub(crate) fn get(&self, id: I, column: usize) -> u64 {
        let (block, row) = (id.index() / BLOCK_ROWS, id.index() % BLOCK_ROWS);
        match self.blocks.get(block) {
            Some(block) => block.get(&self.words, row, column),
            None => self.open[row][column],
        }
    }

    /// The numbers in some columns of a row.
    #[inline]
    pub(crate) fn columns<const N: usize>(&self, id: I, columns: [usize; N]) -> [u64; N] {
        let (block, row) = (id.index() / BLOCK_ROWS, id.index() % BLOCK_ROWS);
        match self.blocks.get(block) {
            Some(block) => columns.map(|column| block.get(&self.words, row, column)),
            None => columns.map(|column| self.open[row][column]),
        }
    }

    fn close_block(&mut self) {
        let mut columns: [Column; K] =
            std::array::from_fn(|column| Column::of(&std::array::from_fn(|row| self.open[row][column])));
        let mut row_bits = 0;
        for column in &mut columns {
            column.offset = row_bits;
            row_bits += u16::from(column.width);
        }
        let row_bits = u32::from(row_bits);
        let start = self.words.len();
        // The block has a whole number of words, because 128 rows of one bit have two.
        let words = BLOCK_ROWS / WORD_BITS as usize * row_bits as usize;
        self.words.resize(start + words, 0);
        let words = &mut self.words[start..];
        for (at, row) in self.open.iter().enumerate() {
            for (column, &value) in columns.iter().zip(row) {
                let first_bit = at * row_bits as usize + column.offset as usize;
                write_bits(words, first_bit, value.wrapping_sub(column.line(at)));
            }
        }
        self.open.clear();
        self.blocks.push(Block {
            start: start as u64,
            row_bits,
            columns,
        });
    }
}

impl<const K: usize> Block<K> {
    fn get(&self, words: &[u64], row: usize, column: usize) -> u64 {
        let column = &self.columns[column];
        let first_bit = row * self.row_bits as usize + column.offset as usize;
        let words = &words[self.start as usize..];
        column
            .line(row)
            .wrapping_add(read_bits(words, first_bit, column.width.into()))
    }
}

impl Column {
    /// Chooses the coding of the numbers of a block.
    fn of(values: &[u64; BLOCK_ROWS]) -> Self {
        let rise = values[BLOCK_ROWS - 1].wrapping_sub(values[0]).cast_signed();
        let slope = i32::try_from(rise / (BLOCK_ROWS as i64 - 1)).unwrap_or(0);
        let [level, sloping] = [0, slope].map(|slope| Self::along(slope, values));
        if sloping.width < level.width {
            sloping
        } else {
            level
        }
    }

    /// The coding of numbers along a line of this slope. Numbers wrap around, so every slope and base can code them;
    /// the least remainder of all is 0.
    fn along(slope: i32, values: &[u64; BLOCK_ROWS]) -> Self {
        let level = Self {
            slope,
            ..Self::default()
        };
        let remainders = (0..)
            .zip(values)
            .map(|(row, value)| value.wrapping_sub(level.line(row)));
        let base = remainders
            .clone()
            .min_by_key(|rest| rest.cast_signed())
            .unwrap_or(0);
        let largest = remainders.map(|rest| rest.wrapping_sub(base)).max();
        Self {
            base,
            width: (WORD_BITS - largest.unwrap_or(0).leading_zeros()) as u8,
            ..level
        }
    }

    /// The value of the line at a row.
    #[inline]
    fn line(&self, row: usize) -> u64 {
        let rise = i64::from(self.slope) * row as i64;
        self.base.wrapping_add(rise.cast_unsigned())
    }
}

/// Writes a number whose bits are 0 in `words` so far.
fn write_bits(words: &mut [u64], first_bit: usize, number: u64) {
    let (word, shift) = (first_bit / WORD_BITS as usize, first_bit as u32 % WORD_BITS);
    let double = u128::from(number) << shift;
    for (word, half) in words
        .iter_mut()
        .skip(word)
        .zip([double as u64, (double >> WORD_BITS) as u64])
    {
        *word |= half;
    }
}

/// Reads a number of `width` bits.
#[inline]
fn read_bits(words: &[u64], first_bit: usize, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let (word, shift) = (first_bit / WORD_BITS as usize, first_bit as u32 % WORD_BITS);
    let low = words[word] >> shift;
    let number = if shift + width > WORD_BITS {
        low | words[word + 1] << (WORD_BITS - shift)
    } else {
        low
    };
    number & (u64::MAX >> (WORD_BITS - width))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::{DocumentId, ids};

    fn check<const K: usize>(rows: &[[u64; K]]) -> PackedRows<DocumentId, K> {
        let mut table = PackedRows::default();
        for (i, &row) in rows.iter().enumerate() {
            assert_eq!(table.push(row), DocumentId::from_index(i));
        }
        assert_eq!(table.len(), rows.len());
        for (id, row) in ids::<DocumentId>(rows.len()).zip(rows) {
            assert_eq!(table.columns(id, std::array::from_fn(|column| column)), *row);
            for (column, &value) in row.iter().enumerate() {
                assert_eq!(table.get(id, column), value);
            }
        }
        table
    }

    proptest! {
        #[test]
        fn numbers_are_read_back(
            rows in prop::collection::vec((any::<u64>(), 0u32..64, 0u64..9), 0..400),
            slope in any::<i64>(),
        ) {
            let rows = rows.iter().enumerate().map(|(i, &(number, shift, small))| {
                let line = slope.wrapping_mul(i as i64).cast_unsigned();
                [number >> shift, line.wrapping_add(small), small]
            });
            check(&rows.collect::<Vec<_>>());
        }
    }

    #[test]
    fn numbers_on_a_line_take_no_bits() {
        let rows: Vec<[u64; 2]> = (0..1000).map(|i| [7 + i, 90_000 - 12 * i]).collect();
        assert!(check(&rows).words.is_empty());
        // A step in one block takes bits in that block only.
        let rows: Vec<[u64; 1]> = (0..1280).map(|i| [i + 40 * u64::from(i >= 500)]).collect();
        assert!(check(&rows).words.len() <= 16);
        check(&[[u64::MAX], [0], [u64::MAX]].repeat(100));
    }
}
