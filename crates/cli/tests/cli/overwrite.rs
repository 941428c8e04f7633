//! `--overwrite` replaces only a result that twinprint wrote; `--clusters` and `--columns` choose the files and the fields.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::corpus::Corpus;
use crate::sandbox::{Sandbox, TWINPRINT};

fn with_result(command: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(5).jsonl(20));
    sandbox.put("less.jsonl", Corpus::new(5).jsonl(5));
    sandbox.run(&format!("{command} in.jsonl -o out -q")).ok();
    sandbox
}

#[test]
fn a_result_is_replaced_only_with_overwrite() {
    for command in ["dedup", "cluster"] {
        let sandbox = with_result(command);
        let before = sandbox.tree("out");
        sandbox
            .run(&format!("{command} less.jsonl -o out"))
            .fails(1, &["not empty", "--overwrite"]);
        assert_eq!(sandbox.tree("out"), before);
        sandbox
            .run(&format!("{command} less.jsonl -o out -q --overwrite"))
            .ok();
        sandbox
            .run(&format!("{command} less.jsonl -o fresh -q --overwrite"))
            .ok();
        let names = |dir: &str| sandbox.tree(dir).into_keys().collect::<Vec<_>>();
        assert_eq!(names("out"), names("fresh"));
        let rows = if command == "dedup" {
            "clusters"
        } else {
            "assignments"
        };
        assert_eq!(sandbox.rows(&format!("out/{rows}.jsonl")).len(), 5);
    }
}

#[test]
fn files_that_twinprint_did_not_write_are_not_deleted() {
    let sandbox = with_result("dedup");
    for path in ["mine.txt", "kept/mine.txt"] {
        sandbox.put(&format!("out/{path}"), "mine");
        let before = sandbox.tree("out");
        sandbox
            .run("dedup less.jsonl -o out --overwrite")
            .fails(1, &["mine.txt", "did not write"]);
        assert_eq!(sandbox.tree("out"), before);
        std::fs::remove_file(sandbox.path(&format!("out/{path}"))).unwrap();
    }
    sandbox.put("other/notes.txt", "mine");
    sandbox
        .run("dedup less.jsonl -o other --overwrite")
        .fails(1, &["that twinprint did not write"]);
    assert_eq!(sandbox.text("other/notes.txt"), "mine");
}

#[test]
fn a_run_that_cannot_begin_leaves_the_result() {
    let sandbox = with_result("dedup");
    let before = sandbox.tree("out");
    for (inputs, says) in [
        ("nowhere.jsonl", "nowhere.jsonl"),
        ("out/kept/in.jsonl", "would be deleted"),
        ("out/kept/*.jsonl", "would be deleted"),
        ("out", "would be deleted"),
        ("less.jsonl --threshold 7", "threshold"),
        ("less.jsonl --against nowhere", "neither a collection"),
    ] {
        let run = sandbox.run(&format!("dedup {inputs} -o out --overwrite"));
        assert!(
            run.code != Some(0) && run.stderr.contains(says),
            "{inputs}: {run:?}"
        );
        assert_eq!(sandbox.tree("out"), before, "{inputs}");
    }
}

