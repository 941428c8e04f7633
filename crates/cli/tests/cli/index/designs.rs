//! Indexes whose tables are named with `--plan`, compared with brute force; `plan --check`; lookups on several threads.

use super::brute::{Stored, brute, brute_pairs, bytes, joined, shape};
use super::{number, rows, u64s};
use crate::sandbox::Sandbox;

/// Designs that exist for every width, and the largest radius for which they are tested.
const DESIGNS: [(&str, u32); 10] = [
    ("scan", 5),
    ("one-table", 3),
    ("parts:4", 8),
    ("parts:6", 3),
    ("blocks:4", 3),
    ("blocks:5", 3),
    ("blocks:6", 3),
    ("nested:4", 3),
    ("qr11", 3),
    ("half-spaces", 3),
];

#[test]
fn every_named_design_gives_the_results_of_brute_force() {
    for bits in [32, 64, 128] {
        for (seed, name) in (1..).zip(["uniform", "clumped", "equal", "one-apart"]) {
            let sandbox = Sandbox::new();
            let [a, more, queries] = [200, 40, 60].map(|n| shape(name, n, seed + n, bits));
            for (file, rows) in [("a", &a), ("more", &more), ("q", &queries)] {
                sandbox.put(&format!("{file}.u{bits}"), bytes(rows.iter().copied(), bits));
            }
            let widths = format!("parts:{},{},4", bits / 2, bits / 2 - 4);
            for (design, largest) in DESIGNS.into_iter().chain([(&*widths, 6)]) {
                let case = format!("{design}, {name}, {bits} bits");
                let stored: Stored = (0..).zip(a.iter().copied()).collect();
                let build = format!("index build a.u{bits} -o seen -k {largest} --plan {design} -q");
                sandbox.run(&build).ok();
                // Larger distances than the planned one work too.
                for k in [0, largest - 1, largest, largest + 1] {
                    let query =
                        format!("index query seen --queries q.u{bits} -k {k} --scan=never --format csv -q");
                    assert_eq!(
                        rows(&sandbox.run(&query).ok()),
                        brute(&stored, &queries, k),
                        "{case}, k = {k}"
                    );
                }
                assert_eq!(
                    joined(&sandbox, "seen -k 3"),
                    brute_pairs(&stored, None, 3),
                    "{case}"
                );
                sandbox.run("index check seen").ok();

                // The design is that of the built tables. Later additions and merges keep all fingerprints.
                let stored: Stored = (0..).zip(a.iter().chain(&more).copied()).collect();
                sandbox.run(&format!("index add seen more.u{bits} -q")).ok();
                sandbox.run("index compact seen").ok();
                let query = format!("index query seen --queries q.u{bits} -k 3 --scan=never --format csv -q");
                assert_eq!(
                    rows(&sandbox.run(&query).ok()),
                    brute(&stored, &queries, 3),
                    "{case}, merged"
                );
                std::fs::remove_dir_all(sandbox.path("seen")).unwrap();
            }
        }
    }
}

#[test]
fn unsuitable_designs_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.put("a.u64", bytes(shape("uniform", 64, 1, 64), 64));
    for (design, says) in [
        ("blocks", "is not a design of tables"),
        ("blocks:3", "--plan blocks:3: the plan \"blocks\" does not exist"),
        ("qr11 -k 4", "exists for a radius of at most 3, not for 4"),
        (
            "blocks:29",
            "--plan blocks:29: the plan has 3654 tables, and a segment has at most 256",
        ),
        (
            "nested:3",
            "the plan \"nested blocks\" does not exist for 3 blocks",
        ),
        (
            "masks:ffff,ffff0000",
            "--plan masks:ffff/0,ffff0000/0: the plan is not exact",
        ),
    ] {
        sandbox
            .run(&format!("index build a.u64 -o seen --plan {design}"))
            .fails(2, &[says]);
        assert!(!sandbox.path("seen").exists());
    }
    // A long design is not repeated as a whole.
    let masks = ["ffff"; 100].join(",");
    for design in [format!("masks:{masks}"), format!("mask:{masks}")] {
        let refused = sandbox
            .run(&format!("index build a.u64 -o seen --plan {design}"))
            .fails(2, &["mask", "…"]);
        assert!(refused.stderr.len() < 500, "{}", refused.stderr);
    }
    sandbox
        .run("index build a.u64 -o seen -q --plan masks:ffffffff/1,ffffffff00000000/1")
        .ok();
}

