//! Indexes of fingerprints of 32, 64 and 128 bits, compared with brute force.

use std::fmt::Write as _;

use serde_json::Value;

use super::brute::{Stored, brute, brute_pairs, bytes, joined, shape, wide};
use super::rows;
use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

const WIDTHS: [u32; 3] = [32, 64, 128];
const SHAPES: [&str; 4] = ["uniform", "clumped", "equal", "one-apart"];

#[test]
fn every_command_gives_the_results_of_brute_force_at_every_width() {
    for bits in WIDTHS {
        for name in SHAPES {
            let n = 240;
            let sandbox = Sandbox::new();
            let [a, more, queries] = [1, 2, 3].map(|seed| shape(name, n / seed, seed, bits));
            for (file, rows) in [("a", &a), ("more", &more), ("q", &queries)] {
                sandbox.put(&format!("{file}.u{bits}"), bytes(rows.iter().copied(), bits));
            }
            let mut stored: Stored = (0..).zip(a.iter().chain(&more).copied()).collect();
            let case = format!("{name}, {bits} bits");
            let queried = |index: &str, k: u32, more: &str| {
                let args = format!("index query {index} --queries q.u{bits} -k {k} --format csv -q {more}");
                rows(&sandbox.run(&args).ok())
            };
            sandbox.run(&format!("index build a.u{bits} -o seen -q")).ok();
            sandbox.run(&format!("index add seen more.u{bits} -q")).ok();
            sandbox.run("index delete seen 0 7 245").ok();
            stored.retain(|(id, _)| ![0, 7, 245].contains(id));
            for step in ["", "index compact seen"] {
                if !step.is_empty() {
                    sandbox.run(step).ok();
                }
                for k in [0, 3, 7] {
                    let expected = brute(&stored, &queries, k);
                    assert_eq!(queried("seen", k, "--scan=never"), expected, "{case}, k = {k}");
                    assert_eq!(queried("seen", k, "--scan"), expected, "{case}, k = {k}, scan");
                }
                sandbox.run("index check seen").ok();
            }
            assert_eq!(
                joined(&sandbox, "seen -k 3"),
                brute_pairs(&stored, None, 3),
                "{case}"
            );
            let other: Stored = (0..).zip(queries.iter().copied()).collect();
            assert_eq!(
                joined(&sandbox, &format!("seen q.u{bits} -k 3")),
                brute_pairs(&stored, Some(&other), 3),
                "{case}"
            );
            let stat = sandbox.run("index stat seen --json").ok().stdout;
            let stat: Value = serde_json::from_str(&stat).unwrap();
            assert_eq!(stat["bits"], bits);
            assert!(
                sandbox
                    .run("index stat seen")
                    .ok()
                    .stdout
                    .contains(&format!("of {bits} bits"))
            );

            // An index is built from each export.
            let jsonl = sandbox.run("index export seen -q").ok().stdout;
            let digits = bits as usize / 4;
            let line = |(id, x): &(u64, u128)| format!("{{\"id\":{id},\"fingerprint\":\"{x:0digits$x}\"}}");
            let expected: Vec<String> = stored.iter().map(line).collect();
            let expected = expected.join("\n") + "\n";
            assert_eq!(jsonl, expected, "{case}");
            sandbox.run("index export seen -o out.parquet -q").ok();
            sandbox.run(&format!("index export seen -o out.u{bits} -q")).ok();
            let fingerprints = stored.iter().map(|row| row.1);
            assert_eq!(
                sandbox.tree(".")[&format!("out.u{bits}")],
                bytes(fingerprints, bits)
            );
            for (files, index) in [
                ("out.parquet".to_owned(), "table"),
                (format!("out.u{bits} --ids out.ids.u64"), "numbers"),
            ] {
                sandbox.run(&format!("index build {files} -o {index} -q")).ok();
                let exported = sandbox.run(&format!("index export {index} -q")).ok().stdout;
                assert_eq!(exported, jsonl, "{case}: {index}");
                assert_eq!(
                    queried(index, 5, ""),
                    brute(&stored, &queries, 5),
                    "{case}: {index}"
                );
            }
        }
    }
}

#[test]
fn an_export_at_every_width_sorts_on_disk_within_a_memory_limit() {
    for bits in WIDTHS {
        let sandbox = Sandbox::new();
        let n = 30_000;
        let name = format!("a.u{bits}");
        sandbox.put(&name, bytes((0..n).map(|i| wide(i, bits)), bits));
        sandbox.run(&format!("index build {name} -o seen -q")).ok();
        sandbox
            .run(&format!("index export seen -o out.u{bits} --memory 512KiB -q"))
            .ok();
        let tree = sandbox.tree(".");
        assert!(tree[&format!("out.u{bits}")] == tree[&name], "{bits} bits");
    }
}

#[test]
fn damage_is_detected_and_named_at_every_width() {
    for bits in WIDTHS {
        let sandbox = Sandbox::new();
        let a = shape("uniform", 2000, 1, bits);
        sandbox.put(&format!("a.u{bits}"), bytes(a, bits));
        sandbox.run(&format!("index build a.u{bits} -o seen -q")).ok();
        let segment = "seen/00000001.seg";
        let whole = sandbox.tree("seen")["00000001.seg"].clone();
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 4;
        sandbox.put(segment, damaged);
        sandbox.run("index check seen").fails(1, &["00000001.seg"]);
        sandbox.put(segment, &whole[..whole.len() - 1]);
        for command in ["check seen", "stat seen", "export seen", "compact seen"] {
            sandbox
                .run(&format!("index {command}"))
                .fails(1, &["00000001.seg"]);
        }
        sandbox.put(segment, whole);
        sandbox.run("index check seen").ok();
    }
}

