//! `dedup --append`: a repeated run gives the same result, and the kept documents are added to the collection.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// A text of words that no other number has.
pub(crate) fn text(n: u64) -> String {
    let words: Vec<String> = (0..120).map(|i| format!("w{}", n * 1000 + i)).collect();
    words.join(" ")
}

pub(crate) fn lines(documents: &[(&str, u64)]) -> String {
    let line = |(id, n): &(&str, u64)| json!({"id": id, "text": text(*n)}).to_string() + "\n";
    documents.iter().map(line).collect()
}

pub(crate) fn with_collection() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("old.jsonl", lines(&[("old1", 1), ("old2", 2)]));
    sandbox.run("collection create seen").ok();
    sandbox.run("collection add seen old.jsonl --quiet").ok();
    sandbox
}

pub(crate) fn append(sandbox: &Sandbox, input: &str, out: &str) -> String {
    let args = format!("dedup {input} -o {out} --against seen --append");
    sandbox.run(&args).ok().stderr
}

pub(crate) fn ids(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let id = |row: Value| row["id"].as_str().unwrap().to_owned();
    sandbox.rows(file).into_iter().map(id).collect()
}

/// All files of a result that do not contain times.
fn result(sandbox: &Sandbox, out: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = sandbox.tree(out);
    files.retain(|name, _| !name.starts_with("report."));
    files
}

/// The text of each document of the collection, by id.
pub(crate) fn collection(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let exported = sandbox.run("collection export seen").ok().stdout;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    exported
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|row| (text(&row["id"]), text(&row["text"])))
        .collect()
}

#[test]
fn a_repeated_run_gives_the_result_of_the_first_run() {
    let sandbox = with_collection();
    // Some records have ids, some have none.
    let mut news = Corpus::new(11).jsonl(80) + &lines(&[("same", 1), ("fresh", 5)]);
    for i in 80..100 {
        news += &(json!({"text": text(i)}).to_string() + "\n");
    }
    sandbox.put("news.jsonl", &news);
    let stderr = append(&sandbox, "news.jsonl", "first");
    assert!(!stderr.contains("ended before"), "{stderr}");
    let first = collection(&sandbox);
    let kept = sandbox.json("first/report.json")["records"]["kept"]
        .as_u64()
        .unwrap();
    assert_eq!(first.len() as u64, 2 + kept);

    // Between the two runs, another run changes the text of an added document, and a known document is deleted.
    sandbox.put("more.jsonl", lines(&[("other", 7), ("fresh", 6)]));
    append(&sandbox, "more.jsonl", "between");
    sandbox.run("collection delete seen old1").ok();
    let before = collection(&sandbox);
    let stderr = append(&sandbox, "news.jsonl", "again");
    assert!(
        stderr.contains("seen: an earlier run over the same input has ended (")
            && stderr.contains(&format!("0 added to seen, {kept} were in it already")),
        "{stderr}"
    );
    assert_eq!(result(&sandbox, "first"), result(&sandbox, "again"));
    assert_eq!(collection(&sandbox), before);

    // The same documents in another folder, split into two files, one of them compressed.
    let cut = news.find('\n').unwrap() + 1;
    sandbox.put("there/a.jsonl", &news[..cut]);
    sandbox.put("there/b.jsonl.gz", Corpus::gzip(&news.as_bytes()[cut..]));
    append(&sandbox, "there", "elsewhere");
    let kept_elsewhere = sandbox.json("elsewhere/report.json")["records"]["kept"].clone();
    assert_eq!(kept_elsewhere, kept);
    assert_eq!(collection(&sandbox), before);
    sandbox.run("collection check seen").ok();
}

