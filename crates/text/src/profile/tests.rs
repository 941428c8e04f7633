use proptest::prelude::*;

use super::*;

fn default() -> Profile {
    Profile::default_for(64).unwrap()
}

#[test]
fn ids_and_their_profiles() {
    assert_eq!(default().id(), "tp1-words-lntf-64");
    let profile = Profile::new(Features::CharShingles(5), Weight::Set, 128).unwrap();
    assert_eq!(profile.id(), "tp1-chars5-set-128");
    let profile = profile.with_key_id("site_2").unwrap();
    assert_eq!(profile.id(), "tp1-chars5-set-128+key.site_2");
    assert_eq!(Profile::parse(&profile.id()), Ok(profile));
    let profile = default().with_hash(FeatureHash::Rabin).unwrap();
    assert_eq!(profile.id(), "tp1-words-lntf-64+hash.rabin");
    assert_eq!(Profile::parse(&profile.id()), Ok(profile));
}

#[test]
fn rabin_fingerprints_have_no_key() {
    let refused = Err(ProfileError::HashWithoutKey("mine".to_owned()));
    assert_eq!(Profile::parse("tp1-words-lntf-64+hash.rabin+key.mine"), refused);
    let keyed = default().with_key_id("mine").unwrap();
    assert_eq!(keyed.with_hash(FeatureHash::Rabin), refused);
}

#[test]
fn invalid_ids_are_refused() {
    for id in [
        "",
        "tp2-words-lntf-64",
        "tp1-words-lntf",
        "tp1-words-lntf-064",
        "tp1-words-lntf-64-x",
        "tp1-words-ln-64",
        "tp1-words-lntf-64+key.public",
        "tp1-words-lntf-64+x.y",
        "tp1-words-lntf-64+hash.siphash",
        "tp1-words-lntf-64+hash.sha",
        "tp1-words-lntf-64+hash",
        "tp1-words-lntf-64+",
    ] {
        assert_eq!(Profile::parse(id), Err(ProfileError::Id(id.to_owned())));
    }
    assert_eq!(Profile::parse("tp1-words-lntf-65"), Err(ProfileError::Bits(65)));
    assert_eq!(
        Profile::parse("tp1-words-lntf-64+key.a+b"),
        Err(ProfileError::Id("tp1-words-lntf-64+key.a+b".into()))
    );
    assert!(matches!(
        Profile::parse("tp1-words-lntf-64+key."),
        Err(ProfileError::KeyId(_))
    ));
    assert!(matches!(
        Profile::new(Features::WordShingles(0), Weight::Tf, 64),
        Err(ProfileError::Shingle(_))
    ));
}

#[test]
fn every_part_changes_the_checksum() {
    let variants = [
        default(),
        Profile::default_for(128).unwrap(),
        Profile::new(Features::WordsAndBigrams, Weight::LogTf, 64).unwrap(),
        Profile::new(Features::Words, Weight::Tf, 64).unwrap(),
        default().with_hash(FeatureHash::Rabin).unwrap(),
        default().with_key_id("other").unwrap(),
        default().with_stop_words(StopWords::new(["the"])),
        default().with_stop_words(StopWords::new(["a", "the"])),
    ];
    for (i, a) in variants.iter().enumerate() {
        for (j, b) in variants.iter().enumerate() {
            assert_eq!(a.check_same(b).is_ok(), i == j);
            assert_eq!(a.id() == b.id(), i == j);
        }
    }
    let message = variants[0].check_same(&variants[1]).unwrap_err().to_string();
    assert!(
        message.contains("tp1-words-lntf-64") && message.contains("tp1-words-lntf-128"),
        "{message}"
    );
}

#[test]
fn a_list_of_stop_words_is_not_in_the_id() {
    let profile = default().with_stop_words(StopWords::new(["the"]));
    assert_eq!(
        Profile::parse(&profile.id()),
        Err(ProfileError::StopWords(profile.id()))
    );
}

proptest! {
    #[test]
    fn parsing_never_panics_and_reads_back(id in "(tp1-)?[a-z0-9]{0,8}-(lntf|set|x)-[0-9]{0,3}(\\+key\\.[a-z]{0,3})?|.*") {
        if let Ok(profile) = Profile::parse(&id) {
            prop_assert_eq!(profile.id(), id);
        }
    }
}

#[test]
fn every_profile_has_its_weight_formula() {
    for (id, formula) in [
        ("tp1-words-lntf-64", "1 + ln tf, in sixteenths"),
        ("tp1-words-tf-128", "tf"),
        ("tp1-chars5-set-64", "1"),
        ("tp1-words-levels-64", "a level from 1 to 5 by tf"),
        ("tp1-words-lntf.zhen1-64", "(1 + ln tf) · idf, in 256ths"),
        ("tp1-words-lntf.root.zhen1-64", "(1 + ln tf) · √idf, in 256ths"),
        ("tp1-words-tf.root.zhen1-64", "tf · √idf, in sixteenths"),
    ] {
        assert_eq!(Profile::parse(id).unwrap().weight_formula(), formula, "{id}");
    }
}
