//! `compare` of fingerprints, features and vectors, and the measures of texts.

use serde_json::Value;

use crate::sandbox::Sandbox;

fn figures(sandbox: &Sandbox, args: &str) -> Value {
    serde_json::from_str(&sandbox.run(&format!("compare --json {args}")).ok().stdout).unwrap()
}

fn is(figure: &Value, expected: f64) -> bool {
    (figure.as_f64().unwrap() - expected).abs() < 1e-6
}

#[test]
fn published_distances_of_fingerprints() {
    let sandbox = Sandbox::new();
    for (args, hamming) in [
        ("851459198 847263864 --notation decimal --bits 32", 4),
        ("851459198 984968088 --notation decimal --bits 32", 16),
        ("847263864 984968088 --notation decimal --bits 32", 12),
        ("0b100111 0b101010 --notation binary --bits 16", 3),
        ("101011 100101 --notation binary --bits 16", 3),
        ("0x8c3a5f7e9ecb3f35 8c3a5f7e9ecb3f21", 2),
        ("0 ffffffffffffffffffffffffffffffff --bits 128", 128),
    ] {
        let compared = figures(&sandbox, &format!("--fingerprints {args}"));
        assert_eq!(compared["hamming"], hamming, "{args}");
        let degrees = 180.0 * f64::from(hamming) / compared["bits"].as_f64().unwrap();
        assert!(is(&compared["angle"]["degrees"], degrees), "{compared}");
        assert!(
            is(&compared["angle"]["cosine"], degrees.to_radians().cos()),
            "{compared}"
        );
    }
    for wrong in [
        "1 g",
        "1 10000000000000000",
        "1 -1 --notation decimal",
        "1 70000 --bits 16 --notation decimal",
    ] {
        let run = sandbox.run(&format!("compare --fingerprints {wrong}"));
        assert_eq!(run.code, Some(2), "{wrong}: {run:?}");
    }
    let table = sandbox
        .run("compare --fingerprints 0000 00ff --bits 16")
        .ok()
        .stdout;
    assert_eq!(
        table,
        "Hamming distance           8  of 16 bits\n\
         angle                 90.00°  estimated from the Hamming distance; its cosine is 0.0000\n\
         fingerprints      0000\n                  00ff\n"
    );
}

