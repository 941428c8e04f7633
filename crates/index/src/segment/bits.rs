//! Packed numbers: numbers of a fixed number of bits, one after the other.
//!
//! Number i of width w takes the bits from i·w up to (i + 1)·w of a little-endian bit string: bit b is bit b % 8 of
//! byte b / 8, as [`twinprint_fingerprint::kernel::unpack_bits`] reads them. [`PADDING`] zero bytes follow, so that a
//! reader may read a few bytes more than it needs.

use twinprint_fingerprint::Width;

/// The number of zero bytes after packed numbers. A reader of eight numbers at once may read them.
pub(crate) const PADDING: usize = 64;

/// Returns the number of bytes that `count` packed numbers of `width` bits take, including the padding. Saturates at
/// `u64::MAX`.
pub(crate) fn packed_bytes(count: u64, width: u32) -> u64 {
    let bits = u128::from(count) * u128::from(width);
    u64::try_from(bits.div_ceil(8) + PADDING as u128).unwrap_or(u64::MAX)
}

/// Packs numbers into bytes.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    waiting: u64,
    bits: u32,
}

impl Packer {
    /// Appends the low `width` ≤ 128 bits of `value`. All other bits of `value` must be zero.
    #[inline]
    pub(crate) fn push(&mut self, value: u128, width: u32) {
        if width > 64 {
            self.push_word(value as u64, 64);
            self.push_word((value >> 64) as u64, width - 64);
        } else {
            self.push_word(value as u64, width);
        }
    }

    #[inline]
    fn push_word(&mut self, value: u64, width: u32) {
        self.waiting |= value << self.bits;
        let filled = self.bits + width;
        if filled >= 64 {
            self.bytes.extend_from_slice(&self.waiting.to_le_bytes());
            let taken = 64 - self.bits;
            self.waiting = value.checked_shr(taken).unwrap_or(0);
            self.bits = filled - 64;
        } else {
            self.bits = filled;
        }
    }

    /// Appends zero bits up to a full byte.
    pub(crate) fn align(&mut self) {
        let rest = self.bits.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.waiting.to_le_bytes()[..rest]);
        (self.waiting, self.bits) = (0, 0);
    }

    /// The complete bytes packed so far. The caller may remove them from the vector.
    pub(crate) fn ready(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns the packed bytes that have not been removed, followed by the padding.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.align();
        self.bytes.resize(self.bytes.len() + PADDING, 0);
        self.bytes
    }
}

/// Reads packed number `i`, of `width` bits. Returns zero if it is outside `bytes`.
#[inline]
pub(crate) fn unpack<W: Width>(bytes: &[u8], width: u32, i: u64) -> W {
    number_at(bytes, i.wrapping_mul(u64::from(width)), width)
}

/// Reads a number of `width` bits that starts at bit `bit`. Returns zero if it is outside `bytes`.
#[inline]
pub(crate) fn number_at<W: Width>(bytes: &[u8], bit: u64, width: u32) -> W {
    if width <= 57 {
        let word = word_at(bytes, (bit / 8) as usize) >> (bit % 8);
        return W::truncate(u128::from(word & ((1 << width) - 1)));
    }
    let byte = (bit / 8) as usize;
    let low = u128::from(word_at(bytes, byte)) | u128::from(word_at(bytes, byte.wrapping_add(8))) << 64;
    let over = u128::from(word_at(bytes, byte.wrapping_add(16)));
    let shift = (bit % 8) as u32;
    // The bits above the low 128 are shifted in two steps, because a shift of a u128 by 128 bits would overflow.
    let value = low >> shift | over << 1 << (127 - shift);
    W::truncate(value & (u128::MAX >> (128 - width.min(128))))
}

#[inline]
pub(crate) fn word_at(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |&word| u64::from_le_bytes(word))
}

/// Reads an unpacked fingerprint that starts at byte `at`.
#[inline]
pub(crate) fn row_at<W: Width>(bytes: &[u8], at: usize) -> W {
    let low = u128::from(word_at(bytes, at));
    if W::BITS <= 64 {
        W::truncate(low)
    } else {
        W::truncate(low | u128::from(word_at(bytes, at.wrapping_add(8))) << 64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_numbers_are_unpacked(values: Vec<u128>, width in 0u32..=128) {
            let mask = 1u128.checked_shl(width).unwrap_or(0).wrapping_sub(1);
            let mut packer = Packer::default();
            let mut bytes = Vec::new();
            for &value in &values {
                packer.push(value & mask, width);
                bytes.append(packer.ready());
            }
            bytes.extend(packer.finish());
            prop_assert_eq!(bytes.len() as u64, packed_bytes(values.len() as u64, width));
            for (i, &value) in (0..).zip(&values) {
                prop_assert_eq!(unpack::<u128>(&bytes, width, i), value & mask);
                prop_assert_eq!(unpack::<u64>(&bytes, width, i), (value & mask) as u64);
            }
            prop_assert_eq!(unpack::<u128>(&bytes, width, u64::MAX / 128), 0);
        }
    }
}
