//! `index join` and `index query --scan` compared with brute force.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::brute::brute_pairs;
use super::{number, pairs, rows, u64s};
use crate::sandbox::Sandbox;

/// Fingerprints with a distribution of neighbours: `uniform`, `clumped` or `equal`.
fn shape(name: &str, n: u64, seed: u64) -> Vec<u64> {
    let random = |i: u64| number(seed * 1_000_003 + i);
    let few = |i: u64| 1 << (random(i) % 64) | 1 << (random(i + n) % 64);
    (0..n)
        .map(|i| match name {
            // A third has a neighbour.
            "uniform" if i % 3 == 0 => number(i / 9) ^ few(i),
            "uniform" => random(i),
            "clumped" => number(i % 3) ^ few(i),
            _ => number(0),
        })
        .collect()
}

/// The pairs that rows of groups represent, and the number of rows.
fn expanded(jsonl: &str, is_self_join: bool) -> (Vec<(u64, u64, u64)>, usize) {
    let mut pairs = Vec::new();
    let ids = |row: &Value, name: &str| -> Vec<u64> {
        let ids = row[name].as_array().unwrap();
        ids.iter().map(|id| id.as_u64().unwrap()).collect()
    };
    for line in jsonl.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (a, b, hamming) = (ids(&row, "a"), ids(&row, "b"), row["hamming"].as_u64().unwrap());
        assert!(!is_self_join || a[0] <= b[0], "{line}");
        for &x in &a {
            for &y in &b {
                if !is_self_join || a != b || x < y {
                    let (x, y) = if is_self_join && x > y { (y, x) } else { (x, y) };
                    pairs.push((x, y, hamming));
                }
            }
        }
    }
    pairs.sort_unstable();
    (pairs, jsonl.lines().count())
}

/// The arguments of a join, and the ids and fingerprints of its sides.
type Case<'c> = (&'c str, &'c [(u64, u64)], Option<&'c [(u64, u64)]>);

fn numbered(fingerprints: &[u64], first: u64) -> Vec<(u64, u64)> {
    (first..).zip(fingerprints.iter().copied()).collect()
}

#[test]
fn joins_equal_those_of_brute_force() {
    for (name, n) in [("uniform", 900), ("clumped", 300), ("equal", 60)] {
        let sandbox = Sandbox::new();
        let (a, b, more) = (shape(name, n, 1), shape(name, n / 2, 2), shape(name, n / 3, 3));
        for (file, rows) in [("a.u64", &a), ("b.u64", &b), ("more.u64", &more)] {
            sandbox.put(file, u64s(rows.iter().copied()));
        }
        // One index of several segments with deletions, and one directly after its build.
        sandbox.run("index build a.u64 -o many -q").ok();
        sandbox.run("index add many more.u64 -q").ok();
        sandbox.run("index delete many 0 5 17").ok();
        sandbox.run("index build b.u64 -o one -q").ok();
        let mut many = numbered(&a, 0);
        many.extend(numbered(&more, n));
        many.retain(|(id, _)| ![0, 5, 17].contains(id));
        let (a, b) = (numbered(&a, 0), numbered(&b, 0));
        let cases: [Case<'_>; 6] = [
            ("many", &many, None),
            ("a.u64", &a, None),
            ("many one", &many, Some(&b)),
            ("one many", &b, Some(&many)),
            ("one a.u64", &b, Some(&a)),
            ("a.u64 b.u64", &a, Some(&b)),
        ];
        for (sides, a, b) in cases {
            for k in [0, 3, 6] {
                let expected = brute_pairs(a, b, k);
                let run = |more: &str| {
                    sandbox
                        .run(&format!("index join {sides} -k {k} -q {more}"))
                        .ok()
                        .stdout
                };
                assert_eq!(
                    pairs(&run("--all-pairs --format csv")),
                    expected,
                    "{name}: {sides} within {k}"
                );
                let (groups, lines) = expanded(&run(""), b.is_none());
                assert_eq!(groups, expected, "{name}: groups of {sides} within {k}");
                assert!(name != "equal" || lines <= 1, "{lines} rows for one fingerprint");
                // Less memory does not change the rows or their order.
                assert_eq!(
                    run("--memory 1MiB --work-dir ."),
                    run(""),
                    "{name}: {sides} within {k}"
                );
            }
        }
    }
}

#[test]
fn names_of_files_count_towards_the_memory() {
    let sandbox = Sandbox::new();
    let name = |i: u64| format!("{i:04}-{}", "long ".repeat(40));
    let rows: String = (0..3000)
        .map(|i| json!({"id": name(i), "text": format!("word{} other{}", i / 2, i / 2)}).to_string() + "\n")
        .collect();
    sandbox.put("in.jsonl", rows);
    sandbox
        .run("fingerprint in.jsonl --profile tp1-words-lntf-64 -o a.parquet -q")
        .ok();
    let join = |options: &str| sandbox.run(&format!("index join a.parquet -k 0 -q --all-pairs {options}"));
    // The names have 205 bytes, and the place of each takes 8 more.
    join("--memory 600KB").fails(2, &["--memory", "625 KiB"]);
    join("a.parquet --memory 1MB").fails(2, &["--memory", "at least 2 MiB"]);
    let found = join("--memory 2MiB").ok().stdout;
    assert_eq!(found, join("").ok().stdout);
    assert_eq!(found.lines().count(), 1500);
    let first: Value = serde_json::from_str(found.lines().next().unwrap()).unwrap();
    let [a, b] = ["a", "b"].map(|side| first[side].as_str().unwrap());
    let number = |name: &str| name[..4].parse::<u64>().unwrap();
    assert_eq!((number(a) / 2, name(number(b))), (number(b) / 2, b.to_owned()));
}

