//! `dedup --append`: the same input gives the same result again, one run at a time holds a collection, and a kill leaves nothing behind.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::corpus::Corpus;
use crate::sandbox::{Run, Sandbox, TWINPRINT};

/// A text of words that no other number has.
fn text(n: u64) -> String {
    let words: Vec<String> = (0..120).map(|i| format!("w{}", n * 1000 + i)).collect();
    words.join(" ")
}

fn lines(documents: &[(&str, u64)]) -> String {
    let line = |(id, n): &(&str, u64)| json!({"id": id, "text": text(*n)}).to_string() + "\n";
    documents.iter().map(line).collect()
}

fn with_collection() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("old.jsonl", lines(&[("old1", 1), ("old2", 2)]));
    sandbox.run("collection create seen").ok();
    sandbox.run("collection add seen old.jsonl --quiet").ok();
    sandbox
}

fn append(sandbox: &Sandbox, input: &str, out: &str) -> String {
    let args = format!("dedup {input} -o {out} --against seen --append");
    sandbox.run(&args).ok().stderr
}

fn ids(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let id = |row: Value| row["id"].as_str().unwrap().to_owned();
    sandbox.rows(file).into_iter().map(id).collect()
}

/// All files of a result that do not hold times.
fn result(sandbox: &Sandbox, out: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = sandbox.tree(out);
    files.retain(|name, _| !name.starts_with("report."));
    files
}

/// The text of each document of the collection, by id.
fn collection(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let exported = sandbox.run("collection export seen").ok().stdout;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    exported
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|row| (text(&row["id"]), text(&row["text"])))
        .collect()
}

