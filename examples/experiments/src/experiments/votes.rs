//! The worked examples of weighted votes, of signs, and of Hamming distances.

use anyhow::Result;
use twinprint_fingerprint::{HashKey, Width, accumulate};
use twinprint_text::compare::compare_fingerprints;
use twinprint_text::{GivenFeatures, Profile, Weight, WeightedFeature};

use crate::figure::binary;
use crate::random::Random;
use crate::{Report, Setup, Verdict};

/// The hash and the weight of a word in the example.
type Example = (&'static str, f64);

const AMERICA: Example = ("0b100101", 4.0);
const AREA_51: Example = ("0b101011", 5.0);

/// The width of the examples in bits.
const BITS: usize = 6;

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let votes = |examples: &[Example]| -> Result<(String, String)> {
        let rules = GivenFeatures::of_profile(&Profile::default_for(16)?, HashKey::PUBLIC).hashed(true);
        let feature = |&(hash, weight): &Example| WeightedFeature {
            name: hash.to_owned(),
            weight,
        };
        let votes = rules.votes(examples.iter().map(feature).collect())?;
        let sums: Vec<String> = votes.sums[..BITS].iter().rev().map(f64::to_string).collect();
        Ok((sums.join(" "), binary(votes.fingerprint as u64, BITS)))
    };
    let (america, _) = votes(&[AMERICA])?;
    let (area, _) = votes(&[AREA_51])?;
    let (sums, fingerprint) = votes(&[AMERICA, AREA_51])?;
    report.exact(
        "votes-of-one-word",
        &[0, 3],
        "votes of 美国, 100101 with weight 4",
        "4 -4 -4 4 -4 4",
        america,
    );
    report.exact(
        "votes-of-another",
        &[0, 3],
        "votes of 51区, 101011 with weight 5",
        "5 -5 5 -5 5 5",
        area,
    );
    report.exact("sums", &[0, 3], "sums of both words", "9 -9 1 -1 1 9", sums);
    report.exact(
        "fingerprint",
        &[0, 3],
        "fingerprint of both words",
        "101011",
        fingerprint,
    );
    let levels = [1, 2, 4, 8, 16, 100_000].map(|count| Weight::Levels.of(count).to_string());
    report.exact(
        "levels",
        &[0],
        "weights in five levels, 1 to 5 (here by the count of the word)",
        "1 2 3 4 5 5",
        levels.join(" "),
    );
    let signs = u16::from_sums(&[55, -32, -5, -22, 108, 13]);
    report.exact(
        "signs",
        &[1],
        "signs of 13, 108, -22, -5, -32, 55",
        "110001",
        binary(signs.into(), BITS),
    );
    let distance = |a, b| compare_fingerprints(a, b, 16).hamming.to_string();
    report.exact(
        "xor",
        &[1],
        "100111 xor 101010",
        "001101",
        binary(0b10_0111 ^ 0b10_1010, BITS),
    );
    report.exact(
        "distance",
        &[1],
        "Hamming distance of 100111 and 101010",
        "3",
        distance(0b10_0111, 0b10_1010),
    );
    report.exact(
        "distance-of-words",
        &[3],
        "Hamming distance of 101011 and 100101",
        "3",
        distance(0b10_1011, 0b10_0101),
    );
    let vector: Vec<String> = accumulate(&[0b1010u16], &[1])[..4]
        .iter()
        .rev()
        .map(i64::to_string)
        .collect();
    report.exact(
        "vector",
        &[0],
        "the hash 1010 as a vector",
        "1, -1, 1, -1",
        vector.join(", "),
    );
    orthants(setup, &mut report);
    Ok(report)
}

/// Counts the sign patterns that random sums reach: the orthants that a fingerprint distinguishes.
fn orthants(setup: &Setup, report: &mut Report) {
    let mut random = Random::new(setup.seed);
    let patterns: std::collections::BTreeSet<u16> = (0..10_000)
        .map(|_| {
            let hashes: Vec<u16> = (0..9).map(|_| random.bits() as u16).collect();
            let bits: u16 = u16::from_sums(&accumulate(&hashes, &[1; 9]));
            bits & 0x3F
        })
        .collect();
    report.number("orthants", patterns.len() as f64);
    report.claim(
        "orthants",
        &[0],
        "a fingerprint of f bits distinguishes 2^f orthants",
        ["64 bits: 2⁶⁴".to_owned(), format!("6 bits: {} of 2⁶", patterns.len())],
        Verdict::of(patterns.len() == 64),
        "every pattern of six signs occurs among 10,000 random sums.",
    );
}
