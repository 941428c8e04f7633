//! `dedup --append` and other processes: the lock of the collection, and runs that are killed.

use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::append::{append, collection, ids, lines, with_collection};
use crate::sandbox::{Run, Sandbox, TWINPRINT};

/// The arguments of a run that reads stdin, without `-o`.
const FROM_STDIN: [&str; 7] = ["dedup", "-", "--format", "jsonl", "--against", "seen", "--append"];

/// Starts a run that reads stdin, and returns once it has begun to write to `out`. Its stdin stays open.
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
        assert!(began.elapsed() < Duration::from_mins(1), "the run did not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn a_run_locks_the_collection_until_it_ends() {
    let sandbox = with_collection();
    let news = lines(&[("a", 3), ("b", 4)]);
    sandbox.put("news.jsonl", &news);
    sandbox.put("other.jsonl", lines(&[("c", 3)]));
    let mut first = waiting(&sandbox, "first", &news);
    // Neither another run nor another command can open the collection meanwhile.
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
fn a_repeated_run_returns_the_exit_code_of_the_run_that_ended_before_it_was_killed() {
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
fn a_killed_run_does_not_change_the_collection() {
    let sandbox = with_collection();
    sandbox.put("news.jsonl", lines(&[("a", 3), ("b", 4)]));
    let before = collection(&sandbox);
    let mut killed = waiting(&sandbox, "out", &lines(&[("a", 3)]));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(collection(&sandbox), before);
    // Another process may change the collection in between; the next run compares with that state.
    sandbox.put("between.jsonl", lines(&[("c", 3)]));
    sandbox.run("collection add seen between.jsonl --quiet").ok();
    let stderr = append(&sandbox, "news.jsonl", "out");
    assert!(
        stderr.contains("the files of an unfinished run are deleted"),
        "{stderr}"
    );
    assert_eq!(ids(&sandbox, "out/kept/news.jsonl"), ["b"]);
    assert_eq!(collection(&sandbox).len(), 4);
    assert!(!sandbox.path("out/.twinprint-unfinished").exists());
}

#[test]
fn the_output_of_a_run_that_may_have_ended_needs_overwrite() {
    let sandbox = with_collection();
    sandbox.put("news.jsonl", lines(&[("a", 3)]));
    append(&sandbox, "news.jsonl", "out");
    // The marker of a run on another collection that was killed at its end.
    let number = |n: u32| format!("{n:032x}");
    let claim = format!(
        "kept/news.jsonl\0/claim {} {} {} elsewhere\0/whole {}\0",
        number(1),
        number(2),
        number(3),
        number(4)
    );
    sandbox.put("out/.twinprint-unfinished", claim);
    let before = sandbox.tree("out");
    for args in ["--quiet", "--quiet --against seen --append"] {
        sandbox.run(&format!("dedup news.jsonl -o out {args}")).fails(
            1,
            &[
                "out: the directory contains the output of a run that was killed",
                "elsewhere",
                "repeat the command of that run",
            ],
        );
    }
    sandbox
        .run("cluster news.jsonl -o out --state s")
        .fails(1, &["elsewhere", "repeat the command of that run"]);
    assert_eq!(sandbox.tree("out"), before);
}