#[test]
fn the_same_input_gives_the_result_of_its_first_run() {
    let sandbox = with_collection();
    // Some records have ids, some have none.
    let mut news = Corpus::new(11).jsonl(80) + &lines(&[("same", 1), ("fresh", 5)]);
    for i in 80..100 {
        news += &(json!({"text": text(i)}).to_string() + "\n");
    }
    sandbox.put("news.jsonl", &news);
    let said = append(&sandbox, "news.jsonl", "first");
    assert!(!said.contains("ended before"), "{said}");
    let first = collection(&sandbox);
    let kept = sandbox.json("first/report.json")["records"]["kept"]
        .as_u64()
        .unwrap();
    assert_eq!(first.len() as u64, 2 + kept);

    // Other runs come in between; a document that was known goes, and one that the run added gets another text.
    sandbox.put("more.jsonl", lines(&[("other", 7), ("fresh", 6)]));
    append(&sandbox, "more.jsonl", "between");
    sandbox.run("collection delete seen old1").ok();
    let before = collection(&sandbox);
    let said = append(&sandbox, "news.jsonl", "again");
    assert!(
        said.contains("seen: a run of this input has ended before (")
            && said.contains(&format!("0 added to seen, {kept} were there already")),
        "{said}"
    );
    assert_eq!(result(&sandbox, "first"), result(&sandbox, "again"));
    assert_eq!(collection(&sandbox), before);

    // The same documents in another place, packed and cut in two.
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
fn a_run_of_the_same_input_with_other_options_adds_what_it_keeps_besides() {
    let sandbox = with_collection();
    let nearly = text(3).replace(&format!("w{} ", 3060), "other ");
    let near = json!({"id": "b", "text": nearly}).to_string() + "\n";
    sandbox.put("news.jsonl", lines(&[("a", 3)]) + &near);
    append(&sandbox, "news.jsonl", "first");
    assert_eq!(ids(&sandbox, "first/kept/news.jsonl"), ["a"]);
    let said = append(&sandbox, "news.jsonl --threshold 0.99", "strict");
    assert!(said.contains("1 added to seen, 1 was there already"), "{said}");
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
    // Without --append a run asks what the collection knows now, its own documents included.
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
    // The input has grown. Of equal texts the document itself is kept, once, wherever it stands.
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
        let said = append(&sandbox, &format!("grown.jsonl{options}"), &out);
        assert_eq!(
            ids(&sandbox, &format!("{out}/kept/grown.jsonl")),
            ["a", "b", "c"],
            "{said}"
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
    // A file is known by its path.
    sandbox.put("pages/one.txt", text(11));
    append(&sandbox, "pages", "one");
    sandbox.put("pages/two.txt", text(12));
    append(&sandbox, "pages", "both");
    assert!(sandbox.path("both/kept/one.txt").exists() && sandbox.path("both/kept/two.txt").exists());
    assert_eq!(collection(&sandbox).len(), 7);
}

/// The text of a number with every `step`-th word exchanged, from the word `first` on.
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
fn a_document_of_the_collection_leads_new_ones_that_are_like_it() {
    let sandbox = with_collection();
    let (leader, follower) = (text(3), edited(3, 10, 60, "x"));
    sandbox.put(
        "monday.jsonl",
        documents(&[("l", leader.clone()), ("f", follower.clone())]),
    );
    append(&sandbox, "monday.jsonl --threshold 0.99", "monday");
    assert_eq!(ids(&sandbox, "monday/kept/monday.jsonl"), ["l", "f"]);
    // A new text that is like the follower alone comes first in the input.
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
fn runs_with_other_options_do_not_change_what_a_run_gives() {
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
fn documents_added_replaced_and_there_already_are_counted_apart() {
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
    // A text without words has the place of another, so no bits of a fingerprint differ.
    let tuesday = [
        ("empty", String::new()),
        ("b", "...".to_owned()),
        ("a", text(6)),
        ("a", text(7)),
        ("c", text(8)),
    ];
    sandbox.put("tuesday.jsonl", documents(&tuesday));
    let said = append(&sandbox, "tuesday.jsonl", "tuesday");
    assert_eq!(
        ids(&sandbox, "tuesday/kept/tuesday.jsonl"),
        ["empty", "b", "a", "a", "c"]
    );
    assert!(said.contains("2 added to seen, 3 were there already"), "{said}");
    assert!(said.contains("1 id was there with another text"), "{said}");
    assert_eq!(collection(&sandbox).len(), 7);
}

#[test]
fn documents_of_one_id_are_all_in_the_collection() {
    let sandbox = with_collection();
    let documents = [("a", 3), ("a", 4), ("a", 3), ("b", 5), ("a", 6)];
    sandbox.put("news.jsonl", lines(&documents));
    let said = append(&sandbox, "news.jsonl", "out");
    assert!(!said.contains("replaces"), "{said}");
    assert_eq!(ids(&sandbox, "out/kept/news.jsonl"), ["a", "a", "b", "a"]);
    let held = collection(&sandbox);
    assert_eq!((&held["a"], &held["b"]), (&text(3), &text(5)));
    let renamed: Vec<&String> = held
        .iter()
        .filter(|(id, _)| id.starts_with("a#"))
        .map(|(_, text)| text)
        .collect();
    assert_eq!(renamed.len(), 2);
    assert!(renamed.contains(&&text(4)) && renamed.contains(&&text(6)));
    // Run again, nothing gets another name.
    append(&sandbox, "news.jsonl", "again");
    assert_eq!(collection(&sandbox), held);
}

/// The arguments of a run that reads stdin, but for the output.
const FROM_STDIN: [&str; 7] = ["dedup", "-", "--format", "jsonl", "--against", "seen", "--append"];

/// A run that reads stdin, which stays open, once it has begun to write to `out`.
fn waiting(sandbox: &Sandbox, out: &str, sent: &str) -> Child {
    let mut child = sandbox
        .command(TWINPRINT)
        .args(FROM_STDIN)
        .args(["-o", out])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(sent.as_bytes()).unwrap();
    let began = Instant::now();
    while !sandbox.path(&format!("{out}/.twinprint-unfinished")).exists() {
        assert!(began.elapsed() < Duration::from_mins(1), "it never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn a_run_holds_the_collection_to_its_end() {
    let sandbox = with_collection();
    let news = lines(&[("a", 3), ("b", 4)]);
    sandbox.put("news.jsonl", &news);
    sandbox.put("other.jsonl", lines(&[("c", 3)]));
    let mut first = waiting(&sandbox, "first", &news);
    // Neither another run nor another process comes in between.
    sandbox
        .run("dedup other.jsonl -o second --against seen --append")
        .fails(1, &["--against seen", "open in another process"]);
    assert!(!sandbox.path("second").exists());
    sandbox
        .run("collection add seen other.jsonl")
        .fails(1, &["open in another process"]);
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    append(&sandbox, "other.jsonl", "second");
    assert_eq!(sandbox.text("second/kept/other.jsonl"), "");
    assert_eq!(collection(&sandbox).len(), 4);
}

#[test]
fn a_run_that_had_ended_before_it_was_killed_gives_its_exit_code_again() {
    let sandbox = with_collection();
    let damaged = lines(&[("a", 3), ("b", 4)]) + "{\"id\":\"c\",\"te";
    let mut first = waiting(&sandbox, "out", &damaged);
    // The marker of a run that is killed just before the marker is removed.
    let marker = sandbox.path("out/.twinprint-unfinished");
    std::fs::hard_link(&marker, sandbox.path("marker")).unwrap();
    drop(first.stdin.take());
    assert_eq!(first.wait().unwrap().code(), Some(3));
    std::fs::rename(sandbox.path("marker"), &marker).unwrap();
    sandbox.put("in", damaged);
    let mut again = sandbox.command(TWINPRINT);
    again.args(FROM_STDIN).args(["-o", "out"]);
    again.stdin(File::open(sandbox.path("in")).unwrap());
    let run = Run::of(again.output().unwrap()).fails(
        3,
        &[
            "a run had ended before it was killed",
            "stdin:3: ",
            "1 file unreadable, cut off or damaged",
        ],
    );
    assert!(!run.stderr.contains("holds no document"), "{}", run.stderr);
    assert!(!marker.exists());
    assert_eq!(collection(&sandbox).len(), 4);
}

#[test]
fn a_killed_run_leaves_the_collection_as_it_was() {
    let sandbox = with_collection();
    sandbox.put("news.jsonl", lines(&[("a", 3), ("b", 4)]));
    let before = collection(&sandbox);
    let mut killed = waiting(&sandbox, "out", &lines(&[("a", 3)]));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(collection(&sandbox), before);
    // Another process may come in between: the run that follows sees what is there then.
    sandbox.put("between.jsonl", lines(&[("c", 3)]));
    sandbox.run("collection add seen between.jsonl --quiet").ok();
    let said = append(&sandbox, "news.jsonl", "out");
    assert!(
        said.contains("the files of an unfinished run are deleted"),
        "{said}"
    );
    assert_eq!(ids(&sandbox, "out/kept/news.jsonl"), ["b"]);
    assert_eq!(collection(&sandbox).len(), 4);
    assert!(!sandbox.path("out/.twinprint-unfinished").exists());
}

#[test]
fn an_output_whose_run_may_have_ended_is_not_replaced_unasked() {
    let sandbox = with_collection();
    sandbox.put("news.jsonl", lines(&[("a", 3)]));
    append(&sandbox, "news.jsonl", "out");
    // As a run on another collection leaves it that is killed at its end.
    let number = |n: u32| format!("{n:032x}");
    let claim = format!(
        "kept/news.jsonl\0/claim {} {} {} elsewhere\0/whole {}\0",
        number(1),
        number(2),
        number(3),
        number(4)
    );
    sandbox.put("out/.twinprint-unfinished", claim);
    let left = sandbox.tree("out");
    for args in ["--quiet", "--quiet --against seen --append"] {
        sandbox.run(&format!("dedup news.jsonl -o out {args}")).fails(
            1,
            &[
                "out: holds the output of a run that was killed",
                "elsewhere",
                "run its command again",
            ],
        );
    }
    sandbox
        .run("cluster news.jsonl -o out --state s")
        .fails(1, &["elsewhere", "run its command again"]);
    assert_eq!(sandbox.tree("out"), left);
}

#[test]
fn a_changed_input_is_not_appended() {
    // The file that is read is the one that is copied and appended, or the run fails.
    let sandbox = with_collection();
    sandbox.put("big.jsonl", Corpus::new(5).jsonl(3000));
    let run = sandbox.bash(
        "twinprint dedup big.jsonl -o out --against seen --append -q & pid=$!\n\
         for i in $(seq 2000); do touch big.jsonl; kill -0 $pid 2>/dev/null || break; done; wait $pid",
    );
    run.fails(1, &["big.jsonl: changed while the work was going on"]);
    assert_eq!(collection(&sandbox).len(), 2);
    assert!(!sandbox.path("out").exists());
}

#[test]
fn keep_chooses_within_the_run_and_says_so() {
    let sandbox = with_collection();
    let newer = json!({"id": "newer", "text": text(1), "time": "2030-01-01"}).to_string();
    let other = json!({"id": "other", "text": text(8), "time": "2030-01-01"}).to_string();
    sandbox.put("news.jsonl", format!("{newer}\n{other}\n"));
    let run = sandbox
        .run("dedup news.jsonl -o out --against seen --keep newest --quiet")
        .ok();
    assert!(
        run.stderr.contains(
            "--keep newest chooses among the documents of this run; 1 text that --against knows is removed"
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
fn the_configuration_of_a_run_appends_as_well() {
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

/// A record that the collection would not take is rejected when it is read, so that the output and the collection agree.
#[test]
fn what_the_collection_would_not_take_is_rejected() {
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
        for (row, (line, says)) in rejects.iter().zip([
            (3, ["2049 is more than the limit of 2048", "--id-key"]),
            (6, ["the text has no words", "--empty remove"]),
            (7, ["more than the limit of 16777216", "several records"]),
        ]) {
            let reason = row["reason"].as_str().unwrap();
            assert_eq!(row["line"], line);
            assert!(says.iter().all(|says| reason.contains(says)), "{reason}");
        }
        let held = collection(&sandbox);
        assert_eq!(held.len(), 4);
        assert!(held.keys().any(|id| id.starts_with("in.jsonl:1#")));
    }
    // A text without words that is removed goes nowhere; without --append nothing is rejected.
    for (out, options, rejected) in [("removed", "--append --empty remove", 2), ("asked", "", 0)] {
        sandbox.run(&format!(
            "dedup in.jsonl -o {out} --against seen --quiet --max-rejected 100% {options}"
        ));
        let records = &sandbox.json(&format!("{out}/report.json"))["records"];
        assert_eq!(records["rejected"], rejected, "{out}");
    }
}
