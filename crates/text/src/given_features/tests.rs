use proptest::prelude::*;

use super::*;
use crate::Analyzer;
use crate::compat::Keywords;

fn given(features: &[(&str, f64)]) -> Vec<WeightedFeature> {
    let feature = |&(name, weight): &(&str, f64)| WeightedFeature {
        name: name.to_owned(),
        weight,
    };
    features.iter().map(feature).collect()
}

fn rules(bits: u32) -> GivenFeatures {
    GivenFeatures::of_profile(&Profile::default_for(bits).unwrap(), HashKey::PUBLIC)
}

fn recipe(name: &str) -> GivenFeatures {
    GivenFeatures::of_recipe(Recipe::parse(name).unwrap()).unwrap()
}

/// The five words of the design's example, with hashes of three bits, and weights 1, 2, 0, 3, 0.
#[test]
fn worked_examples() {
    let words = [
        ("0b101", 1.0),
        ("0b011", 2.0),
        ("0b100", 0.0),
        ("0b001", 3.0),
        ("0b110", 0.0),
    ];
    let votes = rules(16).hashed(true).votes(given(&words)).unwrap();
    // Highest bit first: -4, -2, 6.
    assert_eq!(votes.sums[..3], [6.0, -2.0, -4.0]);
    assert_eq!(
        (votes.fingerprint, votes.bits(), votes.hex()),
        (1, 16, "0001".to_owned())
    );
}

#[test]
fn weights_are_rounded_to_units() {
    let unit = 1.0 / UNITS;
    let hashes = [
        ("1", 1.0 + 0.4 * unit),
        ("2", 1.0 + 0.5 * unit),
        ("3", 0.49 * unit),
    ];
    let votes = rules(64).hashed(true).votes(given(&hashes)).unwrap();
    assert_eq!(votes.sums[..3], [-unit, unit, -2.0 - unit]);
    assert_eq!(votes.fingerprint, 0b10);
}

#[test]
fn wrong_weights_and_hashes_are_errors() {
    for weight in [-1.0, -f64::MIN_POSITIVE, f64::NAN, f64::INFINITY] {
        for rules in [rules(64), recipe("1e0ng")] {
            let error = rules.votes(given(&[("a", weight)])).unwrap_err();
            assert!(
                matches!(error, GivenFeaturesError::Weight { .. }),
                "{weight}: {error}"
            );
        }
    }
    let most = MAX_TOTAL_WEIGHT as f64;
    assert!(rules(64).votes(given(&[("a", most)])).is_ok());
    for heavy in [[most, 1.0], [1e300, 0.0], [1e300, 1e300]] {
        let error = rules(64)
            .votes(given(&[("a", heavy[0]), ("b", heavy[1])]))
            .unwrap_err();
        assert_eq!(error, GivenFeaturesError::Total);
    }
    for name in ["cat", "", "0x", "-1", "+1", "0x1ffffffffffffffffffffffffffffffff"] {
        let error = rules(64).hashed(true).votes(given(&[(name, 1.0)])).unwrap_err();
        assert!(
            matches!(error, GivenFeaturesError::Hash { bits: 128, .. }),
            "{name}: {error}"
        );
    }
    let error = recipe("seomoz")
        .votes(given(&[("0x10000000000000000", 1.0)]))
        .unwrap_err();
    assert!(
        matches!(error, GivenFeaturesError::Hash { bits: 64, .. }),
        "{error}"
    );
    let error = recipe("seomoz").votes(given(&[("7", 2.0)])).unwrap_err();
    assert!(matches!(error, GivenFeaturesError::NotOne { .. }), "{error}");
    for name in ["mfonda", "allendang", "safeie", "rust-simhash", "simhash-java"] {
        let refused = GivenFeatures::of_recipe(Recipe::parse(name).unwrap()).map(|_| ());
        assert_eq!(refused, Err(GivenFeaturesError::Recipe), "{name}");
    }
}

