//! The notation of fingerprints in rows: hexadecimal, decimal or binary.

use anyhow::Context;
use clap::ValueEnum;

/// The notation in which fingerprints are written.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Notation {
    /// Hexadecimal, with as many digits as the width has
    Hex,
    /// Decimal, without leading zeros. In JSON the number is a string, because many programs round large numbers
    Decimal,
    /// Binary, with as many digits as the width has; the highest bit first
    Binary,
}

impl Notation {
    /// Writes a fingerprint that is given in hexadecimal, with a digit for every four bits of its width.
    pub(crate) fn write(self, hex: &str) -> anyhow::Result<String> {
        if self == Self::Hex {
            return Ok(hex.to_owned());
        }
        let number = u128::from_str_radix(hex, 16).context("a fingerprint has more than 128 bits")?;
        Ok(match self {
            Self::Hex | Self::Decimal => number.to_string(),
            Self::Binary => format!("{number:0digits$b}", digits = 4 * hex.len()),
        })
    }

    /// Reads a fingerprint of `bits` bits. Hexadecimal digits may begin with `0x`, binary digits with `0b`. Returns
    /// `None` if the text is not such a number.
    pub(crate) fn read(self, written: &str, bits: u32) -> Option<u128> {
        let (prefix, radix) = match self {
            Self::Hex => ("0x", 16),
            Self::Decimal => ("", 10),
            Self::Binary => ("0b", 2),
        };
        // Of "0x0x1" one prefix is removed; the rest is not a number. A sign is refused.
        let digits = written.strip_prefix(prefix).unwrap_or(written);
        let number = u128::from_str_radix(digits, radix).ok()?;
        let fits = bits >= u128::BITS || number >> bits == 0;
        (fits && !digits.starts_with('+')).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_has_the_same_value_in_every_notation() {
        let written = |notation: Notation| notation.write("00ab").unwrap();
        assert_eq!(written(Notation::Hex), "00ab");
        assert_eq!(written(Notation::Decimal), "171");
        assert_eq!(written(Notation::Binary), "0000000010101011");
        for notation in [Notation::Hex, Notation::Decimal, Notation::Binary] {
            assert_eq!(notation.read(&written(notation), 16), Some(0xab));
            assert_eq!(notation.read(&written(notation), 4), None);
            for wrong in ["", "+1", "-1", "0x", "g", "0x0x1"] {
                assert_eq!(notation.read(wrong, 64), None, "{wrong}");
            }
        }
        assert_eq!(
            (Notation::Hex.read("0xAB", 16), Notation::Binary.read("0b11", 16)),
            (Some(0xab), Some(3))
        );
        let widest = "f".repeat(32);
        assert_eq!(Notation::Decimal.write(&widest).unwrap(), u128::MAX.to_string());
    }
}
