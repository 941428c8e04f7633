//! The format of rows: columns in order, one row per document, and the same fingerprints from all commands.

use std::collections::BTreeMap;

use crate::corpus::Corpus;
use crate::fences::matches;
use crate::sandbox::Sandbox;

/// The columns in order, with `…` for each value.
const CLUSTERS: &str = "{\"id\":…,\"source\":…,\"line\":…,\"cluster_id\":…,\"cluster_size\":…,\"is_leader\":…,\
    \"duplicate_of\":…,\"hamming\":…,\"jaccard\":…,\"fingerprint\":\"…\",\"dup_count\":…}";
const PAIRS: &str = "{\"a\":…,\"b\":…,\"hamming\":…,\"jaccard\":…,\"containment\":…,\"a_source\":…,\"a_line\":…,\
    \"b_source\":…,\"b_line\":…}";
const REJECTS: &str = "{\"source\":…,\"line\":…,\"reason\":\"…\"}";

fn inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(21);
    sandbox.put(
        "in.jsonl",
        corpus.jsonl(200) + "no json\n{\"text\":\"without an id\"}\n",
    );
    sandbox.put("folder/a.txt", corpus.document());
    sandbox.put("folder/b.txt", corpus.document());
    sandbox
}

fn count_rows_of_form(sandbox: &Sandbox, file: &str, form: &str) -> usize {
    let text = sandbox.text(file);
    for line in text.lines() {
        assert!(matches(&[form], &[line]), "{file}: {line}");
    }
    text.lines().count()
}

#[test]
fn rows_have_the_columns_that_the_documentation_names() {
    let sandbox = inputs();
    sandbox.run("dedup in.jsonl folder -o out --pairs --quiet").ok();
    assert_eq!(count_rows_of_form(&sandbox, "out/clusters.jsonl", CLUSTERS), 203);
    assert!(count_rows_of_form(&sandbox, "out/pairs.jsonl", PAIRS) > 20);
    assert_eq!(count_rows_of_form(&sandbox, "out/rejects.jsonl", REJECTS), 1);
    let rows = sandbox.rows("out/clusters.jsonl");
    // The id of a record is its id field, or its source and line. The id of a file is its path.
    assert_eq!(rows[0]["id"], "d0");
    assert_eq!(rows[200]["id"], "in.jsonl:202");
    assert_eq!(
        (&rows[201]["id"], &rows[201]["line"]),
        (&"folder/a.txt".into(), &1.into())
    );
    // Unverified rows have `verified` false and no Jaccard.
    sandbox
        .run("dedup in.jsonl folder -o paper --profile paper --quiet")
        .ok();
    for row in sandbox.rows("paper/clusters.jsonl") {
        assert!(row["verified"] == false && row["jaccard"].is_null(), "{row}");
        assert_eq!(row["fingerprint"].as_str().unwrap().len(), 16);
    }
}

#[test]
fn records_are_copied_unchanged() {
    let sandbox = inputs();
    sandbox.run("dedup in.jsonl folder -o out --quiet").ok();
    let kept = sandbox.text("out/kept/in.jsonl");
    let removed = sandbox.text("out/removed/in.jsonl");
    let (mut kept, mut removed) = (kept.lines().peekable(), removed.lines().peekable());
    let input = sandbox.text("in.jsonl");
    let rejected: Vec<&str> = input
        .lines()
        .filter(|line| {
            kept.next_if_eq(line)
                .or_else(|| removed.next_if_eq(line))
                .is_none()
        })
        .collect();
    assert_eq!(rejected, ["no json"]);
    assert_eq!((kept.next(), removed.next()), (None, None));
}

#[test]
fn dedup_and_fingerprint_give_the_same_fingerprints() {
    let sandbox = inputs();
    for bits in [64, 128] {
        let out = format!("out{bits}");
        sandbox
            .run(&format!("dedup in.jsonl folder -o {out} --bits {bits} --quiet"))
            .ok();
        let of = |rows: Vec<serde_json::Value>| -> BTreeMap<String, String> {
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            rows.iter()
                .map(|row| (text(&row["id"]), text(&row["fingerprint"])))
                .collect()
        };
        let clusters = of(sandbox.rows(&format!("{out}/clusters.jsonl")));
        let run = sandbox
            .run(&format!(
                "fingerprint in.jsonl folder --quiet --profile tp1-words-lntf-{bits}"
            ))
            .ok();
        let lines = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
        assert_eq!(of(lines.collect()), clusters);
        assert!(clusters.values().all(|hex| hex.len() == bits / 4));
    }
}

#[test]
fn the_configuration_names_the_chosen_options() {
    let sandbox = inputs();
    sandbox
        .run("dedup in.jsonl folder -o out --threshold 0.75 --keep newest --quiet")
        .ok();
    let config: toml::Table = sandbox.text("out/config.toml").parse().unwrap();
    let report = sandbox.json("out/report.json");
    assert_eq!(config["bits"].as_integer(), report["radius"]["bits"].as_i64());
    // Every pair is found without a radius.
    assert_eq!(report["radius"]["choice"], "exact");
    assert_eq!(config["hamming"].as_str(), Some("auto"));
    assert_eq!(config["threshold"].as_float(), Some(0.75));
    assert_eq!(config["keep"].as_str(), Some("newest"));
    assert_eq!(config["keep-key"].as_str(), Some("time"));
    assert_eq!(config["profile"].as_str(), report["profile"].as_str());
    let inputs: Vec<_> = config["inputs"].as_array().unwrap().iter().collect();
    assert_eq!(inputs, [&"in.jsonl".into(), &"folder".into()]);
}

#[test]
fn results_go_to_stdout_and_progress_to_stderr() {
    let sandbox = inputs();
    let run = sandbox.run("dedup in.jsonl folder -o out").ok();
    let report = sandbox.json("out/report.json");
    for key in ["kept", "removed", "rejected"] {
        let count = report["records"][key].to_string();
        let line = run
            .stdout
            .lines()
            .find(|line| line.trim().starts_with(key))
            .unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some(count.as_str()), "{line}");
    }
    let stages = ["read", "match", "shingles", "verify", "write"];
    for stage in stages {
        assert!(run.stderr.contains(stage), "no {stage} in {}", run.stderr);
        assert!(
            !run.stdout.lines().any(|line| line.trim() == stage),
            "{}",
            run.stdout
        );
    }
    // Neither is a terminal, so neither has colours.
    assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'));
    let quiet = sandbox.run("dedup in.jsonl folder -o quiet --quiet").ok();
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}
