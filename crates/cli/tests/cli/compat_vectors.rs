//! The published fingerprints of other libraries, made by the command. They are in `compat-vectors.json`, which is not
//! part of the repository.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, repository, skip};

/// The recipes whose vectors need cppjieba's dictionaries.
const WITH_DICTIONARY: [&str; 2] = ["cppjieba", "haoyuhu-gosimhash"];

/// The directory of the vectors: `data` in `$TWINPRINT_SHARED`, or in `../shared` next to the repository.
fn data(test: &str) -> Option<PathBuf> {
    let shared =
        std::env::var_os("TWINPRINT_SHARED").map_or_else(|| repository().join("../shared"), PathBuf::from);
    let data = shared.join("data");
    if data.is_dir() {
        return Some(data);
    }
    skip(
        test,
        &format!(
            "no {} (TWINPRINT_SHARED names the directory with data/)",
            data.display()
        ),
    );
    None
}

fn vectors(data: &Path) -> Value {
    let text = std::fs::read_to_string(data.join("compat-vectors.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn list<'a>(vectors: &'a Value, key: &str) -> &'a [Value] {
    vectors[key].as_array().map_or(&[], Vec::as_slice)
}

/// The published fingerprint: decimal, or hexadecimal after `0x`.
fn published(vector: &Value) -> u64 {
    let text = vector["fingerprint"].as_str().unwrap();
    let number = text
        .strip_prefix("0x")
        .map(|digits| u64::from_str_radix(digits, 16));
    number.unwrap_or_else(|| text.parse()).unwrap()
}

/// Runs `fingerprint` on one record with each of `values` in the field `of`, and returns the fingerprints.
fn fingerprints(sandbox: &Sandbox, values: &[Value], args: &str) -> Vec<u64> {
    let rows = values.iter().map(|value| json!({"of": value}).to_string() + "\n");
    sandbox.put("in.jsonl", rows.collect::<String>());
    let run = sandbox.run(&format!(
        "fingerprint in.jsonl --notation decimal --format-out tsv --quiet {args}"
    ));
    let rows = run.ok().stdout;
    let rows: Vec<u64> = rows
        .lines()
        .map(|row| row.split('\t').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(rows.len(), values.len(), "{args}");
    rows
}

/// Puts cppjieba's dictionaries into the folder `dict`, unpacked.
fn unpack_dictionaries(data: &Path, sandbox: &Sandbox) {
    for entry in std::fs::read_dir(data.join("cppjieba-dict")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let (name, bytes) = match name.strip_suffix(".zst") {
            None => (name, std::fs::read(&path).unwrap()),
            Some(unpacked) => {
                let mut decoder = zstd::Decoder::new(std::fs::File::open(&path).unwrap()).unwrap();
                decoder.window_log_max(27).unwrap();
                let mut bytes = Vec::new();
                decoder.read_to_end(&mut bytes).unwrap();
                (unpacked, bytes)
            }
        };
        sandbox.put(&format!("dict/{name}"), bytes);
    }
}

/// The number of vectors of each kind: arrays of fingerprints, distances or limits.
const KINDS: [(&str, usize); 5] = [
    ("raw_features", 5),
    ("hashes", 2),
    ("texts", 12),
    ("pairs", 1),
    ("auto_topn", 5),
];

/// The tests of this file read every array of every library, and `find_all`, so no vector is left out.
#[test]
fn every_kind_of_vector_has_a_test() {
    let Some(data) = data("kinds of vectors") else {
        return;
    };
    let mut counts = KINDS.map(|(kind, _)| (kind, 0));
    for (library, fields) in vectors(&data).as_object().unwrap() {
        for (field, value) in fields.as_object().into_iter().flatten() {
            let known = counts.iter_mut().find(|(kind, _)| kind == field);
            match (known, value) {
                (Some((_, count)), Value::Array(vectors)) => *count += vectors.len(),
                // The list of programs that use a recipe.
                (None, Value::Array(_)) if field == "used_by" => {}
                (None, Value::String(_) | Value::Number(_)) => {}
                _ => panic!("{library}: no test reads {field}"),
            }
        }
    }
    assert_eq!(counts, KINDS);
}

#[test]
fn every_published_vector_without_a_dictionary() {
    let Some(data) = data("vectors of other libraries") else {
        return;
    };
    let all = vectors(&data);
    let sandbox = Sandbox::new();
    let mut found = 0;
    let mut check = |vectors: &[Value], field: &str, args: &str| {
        if vectors.is_empty() {
            return;
        }
        let values: Vec<Value> = vectors.iter().map(|vector| vector[field].clone()).collect();
        let expected: Vec<u64> = vectors.iter().map(published).collect();
        assert_eq!(fingerprints(&sandbox, &values, args), expected, "{args}");
        found += vectors.len();
    };
    for (name, vectors) in all.as_object().unwrap() {
        check(
            list(vectors, "raw_features"),
            "features",
            &format!("--features-key of --profile {name}"),
        );
        check(
            list(vectors, "hashes"),
            "in",
            &format!("--features-key of --profile {name}"),
        );
        check(
            list(vectors, "hashes"),
            "in",
            &format!("--features-key of --hashed --profile {name}"),
        );
        if !WITH_DICTIONARY.contains(&name.as_str()) {
            check(
                list(vectors, "texts"),
                "text",
                &format!("--text-key of --profile {name}"),
            );
        }
    }
    assert_eq!(found, 15, "vectors");
}

/// The fingerprint of a single hash is the hash, so 20 documents have the 20 values.
#[test]
fn twenty_values_of_seomoz_make_twenty_four_pairs() {
    let values = [0xFFu64, 0xEF, 0xEE, 0xCE, 0x33].map(|value| [0, 8, 16, 24].map(|shift| value << shift));
    let values = values.concat();
    let features: Vec<Value> = values.iter().map(|value| json!([value])).collect();
    let sandbox = Sandbox::new();
    let made = fingerprints(&sandbox, &features, "--features-key of --profile seomoz");
    assert_eq!(made, values);
    sandbox
        .run("fingerprint in.jsonl --features-key of --profile seomoz -o values.u64 -q")
        .ok();
    let pairs = |run: &str| sandbox.run(run).ok().stdout.lines().count();
    assert_eq!(pairs("index join values.u64 -k 3 --all-pairs -q"), 24);
    // A query finds itself, and each pair from both sides.
    for blocks in 4..=9 {
        sandbox
            .run(&format!(
                "index build values.u64 -o blocks{blocks} --plan blocks:{blocks} -q"
            ))
            .ok();
        let query = format!("index query blocks{blocks} --queries values.u64 -k 3 --search directory -q");
        assert_eq!(pairs(&query), 2 * 24 + 20, "{blocks} blocks");
    }
}

/// safeie publishes two fingerprints of 32 bits with their distance, but not their texts.
#[test]
fn the_published_distance_of_safeie() {
    let compared = Sandbox::new()
        .run("compare --fingerprints --notation decimal --bits 32 --json 133182157 2279609052")
        .ok()
        .stdout;
    let compared: Value = serde_json::from_str(&compared).unwrap();
    assert_eq!(compared["hamming"], 5, "{compared}");
}

#[test]
fn every_published_vector_with_a_dictionary() {
    let Some(data) = data("vectors of cppjieba") else {
        return;
    };
    let all = vectors(&data);
    let sandbox = Sandbox::new();
    unpack_dictionaries(&data, &sandbox);
    let mut found = 0;
    for name in WITH_DICTIONARY {
        for vector in list(&all[name], "texts") {
            let args = format!(
                "--text-key of --profile {name}-top{} --dictionary dict",
                vector["topn"]
            );
            assert_eq!(
                fingerprints(&sandbox, &[vector["text"].clone()], &args),
                [published(vector)]
            );
            check_keywords(&sandbox, name, vector);
            found += 1;
        }
        for pair in list(&all[name], "pairs") {
            let args = format!(
                "--text-key of --profile {name}-top{} --dictionary dict",
                pair["topn"]
            );
            let made = fingerprints(&sandbox, &[pair["a"].clone(), pair["b"].clone()], &args);
            assert_eq!(
                u64::from((made[0] ^ made[1]).count_ones()),
                pair["distance"].as_u64().unwrap()
            );
            found += 1;
        }
        for limit in list(&all[name], "auto_topn") {
            let (bytes, limit) = (limit[0].as_u64().unwrap(), limit[1].as_u64().unwrap());
            // More distinct words than keywords.
            let text: String = (1000..)
                .map(|word| format!("word{word} "))
                .take(bytes as usize / 9 + 1)
                .collect();
            let text = text.get(..bytes as usize).unwrap();
            sandbox.put("in.jsonl", json!({"text": text}).to_string());
            let run = sandbox.run(&format!(
                "fingerprint in.jsonl --quiet --profile {name} --dictionary dict"
            ));
            let row: Value = serde_json::from_str(&run.ok().stdout).unwrap();
            assert_eq!(row["features"].as_u64(), Some(limit), "{bytes} bytes");
            found += 1;
        }
    }
    assert_eq!(found, 12, "vectors");
}

/// Compares the keywords of `--top`, which writes as many as the vector's fingerprint has, with the published ones.
fn check_keywords(sandbox: &Sandbox, name: &str, vector: &Value) {
    let Some(expected) = vector["keywords"].as_array() else {
        return;
    };
    let run = sandbox.run(&format!(
        "fingerprint in.jsonl --quiet --text-key of --profile {name} --top {} --dictionary dict",
        vector["topn"]
    ));
    let row: Value = serde_json::from_str(&run.ok().stdout).unwrap();
    let sorted = |keywords: &[Value]| {
        // The published order of equally heavy keywords differs.
        let mut keywords: Vec<(String, f64)> = keywords
            .iter()
            .map(|keyword| {
                (
                    keyword[0].as_str().unwrap().to_owned(),
                    keyword[1].as_f64().unwrap(),
                )
            })
            .collect();
        keywords.sort_by(|a, b| a.0.cmp(&b.0));
        keywords
    };
    let (made, expected) = (sorted(row["keywords"].as_array().unwrap()), sorted(expected));
    assert_eq!(made.len(), expected.len(), "{row}");
    for (made, expected) in made.iter().zip(&expected) {
        assert_eq!(made.0, expected.0);
        assert!((made.1 - expected.1).abs() < 1e-4, "{made:?} {expected:?}");
    }
}

/// A number with six significant digits, as R prints it.
fn as_r_prints(x: f64) -> String {
    let digits_before_the_point = x.abs().log10().floor() as i32 + 1;
    let rounded = format!("{x:.*}", (6 - digits_before_the_point).max(0) as usize);
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What R prints for `worker("simhash", topn = 2)` of jiebaR: fingerprints and keywords.
#[test]
fn the_listing_of_jiebar_is_reproduced_to_the_digit() {
    let Some(data) = data("listing of jiebaR") else {
        return;
    };
    let sandbox = Sandbox::new();
    unpack_dictionaries(&data, &sandbox);
    let listing = [
        (
            "你妈妈叫你回家吃饭啊",
            "5255740375710833686",
            ["6.55531 妈妈", "6.44422 吃饭"],
        ),
        (
            "你妈妈喊你回家吃饭,回家喽",
            "9184284471008831268",
            ["12.3845 回家", "6.55531 妈妈"],
        ),
        (
            "你妈妈喊你回家吃饭",
            "5255740375710833686",
            ["6.55531 妈妈", "6.44422 吃饭"],
        ),
    ];
    let rows = listing
        .map(|(text, ..)| json!({"text": text}).to_string())
        .join("\n");
    sandbox.put("in.jsonl", rows);
    let explained = sandbox.run(
        "fingerprint in.jsonl --explain --profile cppjieba-top2 --dictionary dict --notation decimal --quiet",
    );
    let explained = explained.ok().stdout;
    let keywords = sandbox.run("fingerprint in.jsonl --top 2 --profile cppjieba --dictionary dict --quiet");
    let keywords = keywords.ok().stdout;
    assert_eq!((explained.lines().count(), keywords.lines().count()), (3, 3));
    for (((text, fingerprint, words), row), keywords) in
        listing.iter().zip(explained.lines()).zip(keywords.lines())
    {
        let row: Value = serde_json::from_str(row).unwrap();
        let keywords: Value = serde_json::from_str(keywords).unwrap();
        assert_eq!(row["fingerprint"], *fingerprint, "{text}");
        assert_eq!(row["features"], keywords["keywords"], "{text}");
        let printed = row["features"].as_array().unwrap().iter();
        let printed = printed.map(|pair| {
            format!(
                "{} {}",
                as_r_prints(pair[1].as_f64().unwrap()),
                pair[0].as_str().unwrap()
            )
        });
        assert_eq!(printed.collect::<Vec<_>>(), *words, "{text}");
    }
}
