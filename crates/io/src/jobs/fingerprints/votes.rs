//! The votes behind a fingerprint.

use twinprint_fingerprint::hyperplane::VectorVotes;
use twinprint_text::FeatureVotes;

use super::entries::Vector;

/// The votes for each bit of the fingerprint of one record.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordVotes {
    /// The votes of the features of a text, or of given features.
    Features(FeatureVotes),
    /// The votes of the components of a vector.
    Vector {
        /// The vector.
        vector: Vector,
        /// Its votes and its fingerprint.
        votes: VectorVotes,
    },
}
