//! `dedup --against`: duplicates of a collection or an index are removed, and `--append` adds the kept documents to the
//! collection.

use serde_json::{Value, json};

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// A text of words that no other number has.
fn text(n: u64) -> String {
    let words: Vec<String> = (0..120).map(|i| format!("w{}", n * 1000 + i)).collect();
    words.join(" ")
}

/// The text of the number `n` with one word replaced.
fn near(n: u64) -> String {
    text(n).replace(&format!("w{} ", n * 1000 + 60), "other ")
}

fn lines(documents: &[(&str, String)]) -> String {
    documents
        .iter()
        .map(|(id, text)| json!({"id": id, "text": text}).to_string() + "\n")
        .collect()
}

fn ids(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let rows = sandbox.rows(name);
    rows.iter()
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The row of a document in `clusters.jsonl`.
fn row(sandbox: &Sandbox, out: &str, id: &str) -> Value {
    let rows = sandbox.rows(&format!("{out}/clusters.jsonl"));
    rows.into_iter().find(|row| row["id"] == id).unwrap()
}

fn with_collection() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("old.jsonl", lines(&[("old1", text(1)), ("old2", text(2))]));
    sandbox.run("collection create seen").ok();
    sandbox.run("collection add seen old.jsonl --quiet").ok();
    sandbox
}

#[test]
fn duplicates_of_a_collection_are_removed_and_kept_documents_are_added() {
    let sandbox = with_collection();
    let monday = [
        ("same", text(1).to_uppercase()),
        ("near", near(2)),
        ("new", text(3)),
        ("copy", text(3)),
        ("close", near(3)),
        ("alone", text(4)),
        ("same again", text(1)),
    ];
    sandbox.put("monday.jsonl", lines(&monday));
    let run = sandbox.run("dedup monday.jsonl -o out --against seen --append");
    assert!(run.stdout.contains("3 known from before"), "{run:?}");
    run.ok();
    assert_eq!(ids(&sandbox, "out/kept/monday.jsonl"), ["new", "alone"]);
    assert_eq!(
        ids(&sandbox, "out/removed/monday.jsonl"),
        ["same", "near", "copy", "close", "same again"]
    );
    let records = &sandbox.json("out/report.json")["records"];
    let number = |name: &str| records[name].as_u64().unwrap();
    assert_eq!(
        (
            number("removed"),
            number("removed_known"),
            number("removed_equal")
        ),
        (5, 3, 1)
    );
    assert_eq!(
        number("read"),
        number("kept") + number("removed") + number("rejected")
    );
    let same = row(&sandbox, "out", "same");
    assert_eq!(
        (&same["duplicate_of"], &same["jaccard"], &same["is_leader"]),
        (&json!("old1"), &json!(1.0), &json!(false))
    );
    let near_row = row(&sandbox, "out", "near");
    assert_eq!(near_row["duplicate_of"], "old2");
    // 118 shingles of three words; the replaced word is in three of them.
    assert_eq!(near_row["jaccard"], 0.950_413);
    assert_eq!(row(&sandbox, "out", "close")["duplicate_of"], "new");
    assert_eq!(row(&sandbox, "out", "alone")["duplicate_of"], Value::Null);
    assert!(sandbox.text("out/config.toml").contains("against = \"seen\""));

    let tuesday = [("late", near(3)), ("later", near(4)), ("fresh", text(5))];
    sandbox.put("tuesday.jsonl", lines(&tuesday));
    sandbox
        .run("dedup tuesday.jsonl -o out2 --against seen --mode annotate -q")
        .ok();
    let annotated = sandbox.rows("out2/annotated/tuesday.jsonl");
    let assigned: Vec<(&Value, &Value)> = annotated
        .iter()
        .map(|row| (&row["duplicate_of"], &row["is_leader"]))
        .collect();
    assert_eq!(
        assigned,
        [
            (&json!("new"), &json!(false)),
            (&json!("alone"), &json!(false)),
            (&Value::Null, &json!(true))
        ]
    );
}

