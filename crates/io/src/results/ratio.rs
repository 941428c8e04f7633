//! Ratios in result rows.

use serde::{Deserialize, Serialize};

/// A Jaccard or a containment, written to six places.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Ratio(f64);

impl Ratio {
    /// A ratio; `None` for NaN, which stands for a value that was not measured.
    pub fn new(value: f64) -> Option<Self> {
        (!value.is_nan()).then_some(Self(value))
    }

    /// The value to six places, rounded towards zero, so that a value below a threshold is never shown as having reached it.
    pub fn value(self) -> f64 {
        (self.0 * 1e6).floor() / 1e6
    }
}

impl Serialize for Ratio {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}
