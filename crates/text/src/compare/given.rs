//! Comparison of two documents that are given as fingerprints, features or vectors instead of texts.

use crate::feature_votes::FeatureVotes;
use crate::hex::fingerprint_hex;
use crate::measures::{
    TermVector, chebyshev, cosine, dice, euclidean, manhattan, overlap_coefficient, pearson, term_jaccard,
};

/// Two fingerprints of the same width, their Hamming distance, and the angle that it estimates.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FingerprintComparison {
    /// The fingerprints, in hexadecimal.
    pub fingerprints: [String; 2],
    /// The width of the fingerprints.
    pub bits: u32,
    /// Hamming distance of the fingerprints.
    pub hamming: u32,
    /// The angle that the Hamming distance estimates.
    pub angle: EstimatedAngle,
}

/// The angle between two weighted feature vectors, estimated from the Hamming distance of their fingerprints. A bit
/// differs with probability θ/π (Charikar 2002), so θ is π times the share of the bits that differ.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EstimatedAngle {
    /// The angle in degrees, from 0 to 180.
    pub degrees: f64,
    /// The cosine of the angle.
    pub cosine: f64,
}

/// Two documents that are given as weighted features.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FeatureComparison {
    /// The fingerprints of the features.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub fingerprints: FingerprintComparison,
    /// Cosine of the two vectors of weights.
    pub cosine: f64,
    /// Number of features that both documents have, over the number that at least one of them has.
    pub jaccard: f64,
    /// Dice coefficient of the two sets of features.
    pub dice: f64,
    /// Number of features that both documents have, over the number of features of the document with fewer.
    pub overlap_coefficient: f64,
    /// Euclidean distance of the two vectors of weights.
    pub euclidean: f64,
    /// Sum over all features of the absolute difference of the two weights.
    pub manhattan: f64,
    /// Largest absolute difference of the two weights of a feature.
    pub chebyshev: f64,
    /// Number of features of each document.
    pub features: [u32; 2],
}

/// Two vectors.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct VectorComparison {
    /// The fingerprints of the vectors.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub fingerprints: FingerprintComparison,
    /// Cosine of the angle between the vectors.
    pub cosine: f64,
    /// Pearson correlation over the dimensions that at least one vector has; `None` if all values of a vector are
    /// equal.
    pub pearson: Option<f64>,
    /// Euclidean distance.
    pub euclidean: f64,
    /// Sum over all dimensions of the absolute difference.
    pub manhattan: f64,
    /// Largest absolute difference in one dimension.
    pub chebyshev: f64,
}

/// The angle that a Hamming distance of fingerprints of `bits` bits estimates.
///
/// ```
/// use twinprint_text::compare::estimated_angle;
///
/// let angle = estimated_angle(16, 64);
/// assert_eq!(angle.degrees, 45.0);
/// assert!((angle.cosine - 0.5f64.sqrt()).abs() < 1e-12);
/// ```
pub fn estimated_angle(hamming: u32, bits: u32) -> EstimatedAngle {
    let half_turns = f64::from(hamming) / f64::from(bits);
    let cosine = if 2 * hamming == bits {
        0.0
    } else {
        (half_turns * std::f64::consts::PI).cos()
    };
    EstimatedAngle {
        degrees: half_turns * 180.0,
        cosine,
    }
}

/// Compares two fingerprints of `bits` bits, which are in the low bits of the two numbers.
///
/// ```
/// use twinprint_text::compare::compare_fingerprints;
///
/// let compared = compare_fingerprints(0b100111, 0b101010, 16);
/// assert_eq!(compared.hamming, 3);
/// ```
pub fn compare_fingerprints(a: u128, b: u128, bits: u32) -> FingerprintComparison {
    let mask = u128::MAX >> (u128::BITS - bits.clamp(1, u128::BITS));
    let hamming = ((a ^ b) & mask).count_ones();
    FingerprintComparison {
        fingerprints: [a, b].map(|fingerprint| fingerprint_hex(fingerprint & mask, bits)),
        bits,
        hamming,
        angle: estimated_angle(hamming, bits),
    }
}

/// Compares two documents by their features. The features of both must have been made by the same rules.
pub fn compare_features(a: &FeatureVotes, b: &FeatureVotes) -> FeatureComparison {
    let vector = |votes: &FeatureVotes| {
        let features = votes.features.iter();
        TermVector::of_components(features.map(|voting| (voting.hash, voting.feature.weight)))
    };
    let (x, y) = (vector(a), vector(b));
    FeatureComparison {
        fingerprints: compare_fingerprints(a.fingerprint, b.fingerprint, a.bits()),
        cosine: cosine(&x, &y),
        jaccard: term_jaccard(&x, &y),
        dice: dice(&x, &y),
        overlap_coefficient: overlap_coefficient(&x, &y),
        euclidean: euclidean(&x, &y),
        manhattan: manhattan(&x, &y),
        chebyshev: chebyshev(&x, &y),
        features: [&x, &y].map(|vector| vector.len() as u32),
    }
}

/// Compares two vectors, whose components are identified by the rows of their dimensions. `fingerprints` compares their
/// fingerprints.
pub fn compare_vectors(
    a: &TermVector,
    b: &TermVector,
    fingerprints: FingerprintComparison,
) -> VectorComparison {
    VectorComparison {
        fingerprints,
        cosine: cosine(a, b),
        pearson: pearson(a, b),
        euclidean: euclidean(a, b),
        manhattan: manhattan(a, b),
        chebyshev: chebyshev(a, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_of_distances() {
        let degrees = [(0, 0.0), (32, 90.0), (64, 180.0)];
        for (hamming, expected) in degrees {
            let angle = estimated_angle(hamming, 64);
            assert!((angle.degrees - expected).abs() < 1e-12);
            assert!((angle.cosine - expected.to_radians().cos()).abs() < 1e-12);
        }
    }

    /// The two distances of the literature, and the three fingerprints of 32 bits.
    #[test]
    fn published_distances() {
        let distance = |a, b, bits| compare_fingerprints(a, b, bits).hamming;
        assert_eq!(distance(0b100_111, 0b101_010, 16), 3);
        assert_eq!(distance(0b101_011, 0b100_101, 16), 3);
        let [a, b, c] = [851_459_198, 847_263_864, 984_968_088];
        assert_eq!(
            [distance(a, b, 32), distance(a, c, 32), distance(b, c, 32)],
            [4, 16, 12]
        );
        assert_eq!(distance(u128::MAX, 0, 128), 128);
        // Bits above the width do not count.
        assert_eq!(distance(1 << 16 | 1, 0, 16), 1);
    }
}
