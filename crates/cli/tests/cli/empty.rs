//! Texts without words: they are duplicates of nothing in every command, and are treated by `--empty`.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const WORDS: &str = "the lamp room was rebuilt in oak and the lens was set back on its bearing";

/// Two documents of one text, and four without words.
fn with_empty_texts() -> Sandbox {
    let sandbox = Sandbox::new();
    let texts = ["", WORDS, "…", "  \n", WORDS, "!!!"];
    let lines = (0..)
        .zip(texts)
        .map(|(id, text)| json!({"id": format!("d{id}"), "text": text}).to_string() + "\n");
    sandbox.put("in.jsonl", lines.collect::<String>());
    sandbox
}

fn column(sandbox: &Sandbox, rows: &str, name: &str) -> Vec<Value> {
    sandbox
        .rows(rows)
        .into_iter()
        .map(|mut row| row[name].take())
        .collect()
}

fn counts(sandbox: &Sandbox, out: &str, names: &[&str]) -> Vec<u64> {
    let records = &sandbox.json(&format!("{out}/report.json"))["records"];
    names.iter().map(|name| records[name].as_u64().unwrap()).collect()
}

#[test]
fn each_text_without_words_is_kept_in_its_own_group() {
    let sandbox = with_empty_texts();
    for (out, options) in [
        ("a", ""),
        ("b", "--no-verify"),
        ("c", "--pairs"),
        ("d", "--keep longest"),
    ] {
        let run = sandbox.run(&format!("dedup in.jsonl -o {out} {options}")).ok();
        assert!(run.stdout.contains("4  texts without words, kept"), "{run:?}");
        let numbers = counts(&sandbox, out, &["read", "kept", "removed", "rejected", "empty"]);
        assert_eq!(numbers, [6, 5, 1, 0, 4]);
        assert_eq!(
            column(&sandbox, &format!("{out}/clusters.jsonl"), "cluster_id"),
            [0, 1, 2, 3, 1, 5]
        );
        assert_eq!(
            column(&sandbox, &format!("{out}/clusters.jsonl"), "cluster_size"),
            [1, 2, 1, 1, 2, 1]
        );
    }
    assert_eq!(sandbox.rows("c/pairs.jsonl").len(), 1);
}

#[test]
fn empty_texts_are_removed_or_rejected_by_option() {
    let sandbox = with_empty_texts();
    let run = sandbox.run("dedup in.jsonl -o removed --empty remove").ok();
    assert!(
        run.stdout.contains("(1 of equal text, 4 without words)"),
        "{run:?}"
    );
    assert_eq!(
        counts(
            &sandbox,
            "removed",
            &["kept", "removed", "removed_equal", "removed_empty"]
        ),
        [1, 5, 1, 4]
    );
    assert_eq!(column(&sandbox, "removed/kept/in.jsonl", "id"), ["d1"]);
    let rows = sandbox.rows("removed/clusters.jsonl");
    assert_eq!(
        (&rows[0]["is_leader"], &rows[0]["duplicate_of"]),
        (&json!(false), &Value::Null)
    );
    assert!(sandbox.text("removed/config.toml").contains("empty = \"remove\""));
    assert!(sandbox.text("removed/report.html").contains("without words"));
    sandbox.run("dedup --config removed/config.toml -o again -q").ok();
    assert_eq!(sandbox.tree("removed/kept"), sandbox.tree("again/kept"));

    sandbox
        .run("dedup in.jsonl -o annotated --empty remove --mode annotate -q")
        .ok();
    assert_eq!(
        column(&sandbox, "annotated/annotated/in.jsonl", "is_leader"),
        [false, true, false, false, false, false]
    );

    sandbox.run("dedup in.jsonl -o rejected --empty reject -q");
    assert_eq!(
        counts(&sandbox, "rejected", &["read", "kept", "removed", "rejected"]),
        [6, 1, 1, 4]
    );
    let rejects = sandbox.rows("rejected/rejects.jsonl");
    assert_eq!(rejects.len(), 4);
    assert!(
        rejects[0]["reason"].as_str().unwrap().contains("no words"),
        "{rejects:?}"
    );
}

