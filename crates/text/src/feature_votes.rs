//! The votes of a document's features, for display and for programs that continue with the features.

use crate::hex::fingerprint_hex;

/// A feature with a weight: a word with its count, for example.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedFeature {
    /// The feature as a string.
    pub name: String,
    /// The weight of the feature.
    pub weight: f64,
}

/// A feature of a document as it votes for the bits of the fingerprint.
#[derive(Clone, Debug, PartialEq)]
pub struct VotingFeature {
    /// The feature and its weight.
    pub feature: WeightedFeature,
    /// The hash of the feature. Its bits decide the signs of the votes.
    pub hash: u128,
}

/// The features of a document, the sum of their votes for each bit, and the fingerprint that these sums make.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureVotes {
    /// The features that vote.
    pub features: Vec<VotingFeature>,
    /// The sum of the votes for each bit, the least significant bit first. A feature votes with its weight if the bit
    /// of its hash is 1, and with its negative weight if the bit is 0.
    pub sums: Vec<f64>,
    /// The fingerprint. It has as many bits as `sums` has elements.
    pub fingerprint: u128,
}

impl FeatureVotes {
    /// The width of the fingerprint in bits.
    pub fn bits(&self) -> u32 {
        self.sums.len() as u32
    }

    /// The fingerprint in hexadecimal.
    pub fn hex(&self) -> String {
        fingerprint_hex(self.fingerprint, self.bits())
    }
}
