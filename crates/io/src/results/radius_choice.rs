//! The reason why a run uses its radius.

use serde::{Deserialize, Serialize};

/// The reason why a run uses its radius.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RadiusChoice {
    /// The user gave the radius.
    #[default]
    Given,
    /// No pair is excluded by its distance: the set join of all texts finds every pair at the threshold.
    Exact,
    /// The largest radius whose expected number of unrelated candidates is within the budget.
    Affordable,
    /// The smallest radius that is expected to contain enough of the pairs at the threshold: nine in ten, or 99 in a
    /// hundred in a small corpus. Its expected number of candidates exceeds the budget.
    Sufficient,
    /// The largest radius within the limit of unrelated candidates. It is expected to contain fewer of the pairs at the
    /// threshold.
    Limited,
    /// The largest radius that the choice considers.
    Widest,
    /// Nothing is verified, so documents within the radius are duplicates.
    Verdict,
}
