//! `fingerprint` of given features and vectors, and its listings of features and keywords.

use serde_json::{Value, json};

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// Runs `fingerprint` on records and returns its rows.
fn rows(sandbox: &Sandbox, records: &[Value], args: &str) -> Vec<Value> {
    let input = records.iter().map(|record| record.to_string() + "\n");
    sandbox.put("in.jsonl", input.collect::<String>());
    let run = sandbox.run(&format!("fingerprint in.jsonl --quiet {args}")).ok();
    run.stdout
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect()
}

/// The fingerprints of rows.
fn fingerprints(rows: &[Value]) -> Vec<&str> {
    rows.iter()
        .map(|row| row["fingerprint"].as_str().unwrap())
        .collect()
}

/// The votes for the low six bits, the highest bit first.
fn six_votes(row: &Value) -> Vec<f64> {
    let votes = row["votes"].as_array().unwrap();
    votes
        .iter()
        .take(6)
        .rev()
        .map(|vote| vote.as_f64().unwrap())
        .collect()
}

/// Features whose votes are `sums`, the lowest bit first: two hashes for each bit, which agree on this bit only.
fn features_with_sums(sums: &[f64]) -> Value {
    let pairs = sums.iter().enumerate().flat_map(|(bit, sum)| {
        let one = if *sum > 0.0 { 1u64 << bit } else { 0 };
        let other = one ^ 0xFFFF ^ 1 << bit;
        [one, other].map(|hash| json!([hash, sum.abs() / 2.0]))
    });
    Value::Array(pairs.collect())
}

/// The worked examples of the literature, in the low six bits.
#[test]
fn worked_examples() {
    let sandbox = Sandbox::new();
    let records = [
        json!({"features": {"0b100101": 4, "0b101011": 5}}),
        json!({"features": features_with_sums(&[55.0, -32.0, -5.0, -22.0, 108.0, 13.0])}),
        json!({"features": [["0b101", 1], ["0b011", 2], ["0b100", 0], ["0b001", 3], ["0b110", 0]]}),
    ];
    let args = "--features-key features --hashed --profile tp1-words-lntf-16 --notation binary";
    let made = rows(&sandbox, &records, args);
    let low: Vec<&str> = fingerprints(&made).iter().map(|bits| &bits[10..]).collect();
    assert_eq!(low, ["101011", "110001", "000001"]);
    let explained = rows(&sandbox, &records, &format!("{args} --explain"));
    assert_eq!(fingerprints(&explained), fingerprints(&made));
    assert_eq!(six_votes(&explained[0]), [9.0, -9.0, 1.0, -1.0, 1.0, 9.0]);
    assert_eq!(six_votes(&explained[1]), [13.0, 108.0, -22.0, -5.0, -32.0, 55.0]);
    assert_eq!(six_votes(&explained[2])[3..], [-4.0, -2.0, 6.0]);
    assert_eq!(
        explained[0]["features"],
        json!([["0b100101", 4], ["0b101011", 5]])
    );
    assert_eq!(explained[0]["hashes"], json!(["0x0025", "0x002b"]));
}

#[test]
fn the_bigrams_of_a_sentence_are_listed() {
    let records = [json!({"text": "the cat sat on the mat"})];
    let listed = rows(&Sandbox::new(), &records, "--explain --profile tp1-chars2-set-32");
    let features = listed[0]["features"].as_array().unwrap();
    let mut names: Vec<&str> = features.iter().map(|pair| pair[0].as_str().unwrap()).collect();
    names.sort_unstable();
    let expected = [
        " c", " m", " o", " s", " t", "at", "ca", "e ", "he", "ma", "n ", "on", "sa", "t ", "th",
    ];
    assert_eq!(names, expected);
    assert!(features.iter().all(|pair| pair[1] == 1));
    assert_eq!(listed[0]["votes"].as_array().unwrap().len(), 32);
}

