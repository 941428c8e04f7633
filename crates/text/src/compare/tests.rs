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
