use std::collections::BTreeSet;

use super::*;

fn cut(features: Features, canonical: &str) -> Vec<String> {
    let mut cutter = FeatureCutter::default();
    let FeatureSpans { text, spans } = cutter.cut(features, canonical, Measure::of(canonical));
    spans
        .iter()
        .map(|span| text[span.start as usize..span.end as usize].to_owned())
        .collect()
}

#[test]
fn the_fifteen_bigrams_of_the_cat_on_the_mat() {
    let bigrams: BTreeSet<String> = cut(Features::CharShingles(2), "the cat sat on the mat")
        .into_iter()
        .collect();
    let expected = [
        "th", "he", "e ", " c", "ca", "at", "t ", " s", "sa", " o", "on", "n ", " t", " m", "ma",
    ];
    assert_eq!(bigrams, expected.map(str::to_owned).into());
}

#[test]
fn word_features() {
    assert_eq!(cut(Features::Words, "a b a"), ["a", "b", "a"]);
    assert_eq!(cut(Features::WordShingles(2), "a b a"), ["a b", "b a"]);
    assert_eq!(cut(Features::WordShingles(5), "a b a"), ["a b a"]);
    assert_eq!(
        cut(Features::WordsAndBigrams, "a b a"),
        ["a", "b", "a", "a b", "b a"]
    );
    assert_eq!(cut(Features::WordsAndBigrams, "a"), ["a"]);
    assert_eq!(
        cut(Features::WordShingles(2), "我来到北京"),
        ["我来到", "来到北京"]
    );
}

#[test]
fn character_features_drop_spaces_where_characters_measure() {
    assert_eq!(cut(Features::CharShingles(3), "ab c"), ["ab ", "b c"]);
    assert_eq!(cut(Features::CharShingles(2), "中 文字"), ["中文", "文字"]);
    assert_eq!(cut(Features::CharShingles(9), "中 文字"), ["中文字"]);
}

#[test]
fn a_text_without_words_has_no_features() {
    for features in [
        Features::Words,
        Features::WordShingles(3),
        Features::CharShingles(3),
        Features::WordsAndBigrams,
    ] {
        assert_eq!(cut(features, ""), [""; 0]);
    }
}