#[test]
fn listed_features_make_the_same_fingerprint() {
    let sandbox = Sandbox::new();
    let texts = Corpus::new(3).texts(8);
    let records: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
    for profile in [
        "tp1-words-lntf-64",
        "tp1-wordpairs-tf-128",
        "tp1-words-lntf.zhen1-16",
        "1e0ng",
    ] {
        let args = format!("--profile {profile}");
        let plain = rows(&sandbox, &records, &args);
        let listed = rows(&sandbox, &records, &format!("{args} --explain"));
        assert_eq!(fingerprints(&plain), fingerprints(&listed), "{profile}");
        let again = rows(&sandbox, &listed, &format!("{args} --features-key features"));
        assert_eq!(fingerprints(&plain), fingerprints(&again), "{profile}");
        let hashed: Vec<Value> = listed
            .iter()
            .map(|row| {
                let features = row["features"].as_array().unwrap().iter();
                let pairs = features.zip(row["hashes"].as_array().unwrap());
                json!({"f": pairs.map(|(pair, hash)| json!([hash, pair[1]])).collect::<Vec<_>>()})
            })
            .collect();
        let again = rows(&sandbox, &hashed, &format!("{args} --features-key f --hashed"));
        assert_eq!(fingerprints(&plain), fingerprints(&again), "{profile}");
    }
}

#[test]
fn a_key_hashes_given_features_as_those_of_a_text() {
    let sandbox = Sandbox::new();
    sandbox.put("key", "000102030405060708090a0b0c0d0e0f");
    let args = "--profile tp1-words-tf-64+key.mine --key key";
    let text = rows(&sandbox, &[json!({"text": "b a b"})], args);
    let features = rows(
        &sandbox,
        &[json!({"f": {"a": 1, "b": 2}})],
        &format!("{args} --features-key f"),
    );
    assert_eq!(fingerprints(&text), fingerprints(&features));
    let public = rows(&sandbox, &[json!({"f": {"a": 1, "b": 2}})], "--features-key f");
    assert_ne!(fingerprints(&text), fingerprints(&public));
}

/// The fingerprint of a single feature is its hash. The value is from a computation with Python's integers.
#[test]
fn rabin_fingerprints_hash_features() {
    let sandbox = Sandbox::new();
    let args = "--profile tp1-words3-set-128+hash.rabin";
    let expected = "f0372a8776e9d68305b40dc94e0ffa2c";
    let text = rows(&sandbox, &[json!({"text": "The cat sat."})], args);
    assert_eq!(fingerprints(&text), [expected]);
    let features = rows(
        &sandbox,
        &[json!({"f": ["the cat sat"]})],
        &format!("{args} --features-key f"),
    );
    assert_eq!(fingerprints(&features), [expected]);
    let compared = sandbox.run(&format!("compare --text --json abc abd {args}")).ok();
    assert!(
        compared.stdout.contains("tp1-words3-set-128+hash.rabin"),
        "{}",
        compared.stdout
    );
    sandbox.put("key", "000102030405060708090a0b0c0d0e0f");
    let keyed = sandbox.run("fingerprint in.jsonl --key key --profile tp1-words3-set-64+hash.rabin+key.mine");
    keyed.fails(2, &["a profile with +hash.rabin cannot name the key \"mine\""]);
}

