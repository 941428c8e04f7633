//! One page: the first row uncompressed, every other row as the Huffman code of h and the h bits to the right of bit h.
//!
//! A byte is filled from its lowest bit on. Numbers are stored with their lowest bit first, codes with their first bit
//! first. A page ends with zeros up to a full byte.

use std::ops::Range;

use twinprint_fingerprint::Width;

use super::huffman::{self, Decoder};
use crate::segment::bits::{Packer, number_at, row_at, word_at};

/// The number of bits that a 64-bit word contains for certain from the wanted bit on, which may be any bit of its first
/// byte.
const MAX_READ_BITS: u32 = 57;

/// Returns the position of the most significant bit in which two different rows differ. The greater row has a one
/// there.
#[inline]
pub(in crate::segment) fn differing<W: Width>(a: W, b: W) -> u32 {
    127 - (a ^ b).widen().leading_zeros().min(127)
}

/// Encodes the rows of pages.
pub(in crate::segment) struct Encoder {
    lengths: Vec<u8>,
    codes: Vec<u16>,
}

impl Encoder {
    /// Creates an encoder. `counts[h]` is the number of rows whose most significant difference from the row before is
    /// bit h.
    pub(in crate::segment) fn new(counts: &[u64]) -> Self {
        let lengths = huffman::lengths(counts);
        Self {
            codes: huffman::codes(&lengths).expect("package-merge fills all bit strings of the bound"),
            lengths,
        }
    }

    /// The lengths of the codes, one for each bit of a fingerprint.
    pub(in crate::segment) fn lengths(&self) -> &[u8] {
        &self.lengths
    }

    /// Appends the first row of a page.
    pub(in crate::segment) fn first<W: Width>(row: W, out: &mut Packer) {
        out.push(row.widen(), W::BITS);
    }

    /// Appends a row that follows `before` in its page. The most significant bit in which the two differ must have been
    /// counted.
    #[inline]
    pub(in crate::segment) fn next<W: Width>(&self, before: W, row: W, out: &mut Packer) {
        let h = differing(before, row);
        let i = h as usize;
        out.push(self.codes[i].into(), self.lengths[i].into());
        out.push(row.widen() & !(u128::MAX << h), h);
    }
}

/// An iterator over the rows of a page, which ends early if the bytes are not a valid page.
pub(super) struct Page<'s, W> {
    bytes: &'s [u8],
    bit: u64,
    end: u64,
    decoder: &'s Decoder,
    /// The row before the next one, if there is one in this page.
    before: Option<W>,
    left: u32,
    broken: bool,
}

impl<'s, W: Width> Page<'s, W> {
    /// Opens a page of `rows` rows, which is in the range `page` of `bytes`. A few bytes after the range may be read.
    #[inline]
    pub(super) fn new(bytes: &'s [u8], page: Range<u64>, decoder: &'s Decoder, rows: u32) -> Self {
        Self {
            bytes,
            bit: page.start.saturating_mul(8),
            end: page.end.saturating_mul(8),
            decoder,
            before: None,
            left: rows,
            broken: false,
        }
    }

    /// Returns `true` if decoding ended early because the bytes are not a valid page.
    #[inline]
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Returns `true` if all rows have been decoded and only zero bits are left in the page.
    pub(super) fn is_whole(&self) -> bool {
        let left = self.end.saturating_sub(self.bit);
        let rest = || word_at(self.bytes, (self.bit / 8) as usize) >> (self.bit % 8);
        !self.broken && self.left == 0 && left < 8 && rest() & ((1 << left) - 1) == 0
    }

    #[inline]
    fn read(&mut self) -> Option<W> {
        let Some(before) = self.before else {
            let row = row_at(self.bytes, (self.bit / 8) as usize);
            self.bit += u64::from(W::BITS);
            return Some(row);
        };
        let word = word_at(self.bytes, (self.bit / 8) as usize) >> (self.bit % 8);
        let (h, length) = self.decoder.read(word);
        let below = if length + h <= MAX_READ_BITS {
            W::truncate((word >> length & ((1 << h) - 1)).into())
        } else {
            number_at(self.bytes, self.bit + u64::from(length), h)
        };
        self.bit += u64::from(length + h);
        // `h` is less than the number of bits of a row, because the code has one symbol for each bit. The row has the
        // bits of `before` above bit h, a one as bit h, and `below` under it.
        let row = (before >> h | W::truncate(1)) << h | below;
        (length > 0 && row > before).then_some(row)
    }
}

