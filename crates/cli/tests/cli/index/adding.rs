//! `index add` after an add that was killed, with its note in the index.

use twinprint::raw::FingerprintDigest;

use super::{number, u64s};
use crate::sandbox::Sandbox;

const NOTE: &str = "seen/adding";

/// An index of the ids 0 to 99, and files of further fingerprints and ids.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("old.u64", u64s((0..100).map(number)));
    sandbox.put("x.u64", u64s(x()));
    sandbox.put("y.u64", u64s((200..250).map(number)));
    sandbox.put("ids.u64", u64s(100..150));
    sandbox.run("index build old.u64 -o seen -q").ok();
    sandbox
}

fn x() -> Vec<u64> {
    (100..150).map(number).collect()
}

/// The note of a killed `index add seen x.u64`, whose ids begin at `first`.
fn note(first: u64) -> String {
    let mut digest = FingerprintDigest::new(false);
    digest.add(&x(), &[]);
    format!("{:032x} {first} {}\n", digest.finish(), first + 50)
}

fn ids(sandbox: &Sandbox) -> u64 {
    let stat = sandbox.run("index stat seen --json").ok().stdout;
    let stat: serde_json::Value = serde_json::from_str(&stat).unwrap();
    stat["ids"].as_u64().unwrap()
}

/// Adds x.u64 and checks that its ids begin at `first`. Returns whether an earlier add had committed it.
fn add(sandbox: &Sandbox, first: u64) -> bool {
    let run = sandbox.run("index add seen x.u64 -q").ok();
    let last = first + 49;
    assert_eq!(
        run.stdout,
        format!("seen: 50 fingerprints added, ids {first} to {last}\n")
    );
    assert!(!sandbox.path(NOTE).exists());
    sandbox.run("index check seen").ok();
    run.stderr
        .contains("was killed after it had added the fingerprints")
}

#[test]
fn an_add_that_was_killed_before_its_commit_is_repeated() {
    for between in [
        None,
        Some("index add seen y.u64 -q"),
        Some("index add seen y.u64 --ids ids.u64 -q"),
        Some("index add seen y.u64 --first-id 100 -q"),
    ] {
        let sandbox = sandbox();
        sandbox.put(NOTE, note(100));
        let first = match between {
            None => 100,
            Some(between) => {
                sandbox.run(between).ok();
                assert!(!sandbox.path(NOTE).exists(), "{between}");
                150
            }
        };
        assert!(!add(&sandbox, first), "{between:?}");
        assert_eq!(ids(&sandbox), first + 50);
    }
}

#[test]
fn an_add_that_was_killed_after_its_commit_is_not_repeated_if_no_other_add_follows() {
    let sandbox = sandbox();
    assert!(!add(&sandbox, 100));
    let committed = sandbox.tree("seen");
    sandbox.put(NOTE, note(100));
    assert!(add(&sandbox, 100));
    assert!(sandbox.tree("seen") == committed);
    // Deletions and compactions do not count as adds.
    sandbox.put(NOTE, note(100));
    sandbox.run("index delete seen 3 120").ok();
    sandbox.run("index compact seen").ok();
    assert!(add(&sandbox, 100));
    assert_eq!(ids(&sandbox), 148);
    // Without a kill, the same fingerprints get further ids.
    assert!(!add(&sandbox, 150));
    // A refused add changes nothing and does not count as an add.
    sandbox.put(NOTE, note(150));
    sandbox.run("index add seen x.u64 --memory 1").ok();
    assert!(!sandbox.path(NOTE).exists());
    sandbox.put(NOTE, note(150));
    sandbox
        .run("index add seen y.u64 --memory 1")
        .fails(2, &["--memory"]);
    sandbox.put("odd.u64", [0; 9]);
    sandbox.run("index add seen odd.u64").fails(1, &["odd.u64"]);
    assert!(add(&sandbox, 150));
    // Another add in between, of the same number of fingerprints.
    for between in ["", "--ids ids.u64", "--first-id 7"] {
        let next = sandbox.run("index stat seen --json").ok().stdout;
        let next: serde_json::Value = serde_json::from_str(&next).unwrap();
        let next = next["next_id"].as_u64().unwrap();
        sandbox.put(NOTE, note(next - 50));
        sandbox.run(&format!("index add seen y.u64 {between} -q")).ok();
        assert!(!sandbox.path(NOTE).exists(), "{between}");
        assert!(!add(&sandbox, if between.is_empty() { next + 50 } else { next }));
    }
}

#[test]
fn a_note_of_other_fingerprints_and_a_truncated_note_are_ignored() {
    let sandbox = sandbox();
    add(&sandbox, 100);
    let whole = note(100);
    let other = format!("{:032x} 100 150\n", 1);
    let mut first = 150;
    for text in [
        &whole[..0],
        &whole[..20],
        &whole[..whole.len() - 1],
        &other,
        &note(0),
    ] {
        sandbox.put(NOTE, text);
        assert!(!add(&sandbox, first), "{text}");
        first += 50;
    }
    sandbox.put(NOTE, [0xff; 40]);
    assert!(!add(&sandbox, first));
}

#[test]
#[cfg(unix)]
fn a_pipe_is_refused() {
    let sandbox = sandbox();
    let mkfifo = sandbox.command("mkfifo").args(["p.u64", "p.u64.gz"]).status();
    assert!(mkfifo.unwrap().success());
    for command in [
        "index build p.u64 -o new",
        "index build p.u64.gz -o new",
        "index add seen p.u64",
        "index add seen x.u64 --ids p.u64",
    ] {
        sandbox
            .run(command)
            .fails(1, &["is not a regular file, so its length is unknown"]);
    }
    assert!(!sandbox.path("new").exists());
}

#[test]
fn ids_to_delete_accept_the_number_syntax_of_counts() {
    let sandbox = sandbox();
    sandbox.put("gone", "9e1\n1_1\n");
    let said = sandbox.run("index delete seen 1e1 --ids gone").ok().stdout;
    assert_eq!(said, "seen: 3 ids deleted\n");
    sandbox.put("gone", "1\ntwo\n");
    sandbox
        .run("index delete seen --ids gone")
        .fails(1, &["gone:2: \"two\" is not an id"]);
    sandbox.run("index delete seen 1.5").fails(2, &["whole number"]);
}