#[test]
fn unusable_features_are_rejected_with_their_reason() {
    let sandbox = Sandbox::new();
    let run = |record: &str, args: &str, reason: &str| {
        sandbox.put("in.jsonl", format!("{{\"f\": {record}}}\n{{\"f\": [\"7\"]}}\n"));
        let run = sandbox
            .run(&format!("fingerprint in.jsonl --features-key f {args}"))
            .incomplete();
        assert!(run.stderr.contains(reason), "{record}: {}", run.stderr);
        assert_eq!(run.stdout.lines().count(), 1, "{record}");
    };
    run(
        r#"{"a": -1}"#,
        "",
        "rejected in.jsonl:1: the weight of \"a\" is -1",
    );
    run(
        r#"{"a": "x"}"#,
        "",
        "the features are not an object or a list of features",
    );
    run(
        r#""a b""#,
        "",
        "the features are not an object or a list of features",
    );
    run(r#"{"a": NaN}"#, "", "rejected in.jsonl:1");
    run(r#"{"a": 2e11}"#, "", "the weights sum to more than 137438953472");
    run(
        r#"{"cat": 1}"#,
        "--hashed",
        "\"cat\" is not a hash of up to 128 bits",
    );
    run(
        r#"{"7": 2}"#,
        "--profile seomoz",
        "the library gives every hash the weight 1",
    );
    let refused = sandbox.run("fingerprint in.jsonl --features-key f --profile mfonda");
    refused.fails(
        2,
        &["--profile mfonda: the library makes fingerprints of texts only"],
    );
    let refused = sandbox.run("fingerprint in.jsonl --hashed");
    refused.fails(2, &["--features-key"]);
}

#[test]
fn vectors_may_be_sparse_or_named() {
    let sandbox = Sandbox::new();
    let records = [
        json!({"v": [0.5, 0, -1.5]}),
        json!({"v": {"2": -1.5, "0": 0.5}}),
        json!({"v": [[0, 0.5], [2, -1.5]]}),
        json!({"v": {"price": 0.5, "size": -1.5}}),
        json!({"v": [["size", -3], ["price", 1]]}),
    ];
    let made = rows(&sandbox, &records, "--vector-key v");
    let made = fingerprints(&made);
    assert_eq!((made[0], made[0]), (made[1], made[2]));
    assert_eq!(made[3], made[4]);
    assert_ne!(made[0], made[3]);
    sandbox.put("in.jsonl", "{\"v\": [[0, 1], 2]}\n{\"v\": {}}\n{\"v\": [1]}\n");
    let run = sandbox.run("fingerprint in.jsonl --vector-key v").incomplete();
    assert!(
        run.stderr.contains("the vector has both pairs and single values"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("in.jsonl:2: the vector is empty"),
        "{}",
        run.stderr
    );
}

#[test]
fn keywords_need_a_table_and_words() {
    let sandbox = Sandbox::new();
    let records = [json!({"id": "a", "text": "The aardvark saw the cat, and the cat ran."})];
    let made = rows(&sandbox, &records, "--idf zhen1 --top 2");
    let keywords = made[0]["keywords"].as_array().unwrap();
    assert_eq!((keywords.len(), &made[0]["id"]), (2, &json!("a")));
    assert!(keywords[0][1].as_f64() >= keywords[1][1].as_f64(), "{made:?}");
    let by_id = rows(&sandbox, &records, "--profile tp1-words-lntf.zhen1-64 --top 2");
    assert_eq!(made, by_id);
    for (args, reason) in [
        ("--top 2", "--top needs a table of idf weights: add --idf zhen1"),
        ("--top 2 --idf zhen1 --format-out tsv", "--top writes JSON lines"),
        ("--explain --format-out tsv", "--explain writes JSON lines"),
        ("--top 2 --explain", "cannot be used with"),
        ("--top 2 --profile mfonda", "mfonda has no keywords"),
        (
            "--top 2 --idf zhen1 --profile tp1-chars4-tf-64",
            "the features of the profile are chars4",
        ),
        ("--explain --vector-key text", "cannot be used with"),
    ] {
        sandbox
            .run(&format!("fingerprint in.jsonl {args}"))
            .fails(2, &[reason]);
    }
}

#[test]
fn notations_write_the_same_fingerprint() {
    let sandbox = Sandbox::new();
    let records = [json!({"id": "a", "text": "this is a test phrase"})];
    for (notation, expected) in [
        ("hex", "8c3a5f7e9ecb3f35".to_owned()),
        ("decimal", 0x8c3a_5f7e_9ecb_3f35u64.to_string()),
        ("binary", format!("{:064b}", 0x8c3a_5f7e_9ecb_3f35u64)),
    ] {
        let args = format!("--profile mfonda --notation {notation}");
        assert_eq!(fingerprints(&rows(&sandbox, &records, &args)), [&expected]);
        let tsv = sandbox
            .run(&format!("fingerprint in.jsonl -q --format-out tsv {args}"))
            .ok();
        assert_eq!(tsv.stdout, format!("{expected}\ta\n"));
    }
    let plain = sandbox.run("fingerprint in.jsonl -q --profile mfonda").ok();
    assert_eq!(
        plain.stdout,
        "{\"features\":5,\"fingerprint\":\"8c3a5f7e9ecb3f35\",\"id\":\"a\",\"line\":1,\"source\":\"in.jsonl\"}\n"
    );
}

#[test]
fn the_order_of_features_does_not_matter() {
    let sandbox = Sandbox::new();
    for seed in 0..4u64 {
        let hash = |name: u64| (name ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let pairs: Vec<(String, f64)> = (0..40)
            .map(|name| (format!("w{name}"), hash(name) as f64 / 2f64.powi(50)))
            .collect();
        let mut shuffled = pairs.clone();
        shuffled.sort_by_key(|(name, weight)| hash(name.len() as u64 ^ weight.to_bits()));
        let object: serde_json::Map<String, Value> = pairs
            .iter()
            .map(|(name, weight)| (name.clone(), json!(weight)))
            .collect();
        let records = [json!({"f": pairs}), json!({"f": shuffled}), json!({"f": object})];
        let made = rows(
            &sandbox,
            &records,
            "--features-key f --profile tp1-words-lntf-128",
        );
        let made = fingerprints(&made);
        assert_eq!((made[0], made[0]), (made[1], made[2]), "seed {seed}");
    }
}
