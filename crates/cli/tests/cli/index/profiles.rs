//! Profiles of fingerprints in an index: they are stored, never mixed, and used to look up texts.

use serde_json::{Value, json};

use super::u64s;
use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// Writes the fingerprints of the documents by a profile to a file, and returns each with whether its text has any feature.
fn stored(sandbox: &Sandbox, profile: &str, name: &str) -> Vec<(u64, bool)> {
    let run = sandbox
        .run(&format!("fingerprint old.jsonl --profile {profile} -q"))
        .ok();
    let fingerprints: Vec<(u64, bool)> = run
        .stdout
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            let digits = row["fingerprint"].as_str().unwrap();
            (u64::from_str_radix(digits, 16).unwrap(), row["features"] != 0)
        })
        .collect();
    sandbox.put(name, u64s(fingerprints.iter().map(|row| row.0)));
    fingerprints
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("old.jsonl", Corpus::new(3).jsonl(80));
    sandbox
}

#[test]
fn texts_are_found_among_fingerprints_of_other_programs() {
    let sandbox = sandbox();
    for profile in ["1e0ng", "mfonda", "tp1-words-lntf-64", "tp1-chars4-tf-64"] {
        let fingerprints = stored(&sandbox, profile, "old.u64");
        let index = format!("by-{profile}");
        sandbox
            .run(&format!("index build old.u64 -o {index} --profile {profile} -q"))
            .ok();
        // The index stores the profile of its fingerprints.
        for more in ["", &format!("--profile {profile}")] {
            let args = format!("index query {index} --text old.jsonl -k 2 -q {more}");
            let found = sandbox.run(&args).ok().stdout;
            let mut expected = Vec::new();
            // A text without features has no meaningful fingerprint and is not looked up.
            let with_features = fingerprints.iter().enumerate().filter(|(_, (_, any))| *any);
            for (i, (x, _)) in with_features {
                let mut near: Vec<(u32, usize)> = (0..)
                    .zip(&fingerprints)
                    .map(|(j, (y, _))| ((x ^ y).count_ones(), j))
                    .filter(|near| near.0 <= 2)
                    .collect();
                near.sort_unstable();
                let rows = near
                    .into_iter()
                    .map(|(hamming, j)| json!({"query": format!("d{i}"), "id": j, "hamming": hamming}));
                expected.extend(rows);
            }
            let found: Vec<Value> = found
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert!(found.len() >= 40, "{profile}: {} rows", found.len());
            assert_eq!(found, expected, "{profile} {more}");
        }
    }
    let csv = sandbox
        .run("index query by-1e0ng --text old.jsonl --id-key time -k 0 --format csv -q")
        .ok();
    assert!(
        csv.stdout.starts_with("query,id,hamming\n2024-05-"),
        "{}",
        csv.stdout
    );
    sandbox
        .run("index query by-1e0ng --text old.jsonl -o found.parquet -q")
        .ok();
    sandbox
        .run("index query by-1e0ng --text old.jsonl --format bin")
        .fails(1, &["\"query\" contains names", "--format"]);
}

#[test]
fn two_profiles_are_never_compared() {
    let sandbox = sandbox();
    stored(&sandbox, "1e0ng", "leon.u64");
    stored(&sandbox, "mfonda", "mfonda.u64");
    sandbox
        .run("index build leon.u64 -o leon --profile 1e0ng -q")
        .ok();
    sandbox
        .run("index build mfonda.u64 -o mfonda --profile mfonda -q")
        .ok();
    sandbox.run("index build mfonda.u64 -o unknown -q").ok();
    sandbox.run("index export mfonda -o mfonda.parquet -q").ok();
    let before = sandbox.tree("leon");
    let both = ["1e0ng (checksum ", "mfonda (checksum ", "cannot be compared"];
    for args in [
        "index add leon mfonda.u64 --profile mfonda",
        "index add leon mfonda.parquet",
        "index query leon --queries mfonda.u64 --profile mfonda",
        "index query leon --queries mfonda.parquet",
        "index query leon --text old.jsonl --profile mfonda",
        "index join leon mfonda",
        "index join mfonda.parquet leon",
        "index build mfonda.parquet -o other --profile 1e0ng",
    ] {
        sandbox.run(args).fails(1, &both);
    }
    assert_eq!(sandbox.tree("leon"), before);
    // Fingerprints of an unknown profile are never refused.
    sandbox.run("index add leon leon.u64 -q").ok();
    sandbox.run("index query unknown --queries leon.u64 -q").ok();
    sandbox.run("index join unknown leon -q").ok();
    sandbox
        .run("index query unknown --text old.jsonl")
        .fails(2, &["--profile"]);
    sandbox
        .run("index query unknown --text old.jsonl --profile mfonda -q")
        .ok();
    for (profile, says) in [
        ("nobody", "nobody"),
        ("tp1-words-lntf-128", "take tp1-words-lntf-64"),
    ] {
        let args = format!("index build leon.u64 -o other --profile {profile}");
        sandbox.run(&args).fails(2, &[says]);
    }
    assert!(!sandbox.path("other/manifest").exists());
    // `dedup --against` also refuses another profile.
    sandbox
        .run("dedup old.jsonl -o out --against leon")
        .fails(1, &["1e0ng", "take that profile with --profile"]);
}
