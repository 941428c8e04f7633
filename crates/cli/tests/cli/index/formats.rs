//! Formats of fingerprint files and of rows.

use std::process::Stdio;

use super::{number, rows, u64s};
use crate::corpus::Corpus;
use crate::sandbox::{Sandbox, TWINPRINT};

/// Old fingerprints, and new ones, each a neighbour of an old one.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("old.u64", u64s((0..300).map(number)));
    sandbox.put("new.u64", u64s((0..40).map(|i| number(i) ^ 1 << i)));
    sandbox
}

/// The bytes that the binary writes to stdout.
fn bytes(sandbox: &Sandbox, args: &str) -> Vec<u8> {
    let mut command = sandbox.command(TWINPRINT);
    let output = command
        .args(args.split_whitespace())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{args}");
    output.stdout
}

#[test]
fn rows_are_the_same_in_every_format() {
    let sandbox = sandbox();
    sandbox.run("index build old.u64 -o seen -q").ok();
    let query = "index query seen --queries new.u64";
    let csv = sandbox.run(&format!("{query} --format csv")).ok();
    let expected: Vec<(u64, u64, u64)> = (0..40).map(|i| (i, i, 1)).collect();
    assert_eq!(rows(&csv), expected);
    let jsonl = sandbox.run(query).ok().stdout;
    let lines = expected
        .iter()
        .map(|(query, id, hamming)| format!("{{\"query\":{query},\"id\":{id},\"hamming\":{hamming}}}\n"));
    assert_eq!(jsonl, lines.collect::<String>());
    let numbers = expected
        .iter()
        .flat_map(|&(query, id, hamming)| [query, id, hamming]);
    assert_eq!(bytes(&sandbox, &format!("{query} --format bin")), u64s(numbers));
    let parquet = bytes(&sandbox, &format!("{query} --format parquet"));
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    // The extension of a file determines its format.
    sandbox.run(&format!("{query} -o found.parquet")).ok();
    assert_eq!(sandbox.tree(".")["found.parquet"], parquet);
    sandbox.run(&format!("{query} -o found.csv")).ok();
    assert_eq!(sandbox.text("found.csv"), csv.stdout);
    sandbox
        .run(&format!("{query} -o found.rows"))
        .fails(2, &["found.rows", "--format"]);
    sandbox
        .run(&format!("{query} -o nowhere/found.csv"))
        .fails(1, &["nowhere/found.csv cannot be written"]);
}

#[test]
fn compressed_files_and_given_ids_are_read() {
    let sandbox = sandbox();
    let old = u64s((0..300).map(number));
    sandbox.put("a.u64.gz", Corpus::gzip(&old[..800]));
    sandbox.put("b.u64.zst", zstd::encode_all(&old[800..], 1).unwrap());
    sandbox.run("index build a.u64.gz b.u64.zst -o packed -q").ok();
    let expected: Vec<(u64, u64, u64)> = (0..40).map(|i| (i, i, 1)).collect();
    let found = |index: &str, more: &str| {
        rows(
            &sandbox
                .run(&format!(
                    "index query {index} --queries new.u64 --format csv {more}"
                ))
                .ok(),
        )
    };
    assert_eq!(found("packed", ""), expected);

    // Unordered ids that are far apart.
    let id = |i: u64| (number(i) >> 20) | 1;
    sandbox.put("ids.u64", u64s((0..300).map(id)));
    sandbox.run("index build old.u64 --ids ids.u64 -o own -q").ok();
    let own: Vec<_> = (0..40).map(|i| (i, id(i), 1)).collect();
    assert_eq!(found("own", ""), own);
    // Queries may have given ids, too.
    sandbox.put("names.u64", u64s((0..40).map(|i| 1000 - i)));
    let named: Vec<_> = (0..40).map(|i| (1000 - i, id(i), 1)).collect();
    assert_eq!(found("own", "--ids names.u64"), named);
    // An add without ids uses the next free ids.
    let said = sandbox.run("index add own new.u64 -q").ok().stdout;
    let next = (0..300).map(id).max().unwrap() + 1;
    assert!(said.contains(&format!("ids {next} to {}", next + 39)), "{said}");
    // Existing ids get the new fingerprints.
    sandbox.put("less.u64", u64s([id(7), id(3)]));
    sandbox.put("two.u64", u64s([number(4000), number(5000)]));
    sandbox.run("index add own two.u64 --ids less.u64 -q").ok();
    let found = found("own", "-k 1");
    assert!(!found.contains(&(7, id(7), 1)) && found.contains(&(8, id(8), 1)));
    let stat: serde_json::Value =
        serde_json::from_str(&sandbox.run("index stat own --json").ok().stdout).unwrap();
    assert_eq!(stat["next_id"], next + 40);
}

