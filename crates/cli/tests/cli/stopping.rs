//! Interruptions: Ctrl-C, and a reader that closes the pipe.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::corpus::Corpus;
use crate::sandbox::{Sandbox, TWINPRINT};

/// The longest time that a test waits for a child process.
const MAX_WAIT: Duration = Duration::from_mins(1);

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

fn code(child: &mut Child) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if started.elapsed() > MAX_WAIT {
            child.kill().unwrap();
            panic!("the child does not stop");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the child handles signals, by the mask in `/proc`.
fn wait_until_it_handles_signals(child: &Child) {
    let started = Instant::now();
    let status = format!("/proc/{}/status", child.id());
    let listens = |text: String| {
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask & (1 << 1) != 0 && mask & (1 << 14) != 0)
    };
    while !std::fs::read_to_string(&status).is_ok_and(listens) {
        assert!(started.elapsed() < MAX_WAIT, "the child does not handle signals");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the child reports that it is stopping.
fn wait_until_it_stops(child: &mut Child) {
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("stopping") {
        line.clear();
        assert!(
            stderr.read_line(&mut line).unwrap() > 0,
            "stderr ended without a message"
        );
    }
}

/// Starts a run that reads stdin. Its stdin stays open without input, so the run does not end by itself.
fn start_endless(sandbox: &Sandbox, args: &str) -> Child {
    let mut child = sandbox
        .command(TWINPRINT)
        .args(args.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Half a record: the run begins to read and waits for more.
    let stdin = child.stdin.as_mut().unwrap();
    std::io::Write::write_all(stdin, &vec![b' '; 1 << 20]).unwrap();
    wait_until_it_handles_signals(&child);
    child
}

#[test]
fn an_interrupt_stops_a_busy_run() {
    let sandbox = Sandbox::new();
    let lines = Corpus::new(5).jsonl(2000);
    sandbox.put("in.jsonl", lines.repeat(60));
    let mut child = sandbox
        .command(TWINPRINT)
        .args(["dedup", "in.jsonl", "-o", "out"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The marker of the run, its work directory, and the file of rejects, which is created when reading begins.
    let started = Instant::now();
    while std::fs::read_dir(sandbox.path("out")).map_or(0, Iterator::count) < 3 {
        assert!(started.elapsed() < MAX_WAIT, "the run did not begin");
        std::thread::sleep(Duration::from_millis(2));
    }
    signal(&child, "-INT");
    assert_eq!(code(&mut child), Some(130));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(
        said.contains("stopping; press Ctrl-C again") && said.contains("error: interrupted"),
        "{said}"
    );
    assert!(!sandbox.path("out").exists());
}

/// Starts a run, and kills it after it has written something.
fn start_and_kill(sandbox: &Sandbox, args: &str) {
    let mut child = start_endless(sandbox, args);
    let started = Instant::now();
    while sandbox.tree("out").is_empty() {
        assert!(started.elapsed() < MAX_WAIT, "the run did not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    sandbox
        .run("dedup in.jsonl -o out")
        .fails(1, &["out: another run is writing to this directory"]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_output_of_a_killed_run_is_replaced() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(5).jsonl(20));
    start_and_kill(&sandbox, "dedup - --format jsonl -o out");
    assert!(!sandbox.tree("out").is_empty());
    let run = sandbox.run("dedup in.jsonl -o out").ok();
    assert!(
        run.stderr
            .contains("out: the files of an unfinished run are deleted"),
        "{}",
        run.stderr
    );
    sandbox.run("dedup in.jsonl -o fresh").ok();
    let names = |dir: &str| sandbox.tree(dir).into_keys().collect::<Vec<_>>();
    assert_eq!(names("out"), names("fresh"));
    // A finished result is never replaced.
    sandbox
        .run("dedup in.jsonl -o out")
        .fails(1, &["out: the output directory is not empty"]);
    assert_eq!(names("out"), names("fresh"));
}

#[test]
fn temporary_files_of_a_killed_run_are_deleted_by_the_next_run() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(5).jsonl(20));
    sandbox.put("work/mine", "mine");
    let entries = || std::fs::read_dir(sandbox.path("work")).unwrap().count();
    let mut child = start_endless(&sandbox, "dedup - --format jsonl -o out --work-dir work");
    let started = Instant::now();
    while entries() < 2 {
        assert!(started.elapsed() < MAX_WAIT, "the run did not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The directory of a run that has not ended stays.
    sandbox
        .run("dedup in.jsonl -o other --work-dir work --quiet")
        .ok();
    assert_eq!(entries(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(entries(), 2);
    sandbox.run("dedup in.jsonl -o out --work-dir work --quiet").ok();
    assert_eq!(entries(), 1);
}

#[test]
fn files_that_the_killed_run_did_not_write_are_kept() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(5).jsonl(20));
    start_and_kill(&sandbox, "dedup - --format jsonl -o out");
    let before = sandbox.tree("out");
    sandbox.put("out/kept/mine.txt", "mine");
    sandbox.run("dedup in.jsonl -o out").fails(
        1,
        &[
            "out: the directory contains an earlier run",
            "out/kept",
            "move it to another place",
        ],
    );
    let after = sandbox.tree("out");
    assert_eq!(after["kept/mine.txt"], b"mine");
    assert_eq!(after.len(), before.len() + 1);
}

#[test]
fn a_failed_run_leaves_no_files_and_can_be_repeated() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("there")).unwrap();
    sandbox.put("in.jsonl", Corpus::new(5).jsonl(20));
    for out in ["there", "new"] {
        for _ in 0..2 {
            sandbox
                .run(&format!("dedup in.jsonl -o {out} --keep newest --keep-key born"))
                .fails(1, &["no document has a field \"born\"", "--keep-key"]);
        }
        sandbox.run(&format!("dedup in.jsonl -o {out}")).ok();
    }
    sandbox
        .run("dedup nowhere.jsonl -o empty")
        .fails(1, &["nowhere.jsonl"]);
    assert!(!sandbox.path("empty").exists());
}

#[test]
fn an_interrupt_stops_a_run_that_waits_for_input() {
    // A second interrupt ends a run that is blocked in a read.
    let sandbox = Sandbox::new();
    for args in ["dedup - --format jsonl -o out", "fingerprint - --format jsonl"] {
        let mut child = start_endless(&sandbox, args);
        signal(&child, "-INT");
        wait_until_it_stops(&mut child);
        signal(&child, "-INT");
        assert_eq!(code(&mut child), Some(130), "{args}");
    }
}

#[test]
fn a_termination_signal_stops_a_run() {
    let sandbox = Sandbox::new();
    let mut child = start_endless(&sandbox, "fingerprint - --format jsonl");
    signal(&child, "-TERM");
    // If its input ended before it handles the signal, the run would succeed.
    wait_until_it_stops(&mut child);
    drop(child.stdin.take());
    assert_eq!(code(&mut child), Some(130));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(5).jsonl(3000));
    let run = sandbox
        .bash("twinprint fingerprint in.jsonl --quiet | head -n 1; echo ${PIPESTATUS[0]}")
        .ok();
    assert_eq!(run.stdout.lines().count(), 2);
    assert!(run.stdout.ends_with("\n0\n"), "{}", run.stdout);
    assert_eq!(run.stderr, "");
    let run = sandbox.bash("twinprint --help | true; twinprint fingerprint --help | head -n 1");
    assert_eq!(run.stderr, "");
    sandbox.put("a.txt", "some text");
    let run = sandbox.bash("twinprint compare a.txt a.txt | true");
    assert_eq!(run.stderr, "");
}

#[test]
fn a_run_continues_when_stderr_is_closed() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(5).jsonl(300));
    let run = sandbox
        .bash("twinprint dedup in.jsonl -o out 2> >(true); echo $?")
        .ok();
    assert!(run.stdout.ends_with("\n0\n"), "{}", run.stdout);
    assert!(sandbox.path("out/report.json").exists());
}

/// Messages are lost if nobody reads them, but the exit code reports the rejects.
#[test]
fn a_closed_stderr_does_not_change_the_exit_code() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command(TWINPRINT)
        .args(["fingerprint", "-", "--format", "jsonl", "--features-key", "f"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let input = "{\"f\": [\"a\"]}\n{\"f\": 3}\n".repeat(5);
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let mut rows = String::new();
    child.stdout.take().unwrap().read_to_string(&mut rows).unwrap();
    assert_eq!((code(&mut child), rows.lines().count()), (Some(3), 5));
}
