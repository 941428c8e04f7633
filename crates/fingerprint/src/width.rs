//! The widths a fingerprint can have: 16, 32, 64 and 128 bits.
//!
//! Invariant: a fingerprint of a smaller width consists of the low bits of the fingerprint of 128 bits, because the
//! bits of the feature hash are independent and each bit is voted on by itself.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use crate::hits::{PairHit, RowDistance};
use crate::level::Level;

/// The reason why a string cannot be parsed as a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The number of digits is wrong.
    #[error(
        "a fingerprint of {} bits is written as {expected} hexadecimal digits, but the text has {got} bytes",
        expected * 4
    )]
    Length {
        /// The number of digits that the width requires.
        expected: usize,
        /// The length of the string in bytes.
        got: usize,
    },
    /// A byte is not a hexadecimal digit.
    #[error("byte {position} of the fingerprint (counted from 0) is not a hexadecimal digit")]
    Digit {
        /// The position of the first such byte, from 0.
        position: usize,
    },
}

/// The Hamming kernels of one width, implemented in [`kernel`](crate::kernel). The trait is not exported, which
/// seals [`Width`].
pub trait HammingKernels: Sized {
    /// Appends every row within Hamming distance `k` of the query `self` to `out`.
    fn one_to_many(self, level: Level, rows: &[Self], k: u32, out: &mut Vec<RowDistance>);
    /// Calls `hit(i, j, distance)` for every row i of `a` and row j of `b` within Hamming distance `k` of each other.
    fn many_to_many(level: Level, a: &[Self], b: &[Self], k: u32, hit: &mut PairHit);
    /// Calls `hit(i, j, distance)` for every pair of rows i < j within Hamming distance `k` of each other.
    fn within(level: Level, rows: &[Self], k: u32, hit: &mut PairHit);
}

/// An unsigned integer used as a fingerprint. Implemented for `u16`, `u32`, `u64` and `u128` only.
///
/// Bit 0 is the least significant bit.
///
/// ```
/// use twinprint_fingerprint::{ParseError, Width};
///
/// # fn main() -> Result<(), ParseError> {
/// let fingerprint = u64::from_hex("00000000000000ff")?;
/// assert_eq!(fingerprint.distance(0b111), 5);
/// assert_eq!(fingerprint.to_hex(), "00000000000000ff");
/// assert_eq!(u64::from_hex("ff"), Err(ParseError::Length { expected: 16, got: 2 }));
/// # Ok(())
/// # }
/// ```
pub trait Width:
    HammingKernels
    + Copy
    + Eq
    + Ord
    + Hash
    + Default
    + Send
    + Sync
    + Debug
    + BitXor<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + 'static
{
    /// The number of bits of a fingerprint.
    const BITS: u32;

    /// Returns the Hamming distance of two fingerprints, in `0..=BITS`.
    #[must_use]
    fn distance(self, other: Self) -> u32;

    /// Returns bit `i`, or `false` if `i >= BITS`.
    #[must_use]
    fn bit(self, i: u32) -> bool;

    /// Returns the fingerprint whose bit i is 1 if `sums[i] > 0`. Bits without a sum are 0; sums from number `BITS` on
    /// are ignored.
    #[must_use]
    fn from_sums(sums: &[i64]) -> Self;

    /// Returns the low `BITS` bits of `full`.
    #[must_use]
    fn truncate(full: u128) -> Self;

    /// Returns the fingerprint as a number of 128 bits, with zeros above its own bits.
    #[must_use]
    fn widen(self) -> u128;

    /// Returns the low 64 bits, which are all bits of a fingerprint of at most 64.
    #[must_use]
    fn low_u64(self) -> u64;

    /// Formats the fingerprint as `BITS / 4` lower-case hexadecimal digits, the most significant digit first.
    #[must_use]
    fn to_hex(self) -> String;

    /// Parses a fingerprint formatted by [`to_hex`](Self::to_hex). Upper-case digits are accepted too.
    ///
    /// # Errors
    /// [`ParseError`] if the text is not exactly `BITS / 4` hexadecimal digits.
    fn from_hex(text: &str) -> Result<Self, ParseError>;
}

