//! The Hamming kernels at every level of this CPU, compared with their definition.

#![expect(
    clippy::missing_panics_doc,
    clippy::missing_errors_doc,
    reason = "clippy checks private items here, and tests panic on purpose"
)]

use proptest::prelude::*;
use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::{self, Level, RowDistance};

type Hit = (u32, u32, u8);

/// The hits in the documented order.
fn expected<W: Width>(a: &[W], b: &[W], k: u32, wanted: impl Fn(usize, usize) -> bool) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            if wanted(i, j) && x.distance(y) <= k {
                hits.push((i as u32, j as u32, x.distance(y) as u8));
            }
        }
    }
    hits.sort_by_key(|&(i, j, _)| (i / 4, j, i));
    hits
}

fn check<W: Width>(a: &[W], b: &[W], k: u32) -> Result<(), TestCaseError> {
    for level in Level::available() {
        let mut got = Vec::new();
        kernel::hamming_many_to_many_at(level, a, b, k, &mut |i, j, d| got.push((i, j, d)));
        prop_assert_eq!(
            &got,
            &expected(a, b, k, |_, _| true),
            "{} {}x{}",
            level,
            a.len(),
            b.len()
        );

        got.clear();
        kernel::hamming_within_at(level, b, k, &mut |i, j, d| got.push((i, j, d)));
        prop_assert_eq!(
            &got,
            &expected(b, b, k, |i, j| i < j),
            "{} within {}",
            level,
            b.len()
        );

        for &query in a.first().iter().chain(&a.last()) {
            let before = RowDistance { row: 9, distance: 9 };
            let mut got = vec![before];
            kernel::hamming_one_to_many_at(level, *query, b, k, &mut got);
            let want = expected(&[*query], b, k, |_, _| true);
            let want: Vec<RowDistance> = [before]
                .into_iter()
                .chain(
                    want.iter()
                        .map(|&(_, row, distance)| RowDistance { row, distance }),
                )
                .collect();
            prop_assert_eq!(&got, &want, "{} one to {}", level, b.len());
        }
    }
    Ok(())
}

/// Rows with small distances, so that every radius has hits and misses.
fn rows(most: usize) -> impl Strategy<Value = Vec<u128>> {
    let row = (any::<u128>(), any::<u128>(), any::<u128>(), 0u8..4).prop_map(|(x, y, z, kind)| match kind {
        0 => x,
        1 => x & y & z,
        2 => 1 << (x % 128),
        _ => 0,
    });
    prop::collection::vec(row, 0..most)
}

fn skip(rows: &[u128], skip: usize) -> &[u128] {
    &rows[skip.min(rows.len())..]
}

fn narrow<W: Width>(rows: &[u128]) -> Vec<W> {
    rows.iter().map(|&row| W::truncate(row)).collect()
}

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
fn rows_around(count: usize, widest: u32, centres: &[u128], random: &mut Random) -> Vec<u128> {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn hamming(a in rows(14), b in rows(70), k in 0u32..=129, from in 0usize..3) {
        check(skip(&a, from), skip(&b, from), k)?;
        let (x, y) = (narrow::<u64>(&a), narrow::<u64>(&b));
        check(&x[from.min(x.len())..], &y[from.min(y.len())..], k)?;
        check(&narrow::<u32>(&a), &narrow::<u32>(&b), k)?;
        check(&narrow::<u16>(&a), &narrow::<u16>(&b), k)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Sets of rows that are large enough for tables of bit planes.
    #[test]
    fn tables_find_the_pairs_of_the_definition(
        (of_a, of_b) in (60usize..140, 250usize..600),
        k in prop_oneof![0u32..36, Just(u32::MAX)],
        centres in prop::collection::vec(any::<u128>(), 1..5),
        seed in any::<u64>(),
    ) {
        let random = &mut Random(seed);
        let widest = k.min(40);
        let (a, b) = (rows_around(of_a, widest, &centres, random), rows_around(of_b, widest, &centres, random));
        check(&a, &b, k)?;
        check(&narrow::<u64>(&a), &narrow::<u64>(&b), k)?;
        check(&narrow::<u32>(&a), &narrow::<u32>(&b), k)?;
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
    check(&a, &b, 3).unwrap();
    check(&narrow::<u64>(&a), &narrow::<u64>(&b), 3).unwrap();
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
        check(&a, &b, k).unwrap();
        let b: Vec<u128> = (0..300).map(|i| near(i, 64)).collect();
        check(&narrow::<u64>(&a), &narrow::<u64>(&b), k).unwrap();
    }
}

#[test]
fn long_blocks_with_hits_in_every_tile() {
    // Enough rows for every step of the loops: pairs of vectors, single vectors, remaining rows.
    for n in [1usize, 7, 8, 15, 16, 17, 31, 33, 64, 100, 257] {
        let rows: Vec<u128> = (0..n as u128).map(|i| (1 << (i % 5)) | (i % 3) << 70).collect();
        let low: Vec<u64> = rows.iter().map(|&row| row as u64).collect();
        for k in [0, 1, 2, 3, 200] {
            check(&rows[..n.min(9)], &rows, k).expect("wide rows");
            check(&low[..n.min(9)], &low, k).expect("narrow rows");
        }
    }
}
