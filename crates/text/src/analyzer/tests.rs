use proptest::prelude::*;
use twinprint_fingerprint::{HashKey, Width, hash_one};

use super::*;
use crate::features::Features;
use crate::script::Measure;
use crate::stop_words::StopWords;
use crate::test_text::{mostly_ascii, plain_text, tricky_text};
use crate::weight::Weight;

fn profiles() -> Vec<Profile> {
    let kinds = [
        Features::Words,
        Features::WordShingles(3),
        Features::CharShingles(4),
        Features::WordsAndBigrams,
    ];
    let weights = [Weight::LogTf, Weight::Set, Weight::Tf, Weight::Levels];
    let mut profiles: Vec<Profile> = kinds
        .into_iter()
        .zip(weights)
        .zip([64, 128, 32, 16])
        .map(|((features, weight), bits)| Profile::new(features, weight, bits).unwrap())
        .collect();
    profiles.push(
        Profile::default_for(128)
            .unwrap()
            .with_stop_words(StopWords::new(["the", "中文", "e"])),
    );
    profiles
}

/// The sign of the weighted sum of the explained features' hashes as ±1 rows.
fn by_definition(features: &[Feature], bits: u32) -> u128 {
    let mut fingerprint = 0;
    for bit in 0..bits {
        let sum: i64 = features
            .iter()
            .map(|f| {
                if f.hash >> bit & 1 == 1 {
                    i64::from(f.weight)
                } else {
                    -i64::from(f.weight)
                }
            })
            .sum();
        fingerprint |= u128::from(sum > 0) << bit;
    }
    fingerprint
}

#[test]
fn a_small_document() {
    let mut analyzer = Analyzer::new(&Profile::default_for(64).unwrap(), HashKey::PUBLIC);
    let analysis = analyzer.analyze("The cat — the CAT, 猫!");
    assert_eq!(analysis.canonical, "the cat the cat 猫");
    assert_eq!(analysis.measure, Measure::WordGrams);
    assert_eq!(analysis.features, 3);
    let features = analyzer.explain("The cat — the CAT, 猫!");
    let seen: Vec<_> = features
        .iter()
        .map(|f| (f.text.as_str(), f.tf, f.weight))
        .collect();
    assert_eq!(seen, [("cat", 2, 27), ("the", 2, 27), ("猫", 1, 16)]);
    assert_eq!(features[0].hash, hash_one(&HashKey::PUBLIC, b"cat"));
}

#[test]
fn a_text_without_features_is_empty() {
    let mut analyzer = Analyzer::new(&Profile::default_for(64).unwrap(), HashKey::PUBLIC);
    for text in ["", " \n", "!?…", "\u{200B}"] {
        let analysis = analyzer.analyze(text);
        assert_eq!(
            (analysis.canonical, analysis.features, analysis.fingerprint),
            ("", 0, 0)
        );
    }
}

/// The three example sentences of the literature, as sets of character bigrams, at 32 bits.
#[test]
fn the_cats_are_nearer_to_each_other_than_to_the_ice_cream() {
    let profile = Profile::new(Features::CharShingles(2), Weight::Set, 32).unwrap();
    let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
    let [p1, p2, p3] = [
        "the cat sat on the mat",
        "the cat sat on a mat",
        "we all scream for ice cream",
    ]
    .map(|text| analyzer.analyze(text).fingerprint as u32);
    let near = p1.distance(p2);
    assert!(
        near + 4 <= p1.distance(p3).min(p2.distance(p3)),
        "{near} {} {}",
        p1.distance(p3),
        p2.distance(p3)
    );
}

#[test]
fn stop_words_do_not_vote() {
    let plain = Profile::default_for(64).unwrap();
    let stopped = plain.clone().with_stop_words(StopWords::new(["the", "a"]));
    let mut plain = Analyzer::new(&plain, HashKey::PUBLIC);
    let mut stopped = Analyzer::new(&stopped, HashKey::PUBLIC);
    let expected = plain.analyze("cat sat mat").fingerprint;
    assert_eq!(stopped.analyze("The cat sat, a mat").features, 3);
    assert_eq!(stopped.analyze("The cat sat, a mat").fingerprint, expected);
}

#[test]
fn a_narrow_fingerprint_is_the_low_part_of_a_wide_one() {
    let fingerprint = |bits| {
        let mut analyzer = Analyzer::new(&Profile::default_for(bits).unwrap(), HashKey::PUBLIC);
        analyzer
            .analyze("one core for batch, online and python, tested")
            .fingerprint
    };
    let wide = fingerprint(128);
    for bits in [16, 32, 64] {
        assert_eq!(fingerprint(bits), wide & ((1 << bits) - 1));
    }
}

#[test]
fn another_key_gives_other_fingerprints() {
    let profile = Profile::default_for(64).unwrap();
    let mut public = Analyzer::new(&profile, HashKey::PUBLIC);
    let mut secret = Analyzer::new(&profile.with_key_id("k").unwrap(), HashKey::new(1, 2));
    assert_ne!(
        public.analyze("a b c").fingerprint,
        secret.analyze("a b c").fingerprint
    );
}

