//! The source files of the workspace, for the tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::repository;

/// The directories below `crates` that contain a crate.
pub(crate) fn crate_names() -> Vec<String> {
    let entries = fs::read_dir(repository().join("crates")).unwrap();
    let entries = entries.map(|entry| entry.unwrap());
    let crates = entries.filter(|entry| entry.path().join("Cargo.toml").is_file());
    crates
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// Every Rust file below the `src` of every crate, and below `examples`.
pub(crate) fn source_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for name in crate_names() {
        add_rust_files(&source_dir(&name), &mut files);
    }
    add_rust_files(&repository().join("examples"), &mut files);
    assert!(files.len() > 50, "only {} files found", files.len());
    files
}

/// The directory `src` of a crate.
pub(crate) fn source_dir(crate_name: &str) -> PathBuf {
    repository().join("crates").join(crate_name).join("src")
}

/// Adds every Rust file below a directory.
pub(crate) fn add_rust_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The part of each line before `//`. A string with two slashes is cut off too, which affects no rule.
pub(crate) fn without_comments(text: &str) -> String {
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}