#[test]
fn a_corpus_of_only_empty_texts_succeeds() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", "{\"text\": \"\"}\n{\"text\": \"…\"}\n".repeat(50));
    for options in [
        "",
        "--no-verify",
        "--pairs",
        "--parts",
        "--keep shortest",
        "--order similar",
    ] {
        sandbox.run(&format!("dedup in.jsonl -o out {options}")).ok();
        assert_eq!(
            counts(&sandbox, "out", &["read", "kept", "empty"]),
            [100, 100, 100]
        );
        std::fs::remove_dir_all(sandbox.path("out")).unwrap();
    }
    sandbox.run("cluster in.jsonl -o stream -q").ok();
    assert_eq!(sandbox.rows("stream/groups.jsonl").len(), 0);
}

#[test]
fn a_stream_gives_each_text_without_words_its_own_group_or_rejects_it() {
    let sandbox = with_empty_texts();
    sandbox.run("cluster in.jsonl -o kept -q --state state").ok();
    assert_eq!(
        column(&sandbox, "kept/assignments.jsonl", "group_id"),
        [0, 1, 2, 3, 1, 5]
    );
    // Later documents join none of their groups either.
    sandbox.run("cluster in.jsonl -o later -q --state state").ok();
    assert_eq!(
        column(&sandbox, "later/assignments.jsonl", "group_id"),
        [6, 1, 8, 9, 1, 11]
    );
    sandbox.run("cluster in.jsonl -o rejected -q --empty reject");
    assert_eq!(column(&sandbox, "rejected/assignments.jsonl", "id"), ["d1", "d4"]);
    assert_eq!(sandbox.rows("rejected/rejects.jsonl").len(), 4);
}

#[test]
fn a_collection_adds_each_text_without_words_as_new_or_rejects_it() {
    let sandbox = with_empty_texts();
    let verdicts = |run: String| -> Vec<Value> {
        let rows = run
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.map(|mut row| row["verdict"].take()).collect()
    };
    for store in ["text", "shingles", "none"] {
        sandbox
            .run(&format!("collection create {store} --store {store}"))
            .ok();
        let added = sandbox
            .run(&format!("collection add {store} in.jsonl -q"))
            .ok()
            .stdout;
        assert_eq!(
            verdicts(added),
            ["new", "new", "new", "new", "exact", "new"],
            "{store}"
        );
        sandbox.put("other.jsonl", json!({"id": "other", "text": "?"}).to_string());
        let answers = sandbox
            .run(&format!("collection query {store} other.jsonl -q"))
            .ok()
            .stdout;
        assert_eq!(verdicts(answers), ["new"], "{store}");
        // The same document again gets the verdict `updated`.
        let repeated = sandbox
            .run(&format!("collection add {store} in.jsonl -q"))
            .ok()
            .stdout;
        assert_eq!(verdicts(repeated), ["updated"; 6], "{store}");
        sandbox.run(&format!("collection check {store}")).ok();
    }
    sandbox.run("collection create strict --empty reject").ok();
    let run = sandbox.run("collection add strict in.jsonl");
    assert!(run.stderr.contains("the text has no words"), "{run:?}");
    assert_eq!(verdicts(run.stdout), ["new", "exact"]);
    let kept = sandbox.run("dedup in.jsonl -o against --against text -q").ok();
    assert_eq!(kept.code, Some(0));
    assert_eq!(
        counts(&sandbox, "against", &["kept", "removed_known", "empty"]),
        [4, 2, 4]
    );
}

/// Two texts of fewer than fifty words whose fingerprints differ in a few bits. Without verification the fingerprints decide.
#[test]
fn short_texts_are_joined_by_their_fingerprints_without_verification() {
    let sandbox = Sandbox::new();
    let lines = [("a", WORDS.to_owned()), ("b", format!("{WORDS} again"))]
        .map(|(id, text)| json!({"id": id, "text": text}).to_string() + "\n");
    sandbox.put("in.jsonl", lines.concat());
    let run = sandbox
        .run("dedup in.jsonl -o out --no-verify --bits 64 -k 12 --pairs")
        .ok();
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("2 short texts, whose fingerprints are unreliable"),
        "{said}"
    );
    assert_eq!(sandbox.rows("out/pairs.jsonl").len(), 1);
    sandbox.run("dedup in.jsonl -o paper --profile paper -q").ok();
    let distance = sandbox.rows("out/pairs.jsonl")[0]["hamming"].as_u64().unwrap();
    let removed = sandbox.json("paper/report.json")["records"]["removed"]
        .as_u64()
        .unwrap();
    assert_eq!(removed, u64::from(distance <= 3), "{distance}");
}