#[test]
fn groups_have_four_formats() {
    let sandbox = Sandbox::new();
    sandbox.put("a.u64", u64s([7, 8, 7, 1 << 60]));
    let run = |form: &str| {
        let args = format!("index join a.u64 -k 4 -q --format {form}");
        sandbox.run(&args).ok().stdout
    };
    assert_eq!(
        run("jsonl"),
        "{\"a\":[0,2],\"b\":[0,2],\"hamming\":0}\n{\"a\":[0,2],\"b\":[1],\"hamming\":4}\n\
         {\"a\":[0,2],\"b\":[3],\"hamming\":4}\n{\"a\":[1],\"b\":[3],\"hamming\":2}\n"
    );
    assert_eq!(run("csv"), "a,b,hamming\n0 2,0 2,0\n0 2,1,4\n0 2,3,4\n1,3,2\n");
    sandbox
        .run("index join a.u64 -k 4 -q -o rows.parquet -q")
        .fails(2, &["cannot be used multiple times"]);
    sandbox.run("index join a.u64 -k 4 -q -o rows.parquet").ok();
    sandbox.run("index join a.u64 -k 4 -q -o rows.bin").ok();
    let first: Vec<u64> = vec![2, 0, 2, 2, 0, 2, 0, 2, 0, 2, 1, 1, 4];
    assert!(sandbox.tree(".")["rows.bin"].starts_with(&u64s(first)));
    assert!(sandbox.tree(".")["rows.parquet"].ends_with(b"PAR1"));
}

#[test]
fn a_join_with_too_many_rows_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.put("a.u64", u64s(vec![5; 200]));
    sandbox
        .run("index join a.u64 --all-pairs --max-rows 19899 -o out.csv")
        .fails(
            1,
            &[
                "at least 19900 rows, more than the limit of 19899",
                "--max-rows",
                "without --all-pairs",
            ],
        );
    assert_eq!(sandbox.tree(".").len(), 1);
    let rows = |more: &str| {
        let args = format!("index join a.u64 -q --format csv {more}");
        sandbox.run(&args).ok().stdout.lines().count() - 1
    };
    assert_eq!(
        (rows("--all-pairs --max-rows 19900"), rows("--max-rows 200")),
        (19_900, 1)
    );
    sandbox
        .run("index join a.u64 --max-rows 199")
        .fails(1, &["at least 200 rows", "-k"]);
    sandbox
        .run("index join a.u64 missing.u64")
        .fails(1, &["missing.u64"]);
    sandbox.run("index join a.csv").fails(1, &["a.csv", "*.u64"]);
}

#[test]
fn a_scan_and_lookups_find_the_same_rows() {
    for (name, n) in [("uniform", 900), ("clumped", 200), ("equal", 50)] {
        let sandbox = Sandbox::new();
        sandbox.put("a.u64", u64s(shape(name, n, 1)));
        sandbox.put("more.u64", u64s(shape(name, n, 2)));
        sandbox.put("queries.u64", u64s(shape(name, n / 2, 3)));
        sandbox.run("index build a.u64 -o seen -q").ok();
        sandbox.run("index add seen more.u64 -q").ok();
        sandbox.run("index delete seen 1 2 40").ok();
        for k in [0, 3, 7] {
            let run = |more: &str| {
                let args = format!("index query seen --queries queries.u64 -k {k} --format csv -q {more}");
                rows(&sandbox.run(&args).ok())
            };
            let looked_up = run("--scan=never");
            assert!(name == "uniform" || !looked_up.is_empty());
            let scanned = run("--scan");
            assert_eq!(scanned, looked_up, "{name} within {k}");
            assert_eq!(run("--scan=auto"), looked_up);
            let mut by_query: BTreeMap<u64, u64> = BTreeMap::new();
            for (query, ..) in scanned {
                *by_query.entry(query).or_default() += 1;
            }
            assert!(name != "equal" || by_query.values().all(|&found| found == 2 * n - 3));
        }
    }
    let sandbox = Sandbox::new();
    sandbox.put("a.u64", u64s(0..9));
    sandbox.run("index build a.u64 -o seen -q").ok();
    sandbox
        .run("index query seen --queries a.u64 --scan=sometimes")
        .fails(2, &["auto", "always", "never"]);
    let run = sandbox
        .run("index query seen --queries a.u64 -k 0 --scan --stats -q")
        .ok();
    assert!(run.stderr.contains("9 queries, 0 probes"), "{}", run.stderr);
}
