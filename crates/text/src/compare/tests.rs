use super::*;

#[test]
fn equal_texts_have_distance_zero_and_similarity_one() {
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

#[test]
fn sets_angles_and_idf_are_compared() {
    let profile = Profile::parse("tp1-words-lntf.zhen1-64").unwrap();
    let compared = compare("the aardvark", "the cat", &profile, false);
    assert!((compared.angle.degrees - f64::from(compared.hamming) / 64.0 * 180.0).abs() < 1e-12);
    assert!((compared.dice - 0.5).abs() < 1e-12 && (compared.overlap_coefficient - 0.5).abs() < 1e-12);
    // The common word is frequent, so its weight is small.
    assert!(compared.tfidf_cosine.unwrap() < compared.cosine);
    let plain = compare("the cat", "the cat", &Profile::default_for(64).unwrap(), false);
    assert_eq!(plain.tfidf_cosine, None);
}
