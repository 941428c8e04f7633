//! Fingerprints of features that the caller gives with their weights, instead of a text.
//!
//! Under a [`Profile`], a weight is rounded to the nearest multiple of 2⁻¹⁶, and the votes are summed in integers that
//! count these units. So the order of the features does not matter. A total weight of at most [`MAX_TOTAL_WEIGHT`]
//! keeps every sum exact, also as a floating-point number. Under a [`Recipe`], weights are summed as the other library
//! sums them: as floating-point numbers, in the order in which they are given.

use twinprint_fingerprint::{HashKey, Width, accumulate};

use crate::compat::Recipe;
use crate::feature_hash::FeatureHasher;
use crate::feature_votes::{FeatureVotes, VotingFeature, WeightedFeature};
use crate::hash_number::parse_hash_number;
use crate::profile::Profile;

/// A weight of 1, in the units in which the votes under a profile are summed.
const UNITS: f64 = 65_536.0;

/// The maximum sum of the weights of a document's features under a profile. In units of 2⁻¹⁶, sums of up to 2⁵³ are
/// exact in a floating-point number.
pub const MAX_TOTAL_WEIGHT: u64 = 1 << 37;

/// The maximum number of characters of a feature that an error message quotes.
const MAX_QUOTED_CHARS: usize = 40;

/// The rules by which given features become a fingerprint.
///
/// ```
/// use twinprint_fingerprint::HashKey;
/// use twinprint_text::{GivenFeatures, Profile, WeightedFeature};
///
/// let given = |name: &str, weight| WeightedFeature { name: name.to_owned(), weight };
/// let profile = Profile::default_for(16)?;
/// // The hashes themselves are given. They have six bits.
/// let rules = GivenFeatures::of_profile(&profile, HashKey::PUBLIC).hashed(true);
/// let votes = rules.votes(vec![given("0b100101", 4.0), given("0b101011", 5.0)])?;
/// assert_eq!(votes.sums[..6], [9.0, 1.0, -1.0, 1.0, -9.0, 9.0]);
/// assert_eq!(votes.fingerprint, 0b101011);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GivenFeatures {
    method: Method,
    hashed: bool,
}

#[derive(Clone, Debug)]
enum Method {
    Profile { bits: u32, hasher: FeatureHasher },
    Recipe(Recipe),
}

/// The reason why given features have no fingerprint.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GivenFeaturesError {
    /// The other library makes fingerprints of texts only.
    #[error(
        "the library makes fingerprints of texts only; the profiles of other libraries that accept features are {}",
        ACCEPTING
    )]
    Recipe,
    /// A weight is negative, infinite or not a number.
    #[error("the weight of {name:?} is {weight}, but a weight must be a number from 0 up")]
    Weight {
        /// The feature, shortened.
        name: String,
        /// Its weight.
        weight: f64,
    },
    /// The library gives every hash the weight 1, and a feature has another weight.
    #[error("the weight of {name:?} is {weight}, but the library gives every hash the weight 1")]
    NotOne {
        /// The feature, shortened.
        name: String,
        /// Its weight.
        weight: f64,
    },
    /// The weights of the document's features are too large.
    #[error("the weights sum to more than {MAX_TOTAL_WEIGHT}; divide all weights by the same number")]
    Total,
    /// The features are given as hashes, and one of them is not a hash.
    #[error("{name:?} is not a hash of up to {bits} bits: write a decimal number, or digits after 0x or 0b")]
    Hash {
        /// The feature, shortened.
        name: String,
        /// The maximum number of bits.
        bits: u32,
    },
}

/// The names of the recipes that make fingerprints of given features.
const ACCEPTING: &str = "cppjieba, haoyuhu-gosimhash, 1e0ng and seomoz";

impl GivenFeatures {
    /// The rules of a profile: its feature hash under `key`, and its width. The features and weights of the profile do
    /// not matter, because features and weights are given.
    pub fn of_profile(profile: &Profile, key: HashKey) -> Self {
        Self {
            method: Method::Profile {
                bits: profile.bits(),
                hasher: FeatureHasher::new(profile.hash(), key),
            },
            hashed: false,
        }
    }

