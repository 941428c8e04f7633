//! The interval of Clopper and Pearson (1934) for a share: it contains the true share with a probability of at least
//! 95 %, whatever the share is.

/// The probability outside the interval at each of its ends.
const TAIL: f64 = 0.025;
/// The number of bisection steps, after which a bound is exact to the precision of a float.
const STEPS: usize = 60;

/// Returns the bounds of the 95 % interval for the share of which `found` of `all` trials are a sample. Without trials
/// it is the interval from 0 to 1.
pub(super) fn clopper_pearson(found: u64, all: u64) -> [f64; 2] {
    let low = match found {
        0 => 0.0,
        _ => bisect(|share| 1.0 - at_most(found - 1, all, share) < TAIL),
    };
    let high = match found {
        _ if found == all => 1.0,
        _ => bisect(|share| at_most(found, all, share) > TAIL),
    };
    [low, high]
}

/// The largest share for which `is_below` holds. It must hold for the smaller shares and for no others.
fn bisect(is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0);
    for _ in 0..STEPS {
        let middle = low.midpoint(high);
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The probability of at most `found` successes in `all` trials with this share of successes.
pub(super) fn at_most(found: u64, all: u64, share: f64) -> f64 {
    if share <= 0.0 {
        return 1.0;
    }
    if share >= 1.0 {
        return if found >= all { 1.0 } else { 0.0 };
    }
    // The logarithms of the terms do not underflow.
    let (odds, mut term) = ((share / (1.0 - share)).ln(), all as f64 * (1.0 - share).ln());
    let mut sum = 0.0;
    for i in 0..=found {
        sum += term.exp();
        term += ((all - i) as f64 / (i + 1) as f64).ln() + odds;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_equal_published_ones() {
        // The closed forms for no failure, and the interval of 8 of 10 (Clopper and Pearson 1934, R's binom.test).
        let close = |[low, high]: [f64; 2], expected: [f64; 2]| {
            assert!(
                (low - expected[0]).abs() < 1e-6 && (high - expected[1]).abs() < 1e-6,
                "{low} {high}"
            );
        };
        close(clopper_pearson(10, 10), [0.025f64.powf(0.1), 1.0]);
        close(clopper_pearson(368, 368), [0.025f64.powf(1.0 / 368.0), 1.0]);
        close(clopper_pearson(0, 10), [0.0, 1.0 - 0.025f64.powf(0.1)]);
        close(clopper_pearson(8, 10), [0.443_904_5, 0.974_789_3]);
        close(clopper_pearson(0, 0), [0.0, 1.0]);
        assert!(clopper_pearson(367, 367)[0] < 0.99 && clopper_pearson(368, 368)[0] >= 0.99);
    }
}
