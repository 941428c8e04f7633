//! Rabin fingerprints, compared with long division over GF(2).

#![expect(
    clippy::missing_panics_doc,
    reason = "clippy checks private items here, and tests panic on purpose"
)]

use proptest::prelude::*;
use twinprint_fingerprint::{Span, rabin};

/// The coefficients of a polynomial, the highest first.
type Polynomial = Vec<bool>;

/// The remainder of a division by x⁶⁴ + `polynomial`, bit by bit.
fn divided(mut dividend: Polynomial, polynomial: u64) -> u64 {
    let divisor: Polynomial = [true]
        .into_iter()
        .chain((0..64).rev().map(|bit| polynomial >> bit & 1 == 1))
        .collect();
    for first in 0..dividend.len().saturating_sub(64) {
        if dividend[first] {
            for (coefficient, subtracted) in dividend[first..].iter_mut().zip(&divisor) {
                *coefficient ^= subtracted;
            }
        }
    }
    let low = dividend.len().saturating_sub(64);
    dividend[low..]
        .iter()
        .fold(0, |bits, &bit| bits << 1 | u64::from(bit))
}

/// The definition: the bytes 01, the string and eight zero bytes, divided by each polynomial.
fn defined(string: &[u8]) -> u128 {
    let bytes = [&[1], string, &[0; 8]].concat();
    let bits = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
    let dividend: Polynomial = bits.collect();
    let [low, high] = rabin::POLYNOMIALS.map(|polynomial| divided(dividend.clone(), polynomial));
    u128::from(high) << 64 | u128::from(low)
}

proptest! {
    #[test]
    fn fingerprints_are_remainders(string in prop::collection::vec(any::<u8>(), 0..80)) {
        prop_assert_eq!(rabin::hash_one(&string), defined(&string));
        prop_assert_eq!(rabin::hash_one_64(&string), defined(&string) as u64);
    }

    #[test]
    fn spans_have_the_fingerprints_of_their_bytes(
        text in prop::collection::vec(any::<u8>(), 0..40),
        spans in prop::collection::vec((0u32..50, 0u32..50), 0..20),
    ) {
        let spans: Vec<Span> = spans.into_iter().map(|(start, end)| Span { start, end }).collect();
        let (mut wide, mut narrow) = (vec![1u128], vec![2u32, 3]);
        rabin::hash_features(&text, &spans, &mut wide);
        rabin::hash_features(&text, &spans, &mut narrow);
        let clamped = |span: &Span| {
            let end = (span.end as usize).min(text.len());
            text[(span.start as usize).min(end)..end].to_vec()
        };
        let expected: Vec<u128> = spans.iter().map(|span| defined(&clamped(span))).collect();
        prop_assert_eq!(&narrow, &expected.iter().map(|&hash| hash as u32).collect::<Vec<_>>());
        prop_assert_eq!(wide, expected);
    }
}

/// A polynomial of degree n is irreducible if it divides x^(2^n) − x, and if x^(2^(n/p)) − x has no factor in common
/// with it for any prime factor p of n (Rabin 1980). The only prime factor of 64 is 2.
#[test]
fn the_polynomials_are_irreducible() {
    for polynomial in rabin::POLYNOMIALS {
        let whole = 1u128 << 64 | u128::from(polynomial);
        let square = |a: u64| {
            // The square of Σ xⁱ is Σ x²ⁱ.
            let bits = (0..64).rev().flat_map(|bit| [false, a >> bit & 1 == 1]);
            divided(bits.collect(), polynomial)
        };
        let powers: Vec<u64> = std::iter::successors(Some(2), |&a| Some(square(a)))
            .take(65)
            .collect();
        assert_eq!(powers[64], 2, "{polynomial:#x}");
        let (mut a, mut b) = (whole, u128::from(powers[32] ^ 2));
        while b != 0 {
            while a != 0 && a.ilog2() >= b.ilog2() {
                a ^= b << (a.ilog2() - b.ilog2());
            }
            (a, b) = (b, a);
        }
        assert_eq!(a, 1, "{polynomial:#x}");
    }
}

/// Values of a computation with Python's integers.
#[test]
fn golden_values() {
    for (string, expected) in GOLDEN {
        assert_eq!(
            rabin::hash_one(string.as_bytes()),
            expected,
            "{string}: {:#x}",
            rabin::hash_one(string.as_bytes())
        );
    }
}

const GOLDEN: [(&str, u128); 6] = [
    ("", 0x1319_8A2E_0370_735D_243F_6A88_85A3_0907),
    ("a", 0xD23E_E035_FBD7_6A19_A589_BE4A_75FC_23E3),
    ("the", 0x8928_6DB0_3262_BDE4_280F_9BC0_AA34_8955),
    ("the cat sat", 0xF037_2A87_76E9_D683_05B4_0DC9_4E0F_FA2C),
    ("灯塔的看守", 0x70E1_1B41_18F9_0A1E_2236_21D8_7D22_D678),
    (
        "the quick brown fox jumps over the lazy dog",
        0x44D3_1237_927B_A2ED_8E9B_FC18_C206_4F73,
    ),
];
