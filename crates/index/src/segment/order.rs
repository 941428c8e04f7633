//! The bit order of one permuted table: the bits of its mask at the top, and the other bits below.
//!
//! Permuted fingerprints, read as numbers, are sorted by address. If the bits of the mask are contiguous, the
//! permutation is a rotation. Otherwise it is a table of 256 values for each byte, whose results are ORed, as is
//! possible for any permutation of bits. In both cases the permuted form of a ^ b is the XOR of the permuted forms of a
//! and b, so permuted fingerprints have the distances of the originals.

use twinprint_fingerprint::Width;

/// Moves the bits of one mask to the top of a fingerprint and back.
#[derive(Clone, Debug)]
pub(crate) struct Order<W> {
    address_bits: u32,
    moves: Permutation<W>,
}

#[derive(Clone, Debug)]
enum Permutation<W> {
    /// A rotation to the left by this number of bits, which is below the width.
    Rotate(u32),
    /// For each byte of a fingerprint, the moved bits of each of its values; first for permuting, then for restoring.
    Bytes(Vec<[W; 256]>, Vec<[W; 256]>),
}

impl<W: Width> Order<W> {
    /// Creates the order that moves the bits of `mask` to the top and keeps the other bits below, both in their order
    /// from high to low. The address consists of the highest `address_bits` bits of the result. The permutation does
    /// not depend on `address_bits`.
    pub(crate) fn new(mask: u128, address_bits: u32) -> Self {
        let bits = W::BITS;
        let mask = mask & W::truncate(u128::MAX).widen();
        let count = mask.count_ones();
        let top = 128 - mask.leading_zeros();
        let moves = if mask == 0 {
            Permutation::Rotate(0)
        } else if mask >> (top - count) == ones(count) {
            Permutation::Rotate(bits - top)
        } else {
            // The position to which bit i of a fingerprint moves.
            let mut to = vec![0; bits as usize];
            let (mut high, mut low) = (bits, bits - count);
            for i in (0..bits).rev() {
                let place = if mask >> i & 1 == 1 { &mut high } else { &mut low };
                *place -= 1;
                to[i as usize] = *place;
            }
            let mut from = vec![0; bits as usize];
            for (i, &t) in (0..).zip(&to) {
                from[t as usize] = i;
            }
            Permutation::Bytes(byte_tables(&to), byte_tables(&from))
        };
        Self {
            address_bits: address_bits.min(count),
            moves,
        }
    }

    /// The number of bits of the address.
    pub(crate) fn address_bits(&self) -> u32 {
        self.address_bits
    }

    /// The number of bits below the address.
    pub(crate) fn rest_bits(&self) -> u32 {
        W::BITS - self.address_bits
    }

    /// Returns the permuted form of a fingerprint, with the bits of the mask at the top.
    #[inline]
    pub(crate) fn permute(&self, row: W) -> W {
        match &self.moves {
            Permutation::Rotate(by) => rotate(row, *by),
            Permutation::Bytes(there, _) => gather(row, there),
        }
    }

    /// Returns the fingerprint that has this permuted form.
    #[inline]
    pub(crate) fn restore(&self, permuted: W) -> W {
        match &self.moves {
            Permutation::Rotate(by) => rotate(permuted, (W::BITS - by) % W::BITS),
            Permutation::Bytes(_, back) => gather(permuted, back),
        }
    }

    /// Returns the address of a permuted fingerprint, which has at most 32 bits.
    #[inline]
    pub(crate) fn address(&self, permuted: W) -> u32 {
        if self.address_bits == 0 {
            0
        } else {
            (permuted >> (W::BITS - self.address_bits)).low_u64() as u32
        }
    }

    /// Returns the bits of a permuted fingerprint below its address.
    #[inline]
    pub(crate) fn rest(&self, permuted: W) -> W {
        permuted & self.rest_mask()
    }

    /// Returns the permuted fingerprint that consists of an address and of the bits `rest` below it.
    #[inline]
    pub(crate) fn join(&self, address: u32, rest: W) -> W {
        if self.address_bits == 0 {
            rest
        } else {
            W::truncate(u128::from(address)) << (W::BITS - self.address_bits) | rest
        }
    }

    fn rest_mask(&self) -> W {
        W::truncate(ones(self.rest_bits()))
    }
}

fn ones(bits: u32) -> u128 {
    1u128.checked_shl(bits).unwrap_or(0).wrapping_sub(1)
}

#[inline]
fn rotate<W: Width>(row: W, left: u32) -> W {
    if left == 0 {
        row
    } else {
        row << left | row >> (W::BITS - left)
    }
}

#[inline]
fn gather<W: Width>(row: W, tables: &[[W; 256]]) -> W {
    let wide = row.widen();
    (0..)
        .step_by(8)
        .zip(tables)
        .fold(W::default(), |sum, (shift, table)| {
            sum | table[usize::from((wide >> shift) as u8)]
        })
}

fn byte_tables<W: Width>(to: &[u32]) -> Vec<[W; 256]> {
    to.chunks(8)
        .map(|to| {
            let mut table = [W::default(); 256];
            for (value, slot) in table.iter_mut().enumerate() {
                let moved = (0..)
                    .zip(to)
                    .filter(|(bit, _)| value >> bit & 1 == 1)
                    .fold(0, |sum, (_, &t)| sum | 1u128 << t);
                *slot = W::truncate(moved);
            }
            table
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<W: Width>(mask: u128, row: u128, other: u128) {
        let mask = W::truncate(mask).widen();
        let order = Order::<W>::new(mask, 20);
        let (row, other) = (W::truncate(row), W::truncate(other));
        let permuted = order.permute(row);
        assert_eq!(order.restore(permuted), row);
        assert_eq!(permuted.distance(order.permute(other)), row.distance(other));
        let bit_by_bit = (0..128)
            .rev()
            .filter(|&i| mask >> i & 1 == 1)
            .take(20)
            .fold(0, |a, i| a << 1 | (row.widen() >> i & 1) as u32);
        assert_eq!(order.address(permuted), bit_by_bit);
        assert_eq!(order.join(bit_by_bit, order.rest(permuted)), permuted);
        assert_eq!(order.address_bits() + order.rest_bits(), W::BITS);
    }

    proptest! {
        #[test]
        fn a_permutation_puts_the_address_first_and_is_reversible(mask: u128, thin: u128, row: u128, other: u128, at in 0u32..128) {
            for mask in [mask, mask & thin, 0, u128::MAX, 0xFFFF << at, ((1 << 22) - 1) << (at / 2)] {
                check::<u16>(mask, row, other);
                check::<u32>(mask, row, other);
                check::<u64>(mask, row, other);
                check::<u128>(mask, row, other);
            }
        }
    }

    #[test]
    fn a_mask_of_leading_bits_does_not_change_the_order() {
        let order = Order::<u64>::new(0xFFFF_F000_0000_0000, 9);
        assert_eq!(order.permute(0x1234_5678), 0x1234_5678);
    }
}
