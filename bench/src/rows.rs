//! Fingerprints for joins and lookups: random ones of several distributions, and those of documents.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;
use fastrand::Rng;
use serde::Deserialize;
use twinprint_fingerprint::{HashKey, Width};
use twinprint_text::{Analyzer, Profile};

/// The distribution of random fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// Uniform: every index is fast on these.
    Uniform,
    /// Clumped: a tenth of the fingerprints are within 8 bits of one of √n centres, so that some buckets have many
    /// rows.
    Clumped,
    /// Biased: all fingerprints are similar to one direction, like pages that share common words. Two of them are like
    /// vectors with a cosine of 0.1.
    Biased,
}

impl Shape {
    /// Returns the name of the distribution in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Clumped => "clumped",
            Self::Biased => "biased",
        }
    }
}

/// Returns `n` random fingerprints of a distribution.
pub fn random(shape: Shape, n: usize, seed: u64) -> Vec<u64> {
    let mut rng = Rng::with_seed(seed);
    match shape {
        Shape::Uniform => (0..n).map(|_| rng.u64(..)).collect(),
        Shape::Clumped => {
            let centres: Vec<u64> = (0..n.isqrt().max(1)).map(|_| rng.u64(..)).collect();
            let near = |rng: &mut Rng| {
                let centre = centres[rng.usize(..centres.len())];
                (0..rng.u32(..=8)).fold(centre, |row, _| row ^ 1 << rng.u32(..64))
            };
            (0..n)
                .map(|i| if i % 10 == 0 { near(&mut rng) } else { rng.u64(..) })
                .collect()
        }
        Shape::Biased => {
            // If two vectors both have cosine √0.1 with a common direction, they have cosine 0.1 with each other. A bit
            // of such a vector then differs from the direction's bit with probability arccos(√0.1) / π on average. The
            // probability for each bit depends on the angle between the bit's hyperplane and the direction.
            let strength = 0.1f64.sqrt();
            let bits: Vec<f64> = (0..64)
                .map(|_| normal_below(strength / (1.0 - strength * strength).sqrt() * normal(&mut rng)))
                .collect();
            (0..n)
                .map(|_| {
                    let set = |(bit, &share): (usize, &f64)| u64::from(rng.f64() < share) << bit;
                    bits.iter().enumerate().map(set).sum()
                })
                .collect()
        }
    }
}

/// Returns a random fingerprint at a Hamming distance of exactly `k` from `row`.
pub fn planted<W: Width>(row: W, k: u32, rng: &mut Rng) -> W {
    let mut flips = 0u128;
    while flips.count_ones() < k {
        flips |= 1 << rng.u32(..W::BITS);
    }
    row ^ W::truncate(flips)
}

/// Draws a random number from the normal distribution (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Returns the probability that a normal random number is below `x`, to three places (the logistic approximation).
fn normal_below(x: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * x).exp())
}

/// Returns the 64-bit fingerprints of the first `n` documents of a JSONL file, under the default profile.
pub fn of_documents(path: &Path, n: usize) -> anyhow::Result<Vec<u64>> {
    #[derive(Deserialize)]
    struct Record<'a> {
        #[serde(borrow)]
        text: std::borrow::Cow<'a, str>,
    }
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let mut analyzer = Analyzer::new(&Profile::default_for(64)?, HashKey::PUBLIC);
    BufReader::with_capacity(1 << 20, file)
        .lines()
        .take(n)
        .map(|line| {
            let line = line?;
            let record: Record<'_> = serde_json::from_str(&line)?;
            Ok(analyzer.analyze(&record.text).fingerprint as u64)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_distance(rows: &[u64]) -> f64 {
        let apart: u32 = rows.array_windows().map(|[a, b]| (a ^ b).count_ones()).sum();
        f64::from(apart) / (rows.len() - 1) as f64
    }

    #[test]
    fn biased_rows_have_smaller_distances_than_uniform_ones() {
        let expected = |cosine: f64| 64.0 * cosine.acos() / std::f64::consts::PI;
        let mean = |shape| {
            let seeds = 0..20;
            seeds
                .map(|seed| mean_distance(&random(shape, 500, seed)))
                .sum::<f64>()
                / 20.0
        };
        assert!((mean(Shape::Uniform) - 32.0).abs() < 0.3);
        let biased = mean(Shape::Biased);
        assert!((biased - expected(0.1)).abs() < 0.5, "{biased}");
    }

    #[test]
    fn a_tenth_of_clumped_rows_is_near_a_centre() {
        let rows = random(Shape::Clumped, 1000, 1);
        let near = |row: &u64| {
            rows.iter()
                .filter(|other| (*other ^ row).count_ones() <= 12)
                .count()
                > 1
        };
        let share = rows.iter().step_by(10).filter(|row| near(row)).count();
        assert!(share > 60, "{share}");
        assert!(!rows.iter().skip(1).step_by(10).any(near));
    }
}
