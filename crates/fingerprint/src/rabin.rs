//! Rabin fingerprints of byte strings (Rabin 1981; Broder 1993): remainders of polynomials over GF(2).
//!
//! The bytes 01, the string, and eight zero bytes are read as one large binary number, whose bits are the coefficients
//! of a polynomial. The fingerprint is the remainder of this polynomial modulo an irreducible polynomial of degree 64.
//! The leading 1 distinguishes strings that differ only in leading zeros. The zero bytes mix strings of fewer than
//! eight bytes, which would otherwise be their own remainders.
//!
//! Two strings of up to n bytes have equal fingerprints for at most n / 8 + 1 of the irreducible polynomials of degree
//! 64, of which there are 2⁵⁸. The function is linear and has no key: everybody can construct strings with equal
//! fingerprints. Use [`hash_features`](crate::hash_features) if the authors of the texts are not trusted.

use crate::feature::Span;
use crate::width::Width;

/// The irreducible polynomials, without the leading term x⁶⁴. The two numbers are the smallest ones from the first and
/// second 64 bits of the fraction of π upwards that make the polynomial irreducible.
pub const POLYNOMIALS: [u64; 2] = [0x243F_6A88_85A3_0907, 0x1319_8A2E_0370_735D];

/// For each polynomial: the remainder of every byte, followed by eight zero bytes.
static TABLES: [[u64; 256]; 2] = [table(POLYNOMIALS[0]), table(POLYNOMIALS[1])];

const fn table(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = (byte as u64) << 56;
        let mut bit = 0;
        while bit < 8 {
            // Multiplies by x. If the product has a term x⁶⁴, it is replaced by its remainder.
            let carry = remainder >> 63;
            remainder = remainder << 1 ^ carry * polynomial;
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
}

/// The fingerprint of a string modulo the first or second polynomial. Linear.
fn remainder(which: usize, bytes: &[u8]) -> u64 {
    // The remainder of the byte 01, followed by eight zero bytes, is the polynomial without its leading term.
    bytes.iter().fold(POLYNOMIALS[which], |remainder, &byte| {
        remainder << 8 ^ TABLES[which][(remainder >> 56) as usize ^ usize::from(byte)]
    })
}

/// Computes the Rabin fingerprint of one string. The low 64 bits are the remainder modulo the first polynomial of
/// [`POLYNOMIALS`], and the high 64 bits the remainder modulo the second.
///
/// ```
/// use twinprint_fingerprint::rabin;
///
/// // The remainder of x⁶⁴.
/// assert_eq!(rabin::hash_one(b"") as u64, rabin::POLYNOMIALS[0]);
/// ```
#[must_use]
pub fn hash_one(bytes: &[u8]) -> u128 {
    u128::from(remainder(1, bytes)) << 64 | u128::from(hash_one_64(bytes))
}

/// Computes the low 64 bits of [`hash_one`], in half the time.
#[must_use]
pub fn hash_one_64(bytes: &[u8]) -> u64 {
    remainder(0, bytes)
}

/// Clears `out` and pushes the fingerprint of each span's bytes, in order. The fingerprints have as many low bits as
/// the integer type of `out`. Spans are clamped to the buffer, as in [`hash_features`](crate::hash_features).
///
/// ```
/// use twinprint_fingerprint::{Span, rabin};
///
/// let spans = [Span { start: 0, end: 3 }, Span { start: 4, end: 7 }];
/// let mut hashes = Vec::new();
/// rabin::hash_features(b"the cat", &spans, &mut hashes);
/// assert_eq!(hashes, [rabin::hash_one(b"the"), rabin::hash_one(b"cat")]);
/// ```
pub fn hash_features<W: Width>(bytes: &[u8], spans: &[Span], out: &mut Vec<W>) {
    out.clear();
    out.extend(spans.iter().map(|span| {
        let (start, end) = span.clamped(bytes.len());
        let bytes = &bytes[start..end];
        W::truncate(if W::BITS > 64 {
            hash_one(bytes)
        } else {
            hash_one_64(bytes).into()
        })
    }));
}
