//! The same input and options give the same bytes in every run, on any number of threads and any CPU.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::corpus::Corpus;
use crate::sandbox::{Sandbox, TWINPRINT};

/// Ways to run that must not change the output: arguments, and the level of the kernels.
const WAYS: [(&str, &str); 5] = [
    ("--threads 1", "auto"),
    ("--threads 2", "auto"),
    ("--threads 2", "auto"),
    ("--threads 2", "scalar"),
    ("--threads 3", "avx2"),
];

/// A file of lines, a folder and a gzip file. Some records are invalid.
fn inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(42);
    let mut lines = corpus.jsonl(1500).into_bytes();
    lines.extend_from_slice(b"{\"id\":\"broken\", \"text\": \"no end\n\n{\"id\":7}\n{\"text\":\"\xff\"}\n");
    lines.extend_from_slice(corpus.jsonl(300).as_bytes());
    lines.extend_from_slice(b"{\"text\":\"\"}\n{\"text\":\"...\"}\n{\"text\":\"...\"}\n");
    sandbox.put("lines.jsonl", lines);
    for i in 0..60 {
        let name = ["a.txt", "b.md", "c/d.txt"][i % 3];
        sandbox.put(&format!("folder/{i}/{name}"), corpus.document());
    }
    sandbox.put("folder/picture.png", [0x89, b'P', b'N', b'G']);
    sandbox.put("folder/latin1.txt", b"caf\xe9");
    sandbox.put("packed.jsonl.gz", Corpus::gzip(corpus.jsonl(800).as_bytes()));
    sandbox
}

/// All files that a run wrote, without the times in the report.
fn result(sandbox: &Sandbox, out: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = sandbox.tree(out);
    let report = files.get_mut("report.json").unwrap();
    let mut without: Value = serde_json::from_slice(report).unwrap();
    let run = without.as_object_mut().unwrap().remove("run").unwrap();
    assert!(run["seconds"].as_f64().unwrap() > 0.0 && run["threads"].as_u64().unwrap() > 0);
    *report = serde_json::to_vec_pretty(&without).unwrap();
    // The end of the pages differs between runs.
    for (page, run) in [
        ("report.html", "<section id=\"run\""),
        ("report.md", "\n## This run\n"),
    ] {
        let page = files.get_mut(page).unwrap();
        let text = String::from_utf8(std::mem::take(page)).unwrap();
        let (before, times) = text.split_once(run).unwrap();
        assert!(times.len() > 300 && times.len() < before.len());
        *page = before.as_bytes().to_vec();
    }
    files
}

fn first_difference(a: &[u8], b: &[u8]) -> String {
    let [a, b] = [a, b].map(String::from_utf8_lossy);
    let differ = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    differ.map_or_else(|| "one is longer".to_owned(), |(a, b)| format!("{a}\n{b}"))
}

fn assert_same_for_all_ways(sandbox: &Sandbox, options: &str) -> BTreeMap<String, Vec<u8>> {
    let mut first: Option<BTreeMap<String, Vec<u8>>> = None;
    for (i, (way, simd)) in WAYS.into_iter().enumerate() {
        let out = format!("out{i}");
        let args = format!("dedup lines.jsonl folder packed.jsonl.gz -o {out} --quiet {way} {options}");
        let status = sandbox
            .command(TWINPRINT)
            .args(args.split_whitespace())
            .env("TWINPRINT_SIMD", simd)
            .status()
            .unwrap();
        assert!(status.success(), "{args}");
        let result = result(sandbox, &out);
        let Some(first) = &first else {
            first = Some(result);
            continue;
        };
        assert!(first.keys().eq(result.keys()), "{args}: other files");
        for (name, bytes) in first {
            assert!(
                *bytes == result[name],
                "{args}, {simd}: {name} differs:\n{}",
                first_difference(bytes, &result[name])
            );
        }
    }
    first.unwrap()
}

#[test]
fn verified_runs_are_byte_identical() {
    let sandbox = inputs();
    let files = assert_same_for_all_ways(&sandbox, "--pairs --keep longest");
    let present = |name: &str| files.keys().any(|file| file.starts_with(name));
    let expected = [
        "kept/lines.jsonl",
        "removed/lines.jsonl",
        "kept/folder/0/a.txt",
        "kept/packed.jsonl.gz",
        "clusters.jsonl",
        "clusters.parquet",
        "pairs.jsonl",
        "rejects.jsonl",
        "config.toml",
        "report.html",
        "report.json",
        "report.md",
    ];
    for name in expected {
        assert!(present(name), "no {name} among {:?}", files.keys());
    }
    // Every kind of row occurs, so the comparison covers each.
    let lines = |name: &str| sandbox.text(&format!("out0/{name}")).lines().count();
    assert_eq!(lines("rejects.jsonl"), 4);
    assert!(lines("pairs.jsonl") > 500, "{} pairs", lines("pairs.jsonl"));
    let report = sandbox.json("out0/report.json");
    let records = |key: &str| report["records"][key].as_u64().unwrap();
    assert_eq!(
        records("read"),
        records("kept") + records("removed") + records("rejected")
    );
    assert!(records("removed") > 300 && records("equal_texts") > 100 && records("empty") == 3);
    assert!(report["search"]["short_texts"].as_u64().unwrap() > 300);
    assert!(report["search"]["shingle_candidates"].as_u64().unwrap() > 100);
    assert_eq!(report["recall"]["exact"], true);
}

#[test]
fn candidates_of_fingerprints_and_the_measured_recall_are_byte_identical() {
    let sandbox = inputs();
    assert_same_for_all_ways(&sandbox, "--pairs --bits 128 -k 20");
    let report = sandbox.json("out0/report.json");
    assert!(report["search"]["fingerprint_candidates"].as_u64().unwrap() > 100);
    assert!(
        report["recall"]["trials"].as_u64().unwrap() > 30,
        "{}",
        report["recall"]
    );
}

#[test]
fn ordered_records_are_byte_identical() {
    let sandbox = inputs();
    assert_same_for_all_ways(&sandbox, "--order similar");
}

#[test]
fn unverified_runs_are_byte_identical() {
    let sandbox = inputs();
    assert_same_for_all_ways(&sandbox, "--profile paper --pairs=distinct --mode report");
    let removed = sandbox.json("out0/report.json")["records"]["removed"].as_u64();
    assert!(removed.unwrap() > 100);
}
