//! Two documents side by side: every distance and similarity, and what differs.

use serde::Serialize;
use twinprint_fingerprint::{HashKey, Width};
use twinprint_text::measures::{
    TermVector, chebyshev, cosine, edit_distance, euclidean, manhattan, term_jaccard,
};
use twinprint_text::overlap::{Shingler, overlap};
use twinprint_text::{Analyzer, Feature, Measure, Profile};

/// How two documents differ. Distances are 0 and similarities 1 for equal texts.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comparison {
    /// Id of the profile of the fingerprints.
    pub profile: String,
    /// The fingerprints, in hexadecimal.
    pub fingerprints: [String; 2],
    /// Bits in which they differ.
    pub hamming: u32,
    /// Exact shingle Jaccard: what a duplicate is told by.
    pub jaccard: f64,
    /// Shingles in common over those of the smaller document.
    pub containment: f64,
    /// What the shingles are: word 3-grams or character 5-grams.
    pub shingles: &'static str,
    /// Cosine of the term counts.
    pub cosine: f64,
    /// Distinct terms in common over all.
    pub term_jaccard: f64,
    /// Edits of single characters between the normalised texts; absent where they are too long and too different.
    pub edit: Option<usize>,
    /// Euclidean distance of the term counts.
    pub euclidean: f64,
    /// Sum of the differences of the term counts.
    pub manhattan: f64,
    /// Largest difference of a term count.
    pub chebyshev: f64,
    /// Distinct features of each.
    pub features: [u32; 2],
    /// What differs, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// Which features and bits make the difference.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Explanation {
    /// The bits that differ, with the sum of votes on either side: a small sum is easily turned.
    pub bits: Vec<BitVotes>,
    /// The formula for the weights of features, such as "1 + ln tf, in sixteenths".
    pub weight_formula: String,
    /// Features that weigh differently, the largest difference first.
    pub features: Vec<FeatureWeights>,
}

/// One bit of both fingerprints.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BitVotes {
    /// The bit, from 0, the least significant.
    pub bit: u32,
    /// The sums of votes.
    pub sums: [i64; 2],
}

/// One feature of either document.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FeatureWeights {
    /// Its text.
    pub feature: String,
    /// Its weight on either side; 0 where it does not occur.
    pub weights: [u16; 2],
}

/// Compares two texts under a profile. `explain` adds what differs.
pub fn compare(a: &str, b: &str, profile: &Profile, explain: bool) -> Comparison {
    let mut analyzer = Analyzer::new(profile, HashKey::PUBLIC);
    let mut side = |text: &str| {
        let features = analyzer.explain(text);
        let analysis = analyzer.analyze(text);
        Side {
            canonical: analysis.canonical.to_owned(),
            measure: analysis.measure,
            fingerprint: analysis.fingerprint,
            count: analysis.features,
            features,
        }
    };
    let (a, b) = (side(a), side(b));
    let measure = a.measure.with(b.measure);
    let mut shingler = Shingler::new(HashKey::PUBLIC);
    let mut shingle = |side: &Side| shingler.shingle(&side.canonical, measure);
    let shared = overlap(&shingle(&a), &shingle(&b));
    let (x, y) = (TermVector::new(&a.features), TermVector::new(&b.features));
    Comparison {
        profile: profile.id(),
        fingerprints: [&a, &b].map(|side| hex(side.fingerprint, profile.bits())),
        hamming: a.fingerprint.distance(b.fingerprint),
        jaccard: shared.jaccard(),
        containment: shared.containment(),
        shingles: match measure {
            Measure::CharGrams => "character 5-grams",
            Measure::WordGrams => "word 3-grams",
        },
        cosine: cosine(&x, &y),
        term_jaccard: term_jaccard(&x, &y),
        edit: edit_distance(&a.canonical, &b.canonical),
        euclidean: euclidean(&x, &y),
        manhattan: manhattan(&x, &y),
        chebyshev: chebyshev(&x, &y),
        features: [a.count, b.count],
        explanation: explain.then(|| explanation(&a, &b, profile)),
    }
}

struct Side {
    canonical: String,
    measure: Measure,
    fingerprint: u128,
    count: u32,
    features: Vec<Feature>,
}

/// A fingerprint of `bits` in its own number of digits.
pub(crate) fn hex(fingerprint: u128, bits: u32) -> String {
    match bits {
        16 => u16::truncate(fingerprint).to_hex(),
        32 => u32::truncate(fingerprint).to_hex(),
        64 => u64::truncate(fingerprint).to_hex(),
        _ => fingerprint.to_hex(),
    }
}

fn explanation(a: &Side, b: &Side, profile: &Profile) -> Explanation {
    let sums = |side: &Side| {
        let hashes: Vec<u128> = side.features.iter().map(|feature| feature.hash).collect();
        let weights: Vec<i64> = side
            .features
            .iter()
            .map(|feature| i64::from(feature.weight))
            .collect();
        twinprint_fingerprint::accumulate(&hashes, &weights)
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
    let mut weights: std::collections::BTreeMap<&str, [u16; 2]> = std::collections::BTreeMap::new();
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
    // The map gave them in order of their bytes, which a stable sort keeps among equals.
    features.sort_by_key(|f| std::cmp::Reverse(f.weights[0].abs_diff(f.weights[1])));
    Explanation {
        bits,
        weight_formula: profile.weight_formula(),
        features,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_differ_in_nothing() {
        let profile = Profile::default_for(64).unwrap();
        let same = compare("The quick brown fox.", "the QUICK brown fox", &profile, true);
        assert_eq!((same.hamming, same.edit), (0, Some(0)));
        assert!((same.jaccard - 1.0).abs() < 1e-12 && (same.cosine - 1.0).abs() < 1e-12);
        let explanation = same.explanation.unwrap();
        assert!(explanation.bits.is_empty() && explanation.features.is_empty());
    }

    #[test]
    fn an_explanation_names_the_bits_and_features() {
        let profile = Profile::default_for(64).unwrap();
        let differ = compare(
            "one two three four five",
            "one two three four six",
            &profile,
            true,
        );
        let explanation = differ.explanation.unwrap();
        assert_eq!(explanation.bits.len() as u32, differ.hamming);
        let names: Vec<&str> = explanation.features.iter().map(|f| f.feature.as_str()).collect();
        assert_eq!(names, ["five", "six"]);
        for votes in &explanation.bits {
            assert!((votes.sums[0] > 0) != (votes.sums[1] > 0));
        }
        assert!((differ.manhattan - 2.0).abs() < 1e-12);
    }

    #[test]
    fn weights_are_explained_by_the_formula_of_the_profile() {
        // Of "five", twice in one text.
        for (id, formula, weight) in [
            ("tp1-words-lntf-64", "1 + ln tf, in sixteenths", 27),
            ("tp1-words-tf-64", "tf", 2),
            ("tp1-words-set-64", "1", 1),
            ("tp1-words-levels-64", "a level from 1 to 5 by tf", 2),
        ] {
            let profile = Profile::parse(id).unwrap();
            let explanation = compare("one five five", "one", &profile, true)
                .explanation
                .unwrap();
            assert_eq!(explanation.weight_formula, formula, "{id}");
            assert_eq!(explanation.features[0].weights, [weight, 0], "{id}");
        }
    }
}
