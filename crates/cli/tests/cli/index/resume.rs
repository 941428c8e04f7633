//! Builds that are interrupted at any time and resumed.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{number, rows, u64s};
use crate::sandbox::{Sandbox, TWINPRINT};

const N: u64 = 60_000;
/// The journal of the build.
const JOURNAL: &str = "seen/00000001.seg.new.resume";

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

/// Starts a build and sends it a signal after some time. Returns whether the build succeeded before the signal.
fn signalled_build_succeeds(sandbox: &Sandbox, signal: &str, after: Duration) -> bool {
    let mut child = sandbox
        .command(TWINPRINT)
        .args("index build a.u64 -o seen --memory 4MiB -q".split(' '))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while started.elapsed() < after && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(200));
    }
    let id = child.id().to_string();
    let _may_have_ended = sandbox
        .command("kill")
        .args([signal, &id])
        .stderr(Stdio::null())
        .status();
    child.wait().unwrap().success()
}

#[test]
fn an_interrupted_build_leaves_no_index_or_a_complete_one() {
    let sandbox = sandbox();
    let expected: Vec<_> = (0..500).map(|i| (i, i * 100, 1)).collect();
    // The duration of a build on this machine.
    let started = Instant::now();
    sandbox.run("index build a.u64 -o seen --memory 4MiB -q").ok();
    let duration = started.elapsed();
    assert_eq!(answers(&sandbox), expected);
    let files = sandbox.tree("seen");
    let (mut killed, steps) = (0, 16);
    for step in 0..steps {
        std::fs::remove_dir_all(sandbox.path("seen")).unwrap();
        std::fs::create_dir(sandbox.path("seen")).unwrap();
        let signal = if step % 4 == 3 { "-INT" } else { "-KILL" };
        let succeeded = signalled_build_succeeds(&sandbox, signal, duration * step / steps);
        if succeeded || sandbox.path("seen/manifest").exists() {
            // An index with a manifest is complete.
            sandbox.run("index check seen").ok();
            assert_eq!(answers(&sandbox), expected);
            continue;
        }
        killed += 1;
        sandbox
            .run("index query seen --queries queries.u64")
            .fails(1, &["seen is not an index"]);
        // The same command resumes the build or starts over. The result is the same index without other files.
        // The journal is removed after the segment is renamed, so both files are checked.
        let is_resumable =
            sandbox.path(JOURNAL).exists() && sandbox.path("seen/00000001.seg.new.tmp").exists();
        let run = sandbox.run("index build a.u64 -o seen --memory 4MiB -q").ok();
        assert_eq!(
            run.stderr.contains("resuming an interrupted build after table"),
            is_resumable,
            "{}",
            run.stderr
        );
        assert!(sandbox.tree("seen") == files);
    }
    assert!(killed > 3, "only {killed} builds were interrupted");
}

