//! Ratios in the rows of results.

use serde::{Deserialize, Serialize};

/// A Jaccard or a containment, written with six decimal places.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Ratio(f64);

impl Ratio {
    /// Creates a ratio. Returns `None` for NaN, which stands for a value that was not measured.
    pub fn new(value: f64) -> Option<Self> {
        (!value.is_nan()).then_some(Self(value))
    }

    /// Returns the value with six decimal places, rounded towards zero. A value below a threshold is therefore never
    /// written as equal to the threshold.
    pub fn value(self) -> f64 {
        (self.0 * 1e6).floor() / 1e6
    }
}

impl Serialize for Ratio {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}