#[test]
fn features_are_compared_under_any_profile() {
    let sandbox = Sandbox::new();
    sandbox.put("a.json", r#"{"a": 2, "b": 1}"#);
    sandbox.put("b.json", r#"[["b", 1], ["a", 1], "c"]"#);
    let compared = figures(&sandbox, "--features a.json b.json");
    assert!(is(&compared["cosine"], 3.0 / 15f64.sqrt()), "{compared}");
    assert!(is(&compared["jaccard"], 2.0 / 3.0) && is(&compared["dice"], 0.8));
    assert!(is(&compared["overlap_coefficient"], 1.0) && is(&compared["euclidean"], 2f64.sqrt()));
    assert!(is(&compared["manhattan"], 2.0) && is(&compared["chebyshev"], 1.0));
    assert_eq!(compared["features"], serde_json::json!([2, 3]));
    let equal = figures(&sandbox, "--features a.json a.json --profile 1e0ng");
    assert_eq!(equal["hamming"], 0);
    sandbox.put("h.json", r#"{"0b100101": 4, "0b101011": 5}"#);
    let hashed = figures(
        &sandbox,
        "--features --hashed h.json h.json --profile tp1-words-lntf-16",
    );
    assert_eq!(hashed["fingerprints"][0], "002b");
    let run = sandbox.run("compare --features a.json missing.json");
    run.fails(1, &["missing.json"]);
    let run = sandbox.run("compare --features a.json b.json --profile mfonda");
    run.fails(
        2,
        &["--profile mfonda: the library makes fingerprints of texts only"],
    );
    let run = sandbox.run("compare --text --features [-1] {}");
    run.fails(
        1,
        &["A: entry 1 of the list is the number -1; expected a name or"],
    );
}

#[test]
fn vectors_are_compared_by_textbook_distances() {
    let sandbox = Sandbox::new();
    sandbox.put("a.json", "[1, 2, 3, 4]\n");
    sandbox.put("b.json", r#"{"0": 2, "1": 4, "2": 6, "3": 7}"#);
    sandbox.put("variances.json", "[1, 4, 9, 0.25]");
    let compared = figures(
        &sandbox,
        "--vectors a.json b.json --minkowski 3 --variances variances.json",
    );
    assert!(is(&compared["minkowski"], 63f64.cbrt()), "{compared}");
    assert!(is(&compared["pearson"], 8.5 / 73.75f64.sqrt()));
    assert!(is(&compared["mahalanobis"], 39f64.sqrt()));
    assert!(is(&compared["euclidean"], 23f64.sqrt()) && is(&compared["manhattan"], 9.0));
    assert!(is(&compared["chebyshev"], 3.0) && is(&compared["cosine"], 56.0 / 3150f64.sqrt()));
    let table = sandbox.run("compare --vectors a.json b.json").ok().stdout;
    assert!(table.contains("Pearson               0.9898\n"), "{table}");
    sandbox.put("short.json", "[1, 4]");
    let run = sandbox.run("compare --vectors a.json b.json --variances short.json");
    run.fails(
        1,
        &["--variances short.json: no variance for dimension 2; the file has 2 variances, and every dimension of A and B needs one"],
    );
    sandbox.put("zero.json", "[1, 4, 0, 1]");
    let run = sandbox.run("compare --vectors a.json b.json --variances zero.json");
    run.fails(
        1,
        &["--variances zero.json: the variance of dimension 2 is 0; expected a positive number"],
    );
    // The distance is close to the largest difference.
    let extreme = figures(&sandbox, "--vectors a.json b.json --minkowski 1e300");
    assert!(is(&extreme["minkowski"], 3.0), "{extreme}");
    let run = sandbox.run("compare --text --vectors [1e99] [1]");
    run.fails(
        1,
        &["A: the value of dimension 0 is 1e99; expected 0 or a magnitude from 1e-70 to 1e70"],
    );
    let run = sandbox.run("compare --vectors a.json b.json --minkowski 0.5");
    run.fails(2, &["--minkowski 0.5: write a number from 1 up"]);
    let run = sandbox.run("compare --text --vectors [0] [1]");
    run.fails(1, &["A: all components of the vector are zero"]);
}

/// Options of one kind of argument are refused with another.
#[test]
fn unused_options_are_refused() {
    let sandbox = Sandbox::new();
    for args in [
        "--fingerprints --minkowski 3",
        "--fingerprints --variances v",
        "--fingerprints --hashed",
        "--features --minkowski 3",
        "--features --variances v",
        "--features --bits 128",
        "--features --notation decimal",
        "--vectors --bits 128",
        "--vectors --notation decimal",
        "--vectors --hashed",
        "--bits 64",
        "--minkowski 3",
    ] {
        let run = sandbox.run(&format!("compare 1 2 {args}"));
        assert_eq!(run.code, Some(2), "{args}: {run:?}");
    }
}

/// Two vectors in the plane at an angle of 36.9°. Of 128 bits, 26 ± 5 differ.
#[test]
fn vectors_of_two_dimensions_have_the_angle_of_their_distance() {
    let compared = figures(
        &Sandbox::new(),
        "--text --vectors [1,0] [0.8,0.6] --profile tp1-words-lntf-128",
    );
    let degrees = compared["angle"]["degrees"].as_f64().unwrap();
    assert!((36.87 - degrees).abs() < 20.0, "{compared}");
}

#[test]
fn texts_have_set_measures_an_angle_and_tfidf() {
    let sandbox = Sandbox::new();
    sandbox.put("a.txt", "the aardvark");
    sandbox.put("b.txt", "the cat");
    let compared = figures(&sandbox, "a.txt b.txt");
    assert!(
        is(&compared["dice"], 0.5) && is(&compared["overlap_coefficient"], 0.5),
        "{compared}"
    );
    assert!(compared["tfidf_cosine"].is_null());
    let weighted = figures(&sandbox, "a.txt b.txt --idf zhen1");
    assert!(
        weighted["tfidf_cosine"].as_f64() < weighted["cosine"].as_f64(),
        "{weighted}"
    );
    let table = sandbox.run("compare a.txt b.txt --idf zhen1").ok().stdout;
    for name in ["angle ", "TF-IDF cosine ", "term Dice ", "term overlap "] {
        assert!(table.contains(name), "{table}");
    }
}
