//! The distribution of the Hamming distances between unrelated documents. It is modelled by a beta-binomial
//! distribution, since unrelated pages share common words to different degrees.

use serde::Serialize;

/// The number of rounds in which the fitted parameters are corrected. They converge after two or three rounds.
const FIT_ROUNDS: usize = 4;

/// The fitted distribution of the Hamming distances between unrelated documents.
#[derive(Clone, Debug, Serialize)]
pub struct Background {
    /// The mean distance in bits.
    pub mean: f64,
    /// The standard deviation of the distance in bits.
    pub deviation: f64,
    /// The probability of each distance from 0.
    pub probability: Vec<f64>,
}

impl Background {
    /// Fits the distribution to the number of pairs at each distance. Similar documents are few and near, so they
    /// hardly change the median and the spread above it, which are fitted.
    pub fn fit(histogram: &[u64]) -> Self {
        let bits = histogram.len().max(2) - 1;
        let counts: Vec<f64> = histogram.iter().map(|&count| count as f64).collect();
        let random = HistogramShape {
            median: bits as f64 / 2.0,
            spread: (bits as f64).sqrt() / 2.0,
        };
        let measured = shape(&counts).unwrap_or(random);
        let (mut mean, mut deviation) = (measured.median, measured.spread);
        let mut fitted = Self::of(bits, mean, deviation);
        for _ in 0..FIT_ROUNDS {
            // The fitted distribution is skewed: its mean differs from its median, and its
            // standard deviation differs from `spread`.
            let Some(HistogramShape { median, spread }) = shape(&fitted.probability) else {
                break;
            };
            mean += measured.median - median;
            deviation *= measured.spread / spread;
            fitted = Self::of(bits, mean, deviation);
        }
        fitted
    }

    /// The beta-binomial distribution with a given mean and standard deviation. If the deviation is not larger than
    /// that of the binomial distribution, the binomial distribution is returned.
    fn of(bits: usize, mean: f64, deviation: f64) -> Self {
        let n = bits as f64;
        let p = (mean / n).clamp(1e-6, 1.0 - 1e-6);
        let binomial = n * p * (1.0 - p);
        // The variance of a beta-binomial distribution is n p (1 − p) (1 + (n − 1) rho), where rho is the correlation
        // between bits.
        let rho = ((deviation.powi(2) / binomial - 1.0) / (n - 1.0)).clamp(1e-9, 0.99);
        let sum = 1.0 / rho - 1.0;
        let (alpha, beta) = (p * sum, (1.0 - p) * sum);
        // P(0) = Π (beta + i) / (sum + i). Every further probability is computed from the one before by their ratio.
        let mut log = (0..bits)
            .map(|i| ((beta + i as f64) / (sum + i as f64)).ln())
            .sum::<f64>();
        let mut probability = vec![log.exp()];
        for d in 0..bits {
            let at = d as f64;
            log += ((n - at) / (at + 1.0)).ln() + ((at + alpha) / (n - at - 1.0 + beta)).ln();
            probability.push(log.exp());
        }
        Self {
            mean: n * p,
            deviation: (binomial * (1.0 + (n - 1.0) * rho)).sqrt(),
            probability,
        }
    }

    /// Returns the probability that two unrelated documents differ in at most `k` bits.
    pub fn within(&self, k: u32) -> f64 {
        self.probability.iter().take(k as usize + 1).sum::<f64>().min(1.0)
    }
}

/// The median and the spread of a histogram of distances. Similar documents are few and near, so they hardly change
/// either.
struct HistogramShape {
    /// The median distance.
    median: f64,
    /// The root mean square distance from the median, of the distances above it.
    spread: f64,
}

/// Computes the shape of a histogram; `None` if no distance is above the median.
fn shape(weights: &[f64]) -> Option<HistogramShape> {
    let half = weights.iter().sum::<f64>() / 2.0;
    let mut before = 0.0;
    let median = weights.iter().position(|&weight| {
        before += weight;
        before > half
    })?;
    before -= weights[median];
    // The median is interpolated within its bin.
    let middle = median as f64 - 0.5 + (half - before) / weights[median];
    let (mut squares, mut beyond) = (0.0, 0.0);
    for (distance, &weight) in weights.iter().enumerate().skip(median + 1) {
        squares += weight * (distance as f64 - middle).powi(2);
        beyond += weight;
    }
    (beyond > 0.0).then(|| HistogramShape {
        median: middle,
        spread: (squares / beyond).sqrt(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_recovers_the_distribution_despite_similar_documents() {
        for (bits, mean, deviation) in [(64, 24.0, 5.0), (128, 60.0, 6.5), (128, 64.0, 32f64.sqrt())] {
            let true_one = Background::of(bits, mean, deviation);
            assert!((true_one.within(bits as u32) - 1.0).abs() < 1e-9);
            let mut histogram: Vec<u64> = true_one.probability.iter().map(|p| (p * 1e9) as u64).collect();
            histogram[2] += 200_000;
            histogram[5] += 300_000;
            let fitted = Background::fit(&histogram);
            assert!((fitted.mean - mean).abs() < 0.5, "{} for {mean}", fitted.mean);
            assert!(
                (fitted.deviation - deviation).abs() < 0.4,
                "{} for {deviation}",
                fitted.deviation
            );
        }
    }

    #[test]
    fn without_pairs_random_bits_are_assumed() {
        let fitted = Background::fit(&[0; 65]);
        assert!((fitted.mean - 32.0).abs() < 1e-9 && (fitted.deviation - 4.0).abs() < 1e-6);
        let point = Background::fit(&[0, 0, 7]);
        assert!((point.within(2) - 1.0).abs() < 1e-9);
    }
}
