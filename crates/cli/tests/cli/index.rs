//! `twinprint index`: the results of queries, and the index after a writer is killed.

mod adding;
mod brute;
mod designs;
mod exports;
mod feeds;
mod fixtures;
mod foreign;
mod formats;
mod joins;
mod names;
mod profiles;
mod resume;
mod searches;
mod widths;

use std::process::Stdio;
use std::time::Duration;

use crate::sandbox::{Run, Sandbox, TWINPRINT};

/// The `i`-th pseudorandom number (SplitMix64).
pub(super) fn number(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

pub(super) fn u64s(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    numbers.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// Rows of `index query --format csv`.
pub(super) fn rows(run: &Run) -> Vec<(u64, u64, u64)> {
    csv_rows(&run.stdout, "query,id,hamming")
}

/// Rows of `index join --all-pairs --format csv`, sorted.
pub(super) fn pairs(csv: &str) -> Vec<(u64, u64, u64)> {
    let mut pairs = csv_rows(csv, "a,b,hamming");
    pairs.sort_unstable();
    pairs
}

fn csv_rows(csv: &str, header: &str) -> Vec<(u64, u64, u64)> {
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some(header));
    lines
        .map(|line| {
            let numbers: Vec<u64> = line.split(',').map(|n| n.parse().unwrap()).collect();
            (numbers[0], numbers[1], numbers[2])
        })
        .collect()
}

#[test]
fn queries_find_built_and_added_but_not_deleted_fingerprints() {
    let sandbox = Sandbox::new();
    let (old, new) = (3000, 500);
    sandbox.put("old.u64", u64s((0..old).map(number)));
    // Each fingerprint is a neighbour of one in old.u64.
    sandbox.put("new.u64", u64s((0..new).map(|i| number(i) ^ 1 << (i % 64))));
    assert!(
        sandbox
            .run("index build old.u64 -o seen -q")
            .ok()
            .stdout
            .contains("3,000")
    );
    let query = "index query seen --queries new.u64 -k 3 --format csv";
    let neighbours: Vec<(u64, u64, u64)> = (0..new).map(|i| (i, i, 1)).collect();
    assert_eq!(rows(&sandbox.run(query).ok()), neighbours);

    let added = sandbox.run("index add seen new.u64 -q").ok().stdout;
    assert!(added.contains("ids 3000 to 3499"), "{added}");
    let both = |deleted: &[u64]| -> Vec<(u64, u64, u64)> {
        let found = (0..new).flat_map(|i| [(i, old + i, 0), (i, i, 1)]);
        found.filter(|(_, id, _)| !deleted.contains(id)).collect()
    };
    assert_eq!(rows(&sandbox.run(query).ok()), both(&[]));

    sandbox.put("gone", "7\n3007\n\n999999\n");
    let said = sandbox.run("index delete seen 7 3100 --ids gone").ok().stdout;
    assert_eq!(said, "seen: 3 ids deleted, 1 not in the index\n");
    let before = sandbox.tree("seen");
    let said = sandbox.run("index delete seen 7 999999").ok().stdout;
    assert_eq!(said, "seen: 0 ids deleted, 2 not in the index\n");
    assert_eq!(sandbox.tree("seen"), before);
    let deleted = [7, 3007, 3100];
    assert_eq!(rows(&sandbox.run(query).ok()), both(&deleted));
    assert!(sandbox.run("index stat seen").ok().stdout.contains("deleted"));
    sandbox.run("index compact seen").ok();
    assert_eq!(rows(&sandbox.run(query).ok()), both(&deleted));
    let stat: serde_json::Value =
        serde_json::from_str(&sandbox.run("index stat seen --json").ok().stdout).unwrap();
    assert_eq!(
        (&stat["ids"], &stat["deleted"], &stat["next_id"]),
        (&3497.into(), &0.into(), &3500.into())
    );
    assert_eq!(stat["segments"].as_array().unwrap().len(), 1);
    assert!(
        sandbox
            .run("index check seen")
            .ok()
            .stdout
            .contains("3,497 fingerprints in 1 segment\n")
    );

    // An add under existing ids replaces their fingerprints.
    sandbox.put("one.u64", u64s([number(1_000_000)]));
    sandbox.run("index add seen one.u64 --first-id 8 -q").ok();
    let found = rows(&sandbox.run(query).ok());
    assert_eq!(found, both(&[7, 3007, 3100, 8]));
    assert_eq!(
        rows(
            &sandbox
                .run("index query seen --queries one.u64 --format csv")
                .ok()
        ),
        [(0, 8, 0)]
    );
}

#[test]
fn refused_changes_are_reported_and_change_nothing() {
    let sandbox = Sandbox::new();
    sandbox.put("a.u64", u64s(0..10));
    sandbox.put("odd.u64", [0; 9]);
    sandbox.put("ids", "1\ntwo\n");
    sandbox.run("index build a.u64 -o seen -q").ok();
    let before = sandbox.tree("seen");
    sandbox
        .run("index build a.u64 -o seen")
        .fails(1, &["seen is an index already"]);
    sandbox
        .run("index add seen odd.u64")
        .fails(1, &["odd.u64", "not a multiple of 8"]);
    sandbox
        .run("index add seen missing.u64")
        .fails(1, &["missing.u64"]);
    sandbox
        .run("index delete seen --ids ids")
        .fails(1, &["ids:2", "two"]);
    sandbox.run("index delete seen").fails(2, &["--ids"]);
    sandbox
        .run("index stat elsewhere")
        .fails(1, &["elsewhere does not exist"]);
    sandbox
        .run("index query seen --queries a.u64 -k 65")
        .fails(2, &["65"]);
    assert_eq!(sandbox.tree("seen"), before);
    sandbox.put("seen/manifest", &before["manifest"][1..]);
    sandbox
        .run("index stat seen")
        .fails(1, &["seen/manifest is damaged"]);
}

#[test]
fn an_index_of_any_codec_gives_the_same_rows_and_keeps_its_codec() {
    let sandbox = Sandbox::new();
    sandbox.put("old.u64", u64s((0..2000).map(number)));
    sandbox.put("more.u64", u64s((0..500).map(|i| number(i * 3) ^ 1 << (i % 64))));
    let mut answers = Vec::new();
    for codec in ["packed", "elias-fano", "huffman"] {
        sandbox
            .run(&format!("index build old.u64 -o {codec} --codec {codec} -q"))
            .ok();
        sandbox.run(&format!("index add {codec} more.u64 -q")).ok();
        sandbox.run(&format!("index delete {codec} 7")).ok();
        sandbox.run(&format!("index compact {codec}")).ok();
        let stat = sandbox.run(&format!("index stat {codec} --json")).ok().stdout;
        let stat: serde_json::Value = serde_json::from_str(&stat).unwrap();
        let stored = stat["segments"][0]["codec"].as_str().unwrap();
        assert!(stored.starts_with(codec), "{stored} for {codec}");
        sandbox.run(&format!("index check {codec}")).ok();
        let mut found = rows(
            &sandbox
                .run(&format!(
                    "index query {codec} --queries more.u64 -k 3 --format csv"
                ))
                .ok(),
        );
        found.sort_unstable();
        assert!(found.len() >= 999);
        answers.push(found);
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_killed_add_has_added_all_or_nothing() {
    let sandbox = Sandbox::new();
    let batch = 20_000;
    sandbox.put("old.u64", u64s((0..batch).map(number)));
    sandbox.run("index build old.u64 -o seen -q").ok();
    let mut stored = batch;
    let mut killed = 0;
    for cycle in 0..12 {
        sandbox.put("more.u64", u64s((stored..stored + batch).map(number)));
        let mut command = sandbox.command(TWINPRINT);
        command.args(["index", "add", "seen", "more.u64", "-q"]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(4 * cycle));
        child.kill().unwrap();
        killed += u64::from(!child.wait().unwrap().success());
        sandbox.run("index check seen").ok();
        let stat: serde_json::Value =
            serde_json::from_str(&sandbox.run("index stat seen --json").ok().stdout).unwrap();
        let ids = stat["ids"].as_u64().unwrap();
        assert!(ids == stored || ids == stored + batch, "{ids} after {stored}");
        assert_eq!(stat["next_id"].as_u64().unwrap(), ids);
        stored = ids;
    }
    assert!(killed > 0, "every add ended before it was killed");
    sandbox.put("all.u64", u64s((0..stored).map(number)));
    let found = rows(
        &sandbox
            .run("index query seen --queries all.u64 -k 0 --format csv")
            .ok(),
    );
    assert!(found.into_iter().eq((0..stored).map(|i| (i, i, 0))));
}
