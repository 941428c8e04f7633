//! The rules of ARCHITECTURE.md that a compiler does not check: who may use whom, where unsafe code may be, how
//! long files get, and that the map names every part.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::repository;

/// Who may use whom. `bench` and `fuzz` are workspaces of their own and may use any.
const ARROWS: [(&str, &[&str]); 8] = [
    ("twinprint-fingerprint", &[]),
    ("twinprint-text", &["twinprint-fingerprint"]),
    ("twinprint-index", &["twinprint-fingerprint"]),
    ("twinprint-cluster", &["twinprint-fingerprint"]),
    (
        "twinprint",
        &[
            "twinprint-fingerprint",
            "twinprint-text",
            "twinprint-index",
            "twinprint-cluster",
        ],
    ),
    ("twinprint-server", &["twinprint"]),
    ("twinprint-cli", &["twinprint", "twinprint-server"]),
    ("twinprint-python", &["twinprint"]),
];

/// Lines of the longest source file.
const LONGEST: usize = 600;

/// Modules that gather what has no home.
const HOMELESS: [&str; 7] = ["common", "util", "utils", "helper", "helpers", "misc", "prelude"];

#[test]
fn arrows_between_crates_are_those_of_the_design() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success());
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.into_iter().collect();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() >= 6, "the workspace has {} crates", packages.len());
    let mut used = BTreeSet::new();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let may = allowed
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not in the design"));
        for dependency in package["dependencies"].as_array().unwrap() {
            // Dependencies of every kind: for tests and build scripts too.
            if dependency["path"].is_null() {
                continue;
            }
            let on = dependency["name"].as_str().unwrap();
            assert!(may.contains(&on), "{name} may not use {on}");
            used.insert((name, on));
        }
    }
    // The table means something: the arrows in use are found.
    assert!(
        used.contains(&("twinprint-cli", "twinprint")) && used.contains(&("twinprint", "twinprint-text"))
    );
}

#[test]
fn unsafe_code_lives_in_the_kernels_and_the_mapping_alone() {
    let kernel = repository().join("crates/fingerprint/src/kernel");
    let mapping = repository().join("crates/index/src/segment/mapping.rs");
    let mut in_kernel = 0;
    for path in sources() {
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
    assert!(in_kernel > 0, "the search finds what it looks for");
    for name in crates() {
        let root = repository().join("crates").join(&name).join("src");
        let root = ["lib.rs", "main.rs"].map(|file| root.join(file));
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
fn files_are_short_named_after_what_they_hold_and_say_what_they_are() {
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "{}: {lines} lines", path.display());
        let name = path.file_stem().unwrap().to_str().unwrap();
        let named = if name == "mod" {
            path.parent().unwrap().file_name().unwrap().to_str().unwrap()
        } else {
            name
        };
        assert!(
            !HOMELESS.contains(&named),
            "{}: what is it about?",
            path.display()
        );
        // Tests in a file beside their module need no words of their own.
        if name != "tests" {
            assert!(
                text.starts_with("//!"),
                "{}: does not say what it is",
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
    let parts = crates().into_iter().map(|name| format!("crates/{name}"));
    let others = ["bench", "docs", "fuzz", "integrations", "tests"].map(str::to_owned);
    for part in parts.chain(others) {
        assert!(
            headings.contains(part.as_str()),
            "no heading {part:?} in ARCHITECTURE.md"
        );
    }
}

fn crates() -> Vec<String> {
    let entries = fs::read_dir(repository().join("crates")).unwrap();
    let named = entries.map(|entry| entry.unwrap());
    let crates = named.filter(|entry| entry.path().join("Cargo.toml").is_file());
    crates
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// Every Rust file that is compiled into a crate.
fn sources() -> Vec<PathBuf> {
    fn gather(dir: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                gather(&path, into);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                into.push(path);
            }
        }
    }
    let mut sources = Vec::new();
    for name in crates() {
        gather(&repository().join("crates").join(name).join("src"), &mut sources);
    }
    assert!(sources.len() > 50, "only {} files found", sources.len());
    sources
}

/// Code up to `//` in each line. A string with two slashes in it loses its end, which no rule here reads.
fn without_comments(text: &str) -> String {
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}
