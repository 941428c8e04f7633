//! Logarithm and power of two, computed from sums, products and quotients only. IEEE 754 rounds these the same way on
//! every machine.
//!
//! The functions of the system libraries differ in the last bit between systems. With them, the decision about a cosine
//! close to the threshold could differ from machine to machine.

/// The natural logarithm of `x`, a positive normal number, to about 15 digits.
pub(super) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i64 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    let mut exponent = exponent as f64;
    // The mantissa is moved into √½..=√2. Close to 1, the series needs few terms.
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1.0;
    }
    // ln m = 2 artanh((m − 1) / (m + 1)). For m in √½..=√2 the argument of artanh is below 0.172.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let series = (0..10)
        .rev()
        .fold(0.0, |sum, i| sum * square + 1.0 / f64::from(2 * i + 1));
    exponent * std::f64::consts::LN_2 + 2.0 * z * series
}

/// 2 to the power of −`x`, for `x` ≥ 0. The result is 0 if it would be smaller than the smallest normal number.
pub(super) fn halved(x: f64) -> f64 {
    if x.is_nan() || x >= 1022.0 {
        return 0.0;
    }
    let whole = x.floor();
    let rest = (whole - x) * std::f64::consts::LN_2;
    // The Taylor series of e^`rest`, for `rest` in −0.694..=0.
    let power = (1..=16).rev().fold(1.0, |sum, i| 1.0 + sum * rest / f64::from(i));
    f64::from_bits((1023 - whole as u64) << 52) * power
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_functions_agree_with_the_standard_library(x in 1e-6..1e12f64, y in 0.0..1000.0f64) {
            prop_assert!((ln(x) - x.ln()).abs() <= 1e-12);
            prop_assert!((halved(y) / (-y).exp2() - 1.0).abs() <= 1e-12);
        }
    }

    #[test]
    fn both_functions_accept_the_ends_of_their_ranges() {
        assert!(ln(1.0).abs() < 1e-15);
        assert!((halved(0.0) - 1.0).abs() < 1e-15);
        assert!(halved(1e9) < 1e-300 && halved(f64::INFINITY) < 1e-300);
    }
}