    /// The rules of another library. The features of `seomoz` are always hashes.
    ///
    /// # Errors
    /// [`GivenFeaturesError::Recipe`] if the library does not make fingerprints of given features.
    pub fn of_recipe(recipe: Recipe) -> Result<Self, GivenFeaturesError> {
        if !recipe.accepts_features() && recipe != Recipe::Seomoz {
            return Err(GivenFeaturesError::Recipe);
        }
        Ok(Self {
            method: Method::Recipe(recipe),
            hashed: recipe == Recipe::Seomoz,
        })
    }

    /// Returns these rules for features that are hashes, written as numbers (see [`parse_hash_number`]), if `hashed` is
    /// true. The low bits of a hash vote if it is wider than the fingerprint.
    #[must_use]
    pub fn hashed(self, hashed: bool) -> Self {
        Self {
            hashed: self.hashed || hashed,
            ..self
        }
    }

    /// The width of the fingerprints in bits.
    pub fn bits(&self) -> u32 {
        match &self.method {
            Method::Profile { bits, .. } => *bits,
            Method::Recipe(recipe) => recipe.bits(),
        }
    }

    /// Makes the fingerprint of features. A feature that is given twice votes twice. Without features the fingerprint
    /// is 0. Linear.
    ///
    /// # Errors
    /// A weight is negative or not finite, the weights are too large, or a feature is not a hash although features are
    /// given as hashes.
    pub fn votes(&self, features: Vec<WeightedFeature>) -> Result<FeatureVotes, GivenFeaturesError> {
        let features: Result<Vec<VotingFeature>, _> =
            features.into_iter().map(|feature| self.hash(feature)).collect();
        let features = features?;
        match &self.method {
            Method::Profile { bits, .. } => profile_votes(features, *bits),
            Method::Recipe(recipe) => Ok(recipe.votes(features)),
        }
    }

    fn hash(&self, feature: WeightedFeature) -> Result<VotingFeature, GivenFeaturesError> {
        let WeightedFeature { name, weight } = &feature;
        let (weight, short) = (*weight, || name.chars().take(MAX_QUOTED_CHARS).collect());
        if !(weight.is_finite() && weight >= 0.0) {
            let name = short();
            return Err(GivenFeaturesError::Weight { name, weight });
        }
        // The library adds 1 for each hash, so only this weight can be reproduced.
        #[expect(clippy::float_cmp, reason = "the weight must be exactly 1")]
        if matches!(self.method, Method::Recipe(Recipe::Seomoz)) && weight != 1.0 {
            let name = short();
            return Err(GivenFeaturesError::NotOne { name, weight });
        }
        let max_bits = match self.method {
            Method::Profile { .. } => u128::BITS,
            Method::Recipe(_) => u64::BITS,
        };
        let hash = match &self.method {
            _ if self.hashed => parse_hash_number(name)
                .filter(|hash| max_bits == u128::BITS || hash >> max_bits == 0)
                .ok_or_else(|| GivenFeaturesError::Hash {
                    name: short(),
                    bits: max_bits,
                })?,
            Method::Profile { hasher, .. } => hasher.hash_one(name.as_bytes()),
            Method::Recipe(recipe) => u128::from(recipe.hash_feature(name.as_bytes())),
        };
        Ok(VotingFeature { feature, hash })
    }
}

/// Sums the votes of features for each of `bits` bits, in integers. Weights are rounded to units of 2⁻¹⁶.
pub(crate) fn profile_votes(
    features: Vec<VotingFeature>,
    bits: u32,
) -> Result<FeatureVotes, GivenFeaturesError> {
    let weights: Vec<i64> = features
        .iter()
        // A weight beyond the range of i64 becomes the largest i64, and the check below refuses the total.
        .map(|voting| (voting.feature.weight * UNITS).round() as i64)
        .collect();
    let total = weights
        .iter()
        .try_fold(0i64, |sum, &weight| sum.checked_add(weight));
    if total.is_none_or(|total| total > (MAX_TOTAL_WEIGHT << 16) as i64) {
        return Err(GivenFeaturesError::Total);
    }
    let hashes: Vec<u128> = features.iter().map(|voting| voting.hash).collect();
    let sums = accumulate(&hashes, &weights);
    let sums = sums.get(..bits as usize).unwrap_or(&sums);
    Ok(FeatureVotes {
        features,
        fingerprint: u128::from_sums(sums),
        // Exact: the total bounds every sum by 2⁵³ units.
        sums: sums.iter().map(|&sum| sum as f64 / UNITS).collect(),
    })
}

#[cfg(test)]
mod tests;