#[test]
fn random_tables_state_their_recall() {
    let sandbox = Sandbox::new();
    let n = 20_000;
    sandbox.put("a.u64", u64s((0..n).map(number)));
    // Each query differs in three bits from one fingerprint.
    let flips = |i: u64| {
        (0..3).fold(0u64, |bits, j| {
            bits | 1 << ((number(i ^ 1 << 50) >> (8 * j)) % 64)
        })
    };
    let near: Vec<u64> = (0..n).filter(|&i| flips(i).count_ones() == 3).collect();
    sandbox.put("q.u64", u64s(near.iter().map(|&i| number(i) ^ flips(i))));
    let built = sandbox
        .run("index build a.u64 -o seen -q --plan random:3,20")
        .ok()
        .stdout;
    assert!(
        built.starts_with("seen: 20,000 fingerprints; not exact: queries find "),
        "{built}"
    );

    let query = "index query seen --queries q.u64 -k 3 --format csv -q";
    let found = sandbox.run(&format!("{query} --scan=never")).ok();
    assert!(
        found.stderr.contains("seen is not exact: queries find"),
        "{}",
        found.stderr
    );
    let stat: serde_json::Value =
        serde_json::from_str(&sandbox.run("index stat seen --json").ok().stdout).unwrap();
    assert_eq!(stat["exact"], false);
    let stated = stat["recall"][3].as_f64().unwrap();
    let measured = rows(&found).len() as f64 / near.len() as f64;
    assert!(
        stated < 0.95 && (measured - stated).abs() < 0.01,
        "{measured}, stated {stated}"
    );
    assert!(
        sandbox
            .run("index stat seen")
            .ok()
            .stdout
            .contains("recall        not exact")
    );

    // A scan and a join compare all fingerprints.
    for options in ["--scan", "--search scan"] {
        let all = sandbox.run(&format!("{query} {options}")).ok();
        assert_eq!(rows(&all).len(), near.len());
        assert!(!all.stderr.contains("not exact"), "{}", all.stderr);
    }
    sandbox.put("news.jsonl", "{\"text\":\"Rain fell on the hills\"}\n");
    let refused = sandbox.run("dedup news.jsonl --against seen -o out");
    assert!(
        refused.code != Some(0) && refused.stderr.contains("the index is not exact"),
        "{refused:?}"
    );
    // Added segments do not make the index exact.
    sandbox.put("more.u64", u64s([1]));
    sandbox.run("index add seen more.u64 -q").ok();
    assert!(
        sandbox
            .run(&format!("{query} --scan=never"))
            .ok()
            .stderr
            .contains("not exact")
    );
    let exact = sandbox
        .run("index build a.u64 -o exact --plan blocks:4 -q")
        .ok()
        .stdout;
    assert_eq!(exact, "exact: 20,000 fingerprints\n");
}

#[test]
fn designs_are_checked() {
    let sandbox = Sandbox::new();
    let said = sandbox.run("plan --check blocks:5").ok().stdout;
    for line in [
        "blocks C(5,3) (64 bits, k = 3, 10 tables), keys of 25 to 26 bits",
        "exact: finds every pair within distance 3",
        "       3    100.000 %",
    ] {
        assert!(said.lines().any(|said| said == line), "{said}");
    }
    // Two differing bits in each half are missed: 120 · 120 of the 35,960 sets of four bits. The others, 59.955 %, are
    // found.
    let missed = sandbox
        .run("plan --check masks:ffff/1,ffff0000/1 -k 4 --bits 32")
        .fails(1, &[]);
    for says in [
        "the plan is not exact: no table finds",
        "       3    100.000 %",
        "       4     59.955 %",
    ] {
        assert!(missed.stdout.contains(says), "{}", missed.stdout);
    }
    sandbox
        .run("plan --check blocks:3")
        .fails(2, &["--check blocks:3", "radius 3"]);
    for (design, says) in [
        (
            "parts:31,32",
            "the widths of the parts must be positive and add up to 64, but they add up to 63",
        ),
        (
            "random:5,65",
            "a random key of a fingerprint of 64 bits has 1 to 64 bits, not 65",
        ),
        (
            "parts:4 -k 65",
            "-k 65: two fingerprints of 64 bits differ in at most 64 bits",
        ),
    ] {
        sandbox.run(&format!("plan --check {design}")).fails(2, &[says]);
    }
    // Almost all bits differ.
    sandbox.run("plan --check parts:4 -k 63").ok();
    // Four tables of one bit: C(60, d − 4) of the C(64, d) sets of d bits have all four of them.
    let parts = sandbox.run("plan --check parts:64").ok().stdout;
    let shares: Vec<&str> = parts
        .lines()
        .skip(4)
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    assert_eq!(
        shares,
        ["100.000", "100.000", "100.000", "99.999", "99.999", "99.997"],
        "{parts}"
    );
    // Many overlapping keys are estimated, with the error.
    let random = sandbox.run("plan --check random:200,40").fails(1, &[]).stdout;
    assert!(
        random.lines().last().unwrap().contains(" %  estimated, ± 0."),
        "{random}"
    );
    assert!(!random.lines().nth(6).unwrap().contains("estimated"), "{random}");
    sandbox.run("plan -n 1000 -k 65").fails(2, &["-k 65"]);
    sandbox.run("plan").fails(2, &["-n"]);
    sandbox
        .run("plan -n 1000 --check qr11")
        .fails(2, &["cannot be used with"]);
}

#[test]
fn rows_are_the_same_on_any_number_of_threads() {
    let sandbox = Sandbox::new();
    sandbox.put("a.u64", bytes(shape("clumped", 900, 1, 64), 64));
    sandbox.run("index build a.u64 -o seen -q").ok();
    let query = |options: &str| {
        let command = format!("index query seen --queries a.u64 -k 4 --stats -q {options}");
        let ran = sandbox.run(&command).ok();
        (ran.stdout, ran.stderr)
    };
    let one = query("--scan=never --threads 1");
    assert!(one.0.lines().count() > 900);
    for threads in [2, 3, 7, 0] {
        assert!(
            query(&format!("--scan=never --threads {threads}")) == one,
            "{threads} threads"
        );
        assert!(
            query(&format!("--scan --threads {threads}")).0 == one.0,
            "{threads} threads"
        );
    }
    sandbox
        .run("index query seen --queries a.u64 --threads 2000")
        .fails(2, &["--threads: 2000 worker threads are too many"]);
}
