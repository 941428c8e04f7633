use std::path::Path;

use serde_json::Value;

use super::*;
use crate::shared_data::data;

fn plain(recipe: Recipe, text: &str) -> u64 {
    RecipeFingerprinter::new(recipe, None)
        .unwrap()
        .fingerprint(text)
        .unwrap()
        .bits
}

/// Decimal, or hexadecimal after `0x`.
fn number(value: &Value) -> u64 {
    parse_hash(value.as_str().unwrap()).unwrap()
}

fn vectors() -> Option<(std::path::PathBuf, Value)> {
    let data = data()?;
    let text = std::fs::read_to_string(data.join("compat-vectors.json")).unwrap();
    Some((data, serde_json::from_str(&text).unwrap()))
}

#[test]
fn names_are_read_back() {
    let limited = ["cppjieba-top5", "haoyuhu-gosimhash-top200", "cppjieba-top0"];
    for name in Recipe::names().chain(limited) {
        assert_eq!(Recipe::parse(name).unwrap().name(), name);
    }
    for name in [
        "",
        "simhash",
        "cppjieba-top",
        "cppjieba-top05",
        "cppjieba-top+5",
        "mfonda-top5",
        "-top5",
    ] {
        assert_eq!(Recipe::parse(name), Err(RecipeError::Name), "{name}");
    }
}

#[test]
fn published_texts_and_hashes() {
    assert_eq!(
        plain(Recipe::Mfonda, "this is a test phrase"),
        0x8C3A_5F7E_9ECB_3F35
    );
    assert_eq!(
        plain(Recipe::Mfonda, "This is a TEST phrass"),
        0x8C3A_5F7E_9ECB_3F21
    );
    assert_eq!(plain(Recipe::Allendang, "abc"), 0);
    let text = "Reading bytes into structs using reflection";
    assert_eq!(plain(Recipe::Allendang, text), 846_318_259);
    assert_eq!(
        plain(Recipe::RustSimhash, "The cat sat on the mat"),
        2_595_200_813_813_010_837
    );
    assert_eq!(plain(Recipe::Seomoz, "0xABCD 0xBCDE\n52719"), 0xADCF);
    // The example of a page about simhash-java, which prints the distance 2.
    let (a, b) = ("aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaajfljaslfjaslddsjflasdjaaaaaz");
    let distance = plain(Recipe::SimhashJava, a) ^ plain(Recipe::SimhashJava, b);
    assert_eq!(distance.count_ones(), 2);
    assert_eq!(
        Recipe::Leon.fingerprint_weighted([("aaa", 1.0), ("bbb", 1.0)]),
        Some(57_087_923_692_560_392)
    );
    let features = [("妈妈", 6.55531), ("吃饭", 6.44422)];
    let cppjieba = Recipe::Cppjieba(Keywords::ByLength);
    assert_eq!(
        cppjieba.fingerprint_weighted(features),
        Some(5_255_740_375_710_833_686)
    );
    assert_eq!(Recipe::Mfonda.fingerprint_weighted(features), None);
}

/// Fingerprints that must never change, of texts with edge cases. Those of 1e0ng are from the PyPI package.
#[test]
fn golden_fingerprints() {
    let text = "The first part, at http://example.org/a_b — 第一部分，早上9点。Ünïcödé's 𠀀!";
    let golden = [
        (Recipe::Mfonda, 0xAE63_BD4E_A6C1_B7BE, u64::MAX),
        (Recipe::Allendang, 0x820B_46FE, 0),
        (Recipe::Safeie, 0x8AEC_8825, 0),
        (Recipe::RustSimhash, 0x259C_2387_B080_4493, 0),
        (Recipe::Leon, 0xDE0A_1987_FDD9_E370, 0xE980_0998_ECF8_427E),
        (Recipe::SimhashJava, 0x4F19_C2FA_6C1F_66EB, 0),
    ];
    for (recipe, of_text, of_nothing) in golden {
        let found = (plain(recipe, text), plain(recipe, ""));
        assert_eq!(found, (of_text, of_nothing), "{}: {found:#x?}", recipe.name());
    }
}

#[test]
fn missing_dictionaries_and_invalid_hashes_are_errors() {
    for recipe in [
        Recipe::Cppjieba(Keywords::Top(5)),
        Recipe::HaoyuhuGosimhash(Keywords::ByLength),
    ] {
        let error = RecipeFingerprinter::new(recipe, None).err();
        assert_eq!(error, Some(RecipeError::Dictionary(recipe.name())));
    }
    let mut seomoz = RecipeFingerprinter::new(Recipe::Seomoz, None).unwrap();
    for text in ["1 x", "0x", "-1", "18446744073709551616", "0x10000000000000000"] {
        assert!(seomoz.fingerprint(text).is_err(), "{text}");
    }
    assert_eq!(
        seomoz.fingerprint(" \n"),
        Ok(RecipeFingerprint { bits: 0, features: 0 })
    );
}

