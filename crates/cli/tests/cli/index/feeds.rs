//! Indexes of the files that other commands write: `dedup`, `fingerprint -o`, `collection export -o` and `index export`.

use serde_json::Value;

use super::brute::{Stored, brute};
use super::rows;
use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// The fingerprints in rows of JSON.
fn fingerprints(rows: &[Value]) -> Vec<u128> {
    let hex = rows.iter().map(|row| row["fingerprint"].as_str().unwrap());
    hex.map(|hex| u128::from_str_radix(hex, 16).unwrap()).collect()
}

/// Builds an index of a file with the expected fingerprints, in this order, and looks all of them up.
fn check(sandbox: &Sandbox, file: &str, expected: &[u128], index: &str) {
    sandbox
        .run(&format!("index build {file} --positions -o {index} -q"))
        .ok();
    let found = sandbox
        .run(&format!(
            "index query {index} --queries {file} --positions -k 4 --format csv -q"
        ))
        .ok();
    let stored: Stored = (0..).zip(expected.iter().copied()).collect();
    let near = brute(&stored, expected, 4);
    assert!(near.len() >= expected.len());
    assert_eq!(rows(&found), near, "{file}");
    sandbox.run(&format!("index check {index}")).ok();
    // The exported table is an index again, with the same content.
    let exported = |index: &str| sandbox.run(&format!("index export {index} -q")).ok().stdout;
    sandbox
        .run(&format!("index export {index} -o {index}.parquet -q"))
        .ok();
    sandbox
        .run(&format!("index build {index}.parquet -o {index}-again -q"))
        .ok();
    assert_eq!(exported(&format!("{index}-again")), exported(index), "{file}");
}

fn news() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("news.jsonl", Corpus::new(3).jsonl(60));
    sandbox
}

#[test]
fn fingerprints_of_every_width_are_an_input_in_both_formats() {
    for bits in [32, 64, 128] {
        let sandbox = news();
        let args = format!("fingerprint news.jsonl --profile tp1-words-lntf-{bits} -q");
        let printed = sandbox.run(&args).ok().stdout;
        let printed: Vec<Value> = printed
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let expected = fingerprints(&printed);
        assert_eq!(printed[0]["fingerprint"].as_str().unwrap().len(), bits / 4);
        for file in ["table.parquet".to_owned(), format!("numbers.u{bits}")] {
            sandbox.run(&format!("{args} -o {file}")).ok();
            check(&sandbox, &file, &expected, file.split('.').next().unwrap());
        }
    }
}

#[test]
fn the_clusters_of_dedup_are_an_input_at_both_of_its_widths() {
    for bits in [64, 128] {
        let sandbox = news();
        sandbox
            .run(&format!("dedup news.jsonl -o out --bits {bits} --no-verify -q"))
            .ok();
        let expected = fingerprints(&sandbox.rows("out/clusters.jsonl"));
        check(&sandbox, "out/clusters.parquet", &expected, "seen");
    }
}

#[test]
fn without_options_fingerprints_fit_the_clusters_of_dedup_and_a_collection() {
    let sandbox = news();
    sandbox.run("dedup news.jsonl -o out -q").ok();
    sandbox.run("fingerprint news.jsonl -o news.parquet -q").ok();
    sandbox.run("collection create pages").ok();
    sandbox.run("collection add pages news.jsonl -q").ok();
    sandbox.run("collection export pages -o pages.parquet").ok();
    sandbox
        .run("index build out/clusters.parquet --positions -o seen -q")
        .ok();
    for file in ["news.parquet", "pages.parquet"] {
        let joined = sandbox
            .run(&format!("index join seen {file} --positions -k 0 -q"))
            .ok()
            .stdout;
        assert!(joined.lines().count() > 20, "{file}: {joined}");
    }
}

#[test]
fn a_collection_of_every_width_is_an_input_in_both_formats() {
    for bits in [64, 128] {
        let sandbox = news();
        sandbox
            .run(&format!(
                "collection create pages --profile tp1-words-lntf-{bits}"
            ))
            .ok();
        sandbox.run("collection add pages news.jsonl -q").ok();
        let listed = sandbox.run("collection export pages").ok().stdout;
        let listed: Vec<Value> = listed
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let expected = fingerprints(&listed);
        for file in ["table.parquet".to_owned(), format!("numbers.u{bits}")] {
            let run = sandbox.run(&format!("collection export pages -o {file}")).ok();
            assert_eq!(run.stdout, format!("{file}: {} fingerprints\n", expected.len()));
            check(&sandbox, &file, &expected, file.split('.').next().unwrap());
        }
        // The table names the profile.
        let stat = sandbox.run("index stat table --json").ok().stdout;
        let stat: Value = serde_json::from_str(&stat).unwrap();
        assert_eq!(stat["profile"], format!("tp1-words-lntf-{bits}"));
        sandbox
            .run("collection export pages -o pages.u32")
            .fails(2, &["pages.u32", &format!(".u{bits}")]);
    }
    let sandbox = news();
    sandbox.run("collection create keyed --keyed").ok();
    sandbox.run("collection add keyed news.jsonl -q").ok();
    sandbox
        .run("collection export keyed -o keyed.parquet")
        .fails(1, &["secret key"]);
    assert!(!sandbox.path("keyed.parquet").exists());
}