#[test]
fn a_run_of_the_same_input_with_other_options_adds_its_further_kept_documents() {
    let sandbox = with_collection();
    let nearly = text(3).replace(&format!("w{} ", 3060), "other ");
    let near = json!({"id": "b", "text": nearly}).to_string() + "\n";
    sandbox.put("news.jsonl", lines(&[("a", 3)]) + &near);
    append(&sandbox, "news.jsonl", "first");
    assert_eq!(ids(&sandbox, "first/kept/news.jsonl"), ["a"]);
    let stderr = append(&sandbox, "news.jsonl --threshold 0.99", "strict");
    assert!(
        stderr.contains("1 added to seen, 1 was in it already"),
        "{stderr}"
    );
    assert_eq!(ids(&sandbox, "strict/kept/news.jsonl"), ["a", "b"]);
    assert_eq!(
        collection(&sandbox).keys().collect::<Vec<_>>(),
        ["a", "b", "old1", "old2"]
    );
}

#[test]
fn another_input_is_another_run() {
    let sandbox = with_collection();
    sandbox.put("monday.jsonl", lines(&[("a", 3), ("b", 4)]));
    append(&sandbox, "monday.jsonl", "monday");
    sandbox.put(
        "tuesday.jsonl",
        lines(&[("copy of a", 3), ("copy of b", 4), ("c", 5)]),
    );
    append(&sandbox, "tuesday.jsonl", "tuesday");
    assert_eq!(ids(&sandbox, "tuesday/kept/tuesday.jsonl"), ["c"]);
    // Without --append a run compares with the current collection, which contains the run's own documents.
    sandbox
        .run("dedup monday.jsonl -o asked --against seen --quiet")
        .ok();
    assert_eq!(sandbox.text("asked/kept/monday.jsonl"), "");
}

#[test]
fn a_document_that_the_collection_has_is_no_duplicate_of_itself() {
    let sandbox = with_collection();
    sandbox.put("monday.jsonl", lines(&[("a", 3), ("b", 4)]));
    append(&sandbox, "monday.jsonl", "monday");
    // The input has grown. Of equal texts, the document that is in the collection is kept once, whatever its position.
    let grown = [
        ("copy of a", 3),
        ("a", 3),
        ("a", 3),
        ("b", 5),
        ("copy of b", 4),
        ("c", 6),
    ];
    sandbox.put("grown.jsonl", lines(&grown));
    for options in ["", " --keep longest"] {
        let out = format!("grown{}", options.len());
        let stderr = append(&sandbox, &format!("grown.jsonl{options}"), &out);
        assert_eq!(
            ids(&sandbox, &format!("{out}/kept/grown.jsonl")),
            ["a", "b", "c"],
            "{stderr}"
        );
        let duplicates = sandbox.rows(&format!("{out}/clusters.jsonl"));
        let of: Vec<&Value> = duplicates.iter().map(|row| &row["duplicate_of"]).collect();
        assert_eq!(
            of,
            [
                &json!("a"),
                &Value::Null,
                &json!("a"),
                &Value::Null,
                &json!("b"),
                &Value::Null
            ]
        );
        assert_eq!(collection(&sandbox).len(), 5);
    }
    // The id of a file is its path.
    sandbox.put("pages/one.txt", text(11));
    append(&sandbox, "pages", "one");
    sandbox.put("pages/two.txt", text(12));
    append(&sandbox, "pages", "both");
    assert!(sandbox.path("both/kept/one.txt").exists() && sandbox.path("both/kept/two.txt").exists());
    assert_eq!(collection(&sandbox).len(), 7);
}

/// The text of the number `n` with every `step`-th word replaced, from the word `first` on.
fn edited(n: u64, first: u64, step: usize, by: &str) -> String {
    let edits = (first..120).step_by(step);
    edits.fold(text(n) + " ", |text, word| {
        text.replace(&format!("w{} ", n * 1000 + word), &format!("{by}{word} "))
    })
}

fn documents(documents: &[(&str, String)]) -> String {
    let line = |(id, text): &(&str, String)| json!({"id": id, "text": text}).to_string() + "\n";
    documents.iter().map(line).collect()
}