/// Interrupts builds until one leaves a complete table, and returns its stderr.
fn interrupt_after_a_table(sandbox: &Sandbox) -> String {
    let mut after = Duration::from_millis(2);
    for _ in 0..200 {
        let _none_yet = std::fs::remove_dir_all(sandbox.path("seen"));
        let mut child = sandbox
            .command(TWINPRINT)
            .args("index build a.u64 -o seen --memory 4MiB -q".split(' '))
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
        let _may_have_ended = sandbox
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
    panic!("no build was interrupted after a complete table");
}

#[test]
fn only_the_same_command_on_the_same_input_resumes() {
    let sandbox = sandbox();
    sandbox.run("index build a.u64 -o whole -q").ok();
    sandbox.run("index build a.u64 -o other -k 4 -q").ok();
    let said = interrupt_after_a_table(&sandbox);
    assert!(
        said.contains("interrupted; the same command resumes the build"),
        "{said}"
    );
    sandbox.run("index stat seen").fails(
        1,
        &[
            "seen is not an index yet",
            "run the same build again, which keeps the tables that are complete",
        ],
    );
    sandbox
        .run("index add seen a.u64")
        .fails(1, &["seen is not an index yet"]);
    let run = sandbox.run("index build a.u64 -o seen").ok();
    // On a busy machine more than one table may be complete before the signal arrives.
    assert!(
        run.stderr.contains("resuming an interrupted build after table "),
        "{}",
        run.stderr
    );
    assert_eq!(run.stdout, "seen: 60,000 fingerprints\n");
    assert!(sandbox.tree("seen") == sandbox.tree("whole"));
    // Other settings, and a damaged journal.
    interrupt_after_a_table(&sandbox);
    let run = sandbox.run("index build a.u64 -o seen -k 4").ok();
    assert!(
        run.stderr.contains("with other settings; starting over"),
        "{}",
        run.stderr
    );
    assert!(sandbox.tree("seen") == sandbox.tree("other"));
    interrupt_after_a_table(&sandbox);
    let mut journal = sandbox.tree("seen")["00000001.seg.new.resume"].clone();
    journal[20] ^= 1;
    sandbox.put(JOURNAL, journal);
    let run = sandbox.run("index build a.u64 -o seen").ok();
    assert!(
        run.stderr.contains("is damaged") && run.stderr.contains("starting over"),
        "{}",
        run.stderr
    );
    assert!(sandbox.tree("seen") == sandbox.tree("whole"));
}

/// Replaces the content of a file, keeping its length and its modification time.
fn change_content_only(sandbox: &Sandbox, name: &str, content: Vec<u8>) {
    let path = sandbox.path(name);
    let before = std::fs::metadata(&path).unwrap();
    assert_eq!(before.len(), content.len() as u64);
    sandbox.put(name, content);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
}

#[test]
fn the_input_is_identified_by_content_not_by_name_or_time() {
    let sandbox = sandbox();
    sandbox.run("index build a.u64 -o whole -q").ok();
    // The same content in a rewritten file, in two files of other names, and in a compressed file.
    let numbers = u64s((0..N).map(number));
    let (first, second) = numbers.split_at(8 * 1000);
    sandbox.put("first.u64", first);
    sandbox.put("second.u64", second);
    for command in [
        "index build a.u64 -o seen",
        "index build first.u64 second.u64 -o seen",
    ] {
        interrupt_after_a_table(&sandbox);
        sandbox.put("a.u64", &numbers);
        let run = sandbox.run(command).ok();
        assert!(
            run.stderr.contains("resuming an interrupted build"),
            "{}",
            run.stderr
        );
        assert!(sandbox.tree("seen") == sandbox.tree("whole"), "{command}");
    }
    // Other content of the same length and time: one number changed, and two numbers swapped. Then one number removed.
    let mut other = numbers.clone();
    other[8 * 30_000] ^= 1;
    let mut exchanged = numbers.clone();
    exchanged[..16].rotate_left(8);
    for content in [other, exchanged] {
        interrupt_after_a_table(&sandbox);
        change_content_only(&sandbox, "a.u64", content);
        let run = sandbox.run("index build a.u64 -o seen").ok();
        assert!(
            run.stderr.contains("it had a different input; starting over"),
            "{}",
            run.stderr
        );
        sandbox.run("index build a.u64 -o changed -q").ok();
        assert!(sandbox.tree("seen") == sandbox.tree("changed"));
        assert!(sandbox.tree("seen") != sandbox.tree("whole"));
        std::fs::remove_dir_all(sandbox.path("changed")).unwrap();
        sandbox.put("a.u64", &numbers);
    }
    interrupt_after_a_table(&sandbox);
    sandbox.put("a.u64", &numbers[8..]);
    let run = sandbox.run("index build a.u64 -o seen").ok();
    assert!(run.stderr.contains("starting over"), "{}", run.stderr);
    assert_eq!(run.stdout, "seen: 59,999 fingerprints\n");
}

#[test]
fn the_index_does_not_depend_on_the_memory_limit() {
    let sandbox = sandbox();
    sandbox.run("index build a.u64 -o much -q").ok();
    sandbox.run("index build a.u64 -o little --memory 4MiB -q").ok();
    assert_eq!(sandbox.tree("much"), sandbox.tree("little"));
    sandbox
        .run("index build a.u64 -o other --memory lots")
        .fails(2, &["--memory", "64MiB"]);
    let run = sandbox.run("index build a.u64 -o estimated").ok();
    assert!(
        run.stderr.contains("60,000 fingerprints at") && run.stderr.contains("write"),
        "{}",
        run.stderr
    );
}

/// The minimum memory that an error names.
fn least(stderr: &str) -> String {
    let (_, after) = stderr
        .split_once("--memory: at least ")
        .unwrap_or_else(|| panic!("{stderr}"));
    let (least, _) = after.split_once(" of memory is needed").unwrap();
    least.replace(' ', "")
}

#[test]
fn too_little_memory_is_refused_with_the_minimum() {
    let sandbox = sandbox();
    sandbox.run("index build a.u64 -o seen -q").ok();
    let before = sandbox.tree("seen");
    for command in [
        "index build a.u64 -o new -q",
        "index add seen a.u64 -q",
        "index join seen -k 3 -q",
        "index join seen a.u64 -k 3 -q",
        "index export seen -o out.parquet -q",
    ] {
        let refused = sandbox
            .run(&format!("{command} --memory 1"))
            .fails(2, &["--memory: at least ", "but only 1 B is allowed"]);
        assert!(!sandbox.path("new").exists() && !sandbox.path("out.parquet").exists());
        assert!(sandbox.tree("seen") == before, "{command}");
        let least = least(&refused.stderr);
        let less = format!("{command} --memory 60KiB");
        assert_eq!(self::least(&sandbox.run(&less).stderr), least);
        sandbox.run(&format!("{command} --memory {least}")).ok();
        let _only_of_build = std::fs::remove_dir_all(sandbox.path("new"));
        if command.starts_with("index add") {
            // The add stored the same fingerprints under other ids.
            assert!(sandbox.tree("seen") != before);
            std::fs::remove_dir_all(sandbox.path("seen")).unwrap();
            sandbox.run("index build a.u64 -o seen -q").ok();
        }
    }
}
