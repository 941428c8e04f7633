//! Test data that is not part of the repository. `TWINPRINT_SHARED` names the directory that contains `data/`, by default `../shared` next
//! to the workspace. Without the data a test prints a note and passes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The directory of the data.
pub(crate) fn data() -> Option<PathBuf> {
    let shared = std::env::var_os("TWINPRINT_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let data = shared.join("data");
    if data.is_dir() {
        return Some(data);
    }
    // Written directly, because the test harness captures the output of passing tests.
    let line = format!(
        "skipped: no {} (set TWINPRINT_SHARED to the directory that holds data/)\n",
        data.display()
    );
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}

/// The records of a compressed JSONL file.
pub(crate) fn records(path: &Path) -> Vec<Value> {
    let output = Command::new("zstd")
        .args(["-dc", "--long=27"])
        .arg(path)
        .stderr(Stdio::inherit())
        .output()
        .expect("zstd must be installed to read the data");
    assert!(output.status.success(), "zstd failed on {}", path.display());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