/// The earlier result is deleted only when the new one is complete.
#[test]
fn a_run_that_fails_later_leaves_the_result() {
    for command in ["dedup", "cluster"] {
        let sandbox = with_result(command);
        let before = sandbox.tree("out");
        sandbox.put(
            "annotated.jsonl",
            "{\"text\":\"a text of some words\"}\n{\"text\":\"another text\",\"dup_count\":1}\n",
        );
        sandbox.put("none.jsonl", "{\"text\":1}\n");
        for inputs in [
            "none.jsonl",
            "less.jsonl --text-key txet",
            "annotated.jsonl --keep newest",
            "annotated.jsonl --columns dup-count",
        ] {
            if command == "cluster" && inputs.starts_with("annotated") {
                continue;
            }
            let run = sandbox.run(&format!("{command} {inputs} -o out --overwrite"));
            assert!(run.code != Some(0), "{inputs}: {run:?}");
            assert_eq!(sandbox.tree("out"), before, "{inputs}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_run_that_is_killed_early_leaves_the_result() {
    let sandbox = with_result("dedup");
    let before = sandbox.tree("out");
    let begin = || {
        let mut child = sandbox
            .command(TWINPRINT)
            .args("dedup - --format jsonl -o out --overwrite -q".split(' '))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"{\"text\":\"a b\"}\n")
            .unwrap();
        let began = Instant::now();
        while !sandbox.path("out/.twinprint-next/.twinprint-unfinished").exists() {
            assert!(began.elapsed() < Duration::from_mins(1), "the run did not begin");
            std::thread::sleep(Duration::from_millis(5));
        }
        child
    };
    let mut killed = begin();
    // A second run is refused meanwhile.
    sandbox
        .run("dedup less.jsonl -o out --overwrite")
        .fails(1, &["out: ", "another run"]);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut remaining = sandbox.tree("out");
    remaining.retain(|name, _| !name.starts_with(".twinprint-next"));
    assert!(remaining == before);
    sandbox.run("dedup less.jsonl -o out --overwrite -q").ok();
    assert_eq!(sandbox.rows("out/clusters.jsonl").len(), 5);
    assert!(!sandbox.path("out/.twinprint-next").exists());
    // If another program adds a file meanwhile, neither that file nor the earlier result is deleted.
    let before = sandbox.tree("out");
    let mut second = begin();
    sandbox.put("out/kept/mine.txt", "mine");
    drop(second.stdin.take());
    assert_eq!(second.wait().unwrap().code(), Some(1));
    std::fs::remove_file(sandbox.path("out/kept/mine.txt")).unwrap();
    assert!(sandbox.tree("out") == before);
}

#[test]
fn the_clusters_option_chooses_the_files_that_list_groups() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(5).jsonl(20));
    for (files, there) in [
        ("jsonl", [true, false]),
        ("parquet", [false, true]),
        ("both", [true, true]),
        ("none", [false, false]),
    ] {
        sandbox
            .run(&format!("dedup in.jsonl -o {files} -q --clusters {files}"))
            .ok();
        let tree = sandbox.tree(files);
        assert_eq!(
            ["clusters.jsonl", "clusters.parquet"].map(|name| tree.contains_key(name)),
            there,
            "{files}"
        );
        // A folder with a result is skipped as an input, whatever else it contains.
        sandbox.put("folder/in.jsonl", sandbox.text("in.jsonl"));
        std::fs::rename(sandbox.path(files), sandbox.path("folder/earlier")).unwrap();
        let run = sandbox.run("dedup folder -o again").ok();
        assert!(
            run.stdout.contains("1  folder with the result of an earlier run"),
            "{run:?}"
        );
        std::fs::remove_dir_all(sandbox.path("folder")).unwrap();
        std::fs::remove_dir_all(sandbox.path("again")).unwrap();
    }
}

/// The sum of `dup_count` is the number of documents.
#[test]
fn dup_counts_add_up_in_every_mode() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(7).jsonl(60));
    sandbox.run("dedup in.jsonl -o report -q --mode report").ok();
    let rows = sandbox.rows("report/clusters.jsonl");
    for row in &rows {
        let expected = if row["is_leader"] == true {
            &row["cluster_size"]
        } else {
            &json!(0)
        };
        assert_eq!(&row["dup_count"], expected, "{row}");
    }
    let sum = |name: &str| -> u64 {
        let rows = sandbox.rows(name);
        rows.iter().map(|row| row["dup_count"].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("report/clusters.jsonl"), 60);
    sandbox.run("dedup in.jsonl -o kept -q --columns dup-count").ok();
    assert_eq!((sum("kept/kept/in.jsonl"), sum("kept/removed/in.jsonl")), (60, 0));
    assert!(
        sandbox
            .text("kept/config.toml")
            .contains("columns = \"dup-count\"")
    );
    sandbox.run("dedup in.jsonl -o annotated -q --mode annotate").ok();
    assert_eq!(sum("annotated/annotated/in.jsonl"), 60);
    // The columns of another tool in copied records.
    sandbox
        .run("dedup in.jsonl -o other -q --columns datatrove --prefix x_")
        .ok();
    let kept = sandbox.rows("other/kept/in.jsonl");
    let sizes: u64 = kept
        .iter()
        .map(|row| row["x_minhash_cluster_size"].as_u64().unwrap())
        .sum();
    assert_eq!(sizes, 60);
    sandbox.put("a.txt", "some text");
    sandbox
        .run("dedup a.txt -o refused --columns dup-count")
        .fails(2, &["--columns", "a.txt has no fields"]);
}