#[test]
fn features_of_other_libraries() {
    let votes = recipe("cppjieba")
        .votes(given(&[("妈妈", 6.55531), ("吃饭", 6.44422)]))
        .unwrap();
    assert_eq!(votes.fingerprint, 5_255_740_375_710_833_686);
    let votes = recipe("1e0ng")
        .votes(given(&[("aaa", 1.0), ("bbb", 1.0)]))
        .unwrap();
    assert_eq!(votes.fingerprint, 57_087_923_692_560_392);
    let votes = recipe("seomoz")
        .votes(given(&[("0xABCD", 1.0), ("48350", 1.0), ("0xCDEF", 1.0)]))
        .unwrap();
    assert_eq!((votes.fingerprint, votes.features.len()), (0xADCF, 3));
    assert_eq!(recipe("seomoz").votes(Vec::new()).unwrap().fingerprint, 0);
    let hashed = recipe("cppjieba-top3")
        .hashed(true)
        .votes(given(&[("5", 2.5), ("0b11", 0.5)]))
        .unwrap();
    assert_eq!(hashed.sums[..4], [3.0, -2.0, 2.0, -3.0]);
    assert_eq!(
        Recipe::Cppjieba(Keywords::ByLength).bits(),
        recipe("cppjieba").bits()
    );
}

proptest! {
    #[test]
    fn the_order_of_features_does_not_matter(
        features in prop::collection::vec(("[a-e]{1,3}", 0.0..1e6f64), 0..40).prop_shuffle(),
        width in 4u32..=7,
    ) {
        let sort = |mut features: Vec<(String, f64)>| {
            features.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            features
        };
        let votes = |features: Vec<(String, f64)>| {
            let features = features.into_iter().map(|(name, weight)| WeightedFeature { name, weight });
            rules(1 << width).votes(features.collect()).unwrap()
        };
        let (given, sorted) = (votes(features.clone()), votes(sort(features)));
        prop_assert_eq!(given.fingerprint, sorted.fingerprint);
        prop_assert_eq!(given.sums, sorted.sums);
    }

    /// The integers are those of a sum over weights that are rounded one by one.
    #[test]
    fn sums_are_those_of_the_definition(
        features in prop::collection::vec((any::<u128>(), 0.0..1e9f64), 0..20),
    ) {
        let given = features.iter().map(|&(hash, weight)| WeightedFeature { name: hash.to_string(), weight });
        let votes = rules(128).hashed(true).votes(given.collect()).unwrap();
        for bit in 0..128 {
            let sum: i128 = features
                .iter()
                .map(|&(hash, weight)| {
                    let units = (weight * 65_536.0).round() as i128;
                    if hash >> bit & 1 == 1 { units } else { -units }
                })
                .sum();
            // Exact: the sum of all weights is below 2⁵³ units.
            prop_assert_eq!((votes.sums[bit] * UNITS) as i128, sum);
            prop_assert_eq!(votes.fingerprint >> bit & 1 == 1, sum > 0);
        }
    }

    /// The features of a text, given with their weights, make the fingerprint of the text.
    #[test]
    fn listed_features_make_the_same_fingerprint(
        text in "([a-d中文]{1,3}[ ,]){0,30}",
        id in prop::sample::select(vec![
            "tp1-words-lntf-64", "tp1-wordpairs-tf-128", "tp1-chars4-set-32", "tp1-words2-levels-16",
            "tp1-words-lntf.root.zhen1-64",
        ]),
    ) {
        let profile = Profile::parse(id).unwrap();
        let key = HashKey::new(1, 2);
        let votes = Analyzer::new(&profile, key).votes(&text).unwrap();
        let rules = GivenFeatures::of_profile(&profile, key);
        let names = votes.features.iter().map(|voting| voting.feature.clone());
        let hashes = votes.features.iter().map(|voting| WeightedFeature {
            name: format!("{:#x}", voting.hash),
            ..voting.feature.clone()
        });
        prop_assert_eq!(votes.fingerprint, Analyzer::new(&profile, key).fingerprint(&text));
        let again = rules.votes(names.collect()).unwrap();
        prop_assert_eq!(&again, &votes);
        let hashed = rules.hashed(true).votes(hashes.collect()).unwrap();
        prop_assert_eq!(hashed.fingerprint, votes.fingerprint);
    }

    /// The same for the libraries that accept features; the order of equal votes does not matter for counts.
    #[test]
    fn listed_features_of_1e0ng_make_the_same_fingerprint(text in "[a-c中 ]{0,40}") {
        let mut fingerprinter = crate::compat::RecipeFingerprinter::new(Recipe::Leon, None).unwrap();
        let votes = fingerprinter.votes(&text).unwrap();
        let made = fingerprinter.fingerprint(&text).unwrap();
        prop_assert_eq!(votes.fingerprint, u128::from(made.bits));
        let total: f64 = votes.features.iter().map(|voting| voting.feature.weight).sum();
        prop_assert_eq!(total as u32, made.features);
        let names = votes.features.iter().map(|voting| voting.feature.clone());
        prop_assert_eq!(recipe("1e0ng").votes(names.collect()).unwrap(), votes);
    }
}