#[test]
fn a_document_of_the_collection_leads_similar_new_documents() {
    let sandbox = with_collection();
    let (leader, follower) = (text(3), edited(3, 10, 60, "x"));
    sandbox.put(
        "monday.jsonl",
        documents(&[("l", leader.clone()), ("f", follower.clone())]),
    );
    append(&sandbox, "monday.jsonl --threshold 0.99", "monday");
    assert_eq!(ids(&sandbox, "monday/kept/monday.jsonl"), ["l", "f"]);
    // A new text that is similar to the follower only is first in the input.
    let new = edited(3, 10, 60, "x")
        .replace("w3100 ", "new ")
        .replace("w3050 ", "new ");
    sandbox.put("tuesday.jsonl", documents(&[("n", new), ("f", follower)]));
    for out in ["tuesday", "again"] {
        append(&sandbox, "tuesday.jsonl", out);
        assert_eq!(
            ids(&sandbox, &format!("{out}/kept/tuesday.jsonl")),
            ["f"],
            "{out}"
        );
    }
}

#[test]
fn runs_with_other_options_do_not_change_the_result_of_a_run() {
    let sandbox = with_collection();
    let longer = text(4) + " !!!!!!!";
    let near = edited(4, 60, 100, "x");
    sandbox.put(
        "news.jsonl",
        documents(&[("a", near), ("b", text(4)), ("c", longer)]),
    );
    let args = "news.jsonl --pairs --parts";
    append(&sandbox, args, "first");
    append(&sandbox, "news.jsonl --threshold 0.99 --keep longest", "longest");
    assert_eq!(ids(&sandbox, "longest/kept/news.jsonl"), ["a", "c"]);
    append(&sandbox, args, "again");
    assert_eq!(result(&sandbox, "first"), result(&sandbox, "again"));
}

#[test]
fn added_replaced_and_present_documents_are_counted_separately() {
    let sandbox = with_collection();
    sandbox.put(
        "monday.jsonl",
        documents(&[
            ("empty", String::new()),
            ("b", text(5)),
            ("a", text(6)),
            ("a", text(7)),
        ]),
    );
    append(&sandbox, "monday.jsonl", "monday");
    // A text without words replaces another text without words, so their fingerprints are equal.
    let tuesday = [
        ("empty", String::new()),
        ("b", "...".to_owned()),
        ("a", text(6)),
        ("a", text(7)),
        ("c", text(8)),
    ];
    sandbox.put("tuesday.jsonl", documents(&tuesday));
    let stderr = append(&sandbox, "tuesday.jsonl", "tuesday");
    assert_eq!(
        ids(&sandbox, "tuesday/kept/tuesday.jsonl"),
        ["empty", "b", "a", "a", "c"]
    );
    assert!(
        stderr.contains("2 added to seen, 3 were in it already"),
        "{stderr}"
    );
    assert!(
        stderr.contains("1 id was in the collection already; the new text replaced"),
        "{stderr}"
    );
    assert_eq!(collection(&sandbox).len(), 7);
}

#[test]
fn documents_with_the_same_id_are_all_added() {
    let sandbox = with_collection();
    let documents = [("a", 3), ("a", 4), ("a", 3), ("b", 5), ("a", 6)];
    sandbox.put("news.jsonl", lines(&documents));
    let stderr = append(&sandbox, "news.jsonl", "out");
    assert!(!stderr.contains("replaces"), "{stderr}");
    assert_eq!(ids(&sandbox, "out/kept/news.jsonl"), ["a", "a", "b", "a"]);
    let stored = collection(&sandbox);
    assert_eq!((&stored["a"], &stored["b"]), (&text(3), &text(5)));
    let renamed: Vec<&String> = stored
        .iter()
        .filter(|(id, _)| id.starts_with("a#"))
        .map(|(_, text)| text)
        .collect();
    assert_eq!(renamed.len(), 2);
    assert!(renamed.contains(&&text(4)) && renamed.contains(&&text(6)));
    // A repeated run renames nothing.
    append(&sandbox, "news.jsonl", "again");
    assert_eq!(collection(&sandbox), stored);
}

#[test]
fn a_changed_input_is_not_appended() {
    // A file that changes between reading and copying makes the run fail.
    let sandbox = with_collection();
    sandbox.put("big.jsonl", Corpus::new(5).jsonl(3000));
    let run = sandbox.bash(
        "twinprint dedup big.jsonl -o out --against seen --append -q & pid=$!\n\
         for i in $(seq 2000); do touch big.jsonl; kill -0 $pid 2>/dev/null || break; done; wait $pid",
    );
    run.fails(1, &["big.jsonl: the input changed during the run"]);
    assert_eq!(collection(&sandbox).len(), 2);
    assert!(!sandbox.path("out").exists());
}

