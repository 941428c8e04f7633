//! Builds that are ended at any moment, and gone on with.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{number, rows, u64s};
use crate::sandbox::{Sandbox, TWINPRINT};

const N: u64 = 60_000;
/// Where a build keeps how far it is.
const JOURNAL: &str = "seen/00000001.seg.resume";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("a.u64", u64s((0..N).map(number)));
    sandbox.put("queries.u64", u64s((0..500).map(|i| number(i * 100) ^ 1 << 33)));
    sandbox
}

fn answers(sandbox: &Sandbox) -> Vec<(u64, u64, u64)> {
    rows(
        &sandbox
            .run("index query seen --queries queries.u64 --format csv -q")
            .ok(),
    )
}

/// Ends a build after some time by a signal; whether it came to its end before.
fn ended(sandbox: &Sandbox, signal: &str, after: Duration) -> bool {
    let mut child = sandbox
        .command(TWINPRINT)
        .args("index build a.u64 -o seen --memory 200KiB -q".split(' '))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while started.elapsed() < after && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(200));
    }
    let id = child.id().to_string();
    let _gone = sandbox
        .command("kill")
        .args([signal, &id])
        .stderr(Stdio::null())
        .status();
    child.wait().unwrap().success()
}

#[test]
fn a_build_that_was_ended_is_no_index_or_a_whole_one() {
    let sandbox = sandbox();
    let expected: Vec<_> = (0..500).map(|i| (i, i * 100, 1)).collect();
    // How long it takes here.
    let started = Instant::now();
    sandbox.run("index build a.u64 -o seen --memory 200KiB -q").ok();
    let whole = started.elapsed();
    assert_eq!(answers(&sandbox), expected);
    let files = sandbox.tree("seen");
    let (mut killed, steps) = (0, 16);
    for step in 0..steps {
        std::fs::remove_dir_all(sandbox.path("seen")).unwrap();
        std::fs::create_dir(sandbox.path("seen")).unwrap();
        let signal = if step % 4 == 3 { "-INT" } else { "-KILL" };
        let ended_by_itself = ended(&sandbox, signal, whole * step / steps);
        if ended_by_itself || sandbox.path("seen/manifest").exists() {
            // Whoever has a manifest is whole.
            sandbox.run("index check seen").ok();
            assert_eq!(answers(&sandbox), expected);
            continue;
        }
        killed += 1;
        sandbox
            .run("index query seen --queries queries.u64")
            .fails(1, &["seen is not an index"]);
        // The same command again goes on or begins anew; either way it is the same index, and nothing else is left.
        let kept = sandbox.path(JOURNAL).exists();
        let run = sandbox.run("index build a.u64 -o seen --memory 200KiB -q").ok();
        assert_eq!(
            run.stderr.contains("going on after table"),
            kept,
            "{}",
            run.stderr
        );
        assert!(sandbox.tree("seen") == files);
    }
    assert!(killed > 3, "only {killed} were killed on the way");
}

/// Ends builds until one of them has left whole tables; what it said.
fn left_with_a_table(sandbox: &Sandbox) -> String {
    let mut after = Duration::from_millis(2);
    for _ in 0..200 {
        let _none_yet = std::fs::remove_dir_all(sandbox.path("seen"));
        let mut child = sandbox
            .command(TWINPRINT)
            .args("index build a.u64 -o seen --memory 200KiB -q".split(' '))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !sandbox.path(JOURNAL).exists()
            && begun.elapsed() < after
            && child.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_micros(200));
        }
        let id = child.id().to_string();
        let _gone = sandbox
            .command("kill")
            .args(["-INT", &id])
            .stderr(Stdio::null())
            .status();
        let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        if sandbox.path(JOURNAL).exists() {
            return said;
        }
        after = (after * 2).min(Duration::from_mins(1));
    }
    panic!("no build could be ended after a table");
}

#[test]
fn only_the_same_command_on_the_same_files_goes_on() {
    let sandbox = sandbox();
    sandbox.run("index build a.u64 -o whole -q").ok();
    sandbox.run("index build a.u64 -o other -k 4 -q").ok();
    let said = left_with_a_table(&sandbox);
    assert!(
        said.contains("interrupted; the same command goes on from there"),
        "{said}"
    );
    sandbox
        .run("index stat seen")
        .fails(1, &["seen is not an index yet", "the same command"]);
    sandbox
        .run("index add seen a.u64")
        .fails(1, &["seen is not an index yet"]);
    let run = sandbox.run("index build a.u64 -o seen").ok();
    assert!(
        run.stderr.contains("going on after table 1 of "),
        "{}",
        run.stderr
    );
    assert_eq!(run.stdout, "seen: 60,000 fingerprints\n");
    assert!(sandbox.tree("seen") == sandbox.tree("whole"));
    // Other settings, the same file after a change, and a file that is damaged.
    left_with_a_table(&sandbox);
    let run = sandbox.run("index build a.u64 -o seen -k 4").ok();
    assert!(
        run.stderr.contains("with other settings; beginning anew"),
        "{}",
        run.stderr
    );
    assert!(sandbox.tree("seen") == sandbox.tree("other"));
    left_with_a_table(&sandbox);
    sandbox.put("a.u64", u64s((0..N).map(number)));
    let run = sandbox.run("index build a.u64 -o seen").ok();
    assert!(run.stderr.contains("beginning anew"), "{}", run.stderr);
    assert!(sandbox.tree("seen") == sandbox.tree("whole"));
    left_with_a_table(&sandbox);
    let mut journal = sandbox.tree("seen")["00000001.seg.resume"].clone();
    journal[20] ^= 1;
    sandbox.put(JOURNAL, journal);
    let run = sandbox.run("index build a.u64 -o seen").ok();
    assert!(
        run.stderr.contains("is damaged") && run.stderr.contains("beginning anew"),
        "{}",
        run.stderr
    );
    assert!(sandbox.tree("seen") == sandbox.tree("whole"));
}

#[test]
fn little_memory_and_much_give_the_same_index() {
    let sandbox = sandbox();
    sandbox.run("index build a.u64 -o much -q").ok();
    sandbox.run("index build a.u64 -o little --memory 100KiB -q").ok();
    assert_eq!(sandbox.tree("much"), sandbox.tree("little"));
    sandbox
        .run("index build a.u64 -o other --memory lots")
        .fails(2, &["--memory", "64MiB"]);
    let run = sandbox.run("index build a.u64 -o told").ok();
    assert!(
        run.stderr.contains("60,000 fingerprints at") && run.stderr.contains("write"),
        "{}",
        run.stderr
    );
}
