//! The Elias–Fano directory: a bit string with, for each address in ascending order, a one for every row and then a
//! zero.
//!
//! For n rows and addresses of u bits, the fine part is that string of n + 2^u bits; bit b is bit b % 64 of
//! little-endian word b / 64. The coarse part has, for every 64th address, the position at which its ones begin, in 8
//! bytes. The number of ones before that position is the position minus the number of addresses before it.

use std::ops::Range;

use twinprint_fingerprint::kernel::prefetch_read;

use super::{Bounds, DirectoryForm, Encoded};
use crate::segment::bits::word_at;
use crate::segment::span::Span;

/// The number of addresses for which the coarse part has one position.
const GROUP: u32 = 64;

/// An encoded Elias–Fano directory, for reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EliasFano<'a> {
    coarse: &'a [u8],
    fine: &'a [u8],
}

impl<'a> EliasFano<'a> {
    pub(crate) fn new(coarse: &'a [u8], fine: &'a [u8]) -> Self {
        Self { coarse, fine }
    }

    fn position(&self, group: u32) -> u64 {
        word_at(self.coarse, 8 * group as usize)
    }

    /// Returns the position of a zero in the bit string: from position `from` on, `skip` zeros are skipped. Returns the
    /// end of the string if it has too few zeros.
    #[inline]
    fn zero(&self, from: u64, mut skip: u32) -> u64 {
        let words = (self.fine.len() / 8) as u64;
        let mut index = from / 64;
        let mut zeros = !word_at(self.fine, 8 * index as usize) & (u64::MAX << (from % 64));
        while index < words {
            let count = zeros.count_ones();
            if skip < count {
                return 64 * index + u64::from(select(zeros, skip));
            }
            skip -= count;
            index += 1;
            zeros = !word_at(self.fine, 8 * index as usize);
        }
        64 * words
    }
}

/// Returns the position of the one with number `i`, counted from 0, in a word that has more than `i` ones.
#[inline]
fn select(mut word: u64, i: u32) -> u32 {
    // Byte b of `sums` is the number of ones in bytes 0..=b of the word (Vigna 2008).
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let bytes = (fours + (fours >> 4)) & 0x0F0F_0F0F_0F0F_0F0F;
    let sums = bytes.wrapping_mul(0x0101_0101_0101_0101);
    // The top bit of a byte of `greater` is set if its sum is greater than i; both numbers are below 128.
    let greater =
        ((sums | 0x8080_8080_8080_8080) - u64::from(i + 1) * 0x0101_0101_0101_0101) & 0x8080_8080_8080_8080;
    let byte = greater.trailing_zeros() / 8 * 8;
    let before = (sums << 8 >> byte) as u32 & 0xFF;
    word >>= byte;
    for _ in before..i {
        word &= word - 1;
    }
    byte + word.trailing_zeros()
}

impl Bounds for EliasFano<'_> {
    #[inline]
    fn prefetch(&self, address: u32) {
        // The array of positions has one byte for every eight addresses and is mostly cached. The bit string, which is
        // prefetched here, has about one bit for each earlier row and address.
        let position = self.position(address / GROUP);
        prefetch_read(self.fine, (position / 8) as usize);
    }

    #[inline]
    fn bucket(&self, address: u32) -> Span {
        let (group, before) = (address / GROUP, address % GROUP);
        let mut from = self.position(group);
        if before > 0 {
            from = self.zero(from, before - 1) + 1;
        }
        let rows = |position: u64| position.saturating_sub(u64::from(address)) as u32;
        Span {
            start: rows(from),
            end: rows(self.zero(from, 0)),
        }
    }

    fn bucket_bytes(&self, address: u32) -> [Range<usize>; 2] {
        let group = (address / GROUP) as usize;
        let from = (self.position(group as u32) / 64 * 8) as usize;
        let next = word_at(self.coarse, 8 * group + 8);
        let to = if 8 * group + 16 <= self.coarse.len() {
            (next / 64 * 8 + 8) as usize
        } else {
            self.fine.len()
        };
        let coarse = 8 * group..(8 * group + 16).min(self.coarse.len());
        [coarse, from.min(self.fine.len())..to.min(self.fine.len())]
    }

    fn group_bits(&self) -> u32 {
        GROUP.ilog2()
    }

    fn group_rows(&self, address: u32) -> Span {
        let group = address / GROUP;
        let rows = |group: u32| {
            let before = u64::from(group) * u64::from(GROUP);
            self.position(group).saturating_sub(before) as u32
        };
        let is_last = 8 * group as usize + 16 > self.coarse.len();
        Span {
            start: rows(group),
            end: if is_last { u32::MAX } else { rows(group + 1) },
        }
    }

    fn group_bytes(&self, address: u32) -> Range<usize> {
        let at = 8 * (address / GROUP) as usize;
        at..(at + 16).min(self.coarse.len())
    }
}

/// Encodes the directory for ascending bounds of buckets.
pub(super) fn encode(bounds: &[u32]) -> Encoded {
    let addresses = bounds.len() - 1;
    let rows = *bounds.last().unwrap_or(&0);
    let mut words = vec![0u64; (addresses + rows as usize).div_ceil(64)];
    let mut coarse = Vec::new();
    for (x, pair) in bounds.windows(2).enumerate() {
        let begin = x as u64 + u64::from(pair[0]);
        if x % GROUP as usize == 0 {
            coarse.extend(begin.to_le_bytes());
        }
        for b in begin..x as u64 + u64::from(pair[1]) {
            words[(b / 64) as usize] |= 1 << (b % 64);
        }
    }
    Encoded {
        form: DirectoryForm::EliasFano,
        coarse,
        fine: words.iter().flat_map(|w| w.to_le_bytes()).collect(),
    }
}
