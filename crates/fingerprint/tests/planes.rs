//! Sets of rows that are large enough for tables of bit planes, compared with the definition at every level.

#![expect(
    clippy::missing_panics_doc,
    clippy::missing_errors_doc,
    reason = "clippy checks private items here, and tests panic on purpose"
)]

use proptest::prelude::*;
use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::{self, Level};

type Hit = (u32, u32, u8);

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u128 {
        let mut word = || {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            u128::from(mixed ^ mixed >> 27)
        };
        word() | word() << 64
    }
}

/// Rows around a few centres, at all distances from them up to about `widest`, and some unrelated ones.
fn rows(count: usize, widest: u32, centres: &[u128], random: &mut Random) -> Vec<u128> {
    let row = |_| match random.next() % 8 {
        0 => random.next(),
        kind => {
            let mut row = centres[kind as usize % centres.len()];
            for _ in 0..random.next() % u128::from(widest + 2) {
                row ^= 1 << (random.next() % 128);
            }
            row
        }
    };
    (0..count).map(row).collect()
}

/// The hits in the documented order.
fn expected<W: Width>(a: &[W], b: &[W], k: u32, wanted: impl Fn(usize, usize) -> bool) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let distance = x.distance(y);
            if distance <= k && wanted(i, j) {
                hits.push((i as u32, j as u32, distance as u8));
            }
        }
    }
    hits.sort_unstable_by_key(|&(i, j, _)| (i / 4, j, i));
    hits
}

fn check<W: Width>(a: &[u128], b: &[u128], k: u32) -> Result<(), TestCaseError> {
    let [a, b] = [a, b].map(|rows| rows.iter().map(|&row| W::truncate(row)).collect::<Vec<W>>());
    let (between, within) = (
        expected(&a, &b, k, |_, _| true),
        expected(&b, &b, k, |i, j| i < j),
    );
    for level in Level::available() {
        let mut got = Vec::new();
        kernel::hamming_many_to_many_at(level, &a, &b, k, &mut |i, j, d| got.push((i, j, d)));
        prop_assert!(got == between, "{} bits at {}", W::BITS, level);
        got.clear();
        kernel::hamming_within_at(level, &b, k, &mut |i, j, d| got.push((i, j, d)));
        prop_assert!(got == within, "{} bits within, at {}", W::BITS, level);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn tables_find_the_pairs_of_the_definition(
        (of_a, of_b) in (60usize..140, 250usize..600),
        k in prop_oneof![0u32..36, Just(u32::MAX)],
        centres in prop::collection::vec(any::<u128>(), 1..5),
        seed in any::<u64>(),
    ) {
        let random = &mut Random(seed);
        let widest = k.min(40);
        let (a, b) = (rows(of_a, widest, &centres, random), rows(of_b, widest, &centres, random));
        check::<u128>(&a, &b, k)?;
        check::<u64>(&a, &b, k)?;
        check::<u32>(&a, &b, k)?;
    }
}

/// The largest set that has tables, with hits in all parts of it.
#[test]
fn the_most_rows_are_compared() {
    let random = &mut Random(11);
    let mut b: Vec<u128> = (0..4096).map(|_| random.next()).collect();
    let a: Vec<u128> = (0..66).map(|i| b[i * 61] ^ 0b101).collect();
    for i in (0..4000).step_by(97) {
        b[i] = b[(i * 31 + 7) % 4096] ^ 1 << 77;
    }
    check::<u128>(&a, &b, 3).unwrap();
    check::<u64>(&a, &b, 3).unwrap();
}

/// Every radius up to the widest that has tables, at exact distances on both sides of the radius.
#[test]
fn every_radius_ends_where_it_should() {
    let random = &mut Random(3);
    let centre = random.next();
    for k in 0..=36u32 {
        let near = |i: u32, bits: u32| {
            let flips = if i.is_multiple_of(2) { k } else { k + 1 };
            (0..flips).fold(centre, |row, flip| row ^ 1 << ((i * 7 + flip * 5) % bits))
        };
        let a = vec![centre; 65];
        let b: Vec<u128> = (0..300).map(|i| near(i, 128)).collect();
        check::<u128>(&a, &b, k).unwrap();
        let b: Vec<u128> = (0..300).map(|i| near(i, 64)).collect();
        check::<u64>(&a, &b, k).unwrap();
    }
}