#[test]
fn fingerprints_of_different_widths_are_refused() {
    let sandbox = Sandbox::new();
    for bits in WIDTHS {
        sandbox.put(&format!("a.u{bits}"), bytes(shape("uniform", 64, 1, bits), bits));
        sandbox.run(&format!("index build a.u{bits} -o i{bits} -q")).ok();
    }
    let before = sandbox.tree(".");
    sandbox.run("index build a.u32 a.u64 -o other").fails(
        1,
        &[
            "a.u32 has fingerprints of 32 bits",
            "a.u64 has fingerprints of 64 bits",
        ],
    );
    for command in [
        "add i64 a.u128",
        "query i64 --queries a.u128",
        "join i64 a.u128 -o rows.csv",
    ] {
        sandbox.run(&format!("index {command}")).fails(
            1,
            &["a.u128 has fingerprints of 128 bits", "64 bits are expected"],
        );
    }
    sandbox
        .run("index join a.u128 i64")
        .fails(1, &["i64 has fingerprints of 64 bits", "128 bits are expected"]);
    sandbox
        .run("index export i128 -o out.u64")
        .fails(2, &["fingerprints of 128 bits", "ends in .u128"]);
    for command in [
        "build a.u32 -o other -k 33",
        "query i32 --queries a.u32 -k 33",
        "join i32 -k 33",
    ] {
        sandbox
            .run(&format!("index {command}"))
            .fails(2, &["-k 33", "32 bits", "at most 32"]);
    }
    sandbox.put("ids.u32", [0; 256]);
    sandbox
        .run("index build a.u64 --ids ids.u32 -o other")
        .fails(1, &["ids.u32", "file of ids", "*.u64"]);
    for (profile, says) in [
        ("tp1-words-lntf-64", "take tp1-words-lntf-128"),
        ("1e0ng", "this library makes fingerprints of 64 bits"),
    ] {
        sandbox
            .run(&format!("index build a.u128 -o other --profile {profile}"))
            .fails(2, &[profile, "the fingerprints have 128 bits", says]);
    }
    let mut after = sandbox.tree(".");
    after.remove("ids.u32");
    assert!(after == before);
    // The largest radius finds everything.
    for bits in WIDTHS {
        let args = format!("index query i{bits} --queries a.u{bits} -k {bits} --format csv -q");
        assert_eq!(rows(&sandbox.run(&args).ok()).len(), 64 * 64);
    }
}

#[test]
fn texts_are_found_in_an_index_of_every_width() {
    for bits in WIDTHS {
        let sandbox = Sandbox::new();
        sandbox.put("old.jsonl", Corpus::new(3).jsonl(60));
        let profile = format!("tp1-words-lntf-{bits}");
        let said = sandbox
            .run(&format!(
                "fingerprint old.jsonl --profile {profile} -o old.parquet -q"
            ))
            .ok()
            .stdout;
        assert_eq!(said, "old.parquet: 60 fingerprints\n");
        sandbox.run("index build old.parquet --positions -o seen -q").ok();
        let stat = sandbox.run("index stat seen --json").ok().stdout;
        let stat: Value = serde_json::from_str(&stat).unwrap();
        assert_eq!(
            (&stat["profile"], &stat["bits"]),
            (&profile.as_str().into(), &bits.into())
        );
        // The table records the profile, and the index refuses another.
        sandbox
            .run(&format!(
                "fingerprint old.jsonl --profile tp1-chars4-lntf-{bits} -o chars.parquet -q"
            ))
            .ok();
        sandbox
            .run("index add seen chars.parquet --positions")
            .fails(1, &["tp1-chars4", "cannot be compared"]);

        let printed = sandbox
            .run(&format!("fingerprint old.jsonl --profile {profile} -q"))
            .ok();
        let printed: Vec<Value> = printed
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let fingerprints: Vec<u128> = printed
            .iter()
            .map(|row| u128::from_str_radix(row["fingerprint"].as_str().unwrap(), 16).unwrap())
            .collect();
        let stored: Stored = (0..).zip(fingerprints.iter().copied()).collect();
        let mut expected = String::from("query,id,hamming\n");
        for (query, id, hamming) in brute(&stored, &fingerprints, 3) {
            let row = &printed[query as usize];
            if row["features"] != 0 {
                writeln!(expected, "{},{id},{hamming}", row["id"].as_str().unwrap()).unwrap();
            }
        }
        let found = sandbox
            .run("index query seen --text old.jsonl -k 3 --format csv -q")
            .ok();
        assert_eq!(found.stdout, expected, "{bits} bits");

        // A file of numbers has the same fingerprints.
        let numbers = format!("old.u{bits}");
        sandbox
            .run(&format!(
                "fingerprint old.jsonl --profile {profile} -o {numbers} -q"
            ))
            .ok();
        assert_eq!(sandbox.tree(".")[&numbers], bytes(fingerprints, bits));
    }
    let sandbox = Sandbox::new();
    sandbox.put("old.jsonl", Corpus::new(3).jsonl(5));
    for (options, says) in [
        ("-o out.u64 --profile tp1-words-lntf-128", ".u128"),
        ("-o out.csv", ".parquet"),
        ("-o out.parquet --profile tp1-words-lntf-16", "32, 64 or 128 bits"),
        ("-o out.parquet --format-out tsv", "cannot be used with"),
    ] {
        sandbox
            .run(&format!("fingerprint old.jsonl {options}"))
            .fails(2, &["--output", says]);
    }
    sandbox
        .run("fingerprint old.jsonl -o nowhere/out.parquet")
        .fails(1, &["nowhere/out.parquet cannot be written"]);
    assert_eq!(sandbox.tree(".").len(), 1);
}
