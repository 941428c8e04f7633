//! Weights of features by their frequency in a text (term frequency, tf).
//!
//! All weights are integers, so that a fingerprint is the same on every machine.

/// The weight of a feature as a function of its number of occurrences, tf.
///
/// ```
/// use twinprint_text::Weight;
///
/// assert_eq!([1, 2, 100].map(|tf| Weight::LogTf.of(tf)), [16, 27, 90]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Weight {
    /// Every feature weighs 1.
    Set,
    /// A feature weighs tf, up to 65,535.
    Tf,
    /// A feature weighs 16 (1 + ln tf), rounded to the nearest integer. A tf above 65,535 counts as 65,535.
    #[default]
    LogTf,
    /// A feature weighs 1 to 5: 1 + log₂ tf rounded down, and 5 for tf of 16 and more.
    Levels,
}

impl Weight {
    /// The weight of a feature that occurs `tf` times. A `tf` of 0 counts as 1.
    #[inline]
    pub fn of(self, tf: u32) -> u16 {
        let tf = tf.clamp(1, u32::from(u16::MAX)) as u16;
        match self {
            Self::Set => 1,
            Self::Tf => tf,
            Self::LogTf => LOG_TF_SMALL
                .get(tf as usize)
                .copied()
                .unwrap_or_else(|| log_tf(tf)),
            Self::Levels => 1 + tf.ilog2().min(4) as u16,
        }
    }

    /// The name of the weight in a profile's id.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Tf => "tf",
            Self::LogTf => "lntf",
            Self::Levels => "levels",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Set, Self::Tf, Self::LogTf, Self::Levels]
            .into_iter()
            .find(|weight| weight.name() == name)
    }
}

/// The values of tf at which the `LogTf` weight w becomes 17, 18, …: the smallest tf for which 16 (1 + ln tf) is
/// rounded to w, ⌈exp((w − ½)/16 − 1)⌉.
const LOG_TF_STEPS: [u16; 177] = [
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 7, 7, 8, 8, 9, 9,
    10, 10, 11, 12, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 27, 29, 31, 33, 35, 37, 39, 42, 44,
    47, 50, 53, 57, 60, 64, 68, 73, 77, 82, 88, 93, 99, 106, 113, 120, 127, 136, 144, 154, 163, 174, 185,
    197, 210, 223, 238, 253, 269, 287, 305, 325, 346, 368, 392, 417, 444, 472, 503, 535, 569, 606, 645, 687,
    731, 778, 828, 882, 939, 999, 1063, 1132, 1205, 1283, 1365, 1453, 1547, 1647, 1753, 1866, 1986, 2114,
    2251, 2396, 2550, 2715, 2890, 3076, 3274, 3486, 3710, 3950, 4204, 4475, 4764, 5071, 5398, 5746, 6117,
    6512, 6931, 7378, 7854, 8361, 8900, 9474, 10_085, 10_735, 11_428, 12_165, 12_949, 13_784, 14_673, 15_620,
    16_627, 17_699, 18_841, 20_056, 21_349, 22_726, 24_192, 25_752, 27_413, 29_181, 31_063, 33_066, 35_199,
    37_469, 39_885, 42_458, 45_196, 48_111, 51_214, 54_517, 58_033, 61_775,
];

/// The `LogTf` weight of a tf: 16, plus one for every element of [`LOG_TF_STEPS`] that is at most `tf`.
const fn log_tf(tf: u16) -> u16 {
    let mut low = 0;
    let mut high = LOG_TF_STEPS.len();
    while low < high {
        let middle = usize::midpoint(low, high);
        if LOG_TF_STEPS[middle] <= tf {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    16 + low as u16
}

/// The `LogTf` weights for tf below 64, indexed by tf. Nearly all features have such a tf.
static LOG_TF_SMALL: [u16; 64] = {
    let mut table = [16; 64];
    let mut tf = 1;
    while tf < 64 {
        table[tf] = log_tf(tf as u16);
        tf += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_tf_is_sixteen_times_one_plus_ln_rounded() {
        for tf in 1..=65_535u32 {
            let exact = 16.0 * (1.0 + f64::from(tf).ln());
            let error = (f64::from(Weight::LogTf.of(tf)) - exact).abs();
            assert!(error <= 0.5 + 1e-9, "tf {tf}: off by {error}");
        }
    }

    #[test]
    fn levels_double() {
        let levels: Vec<u16> = [1, 2, 3, 4, 7, 8, 15, 16, 1000]
            .map(|tf| Weight::Levels.of(tf))
            .to_vec();
        assert_eq!(levels, [1, 2, 2, 3, 3, 4, 4, 5, 5]);
    }

    #[test]
    fn frequencies_are_capped() {
        for weight in [Weight::Set, Weight::Tf, Weight::LogTf, Weight::Levels] {
            assert_eq!(weight.of(u32::MAX), weight.of(65_535));
            assert_eq!(weight.of(0), weight.of(1));
            assert_eq!(Weight::from_name(weight.name()), Some(weight));
        }
    }
}
