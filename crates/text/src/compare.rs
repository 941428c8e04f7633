//! Comparison of two texts: all distances and similarities, and the features and bits in which the texts differ.
//!
//! The comparison is made for display and reports. It allocates memory freely and computes the edit distance, which
//! takes quadratic time. The engine itself compares documents with [`overlap`](crate::overlap).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use twinprint_fingerprint::{HashKey, Width, accumulate};

mod given;

pub use given::{
    EstimatedAngle, FeatureComparison, FingerprintComparison, VectorComparison, compare_features,
    compare_fingerprints, compare_vectors, estimated_angle,
};

use crate::analysis::Feature;
use crate::analyzer::Analyzer;
use crate::hex::fingerprint_hex;
use crate::idf::IdfTable;
use crate::measures::{
    TermVector, chebyshev, cosine, dice, edit_distance, euclidean, manhattan, overlap_coefficient,
    term_jaccard,
};
use crate::overlap::{Shingler, overlap};
use crate::profile::Profile;
use crate::script::Measure;

/// The distances and similarities of two texts. For equal texts all distances are 0 and all similarities 1.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comparison {
    /// Id of the profile that the fingerprints were made with.
    pub profile: String,
    /// The fingerprints, in hexadecimal.
    pub fingerprints: [String; 2],
    /// Hamming distance of the fingerprints.
    pub hamming: u32,
    /// The angle between the two weighted feature vectors, as the Hamming distance estimates it.
    pub angle: EstimatedAngle,
    /// Jaccard of the two shingle sets, computed exactly. It decides whether the texts are duplicates.
    pub jaccard: f64,
    /// Common shingles over the shingles of the smaller text.
    pub containment: f64,
    /// Kind of the shingles: "word 3-grams" or "character 5-grams".
    pub shingles: &'static str,
    /// Cosine of the two vectors of term counts.
    pub cosine: f64,
    /// Cosine of the two vectors of term counts multiplied by idf; `None` if the profile has no idf table.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub tfidf_cosine: Option<f64>,
    /// Number of distinct terms that both texts have, over the number that at least one of them has.
    pub term_jaccard: f64,
    /// Dice coefficient of the terms: twice the number of common terms over the sum of both numbers of terms.
    pub dice: f64,
    /// Number of distinct terms that both texts have, over the number of terms of the text with fewer.
    pub overlap_coefficient: f64,
    /// Insertions, deletions and replacements of characters that turn one canonical text into the other; `None` if the
    /// texts are too long and too different to compute this.
    pub edit: Option<usize>,
    /// Euclidean distance of the two vectors of term counts.
    pub euclidean: f64,
    /// Sum over all terms of the absolute difference of the two counts.
    pub manhattan: f64,
    /// Largest absolute difference of the two counts of a term.
    pub chebyshev: f64,
    /// Number of distinct features of each text.
    pub features: [u32; 2],
    /// The features and bits in which the texts differ; `None` if no explanation was requested.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub explanation: Option<Explanation>,
}

/// The features and bits in which two texts differ.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Explanation {
    /// The bits that differ, with the vote of each text for the bit. A bit whose vote is close to 0 flips easily.
    pub bits: Vec<BitVotes>,
    /// The formula for the weight of a feature, such as "1 + ln tf, in sixteenths".
    pub weight_formula: String,
    /// Features that have different weights in the two texts, the largest difference first.
    pub features: Vec<FeatureWeights>,
}

/// The votes of two texts for one bit of their fingerprints.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BitVotes {
    /// Number of the bit; 0 is the least significant.
    pub bit: u32,
    /// The vote of each text: the sum of the weights of its features, each with the sign of the feature's bit. The bit
    /// is 1 if the sum is positive.
    pub sums: [i64; 2],
}

/// The weight of one feature in each of two texts.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FeatureWeights {
    /// Text of the feature.
    pub feature: String,
    /// The weight in each text; 0 if the feature does not occur in that text.
    pub weights: [u16; 2],
}

