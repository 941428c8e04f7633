//! SimHash and random hyperplanes: the example of five features and three bits, and the equality of the two algorithms.

use anyhow::Result;
use twinprint_fingerprint::{Width, accumulate, hyperplane};

use crate::figure::{binary, count};
use crate::random::Random;
use crate::{Report, Setup, Verdict};

/// The hashes of the five features. The first component of the documents' vectors is the highest of three bits.
const HASHES: [u16; 5] = [0b101, 0b011, 0b100, 0b001, 0b110];
const WEIGHTS: [i64; 5] = [1, 2, 0, 3, 0];

/// The three components, as the documents write a vector.
fn vector(sums: &[i64]) -> String {
    let sums: Vec<String> = sums.iter().map(i64::to_string).collect();
    format!("({})", sums.join(", "))
}

/// The scalar product of the weights with the hyperplane of bit `bit`: the signs of that bit in all hashes.
fn scalar_product(hashes: &[u16], weights: &[i64], bit: u32) -> i64 {
    let sign = |hash: &u16| if hash.bit(bit) { 1 } else { -1 };
    hashes.iter().zip(weights).map(|(hash, weight)| sign(hash) * weight).sum()
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let sums = accumulate(&HASHES, &WEIGHTS);
    let m: Vec<i64> = sums[..3].iter().rev().copied().collect();
    report.exact(
        "sum",
        &[0],
        "five features, d = (1, 2, 0, 3, 0): the sum m",
        "(-4, -2, 6)",
        vector(&m),
    );
    let s: u16 = u16::from_sums(&sums[..3]);
    report.exact("fingerprint", &[0], "its fingerprint s", "001", binary(s.into(), 3));
    let products: Vec<i64> = (0..3).rev().map(|bit| scalar_product(&HASHES, &WEIGHTS, bit)).collect();
    report.exact(
        "products",
        &[0],
        "scalar products of d with r1, r2, r3",
        "(-4, -2, 6)",
        vector(&products),
    );
    let rows = HASHES.map(u128::from);
    let weights = WEIGHTS.map(|weight| weight as f32);
    let by_planes: u16 = hyperplane::fingerprint_rows(&rows, &weights)?;
    report.exact(
        "by-hyperplanes",
        &[0],
        "fingerprint of d by random hyperplanes",
        "001",
        binary(u64::from(by_planes & 0b111), 3),
    );
    same_algorithm(setup, &mut report);
    Ok(report)
}

/// Compares both algorithms on random documents.
fn same_algorithm(setup: &Setup, report: &mut Report) {
    let mut random = Random::new(setup.seed);
    let documents = setup.pick(200, 20_000);
    let mut equal = 0;
    for _ in 0..documents {
        let features = 1 + random.below(100);
        let hashes: Vec<u16> = (0..features).map(|_| random.bits() as u16).collect();
        let weights: Vec<i64> = (0..features).map(|_| random.below(10) as i64).collect();
        let by_votes = u16::from_sums(&accumulate(&hashes, &weights));
        let products: Vec<i64> = (0..16).map(|bit| scalar_product(&hashes, &weights, bit)).collect();
        equal += usize::from(by_votes == u16::from_sums(&products));
    }
    report.number("equal", equal as f64 / documents as f64);
    report.claim(
        "same-algorithm",
        &[0],
        "SimHash is the random-hyperplane hash whose planes are the bits of the feature hashes",
        [
            "the same fingerprints".to_owned(),
            format!("{} of {} equal", count(equal as u64), count(documents as u64)),
        ],
        Verdict::of(equal == documents),
        "both compute the same sums in another order.",
    );
}