#[test]
fn a_run_against_a_collection_of_its_own_input_keeps_nothing() {
    let sandbox = Sandbox::new();
    let documents = 150;
    sandbox.put("news.jsonl", Corpus::new(11).jsonl(documents));
    sandbox.run("collection create seen").ok();
    let with_empty_collection = sandbox.run("dedup news.jsonl -o first --against seen --append -q");
    with_empty_collection.ok();
    sandbox.run("dedup news.jsonl -o plain -q").ok();
    // An empty collection has no known texts, so the result is that of a run without it.
    assert_eq!(
        sandbox.text("first/clusters.jsonl"),
        sandbox.text("plain/clusters.jsonl")
    );
    assert_eq!(sandbox.tree("first/kept"), sandbox.tree("plain/kept"));
    sandbox.run("dedup news.jsonl -o again --against seen -q").ok();
    let records = &sandbox.json("again/report.json")["records"];
    assert_eq!(records["kept"], 0, "{records}");
    assert_eq!(records["removed_known"], records["removed"]);
    assert_eq!(records["removed"].as_u64().unwrap() as usize, documents);
}

#[test]
fn records_without_ids_of_several_runs_do_not_replace_one_another() {
    let sandbox = with_collection();
    for (day, n) in [("a", 6), ("b", 7)] {
        // The file has the same name every day.
        sandbox.put("pages.jsonl", json!({"text": text(n)}).to_string());
        sandbox
            .run("dedup pages.jsonl -o out --against seen --append -q")
            .ok();
        std::fs::rename(sandbox.path("out"), sandbox.path(day)).unwrap();
    }
    let exported = sandbox.run("collection export seen").ok().stdout;
    assert_eq!(exported.lines().count(), 4, "{exported}");
}

#[test]
fn an_id_with_a_replaced_text_is_reported() {
    let sandbox = with_collection();
    let day = |name: &str, n| {
        sandbox.put("pages.jsonl", json!({"id": "1", "text": text(n)}).to_string());
        sandbox
            .run(&format!("dedup pages.jsonl -o {name} --against seen --append -q"))
            .ok()
    };
    assert!(!day("monday", 6).stderr.contains("replaces"));
    let tuesday = day("tuesday", 7).stderr;
    assert!(
        tuesday.contains("1 id was in the collection already; the new text replaced the stored one"),
        "{tuesday}"
    );
}

#[test]
fn duplicates_of_an_index_of_any_width_are_removed_unverified() {
    for bits in [32, 64, 128] {
        let sandbox = Sandbox::new();
        sandbox.put("old.jsonl", lines(&[("old1", text(1)), ("old2", text(2))]));
        let files = ["old.parquet --positions", &format!("old.u{bits}")].map(str::to_owned);
        for (number, file) in files.iter().enumerate() {
            let name = file.split(' ').next().unwrap();
            sandbox
                .run(&format!(
                    "fingerprint old.jsonl --profile tp1-words-lntf-{bits} -o {name} -q"
                ))
                .ok();
            sandbox
                .run(&format!("index build {file} -o index{number} -q"))
                .ok();
            sandbox.put("new.jsonl", lines(&[("second", text(2)), ("new", text(3))]));
            let out = format!("out{number}");
            sandbox
                .run(&format!("dedup new.jsonl -o {out} --against index{number} -q"))
                .ok();
            assert_eq!(ids(&sandbox, &format!("{out}/kept/new.jsonl")), ["new"]);
            let known = row(&sandbox, &out, "second");
            assert_eq!(
                (&known["duplicate_of"], &known["hamming"], &known["verified"]),
                (&json!("1"), &json!(0), &json!(false)),
                "{bits} bits"
            );
            assert_eq!(known["jaccard"], Value::Null);
        }
        sandbox
            .run("dedup new.jsonl -o out2 --against index0 --append")
            .fails(2, &["index add"]);
        // The index stores its profile, so other features are refused.
        sandbox
            .run("dedup new.jsonl -o out3 --against index0 --profile tp1-chars4-tf")
            .fails(1, &["tp1-chars4-tf"]);
    }
}

#[test]
fn unusable_against_directories_are_refused() {
    let sandbox = with_collection();
    let refused = |args: &str, code: i32, message: &str| {
        sandbox
            .run(&format!("dedup old.jsonl -o out {args}"))
            .fails(code, &[message]);
        assert!(!sandbox.path("out/kept").exists());
    };
    refused("--against nowhere", 1, "neither a collection");
    refused(
        "--against seen --threshold 0.7",
        1,
        "choose a threshold of at least 0.8",
    );
    refused("--against seen --no-verify", 1, "leave out --no-verify");
    sandbox
        .run("fingerprint old.jsonl --profile tp1-words-lntf-32 -o old.u32 -q")
        .ok();
    sandbox.run("index build old.u32 -o narrow -q").ok();
    refused(
        "--against narrow -k 33",
        1,
        "two fingerprints of the index differ in at most 32 bits, but the radius is 33",
    );
    refused("--append", 2, "--against");
    refused("--against seen --append --mode report", 2, "kept/");
}
