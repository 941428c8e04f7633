//! Powers of the idf in the weight of a feature: the idf itself, or its square root.

/// The power of the idf by which the weight of a feature is multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IdfPower {
    /// The weight is multiplied by the idf.
    #[default]
    Whole,
    /// The weight is multiplied by the square root of the idf. Rare words then weigh more than common ones, but a few
    /// rare words do not decide the fingerprint.
    Root,
}

impl IdfPower {
    /// The factor that an idf `value` gives a weight. Both are in sixteenths; the factor is at most 255.
    pub(crate) fn factor(self, value: u8) -> u16 {
        match self {
            Self::Whole => value.into(),
            // 16 √(v / 16) = √(16 v), rounded to the nearest integer, is at most √(16 · 255) < 64.
            Self::Root => {
                let square = u16::from(value) * 16;
                let root = square.isqrt();
                root + u16::from(square - root * root > root)
            }
        }
    }
}