#[test]
fn keep_chooses_among_the_documents_of_the_run_with_a_note() {
    let sandbox = with_collection();
    let newer = json!({"id": "newer", "text": text(1), "time": "2030-01-01"}).to_string();
    let other = json!({"id": "other", "text": text(8), "time": "2030-01-01"}).to_string();
    sandbox.put("news.jsonl", format!("{newer}\n{other}\n"));
    let run = sandbox
        .run("dedup news.jsonl -o out --against seen --keep newest --quiet")
        .ok();
    assert!(
        run.stderr.contains(
            "the newest document is chosen among the documents of this run; 1 text known from before is removed"
        ),
        "{}",
        run.stderr
    );
    let run = sandbox
        .run("dedup news.jsonl -o first --against seen --quiet")
        .ok();
    assert_eq!(run.stderr, "");
}

#[test]
fn the_configuration_of_a_run_includes_append() {
    let sandbox = with_collection();
    sandbox.put("news.jsonl", lines(&[("a", 3)]));
    append(&sandbox, "news.jsonl", "out");
    assert!(sandbox.text("out/config.toml").contains("append = true"));
    sandbox.put("more.jsonl", lines(&[("b", 4)]));
    sandbox
        .run("dedup more.jsonl -o more --config out/config.toml --quiet")
        .ok();
    assert!(collection(&sandbox).contains_key("b"));
}

/// A record that the collection cannot store is rejected when it is read, so that the output and the collection agree.
#[test]
fn records_that_the_collection_cannot_store_are_rejected() {
    let sandbox = Sandbox::new();
    sandbox.run("collection create seen --empty reject").ok();
    let (long, longest) = ("x".repeat(2049), "y".repeat(2048));
    let big = "word ".repeat((16 << 20) / 5 + 1);
    let rows = documents(&[
        ("", text(1)),
        ("a", text(2)),
        (&long, text(3)),
        (&longest, text(4)),
        (&longest, text(5)),
        ("dots", "... !".to_owned()),
        ("big", big),
    ]);
    sandbox.put("in.jsonl", rows);
    for out in ["out", "again"] {
        let run = sandbox.run(&format!(
            "dedup in.jsonl -o {out} --against seen --append --quiet --max-rejected 100%"
        ));
        assert_eq!(run.code, Some(0), "{run:?}");
        let records = &sandbox.json(&format!("{out}/report.json"))["records"];
        assert_eq!(
            (&records["read"], &records["kept"], &records["rejected"]),
            (&json!(7), &json!(4), &json!(3))
        );
        let rejects = sandbox.rows(&format!("{out}/rejects.jsonl"));
        for (row, (line, message)) in rejects.iter().zip([
            (
                3,
                ["2049 is more than the limit of 2048", "name another field for it"],
            ),
            (6, ["the text has no words", "have such records removed"]),
            (7, ["more than the limit of 16777216", "several records"]),
        ]) {
            let reason = row["reason"].as_str().unwrap();
            assert_eq!(row["line"], line);
            assert!(message.iter().all(|message| reason.contains(message)), "{reason}");
        }
        let stored = collection(&sandbox);
        assert_eq!(stored.len(), 4);
        assert!(stored.keys().any(|id| id.starts_with("in.jsonl:1#")));
    }
    // A removed text without words is not added; without --append no record is rejected.
    for (out, options, rejected) in [("removed", "--append --empty remove", 2), ("asked", "", 0)] {
        sandbox.run(&format!(
            "dedup in.jsonl -o {out} --against seen --quiet --max-rejected 100% {options}"
        ));
        let records = &sandbox.json(&format!("{out}/report.json"))["records"];
        assert_eq!(records["rejected"], rejected, "{out}");
    }
    sandbox
        .run("dedup in.jsonl -o strict --against seen --append --quiet --strict")
        .fails(1, &["in.jsonl:3: ", "or name another field for it (--id-key)"]);
}
