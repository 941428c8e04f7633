//! The reason for the radius of a run.

use serde::{Deserialize, Serialize};

/// The reason for a radius.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RadiusChoice {
    /// The radius was given.
    #[default]
    Given,
    /// The largest radius within the budget of candidates; the next one is beyond it.
    Affordable,
    /// The smallest radius that is expected to hold nine in ten of the pairs at the threshold, which is beyond the budget.
    Sufficient,
    /// The largest radius within the limit of candidates, which is less than sufficient.
    Limited,
    /// The widest radius that is considered.
    Widest,
    /// Nothing is verified, so the radius is the verdict.
    Verdict,
}
