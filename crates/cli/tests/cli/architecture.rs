//! The rules of ARCHITECTURE.md that a compiler does not check: the dependencies between crates, where unsafe code is and how it
//! is justified, the length of files, and a heading for every directory. `imports` checks the imports within a crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::sandbox::repository;
use crate::workspace::{add_rust_files, crate_names, source_dir, source_files, without_comments};

/// The crates that each crate uses. `bench` and `fuzz` are workspaces of their own and may use any.
const ARROWS: [(&str, &[&str]); 14] = [
    ("fingerprint", &[]),
    ("text", &["fingerprint"]),
    ("index", &["fingerprint"]),
    ("cluster", &["fingerprint"]),
    ("io", &["text", "index", "fingerprint"]),
    ("stream", &["io", "cluster", "index", "text", "fingerprint"]),
    (
        "collection",
        &["stream", "io", "cluster", "index", "text", "fingerprint"],
    ),
    ("dedup", &["io", "cluster", "index", "text", "fingerprint"]),
    (
        "eval",
        &["dedup", "io", "cluster", "index", "text", "fingerprint"],
    ),
    ("server", &["collection", "io"]),
    (
        "twinprint",
        &[
            "eval",
            "dedup",
            "collection",
            "stream",
            "io",
            "cluster",
            "index",
            "text",
            "fingerprint",
        ],
    ),
    ("cli", &["twinprint", "server"]),
    ("python", &["twinprint"]),
    (
        "experiments",
        &["eval", "dedup", "io", "cluster", "index", "text", "fingerprint"],
    ),
];

/// The crates that only the tests of a crate use.
const TEST_ARROWS: [(&str, &[&str]); 1] = [("server", &["text"])];

/// Lines of the longest source file, and of the longest file of unit tests.
const MAX_LINES: usize = 500;
const MAX_TEST_LINES: usize = 600;

/// Lines above an unsafe block that are searched for its `// SAFETY:` comment.
const MAX_LINES_TO_ARGUMENT: usize = 6;

/// Names of modules without a subject.
const VAGUE_NAMES: [&str; 7] = ["common", "util", "utils", "helper", "helpers", "misc", "prelude"];

#[test]
fn dependencies_between_crates_are_those_of_the_map() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success());
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let (mut used, mut used_by_tests) = (BTreeSet::new(), BTreeSet::new());
        for dependency in package["dependencies"].as_array().unwrap() {
            if dependency["path"].is_null() {
                continue;
            }
            let name = short_name(dependency["name"].as_str().unwrap());
            if dependency["kind"] == "dev" {
                used_by_tests.insert(name);
            } else {
                used.insert(name);
            }
        }
        found.insert(
            short_name(package["name"].as_str().unwrap()),
            (used, used_by_tests),
        );
    }
    let in_tests: BTreeMap<&str, &[&str]> = TEST_ARROWS.into_iter().collect();
    let design: BTreeMap<&str, _> = ARROWS
        .into_iter()
        .map(|(name, used)| {
            let used_by_tests = in_tests.get(name).copied().unwrap_or_default();
            let sets = [used, used_by_tests].map(|names| names.iter().copied().collect());
            let [used, used_by_tests] = sets;
            (name, (used, used_by_tests))
        })
        .collect();
    assert_eq!(found, design);
}

/// The name of a crate without `twinprint-`.
fn short_name(name: &str) -> &str {
    name.strip_prefix("twinprint-").unwrap_or(name)
}

#[test]
fn unsafe_code_is_only_in_the_kernels_and_the_mapping() {
    let kernel = repository().join("crates/fingerprint/src/kernel");
    let mapping = repository().join("crates/index/src/segment/mapping.rs");
    let mut in_kernel = 0;
    for path in source_files() {
        let code = without_comments(&fs::read_to_string(&path).unwrap());
        let found = words(&code).filter(|&word| word == "unsafe").count();
        if path.starts_with(&kernel) {
            in_kernel += found;
        } else if path == mapping {
            assert_eq!(found, 1, "unsafe in {}: the one mapping", path.display());
        } else {
            assert_eq!(found, 0, "unsafe in {}", path.display());
        }
    }
    assert!(in_kernel > 0, "the search finds no unsafe code");
    for name in crate_names() {
        let root = ["lib.rs", "main.rs"].map(|file| source_dir(&name).join(file));
        let root = root.iter().find(|path| path.is_file()).unwrap();
        let policy = if ["fingerprint", "index"].contains(&name.as_str()) {
            "#![deny(unsafe_code)]"
        } else {
            "#![forbid(unsafe_code)]"
        };
        let text = fs::read_to_string(root).unwrap();
        assert!(text.contains(policy), "{}: no {policy}", root.display());
    }
}

#[test]
fn unsafe_code_of_the_kernels_has_safety_comments() {
    let mut files = Vec::new();
    add_rust_files(&source_dir("fingerprint").join("kernel"), &mut files);
    let (mut functions, mut blocks) = (0, 0);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        // The trait states the safety conditions of the functions that implement it.
        let mut in_trait_impl = false;
        for (number, line) in lines.iter().enumerate() {
            let location = format!("{}:{}", path.display(), number + 1);
            let code = line.split("//").next().unwrap_or_default();
            if code.starts_with("impl") {
                in_trait_impl = code.contains(" for ");
            } else if code.starts_with('}') {
                in_trait_impl = false;
            }
            let above = lines[..number].iter().rev().map(|line| line.trim());
            if (code.contains("unsafe fn ") && !in_trait_impl) || code.contains("#[target_feature") {
                let mut docs = above.clone().take_while(|line| line.starts_with(['/', '#']));
                assert!(
                    docs.any(|line| line.ends_with("# Safety")),
                    "{location}: no `# Safety`"
                );
                functions += 1;
            }
            if code.contains("unsafe {") {
                let mut near = above.take(MAX_LINES_TO_ARGUMENT);
                assert!(
                    near.any(|line| line.starts_with("// SAFETY:")),
                    "{location}: no `// SAFETY:`"
                );
                blocks += 1;
            }
        }
    }
    assert!(
        functions > 20 && blocks > 50,
        "{functions} functions, {blocks} blocks"
    );
}

#[test]
fn files_are_short_have_a_subject_and_open_with_a_doc_comment() {
    for path in source_files() {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let max_lines = if name == "tests" {
            MAX_TEST_LINES
        } else {
            MAX_LINES
        };
        assert!(lines <= max_lines, "{}: {lines} lines", path.display());
        let named = if name == "mod" {
            path.parent().unwrap().file_name().unwrap().to_str().unwrap()
        } else {
            name
        };
        assert!(
            !VAGUE_NAMES.contains(&named),
            "{}: the name has no subject",
            path.display()
        );
        // A `tests.rs` needs no doc comment, because its module has one.
        if name != "tests" {
            assert!(
                text.starts_with("//!") || text.starts_with("#![doc"),
                "{}: no doc comment",
                path.display()
            );
        }
    }
}

#[test]
fn the_map_has_a_heading_for_every_directory() {
    let map = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let headings: BTreeSet<&str> = map
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|heading| heading.trim().trim_matches('`').trim_end_matches('/'))
        .collect();
    let parts = crate_names().into_iter().map(|name| format!("crates/{name}"));
    let others = ["bench", "docs", "examples", "fuzz", "integrations", "tests"].map(str::to_owned);
    for part in parts.chain(others) {
        assert!(
            headings.contains(part.as_str()),
            "no heading {part:?} in ARCHITECTURE.md"
        );
    }
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}