#[test]
fn an_id_that_no_other_can_follow_is_refused_with_its_row() {
    let sandbox = Sandbox::new();
    sandbox.put("a.u64", u64s(0..300_000));
    sandbox.put("b.u64", u64s(0..5));
    let ids = |at: u64| u64s((0..300_005).map(|i| if i == at { u64::MAX } else { i }));
    for at in [0, 7, 200_000, 300_003] {
        sandbox.put("ids.u64", ids(at));
        let row = format!(
            "ids.u64: row {}: the id 18446744073709551615 is too large",
            at + 1
        );
        sandbox
            .run("index build a.u64 b.u64 --ids ids.u64 -o seen -q")
            .fails(1, &[&row, "--positions"]);
        assert!(!sandbox.path("seen/manifest").exists());
    }
    // The largest id that is allowed.
    sandbox.put("ids.u64", u64s((0..5).map(|i| u64::MAX - 5 + i)));
    sandbox.run("index build b.u64 --ids ids.u64 -o seen -q").ok();
    sandbox
        .run("index add seen b.u64")
        .fails(2, &["the next free id", "ids remain for only 0 fingerprints"]);
    sandbox.put("ids.u64", u64s((0..5).map(|i| u64::MAX - i)));
    sandbox
        .run("index add seen b.u64 --ids ids.u64 -q")
        .fails(1, &["ids.u64: row 1: the id 18446744073709551615"]);
    assert!(
        sandbox
            .run("index check seen")
            .ok()
            .stdout
            .contains("5 fingerprints")
    );
}

#[test]
fn unsuitable_files_are_named_with_the_fix() {
    let sandbox = sandbox();
    let refused = |args: &str, code: i32, says: &[&str]| {
        sandbox.run(args).fails(code, says);
        assert!(!sandbox.path("seen/manifest").exists());
    };
    sandbox.put("text.parquet", "not a table");
    refused(
        "index build text.parquet -o seen",
        1,
        &["text.parquet", "Parquet"],
    );
    sandbox.put("cut.u64.gz", &Corpus::gzip(&u64s(0..999))[..50]);
    refused(
        "index build cut.u64.gz -o seen",
        1,
        &["cut.u64.gz", "write the file again"],
    );
    sandbox.put("few.u64", u64s(0..3));
    refused(
        "index build old.u64 --ids few.u64 -o seen",
        1,
        &["few.u64: the file has 3 ids for 300 fingerprints"],
    );
    sandbox.put(
        "same.u64",
        u64s((0..300).map(|i| if i == 200 { 5 } else { 1000 - i })),
    );
    sandbox.put("double.u64", u64s((0..300).map(|i| if i == 200 { 5 } else { i })));
    refused(
        "index build old.u64 --ids double.u64 -o seen",
        1,
        &["the id 5 occurs twice", "--positions"],
    );
    sandbox.put("largest.u64", u64s((0..300).map(|i| u64::MAX - i)));
    refused(
        "index build old.u64 --ids largest.u64 -o seen",
        1,
        &["18446744073709551615 is too large"],
    );
    refused(
        "index build old.csv -o seen",
        1,
        &["old.csv", "*.u64", "*.parquet"],
    );
    // A failed build does not prevent the next one.
    sandbox.run("index build old.u64 --ids same.u64 -o seen -q").ok();
    let before = sandbox.tree("seen");
    sandbox
        .run("index add seen old.u64 --ids double.u64")
        .fails(1, &["the id 5 occurs twice"]);
    sandbox
        .run("index add seen old.u64 --ids same.u64 --first-id 3")
        .fails(2, &["--first-id"]);
    assert_eq!(sandbox.tree("seen"), before);
}