/// Compares two texts under a profile. If `explain` is true, the result lists the features and bits that differ.
///
/// ```
/// use twinprint_text::Profile;
/// use twinprint_text::compare::compare;
///
/// let profile = Profile::parse("tp1-words-lntf-64")?;
/// let comparison = compare("one two three four five", "one two three four six", &profile, true);
/// assert_eq!(comparison.jaccard, 0.5);
///
/// let explanation = comparison.explanation.ok_or("no explanation")?;
/// assert_eq!(explanation.features[0].feature, "five");
/// assert_eq!(explanation.bits.len() as u32, comparison.hamming);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare(a: &str, b: &str, profile: &Profile, explain: bool) -> Comparison {
    let mut analyzer = Analyzer::new(profile, HashKey::PUBLIC);
    let mut analyze = |text: &str| {
        let features = analyzer.explain(text);
        let analysis = analyzer.analyze(text);
        AnalyzedText {
            canonical: analysis.canonical.to_owned(),
            measure: analysis.measure,
            fingerprint: analysis.fingerprint,
            count: analysis.features,
            features,
        }
    };
    let (a, b) = (analyze(a), analyze(b));
    let measure = a.measure.with(b.measure);
    let mut shingler = Shingler::new(HashKey::PUBLIC);
    let mut shingle = |side: &AnalyzedText| shingler.shingle(&side.canonical, measure);
    let shared = overlap(&shingle(&a), &shingle(&b));
    let (x, y) = (TermVector::new(&a.features), TermVector::new(&b.features));
    let hamming = a.fingerprint.distance(b.fingerprint);
    let tfidf = |table: &IdfTable| {
        let [x, y] = [&a, &b].map(|side| tfidf_vector(&side.features, table));
        cosine(&x, &y)
    };
    Comparison {
        profile: profile.id(),
        fingerprints: [&a, &b].map(|side| fingerprint_hex(side.fingerprint, profile.bits())),
        hamming,
        angle: estimated_angle(hamming, profile.bits()),
        jaccard: shared.jaccard(),
        containment: shared.containment(),
        shingles: match measure {
            Measure::CharGrams => "character 5-grams",
            Measure::WordGrams => "word 3-grams",
        },
        cosine: cosine(&x, &y),
        tfidf_cosine: profile.idf().map(|(table, _)| tfidf(table)),
        term_jaccard: term_jaccard(&x, &y),
        dice: dice(&x, &y),
        overlap_coefficient: overlap_coefficient(&x, &y),
        edit: edit_distance(&a.canonical, &b.canonical),
        euclidean: euclidean(&x, &y),
        manhattan: manhattan(&x, &y),
        chebyshev: chebyshev(&x, &y),
        features: [a.count, b.count],
        explanation: explain.then(|| explanation(&a, &b, profile)),
    }
}

/// The terms with their counts multiplied by idf. The unit of idf does not matter for a cosine.
fn tfidf_vector(features: &[Feature], table: &IdfTable) -> TermVector {
    TermVector::of_components(features.iter().map(|feature| {
        let idf = f64::from(table.value(&feature.text));
        (feature.hash, f64::from(feature.tf) * idf)
    }))
}

/// One of the two texts, analysed.
struct AnalyzedText {
    canonical: String,
    measure: Measure,
    fingerprint: u128,
    count: u32,
    features: Vec<Feature>,
}

fn explanation(a: &AnalyzedText, b: &AnalyzedText, profile: &Profile) -> Explanation {
    let sums = |side: &AnalyzedText| {
        let hashes: Vec<u128> = side.features.iter().map(|feature| feature.hash).collect();
        let weights: Vec<i64> = side
            .features
            .iter()
            .map(|feature| i64::from(feature.weight))
            .collect();
        accumulate(&hashes, &weights)
    };
    let (left, right) = (sums(a), sums(b));
    let differing = (0..profile.bits()).filter(|&bit| a.fingerprint.bit(bit) != b.fingerprint.bit(bit));
    let sum = |sums: &[i64], bit: u32| sums.get(bit as usize).copied().unwrap_or(0);
    let bits = differing
        .map(|bit| BitVotes {
            bit,
            sums: [sum(&left, bit), sum(&right, bit)],
        })
        .collect();
    let mut weights: BTreeMap<&str, [u16; 2]> = BTreeMap::new();
    for (i, side) in [a, b].into_iter().enumerate() {
        for feature in &side.features {
            weights.entry(&feature.text).or_default()[i] = feature.weight;
        }
    }
    let mut features: Vec<FeatureWeights> = weights
        .into_iter()
        .filter(|(_, [x, y])| x != y)
        .map(|(feature, weights)| FeatureWeights {
            feature: feature.to_owned(),
            weights,
        })
        .collect();
    // `weights` is ordered by the bytes of the features. The sort is stable, so features with equal differences stay in
    // that order.
    features.sort_by_key(|f| Reverse(f.weights[0].abs_diff(f.weights[1])));
    Explanation {
        bits,
        weight_formula: profile.weight_formula(),
        features,
    }
}

#[cfg(test)]
mod tests;
