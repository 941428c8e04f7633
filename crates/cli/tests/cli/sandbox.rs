//! A temporary directory with the inputs of a test, in which the binary runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The binary under test.
pub(crate) const TWINPRINT: &str = env!("CARGO_BIN_EXE_twinprint");

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Reports that a test cannot run on this system. Writes to stderr directly, because the harness hides the output of passing tests.
pub(crate) fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    io::stderr().write_all(line.as_bytes()).unwrap();
}

/// A new directory, which is deleted when the value is dropped.
pub(crate) struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("twinprint-test-").tempdir();
        Self { dir: dir.unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file and creates the folders above it.
    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    /// The rows of a .jsonl file.
    pub(crate) fn rows(&self, name: &str) -> Vec<Value> {
        let text = self.text(name);
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Every file below `name`, by its path.
    pub(crate) fn tree(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let root = self.path(name);
        let mut files = BTreeMap::new();
        let mut open = vec![root.clone()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let relative = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                    files.insert(relative, fs::read(&path).unwrap());
                }
            }
        }
        files
    }

    /// A command with this working directory and empty standard input.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Runs twinprint with `args`, split at white space.
    pub(crate) fn run(&self, args: &str) -> Run {
        let mut command = self.command(TWINPRINT);
        Run::of(command.args(args.split_whitespace()).output().unwrap())
    }

    /// Runs a script by `bash -euo pipefail`, with twinprint on the path and this directory as home.
    pub(crate) fn bash(&self, script: &str) -> Run {
        let bin = Path::new(TWINPRINT).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(bin).chain(std::env::split_paths(&path));
        let mut command = self.command("bash");
        command.env("PATH", std::env::join_paths(path).unwrap());
        command.env("HOME", self.dir.path());
        Run::of(command.args(["-euo", "pipefail", "-c", script]).output().unwrap())
    }
}

/// The exit status and the output of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts exit code 0.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Asserts exit code 3: everything is written, but input was damaged or too many records were rejected.
    pub(crate) fn incomplete(self) -> Self {
        assert_eq!(self.code, Some(3), "{self:#?}");
        self
    }

    /// Asserts the exit code, and that stderr contains all of `parts`.
    pub(crate) fn fails(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}