impl<W: Width> Iterator for Page<'_, W> {
    type Item = W;

    #[inline]
    fn next(&mut self) -> Option<W> {
        if self.left == 0 {
            return None;
        }
        let row = self.read().filter(|_| self.bit <= self.end);
        if row.is_none() {
            (self.left, self.broken) = (0, true);
            return None;
        }
        self.left -= 1;
        self.before = row;
        row
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::{rows, shape};

    /// A naive encoder: a string of ones and zeros, as the format specifies it.
    fn naive<W: Width>(rows: &[W], lengths: &[u8]) -> String {
        let number = |n: u128, bits: u32| -> String { (0..bits).map(|i| bit(n >> i & 1 == 1)).collect() };
        let mut out = String::new();
        for (i, row) in rows.iter().enumerate() {
            if i == 0 {
                out += &number(row.widen(), W::BITS);
                continue;
            }
            let h = (0..W::BITS)
                .rev()
                .find(|&b| row.bit(b) != rows[i - 1].bit(b))
                .unwrap();
            // Canonical codes are assigned in the order of (length, symbol). Each code is the previous one plus 1.
            let mut symbols: Vec<(u8, usize)> =
                lengths.iter().copied().zip(0..).filter(|c| c.0 > 0).collect();
            symbols.sort_unstable();
            let mut code = 0u32;
            for (at, &(length, symbol)) in symbols.iter().enumerate() {
                if symbol == h as usize {
                    out.extend((0..length).rev().map(|b| bit(code >> b & 1 == 1)));
                }
                let next = symbols.get(at + 1).map_or(length, |c| c.0);
                code = (code + 1) << (next - length);
            }
            out += &number(row.widen(), h);
        }
        while !out.len().is_multiple_of(8) {
            out.push('0');
        }
        out
    }

    fn bit(one: bool) -> char {
        if one { '1' } else { '0' }
    }

    fn check<W: Width>(mut rows: Vec<W>, flip: usize) {
        rows.sort_unstable();
        rows.dedup();
        let mut counts = vec![0; W::BITS as usize];
        for pair in rows.windows(2) {
            counts[differing(pair[0], pair[1]) as usize] += 1;
        }
        let encoder = Encoder::new(&counts);
        let mut out = Packer::default();
        for (i, &row) in rows.iter().enumerate() {
            if i == 0 {
                Encoder::first(row, &mut out);
            } else {
                encoder.next(rows[i - 1], row, &mut out);
            }
        }
        out.align();
        let end = out.ready().len() as u64;
        let mut bytes = out.finish();
        let bits: String = bytes[..end as usize]
            .iter()
            .flat_map(|byte| (0..8).map(move |b| bit(byte >> b & 1 == 1)))
            .collect();
        assert_eq!(bits, naive(&rows, encoder.lengths()));

        let decoder = Decoder::new(encoder.lengths()).unwrap();
        let mut page = Page::new(&bytes, 0..end, &decoder, rows.len() as u32);
        assert_eq!((&mut page).collect::<Vec<W>>(), rows);
        assert!(page.is_whole());
        // For any bytes, decoding ends and returns ascending rows.
        if end > 0 {
            bytes[flip % end as usize] ^= 1 << (flip % 8);
            let read: Vec<W> = Page::new(&bytes, 0..end, &decoder, rows.len() as u32).collect();
            assert!(read.len() <= rows.len() && read.windows(2).all(|pair| pair[0] < pair[1]));
        }
        let read: Vec<W> = Page::new(&bytes, end..u64::MAX, &decoder, u32::MAX)
            .take(1000)
            .collect();
        assert!(read.windows(2).all(|pair| pair[0] < pair[1]));
    }

    proptest! {
        #[test]
        fn pages_follow_the_format_and_decode(shape in shape(), n in 0usize..100, k in 0u32..20, seed: u64, flip: usize) {
            check(rows::<u16>(shape, n, k, seed), flip);
            check(rows::<u32>(shape, n, k, seed), flip);
            check(rows::<u64>(shape, n, k, seed), flip);
            check(rows::<u128>(shape, n, k, seed), flip);
        }
    }
}