#[test]
fn every_published_vector_without_a_dictionary() {
    let Some((_, vectors)) = vectors() else { return };
    let mut texts = 0;
    for name in Recipe::names() {
        let recipe = Recipe::parse(name).unwrap();
        let published = &vectors[name];
        for vector in published["raw_features"].as_array().into_iter().flatten() {
            let features = vector["features"].as_array().unwrap().iter();
            let features = features.map(|pair| (pair[0].as_str().unwrap(), pair[1].as_f64().unwrap()));
            assert_eq!(
                recipe.fingerprint_weighted(features),
                Some(number(&vector["fingerprint"])),
                "{name}"
            );
            texts += 1;
        }
        for vector in published["hashes"].as_array().into_iter().flatten() {
            let hashes: Vec<&str> = vector["in"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            assert_eq!(
                plain(recipe, &hashes.join(" ")),
                number(&vector["fingerprint"]),
                "{name}"
            );
            texts += 1;
        }
        for vector in published["texts"].as_array().into_iter().flatten() {
            if !recipe.needs_dictionaries() {
                let text = vector["text"].as_str().unwrap();
                assert_eq!(
                    plain(recipe, text),
                    number(&vector["fingerprint"]),
                    "{name}: {text}"
                );
                texts += 1;
            }
        }
    }
    assert_eq!(texts, 13, "vectors");
}

/// The 20 values whose pairs seomoz's own tests count.
#[test]
fn twenty_values_of_seomoz_make_twenty_four_pairs() {
    let values = [0xFF_u64, 0xEF, 0xEE, 0xCE, 0x33].map(|value| [0, 8, 16, 24].map(|shift| value << shift));
    let values = values.concat();
    let pairs = values.iter().enumerate();
    let pairs = pairs.flat_map(|(i, a)| values.iter().skip(i + 1).map(move |b| (a ^ b).count_ones()));
    assert_eq!(pairs.filter(|&distance| distance <= 3).count(), 24);
}

/// cppjieba's dictionaries, unpacked.
fn dictionaries(data: &Path) -> Arc<Dictionaries> {
    let packed = data.join("cppjieba-dict");
    let unpacked = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(packed).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if let Some(name) = name.strip_suffix(".zst") {
            let mut zstd = std::process::Command::new("zstd");
            zstd.args(["-dq", "--long=27", "-o"])
                .arg(unpacked.path().join(name))
                .arg(&path);
            assert!(zstd.status().unwrap().success());
        } else {
            std::fs::copy(&path, unpacked.path().join(name)).unwrap();
        }
    }
    Arc::new(Dictionaries::open(unpacked.path()).unwrap())
}

#[test]
fn every_published_vector_of_cppjieba() {
    let Some((data, vectors)) = vectors() else { return };
    let dictionaries = dictionaries(&data);
    let mut texts = 0;
    for name in ["cppjieba", "haoyuhu-gosimhash"] {
        for vector in vectors[name]["texts"].as_array().unwrap() {
            let text = vector["text"].as_str().unwrap();
            let recipe = Recipe::parse(&format!("{name}-top{}", vector["topn"])).unwrap();
            let mut fingerprinter =
                RecipeFingerprinter::new(recipe, Some(Arc::clone(&dictionaries))).unwrap();
            assert_eq!(
                fingerprinter.fingerprint(text).unwrap().bits,
                number(&vector["fingerprint"]),
                "{text}"
            );
            let top = Keywords::Top(vector["topn"].as_u64().unwrap() as u32);
            let mut keywords = fingerprinter.keywords(text, top);
            keywords.sort_unstable_by_key(|keyword| keyword.word);
            // The published order of equally heavy keywords differs.
            let mut published = vector["keywords"].as_array().cloned().unwrap_or_default();
            published.sort_by_key(|keyword| keyword[0].as_str().unwrap().to_owned());
            for (found, expected) in keywords.iter().zip(&published) {
                assert_eq!(found.word, expected[0].as_str().unwrap());
                let weight = expected[1].as_f64().unwrap();
                assert!(
                    (found.weight - weight).abs() < 1e-4,
                    "{}: {}",
                    found.word,
                    found.weight
                );
            }
            texts += 1;
        }
    }
    for pair in vectors["cppjieba"]["pairs"].as_array().unwrap() {
        let recipe = Recipe::parse(&format!("cppjieba-top{}", pair["topn"])).unwrap();
        let mut fingerprinter = RecipeFingerprinter::new(recipe, Some(Arc::clone(&dictionaries))).unwrap();
        let [a, b] = ["a", "b"].map(|side| {
            fingerprinter
                .fingerprint(pair[side].as_str().unwrap())
                .unwrap()
                .bits
        });
        assert_eq!(
            u64::from((a ^ b).count_ones()),
            pair["distance"].as_u64().unwrap()
        );
        texts += 1;
    }
    assert_eq!(texts, 7, "vectors");
}
