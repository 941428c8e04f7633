//! Addresses: chosen bits of a fingerprint moved to the front and read as a number.
//!
//! This is the permutation of a permuted table, restricted to the bits of the address. A contiguous run of bits is
//! shifted down. Other bits take one lookup table of 256 entries for each byte of the fingerprint that contains a
//! chosen bit, and the results are ORed: at most sixteen tables for bits spread over 128. The highest chosen bit
//! becomes the highest bit of the address, and the address of a ^ b is the XOR of the addresses of a and b.

use twinprint_fingerprint::Width;

use crate::plan::MAX_ADDRESS_BITS;

/// Computes the address of a fingerprint: the bits of one mask, read as a number.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    bits: u32,
    chosen: BitSelection,
}

/// The positions of the chosen bits.
#[derive(Clone, Debug)]
enum BitSelection {
    /// The chosen bits are contiguous; this is the lowest of them.
    Run(u32),
    /// The chosen bits are not contiguous; there is a table for each byte that contains some of them.
    Bytes(Vec<ByteTable>),
}

#[derive(Clone, Debug)]
struct ByteTable {
    /// The number of the byte in the fingerprint; byte 0 has the lowest bits.
    byte: u32,
    contribution: Box<[u32; 256]>,
}

impl Address {
    /// Creates an address of the bits of `mask`: all of them, or the highest [`MAX_ADDRESS_BITS`] if there are more.
    pub(crate) fn new(mask: u128) -> Self {
        let mask = crate::plan::leading_bits(mask, MAX_ADDRESS_BITS);
        let (bits, lowest) = (mask.count_ones(), mask.trailing_zeros() % 128);
        let chosen = if mask >> lowest == (1 << bits) - 1 {
            BitSelection::Run(lowest)
        } else {
            BitSelection::Bytes(byte_tables(mask))
        };
        Self { bits, chosen }
    }

    /// The number of bits of the address.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the address of a fingerprint, a number below 2^bits.
    #[inline]
    pub(crate) fn of<W: Width>(&self, row: W) -> u32 {
        match &self.chosen {
            // The cast to u32 is lossless, because an address is below 2^28.
            BitSelection::Run(lowest) => (row >> *lowest).low_u64() as u32 & ((1 << self.bits) - 1),
            BitSelection::Bytes(tables) => {
                let wide = row.widen();
                tables.iter().fold(0, |address, t| {
                    address | t.contribution[usize::from((wide >> (8 * t.byte)) as u8)]
                })
            }
        }
    }
}

/// Builds the tables of the bytes in which a mask has bits.
fn byte_tables(mask: u128) -> Vec<ByteTable> {
    let mut tables = Vec::new();
    let mut below = 0;
    for byte in 0..16 {
        let chosen = (mask >> (8 * byte)) as u8;
        if chosen == 0 {
            continue;
        }
        let mut contribution = Box::new([0; 256]);
        for (value, slot) in contribution.iter_mut().enumerate() {
            let (mut rest, mut place) = (chosen, below);
            while rest != 0 {
                let bit = rest.trailing_zeros();
                *slot |= ((value as u32 >> bit) & 1) << place;
                rest &= rest - 1;
                place += 1;
            }
        }
        below += chosen.count_ones();
        tables.push(ByteTable { byte, contribution });
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bit_by_bit(mask: u128, row: u128) -> u32 {
        (0..128)
            .rev()
            .filter(|&i| mask >> i & 1 == 1)
            .fold(0, |a, i| a << 1 | (row >> i & 1) as u32)
    }

    proptest! {
        #[test]
        fn equals_the_bit_by_bit_walk(mask: u128, thin: u128, row: u128, run in 0u32..34, at in 0u32..128) {
            let run = ((1 << run) - 1) << at;
            for mask in [mask, mask & thin, crate::plan::leading_bits(mask, 16), run, 0] {
                let kept = crate::plan::leading_bits(mask, MAX_ADDRESS_BITS);
                prop_assert_eq!(Address::new(mask).of(row), bit_by_bit(kept, row));
                prop_assert_eq!(Address::new(mask as u64 as u128).of(row as u64),
                    bit_by_bit(crate::plan::leading_bits(mask as u64 as u128, MAX_ADDRESS_BITS), row));
            }
        }
    }
}
