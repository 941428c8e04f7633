//! `index export`: the export contains all live fingerprints, and an index can be built from it.

use super::{number, rows, u64s};
use crate::sandbox::Sandbox;

/// An index of several segments, with distant ids, replaced ids and deleted ids.
fn index() -> (Sandbox, Vec<(u64, u64)>) {
    let sandbox = Sandbox::new();
    sandbox.put("old.u64", u64s((0..500).map(number)));
    sandbox.put("new.u64", u64s((0..200).map(|i| number(i) ^ 1)));
    sandbox.put("far.u64", u64s((0..200).map(|i| (number(i) >> 3) | 1 << 40)));
    sandbox.run("index build old.u64 -o seen --profile 1e0ng -q").ok();
    sandbox.run("index add seen new.u64 --ids far.u64 -q").ok();
    sandbox.run("index add seen new.u64 --first-id 10 -q").ok();
    sandbox.run("index delete seen 0 11 499 77777").ok();
    let mut living: Vec<(u64, u64)> = (0..500)
        .filter(|id| ![0, 11, 499].contains(id))
        .map(|id| match id {
            10..210 => (id, number(id - 10) ^ 1),
            id => (id, number(id)),
        })
        .collect();
    living.extend((0..200).map(|i| ((number(i) >> 3) | 1 << 40, number(i) ^ 1)));
    living.sort_unstable();
    (sandbox, living)
}

#[test]
fn live_fingerprints_are_exported_by_id() {
    let (sandbox, living) = index();
    let jsonl = living
        .iter()
        .map(|(id, fingerprint)| format!("{{\"id\":{id},\"fingerprint\":\"{fingerprint:016x}\"}}\n"));
    let jsonl: String = jsonl.collect();
    assert_eq!(sandbox.run("index export seen -q").ok().stdout, jsonl);
    // With the least memory that is enough.
    let said = sandbox
        .run("index export seen -o out.jsonl --memory 32KiB -q")
        .ok()
        .stdout;
    assert_eq!(said, "out.jsonl: 697 fingerprints\n");
    assert_eq!(sandbox.text("out.jsonl"), jsonl);
    let csv = sandbox.run("index export seen -q --format csv").ok().stdout;
    assert_eq!(csv.lines().next(), Some("id,fingerprint"));
    assert_eq!(csv.lines().count(), 698);
    sandbox.run("index export seen -o out.bin -q").ok();
    let pairs = living.iter().flat_map(|&(id, fingerprint)| [id, fingerprint]);
    assert_eq!(sandbox.tree(".")["out.bin"], u64s(pairs));
    sandbox.run("index export seen -o out.u64 -q").ok();
    assert_eq!(sandbox.tree(".")["out.u64"], u64s(living.iter().map(|row| row.1)));
    assert_eq!(
        sandbox.tree(".")["out.ids.u64"],
        u64s(living.iter().map(|row| row.0))
    );
    sandbox
        .run("index export seen -o out.ids.u64")
        .fails(2, &["out.ids.u64"]);
    sandbox
        .run("index export seen -o out.rows")
        .fails(2, &["--format"]);
    sandbox
        .run("index export nowhere")
        .fails(1, &["nowhere does not exist"]);
}

#[test]
fn an_export_can_be_built_again() {
    let (sandbox, _) = index();
    sandbox.run("index export seen -o out.u64 -q").ok();
    sandbox.run("index export seen -o out.parquet -q").ok();
    sandbox
        .run("index build out.u64 --ids out.ids.u64 -o numbers -q")
        .ok();
    sandbox.run("index build out.parquet -o table -q").ok();
    let found = |index: &str| {
        let args = format!("index query {index} --queries old.u64 new.u64 -k 4 --format csv -q");
        rows(&sandbox.run(&args).ok())
    };
    let expected = found("seen");
    assert!(expected.len() > 700);
    assert_eq!(found("numbers"), expected);
    assert_eq!(found("table"), expected);
    let export = |index: &str| sandbox.run(&format!("index export {index} -q")).ok().stdout;
    assert_eq!(export("numbers"), export("seen"));
    assert_eq!(export("table"), export("seen"));
    // A table names the profile of its fingerprints.
    let stat = |index: &str| {
        let text = sandbox.run(&format!("index stat {index} --json")).ok().stdout;
        let stat: serde_json::Value = serde_json::from_str(&text).unwrap();
        (stat["profile"].clone(), stat["profile_checksum"].clone())
    };
    assert_eq!(stat("table"), stat("seen"));
    assert_eq!(stat("numbers").0, serde_json::Value::Null);
}
