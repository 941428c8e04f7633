//! `index query --search`: every way gives the rows of brute force, and `--stats` counts the work of each.

use super::brute::{Stored, brute, bytes, shape, wide};
use super::{number, rows, u64s};
use crate::sandbox::{Run, Sandbox};

/// The number before a word such as "probe" in the first line of `--stats`.
fn counted(run: &Run, word: &str) -> u64 {
    let line = run
        .stderr
        .lines()
        .find(|line| line.contains(" queries, "))
        .unwrap();
    let part = line.split(", ").find(|part| part.contains(word)).unwrap();
    let digits: String = part.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn every_way_finds_the_rows_of_brute_force() {
    for bits in [32, 64, 128] {
        for (seed, name) in (1..).zip(["uniform", "clumped", "equal", "one-apart"]) {
            let sandbox = Sandbox::new();
            let [a, queries] = [150, 20].map(|n| shape(name, n, seed + n, bits));
            for (file, rows) in [("a", &a), ("q", &queries)] {
                sandbox.put(&format!("{file}.u{bits}"), bytes(rows.iter().copied(), bits));
            }
            let stored: Stored = (0..).zip(a.iter().copied()).collect();
            for build in [
                "--plan blocks:5",
                "--plan parts:4 --address-bits 1",
                "--codec huffman --plan parts:4",
            ] {
                sandbox
                    .run(&format!("index build a.u{bits} -o seen -q {build}"))
                    .ok();
                for (way, k) in [
                    ("directory", 3),
                    ("binary", 3),
                    ("interpolation", 3),
                    ("scan", 5),
                    ("variations", 1),
                    ("stored-variations", 1),
                ] {
                    let query = format!(
                        "index query seen --queries q.u{bits} -k {k} --search {way} --stats --format csv -q"
                    );
                    let run = sandbox.run(&query).ok();
                    let expected = brute(&stored, &queries, k);
                    assert_eq!(rows(&run), expected, "{name}, {bits} bits, {build}, {way}");
                    match way {
                        "scan" => assert_eq!(counted(&run, "probe"), 0),
                        "variations" => assert_eq!(counted(&run, "probe"), 20 * u64::from(1 + bits)),
                        "stored-variations" => assert_eq!(counted(&run, "candidate"), expected.len() as u64),
                        _ => {}
                    }
                }
                std::fs::remove_dir_all(sandbox.path("seen")).unwrap();
            }
        }
    }
}

#[test]
fn unsuitable_ways_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.put("a.u64", bytes(shape("uniform", 100, 1, 64), 64));
    sandbox.run("index build a.u64 -o seen -q").ok();
    let query = "index query seen --queries a.u64 --search stored-variations -q";
    sandbox.run(&format!("{query} --memory 1MB")).fails(
        2,
        &["--memory: the 43,745 variations of each of 100 fingerprints are 4,374,500 entries"],
    );
    sandbox.run(&format!("{query} -k 1 --memory 1MB")).ok();
    sandbox
        .run("index query seen --queries a.u64 --search variations -k 7")
        .fails(1, &["would probe"]);
    sandbox
        .run("index query seen --queries a.u64 --search binary --scan")
        .fails(2, &["cannot be used with"]);
    sandbox.run("index query seen").fails(2, &["--queries", "--text"]);
}

#[test]
fn the_planned_work_is_the_counted_work() {
    let sandbox = Sandbox::new();
    // Uniform fingerprints, and queries that are independent of them.
    let uniform = |n: u64, from: u64| bytes((from..from + n).map(|i| wide(i, 64)), 64);
    sandbox.put("a.u64", uniform(1 << 14, 0));
    sandbox.put("q.u64", uniform(1000, 1 << 20));
    for design in ["blocks:4", "random:5,20"] {
        sandbox
            .run(&format!("index build a.u64 -o seen -q --plan {design}"))
            .ok();
        let run = sandbox
            .run("index query seen --queries q.u64 --scan=never --stats -q")
            .ok();
        let plan = format!("plan -n 16384 --plan {design} --explain");
        let plan = sandbox.run(&plan).ok().stdout;
        let row = plan.lines().find(|line| line.ends_with("chosen")).unwrap();
        let columns: Vec<&str> = row
            .split("  ")
            .map(str::trim)
            .filter(|column| !column.is_empty())
            .collect();
        let number = |i: usize| columns[i].parse::<f64>().unwrap();
        let (probes, candidates) = (number(3), number(4));
        assert_eq!(counted(&run, "probe"), 1000 * probes as u64, "{row}");
        let expected = 1000.0 * candidates;
        // Five standard deviations of a Poisson distribution, and the digits that are not printed.
        let spread = 5.0 * expected.sqrt() + expected / 100.0;
        let counted = counted(&run, "candidate") as f64;
        assert!((counted - expected).abs() < spread, "{row}, {}", run.stderr);
        std::fs::remove_dir_all(sandbox.path("seen")).unwrap();
    }
    sandbox
        .run("plan -n 1e9 --memory 1GB")
        .fails(1, &["--memory: no choice of tables fits"]);
    sandbox.run("plan").fails(2, &["--n", "--check"]);
}

/// More matches than are in memory at a time: each of 2,200 queries matches as many ids, between queries with one match.
#[test]
fn batches_with_very_many_matches_are_divided() {
    let sandbox = Sandbox::new();
    let n = 2200;
    sandbox.put("equal.u64", u64s((0..n).map(|_| 7)));
    let alone = (0..300).map(|i| number(i) | 1 << 63);
    sandbox.put("alone.u64", u64s(alone));
    sandbox.run("index build alone.u64 equal.u64 -o seen -q").ok();
    for way in ["--scan=never", "--scan"] {
        let query = "index query seen --queries alone.u64 equal.u64 alone.u64 -k 0 -q -o rows.bin";
        sandbox.run(&format!("{query} {way}")).ok();
        let bytes = std::fs::read(sandbox.path("rows.bin")).unwrap();
        let numbers = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|bytes| u64::from_le_bytes(*bytes));
        let alone = |first| (0..300).flat_map(move |i| [first + i, i, 0]);
        let equal = (0..n).flat_map(|query| (0..n).flat_map(move |id| [300 + query, 300 + id, 0]));
        assert!(numbers.eq(alone(0).chain(equal).chain(alone(300 + n))), "{way}");
        std::fs::remove_file(sandbox.path("rows.bin")).unwrap();
    }
}
