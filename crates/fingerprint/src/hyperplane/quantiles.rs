//! Quantiles of the normal distribution, as integers that are the same on every CPU.
//!
//! The computation uses only the operations that IEEE 754 rounds exactly: sums, products and quotients.

use std::sync::LazyLock;

/// The integer that stands for one standard deviation.
pub(super) const DEVIATION: i32 = 4096;

/// Number of quantiles above the median, of equal probability.
const ABOVE: usize = 1 << 15;

/// The density of the normal distribution at 0, 1/√(2π).
const PEAK: f64 = 0.398_942_280_401_432_7;

/// The quantiles above the median: number k is the quantile of ½ + (k + ½) / 65536.
static QUANTILES: LazyLock<Vec<i16>> = LazyLock::new(|| {
    let step = 1.0 / f64::from(DEVIATION);
    let mut quantiles = Vec::with_capacity(ABOVE);
    // A quantile is rounded to `value` if its probability is at most that of (value + ½) steps.
    let mut value = 0;
    let mut below = step / 2.0 * (density(0.0) + density(step / 2.0)) / 2.0;
    for k in 0..ABOVE {
        let probability = (k as f64 + 0.5) / (2 * ABOVE) as f64;
        while below < probability {
            value += 1;
            let middle = f64::from(value) * step;
            // Simpson's rule over one step.
            let ends = density(middle - step / 2.0) + density(middle + step / 2.0);
            below += step / 6.0 * (ends + 4.0 * density(middle));
        }
        quantiles.push(value);
    }
    quantiles
});

/// The density of the normal distribution.
fn density(x: f64) -> f64 {
    // The Taylor series of exp(−y / 1024), squared ten times. |y| is at most 10.
    let y = x * x / 2.0 / 1024.0;
    let series = (1..=7).rev().fold(1.0, |sum, n| 1.0 - y / f64::from(n) * sum);
    (0..10).fold(series, |power, _| power * power) * PEAK
}

/// The quantile that 16 uniform random bits choose: the highest bit chooses the sign.
pub(super) fn quantile(bits: u16) -> i16 {
    let magnitude = QUANTILES
        .get(usize::from(bits & 0x7FFF))
        .copied()
        .unwrap_or_default();
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTHON: [i16; 8] = [0, 0, 157, 2763, 4096, 7894, 16_696, 17_715];
    const PYTHON_SUMS: (i64, i64) = (107_089_922, 549_744_223_788);

    /// Values of Python's `statistics.NormalDist().inv_cdf`, times 4096 and rounded.
    #[test]
    fn quantiles_equal_those_of_python() {
        let positions = [0, 1, 1000, 16_384, 22_370, 31_000, 32_766, 32_767];
        assert_eq!(positions.map(quantile), PYTHON);
        assert_eq!(
            positions.map(|k| quantile(k | 1 << 15)),
            PYTHON.map(|value| -value)
        );
        let sum: i64 = (0..1 << 15).map(|k| i64::from(quantile(k))).sum();
        let squares: i64 = (0..1 << 15).map(|k| i64::from(quantile(k)).pow(2)).sum();
        assert_eq!((sum, squares), PYTHON_SUMS);
    }
}
