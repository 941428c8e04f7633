//! Published worked examples, reproduced exactly.

#![expect(
    clippy::missing_panics_doc,
    reason = "clippy checks private items here, and tests panic on purpose"
)]

use twinprint_fingerprint::hyperplane::{fingerprint_rows, row};
use twinprint_fingerprint::kernel::{hamming_one_to_many, hamming_within};
use twinprint_fingerprint::{HashKey, Votes, Width, accumulate, simhash};

/// The sums of the low bits in the order of the papers: most significant bit first.
fn sums_from_the_left<const N: usize>(sums: &[i64]) -> [i64; N] {
    let mut low: [i64; N] = sums[..N].try_into().expect("N sums");
    low.reverse();
    low
}

/// A fingerprint from sums written most significant first.
fn signs(sums: &[i64]) -> u16 {
    let lowest_first: Vec<i64> = sums.iter().rev().copied().collect();
    u16::from_sums(&lowest_first)
}

#[test]
fn weighted_accumulate() {
    let hashes = [0b10_0101u16, 0b10_1011];
    let sums = accumulate(&hashes, &[4, 5]);
    assert_eq!(sums_from_the_left(&sums), [9, -9, 1, -1, 1, 9]);
    assert_eq!(u16::from_sums(&sums), 0b10_1011);

    let wide = [0b10_0101u128, 0b10_1011];
    let mut votes = Votes::<u64>::new();
    votes.add(&wide, &[4, 5]);
    assert_eq!(sums_from_the_left(&votes.sums()), [9, -9, 1, -1, 1, 9]);
    assert_eq!(votes.finish(), 0b10_1011);
    assert_eq!(simhash::<u128>(&wide, &[4, 5]), 0b10_1011);
}

#[test]
fn sign_steps() {
    assert_eq!(signs(&[9, -9, 1, -1, 1, 9]), 0b10_1011);
    assert_eq!(signs(&[13, 108, -22, -5, -32, 55]), 0b11_0001);
}

/// h(w1)…h(w5) as three ±1 signs each, and the document's weights.
const ROWS: [[i64; 3]; 5] = [[1, -1, 1], [-1, 1, 1], [1, -1, -1], [-1, -1, 1], [1, 1, -1]];
const DOCUMENT: [u16; 5] = [1, 2, 0, 3, 0];

#[test]
fn three_bits_by_the_simhash_route() {
    let hashes: Vec<u128> = ROWS.iter().map(|row| u128::from(signs(row))).collect();
    let weights: Vec<i64> = DOCUMENT.iter().map(|&w| i64::from(w)).collect();
    assert_eq!(sums_from_the_left(&accumulate(&hashes, &weights)), [-4, -2, 6]);
    let mut votes = Votes::<u16>::new();
    votes.add(&hashes, &DOCUMENT);
    assert_eq!(sums_from_the_left(&votes.sums()), [-4, -2, 6]);
    assert_eq!(votes.finish(), 0b001);
}

#[test]
fn three_bits_by_the_hyperplane_route() {
    // The definition: a bit is the side of the hyperplane whose normal is a column of the rows.
    let sides: Vec<i64> = (0..3)
        .map(|b| {
            ROWS.iter()
                .zip(DOCUMENT)
                .map(|(row, x)| row[b] * i64::from(x))
                .sum()
        })
        .collect();
    assert_eq!(sides, [-4, -2, 6]);
    assert_eq!(signs(&sides), 0b001);
    // This crate gives the same result for these rows.
    let rows: Vec<u128> = ROWS.iter().map(|row| u128::from(signs(row))).collect();
    let vector: Vec<f32> = DOCUMENT.iter().map(|&x| f32::from(x)).collect();
    assert_eq!(fingerprint_rows::<u16>(&rows, &vector), Ok(0b001));
    // Both computations agree for the rows of this crate.
    let key = HashKey::new(7, 8);
    let own: Vec<u128> = (0..5).map(|i| row(&key, i)).collect();
    assert_eq!(
        fingerprint_rows::<u128>(&own, &vector),
        Ok(simhash(&own, &DOCUMENT))
    );
}

#[test]
fn hamming_values() {
    assert_eq!(0b10_0111u16.distance(0b10_1010), 3);
    assert_eq!(0b10_1011u16.distance(0b10_0101), 3);
}

#[test]
fn phrase_codes() {
    // "the cat sat on the mat", "the cat sat on a mat", "we all scream for ice cream"
    let codes = [851_459_198u32, 847_263_864, 984_968_088];
    assert_eq!(codes[0].distance(codes[1]), 4);
    assert_eq!(codes[0].distance(codes[2]), 16);
    assert_eq!(codes[1].distance(codes[2]), 12);
    let expected = [(0, 1, 4), (0, 2, 16), (1, 2, 12)];
    let mut hits = Vec::new();
    hamming_within(&codes, 32, &mut |i, j, d| hits.push((i, j, d)));
    assert_eq!(hits, expected);
    hits.clear();
    hamming_within(&codes.map(u64::from), 64, &mut |i, j, d| hits.push((i, j, d)));
    assert_eq!(hits, expected);
}

#[test]
fn codes_at_exactly_three_flips_of_64() {
    let code = 0x0123_4567_89ab_cdefu64;
    let mut flipped = Vec::new();
    for a in 0..64 {
        for b in 0..a {
            for c in 0..b {
                flipped.push(code ^ (1 << a | 1 << b | 1 << c));
            }
        }
    }
    assert_eq!(flipped.len(), 41_664);
    let mut hits = Vec::new();
    hamming_one_to_many(code, &flipped, 3, &mut hits);
    assert_eq!(hits.len(), 41_664);
    assert!(hits.iter().all(|hit| hit.distance == 3));
    flipped.sort_unstable();
    flipped.dedup();
    assert_eq!(flipped.len(), 41_664);
}
