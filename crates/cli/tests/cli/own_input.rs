//! A result never replaces a file that the command reads.

use std::fs;

use super::corpus::Corpus;
use super::sandbox::Sandbox;

fn rows() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("in/a.jsonl", Corpus::new(3).jsonl(60));
    sandbox.put("pairs.jsonl", "{\"a\":\"d1\",\"b\":\"d2\",\"jaccard\":0.5}\n");
    sandbox.run("fingerprint in/a.jsonl -o rows.parquet -q").ok();
    sandbox.run("index build rows.parquet -o seen -q").ok();
    sandbox
}

#[test]
fn a_result_that_would_replace_an_input_is_refused() {
    let sandbox = rows();
    for (replaced, command) in [
        ("in/a.jsonl", "eval --docs in/a.jsonl --at 0.8 --json in/a.jsonl"),
        ("in/a.jsonl", "eval --docs in --at 0.8 --html in/../in/a.jsonl"),
        (
            "pairs.jsonl",
            "eval --docs in --pairs pairs.jsonl --at 0.8 --json pairs.jsonl",
        ),
        ("in/a.jsonl", "calibrate in --json in/a.jsonl"),
        ("in/a.jsonl", "calibrate in/*.jsonl --write in/a.jsonl"),
        ("in/a.jsonl", "idf build in -o in/a.jsonl"),
        (
            "rows.parquet",
            "fingerprint rows.parquet --text-key id -o rows.parquet",
        ),
        (
            "rows.parquet",
            "index query seen --queries rows.parquet -o rows.parquet",
        ),
        ("in/a.jsonl", "index query seen --text in/a.jsonl -o in/a.jsonl"),
        ("rows.parquet", "index join rows.parquet -o rows.parquet"),
        ("seen/manifest", "index join seen -o seen/manifest --format jsonl"),
        (
            "seen/manifest",
            "index export seen -o seen/manifest --format jsonl",
        ),
    ] {
        let before = fs::read(sandbox.path(replaced)).unwrap();
        sandbox.run(command).fails(2, &["the result would replace"]);
        assert!(fs::read(sandbox.path(replaced)).unwrap() == before, "{command}");
    }
}

#[test]
fn a_result_of_an_earlier_run_is_replaced() {
    let sandbox = rows();
    for command in [
        "eval --docs in --at 0.8 --json out.json -q",
        "fingerprint in -o rows.parquet -q",
        "index export seen -o out.jsonl",
    ] {
        sandbox.run(command).ok();
        sandbox.run(command).ok();
    }
}
