//! Files that belong to another index, and the end of the id range.

use super::{number, rows, u64s};
use crate::sandbox::Sandbox;

/// Two indexes with the same number of fingerprints and of deleted ids.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, first) in [("a", 0), ("b", 10_000)] {
        sandbox.put(&format!("{name}.u64"), u64s((first..first + 2000).map(number)));
        sandbox.run(&format!("index build {name}.u64 -o {name} -q")).ok();
    }
    sandbox.run("index delete a 1 2").ok();
    sandbox.run("index delete b 3 4").ok();
    sandbox
}

#[test]
fn files_of_another_index_are_refused_by_every_command() {
    let sandbox = sandbox();
    let own = sandbox.tree("a");
    for file in ["00000001.seg", "00000002.del"] {
        assert_ne!(own[file], sandbox.tree("b")[file]);
        sandbox.put(&format!("a/{file}"), &sandbox.tree("b")[file]);
        let before = sandbox.tree("a");
        for command in [
            "index check a",
            "index stat a",
            "index query a --queries a.u64 -q",
            "index join a -q",
            "index export a -q",
            "index add a b.u64 -q",
            "index delete a 7",
            "index compact a",
        ] {
            sandbox.run(command).fails(
                1,
                &[
                    &format!("a/{file} is not the file that the manifest names"),
                    "another index",
                ],
            );
        }
        assert_eq!(sandbox.tree("a"), before);
        sandbox.put(&format!("a/{file}"), &own[file]);
    }
    sandbox.run("index check a").ok();
}

#[test]
fn a_build_does_not_touch_an_index_without_a_manifest() {
    let sandbox = sandbox();
    std::fs::remove_file(sandbox.path("b/manifest")).unwrap();
    let before = sandbox.tree("b");
    sandbox
        .run("index build a.u64 -o b -q")
        .fails(1, &["b has no manifest", "00000001.seg", "nothing was removed"]);
    assert_eq!(sandbox.tree("b"), before);
    // Only a file of deleted ids, and a directory that was never an index.
    sandbox.put("c/00000012.del", &before["00000002.del"]);
    sandbox.put("c/notes.txt", "mine");
    let before = sandbox.tree("c");
    sandbox
        .run("index build a.u64 -o c -q")
        .fails(1, &["c has no manifest", "00000012.del"]);
    assert_eq!(sandbox.tree("c"), before);
    std::fs::remove_file(sandbox.path("c/00000012.del")).unwrap();
    sandbox.run("index build a.u64 -o c -q").ok();
    assert_eq!(sandbox.text("c/notes.txt"), "mine");
}

#[test]
fn ids_up_to_the_largest_are_accepted_and_the_remaining_number_is_reported() {
    let sandbox = Sandbox::new();
    let last = u64::MAX - 1;
    sandbox.put("one.u64", u64s([number(1)]));
    sandbox.put("two.u64", u64s([number(2), number(3)]));
    sandbox.put("last.u64", u64s([last]));
    sandbox.put("more.u64", u64s([7, 5]));
    sandbox.run("index build one.u64 --ids last.u64 -o seen -q").ok();
    // No free id remains after the last one, but given ids need none.
    sandbox.run("index add seen two.u64 -q").fails(
        2,
        &[
            &format!("the next free id of seen is {}", u64::MAX),
            "ids remain for only 0 fingerprints",
            "--first-id",
            "--ids",
        ],
    );
    sandbox.run("index add seen two.u64 --ids more.u64 -q").ok();
    sandbox.run("index add seen one.u64 --first-id 1e3 -q").ok();
    let first = u64::MAX - 1;
    sandbox
        .run(&format!("index add seen two.u64 --first-id {first} -q"))
        .fails(
            2,
            &[
                &format!("--first-id {first}"),
                "ids remain for only 1 fingerprint",
            ],
        );
    let found = |queries: &str| {
        rows(
            &sandbox
                .run(&format!(
                    "index query seen --queries {queries} -k 0 --format csv -q"
                ))
                .ok(),
        )
    };
    assert_eq!(found("two.u64"), [(0, 7, 0), (1, 5, 0)]);
    assert_eq!(found("one.u64"), [(0, 1000, 0), (0, last, 0)]);
}

#[test]
fn an_index_of_an_early_version_passes_check_with_a_note_until_its_next_change() {
    let testdata = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../index/testdata/index-64");
    for (version, bound) in [(1, false), (2, false), (3, true)] {
        let sandbox = Sandbox::new();
        for file in ["00000001.seg", "00000002.del", "00000004.seg"] {
            sandbox.put(
                &format!("seen/{file}"),
                std::fs::read(testdata.join(file)).unwrap(),
            );
        }
        let manifest = std::fs::read(testdata.join(format!("manifest-{version}"))).unwrap();
        sandbox.put("seen/manifest", manifest);
        let note = "because an earlier version wrote it";
        let run = sandbox.run("index check seen").ok();
        assert_eq!(run.stdout, "seen: undamaged; 58 fingerprints in 2 segments\n");
        assert_eq!(!run.stderr.contains(note), bound, "{}", run.stderr);
        sandbox.run("index delete seen 50").ok();
        let run = sandbox.run("index check seen").ok();
        assert_eq!(run.stdout, "seen: undamaged; 57 fingerprints in 2 segments\n");
        assert!(!run.stderr.contains(note), "{}", run.stderr);
    }
}