macro_rules! width {
    ($($int:ident)*) => {$(
        impl Width for $int {
            const BITS: u32 = $int::BITS;

            #[inline]
            fn distance(self, other: Self) -> u32 {
                (self ^ other).count_ones()
            }

            #[inline]
            fn bit(self, i: u32) -> bool {
                i < $int::BITS && (self >> i) & 1 == 1
            }

            fn from_sums(sums: &[i64]) -> Self {
                let bits = sums.iter().take($int::BITS as usize).enumerate();
                bits.fold(0, |f, (i, &sum)| f | ($int::from(sum > 0) << i))
            }

            #[inline]
            fn truncate(full: u128) -> Self {
                full as Self
            }

            #[inline]
            fn widen(self) -> u128 {
                u128::from(self)
            }

            #[inline]
            fn low_u64(self) -> u64 {
                self as u64
            }

            fn to_hex(self) -> String {
                format!("{self:0digits$x}", digits = $int::BITS as usize / 4)
            }

            fn from_hex(text: &str) -> Result<Self, ParseError> {
                Ok(parse(text, $int::BITS as usize / 4)? as Self)
            }
        }
    )*};
}
width!(u16 u32 u64 u128);

/// Parses a number of exactly `digits` hexadecimal digits (at most 32).
///
/// # Errors
/// As for [`Width::from_hex`].
fn parse(text: &str, digits: usize) -> Result<u128, ParseError> {
    if text.len() != digits {
        return Err(ParseError::Length {
            expected: digits,
            got: text.len(),
        });
    }
    text.bytes().enumerate().try_fold(0, |value, (position, byte)| {
        let digit = char::from(byte)
            .to_digit(16)
            .ok_or(ParseError::Digit { position })?;
        Ok(value << 4 | u128::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<W: Width>(full: u128) {
        let f = W::truncate(full);
        let hex = f.to_hex();
        assert_eq!(hex.len(), W::BITS as usize / 4);
        assert_eq!(W::from_hex(&hex), Ok(f));
        assert_eq!(W::from_hex(&hex.to_uppercase()), Ok(f));
        assert_eq!(W::truncate(f.widen()), f);
        assert_eq!(f.low_u64(), full as u64 & (u64::MAX >> (64 - W::BITS.min(64))));
        let sums: Vec<i64> = (0..W::BITS).map(|i| if f.bit(i) { 1 } else { -1 }).collect();
        assert_eq!(W::from_sums(&sums), f);
        assert!(!f.bit(W::BITS));
    }

    #[test]
    fn every_width_round_trips() {
        for full in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978] {
            round_trip::<u16>(full);
            round_trip::<u32>(full);
            round_trip::<u64>(full);
            round_trip::<u128>(full);
        }
    }

    #[test]
    fn a_wrong_text_is_an_error_with_its_reason() {
        assert_eq!(
            u16::from_hex("123"),
            Err(ParseError::Length { expected: 4, got: 3 })
        );
        assert_eq!(
            u16::from_hex("12345"),
            Err(ParseError::Length { expected: 4, got: 5 })
        );
        assert_eq!(u16::from_hex("+123"), Err(ParseError::Digit { position: 0 }));
        assert_eq!(u32::from_hex("1234 678"), Err(ParseError::Digit { position: 4 }));
        assert_eq!(u16::from_hex("1é2"), Err(ParseError::Digit { position: 1 }));
    }

    #[test]
    fn a_sum_of_zero_gives_zero_and_any_number_of_sums_is_accepted() {
        assert_eq!(u16::from_sums(&[0, 1, 0, -1]), 0b10);
        assert_eq!(u16::from_sums(&[1; 40]), u16::MAX);
        assert_eq!(u128::from_sums(&[]), 0);
    }
}