/// A change here changes what stored fingerprints mean: it needs a new profile version.
#[test]
fn fingerprints_never_change() {
    let mut analyzer = Analyzer::new(&Profile::default_for(128).unwrap(), HashKey::PUBLIC);
    for (text, fingerprint) in [
        (
            "The quick brown fox jumps over the lazy dog, the dog sleeps.",
            0x719E_0C85_BD51_3E20_7731_48CA_B56A_5D56,
        ),
        (
            "我来到北京清华大学，学习自然语言处理和 Rust 程序设计语言。",
            0x4345_03E9_EFC4_2B33_3B87_1E1B_1FC3_EEA4,
        ),
        (
            "ひらがなとカタカナ、naïve café — Ｆｕｌｌ２４",
            0x9312_46DC_A0DE_17F1_64A9_AB4F_2CF0_BA0F,
        ),
    ] {
        let found = analyzer.analyze(text).fingerprint;
        assert_eq!(found, fingerprint, "{text}: {found:#034x}");
    }
}

/// Long ASCII runs with few and with many distinct windows, alone and between other characters.
#[test]
fn long_ascii_texts_are_the_vote_of_their_explained_features() {
    let few = "the cat sat on the mat ".repeat(500);
    let numbers: Vec<String> = (0u32..6000)
        .map(|i| format!("{:x}", i.wrapping_mul(0x9E37_79B9)))
        .collect();
    let many = numbers.join(" ");
    let mixed = format!("中文 {few} é {many} 中");
    for (weight, bits) in [(Weight::Tf, 64), (Weight::LogTf, 128)] {
        let profile = Profile::new(Features::CharShingles(4), weight, bits).unwrap();
        let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
        for text in [&few, &many, &mixed] {
            let features = analyzer.explain(text);
            let analysis = analyzer.analyze(text);
            assert_eq!(analysis.features as usize, features.len());
            assert_eq!(analysis.fingerprint, by_definition(&features, bits));
        }
    }
}

#[test]
fn a_frequency_beyond_the_highest_weight_is_counted_before_it_votes() {
    let profile = Profile::new(Features::CharShingles(2), Weight::Tf, 64).unwrap();
    let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
    // If the frequent feature counts in full, it outweighs any four others; otherwise it outweighs no four.
    for length in [60_000, 65_534, 65_535, 65_536, 300_000] {
        let others = ["bc", "cd", "de", "ef"].map(|pair| format!(" {}", pair.repeat(length / 3)));
        let text = "a".repeat(length) + &others.concat();
        let expected = analyzer.analyze(&text).fingerprint;
        assert_eq!(analyzer.fingerprint(&text), expected, "{length}");
        let text = "a".repeat(length);
        let expected = analyzer.analyze(&text).fingerprint;
        assert_eq!(analyzer.fingerprint(&text), expected, "{length}");
    }
}

proptest! {
    /// `explain` finds features character by character, `analyze` and `fingerprint` also in ASCII runs.
    #[test]
    fn ascii_runs_make_no_difference(
        texts in prop::collection::vec(prop_oneof![mostly_ascii(), plain_text()], 1..4),
        n in 1u8..10,
        stopped in any::<bool>(),
    ) {
        for (weight, bits) in [(Weight::Tf, 64), (Weight::LogTf, 32), (Weight::Set, 16), (Weight::Levels, 128)] {
            let mut profile = Profile::new(Features::CharShingles(n), weight, bits).unwrap();
            if stopped {
                profile = profile.with_stop_words(StopWords::new(["a", "ab", "abc", "中"]));
            }
            let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
            for text in &texts {
                let features = analyzer.explain(text);
                let analysis = analyzer.analyze(text);
                prop_assert_eq!(analysis.features as usize, features.len());
                let fingerprint = analysis.fingerprint;
                prop_assert_eq!(fingerprint, by_definition(&features, bits));
                prop_assert_eq!(analyzer.fingerprint(text), fingerprint);
            }
        }
    }

    #[test]
    fn is_the_weighted_vote_of_the_explained_features(texts in prop::collection::vec(plain_text(), 1..4)) {
        for profile in profiles() {
            let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
            for text in &texts {
                let features = analyzer.explain(text);
                let analysis = analyzer.analyze(text);
                prop_assert_eq!(analysis.features as usize, features.len());
                prop_assert_eq!(analysis.fingerprint, by_definition(&features, profile.bits()));
            }
        }
    }

    #[test]
    fn is_a_function_of_the_canonical_text(text in prop_oneof![plain_text(), tricky_text()]) {
        for profile in profiles() {
            let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
            let canonical = analyzer.analyze(&text).canonical.to_owned();
            let expected = analyzer.analyze(&text).fingerprint;
            prop_assert_eq!(analyzer.analyze(&canonical).fingerprint, expected);
            prop_assert_eq!(analyzer.analyze_canonical(&canonical).fingerprint, expected);
        }
    }
}
