//! Corpora generated from source documents.

mod crowd;
mod distinct;
mod edits;
mod output;
mod short;
mod templates;
mod variation;

pub use crowd::{crowded, equal};
pub use distinct::{DistinctOptions, distinct};
pub use edits::edits;
pub use output::Output;
pub use short::{short_variants, titles};
pub use templates::{TemplateOptions, templates};
pub use variation::{MAX_UNITS, MIN_UNITS, Variation};

/// Two documents whose exact Jaccard is known.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TruePair {
    /// The id of the earlier document.
    pub a: String,
    /// The id of the later document.
    pub b: String,
    /// The exact Jaccard of the two documents.
    pub jaccard: f64,
}
