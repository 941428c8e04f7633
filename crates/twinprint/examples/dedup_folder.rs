//! Deduplicates the text files of a folder and lists what was removed.
//!
//! ```text
//! cargo run -p twinprint --example dedup_folder -- [FOLDER [OUTPUT]]
//! ```
//!
//! Without arguments the example writes three notes into a temporary folder and deduplicates that folder. OUTPUT gets
//! copies of the files in `kept/` and `removed/`, the group of every file in `clusters.jsonl`, and a report.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use twinprint::source::SourceOptions;
use twinprint::{DedupJob, DedupOptions, Keep, Silent, dedup};

fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let folder = match arguments.next() {
        Some(folder) => folder,
        None => write_notes(temporary.path())?,
    };
    let out = arguments.next().unwrap_or_else(|| temporary.path().join("out"));
    run(&folder, &out, &mut io::stdout())
}

/// Deduplicates `folder` into `out`, which must be new or empty.
pub(crate) fn run(folder: &Path, out: &Path, output: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    // Inputs are strings, because an input may also be a glob, or `-` for standard input.
    let inputs = [folder
        .to_str()
        .ok_or("the folder's name is not UTF-8")?
        .to_owned()];
    let options = DedupOptions {
        keep: Keep::Longest,
        ..DedupOptions::new()?
    };
    // `Silent` reports no progress. If another thread sets the last argument to true, the run is cancelled.
    let job = DedupJob {
        inputs: &inputs,
        source: &SourceOptions::default(),
        options: &options,
        out,
    };
    let report = dedup(&job, &Silent, &Arc::default())?;
    let records = &report.records;
    writeln!(
        output,
        "{} read, {} kept, {} removed",
        records.read, records.kept, records.removed
    )?;

    // Each document has one row. The row of a removed document names the kept document that it duplicates.
    for row in fs::read_to_string(out.join("clusters.jsonl"))?.lines() {
        let row: Value = serde_json::from_str(row)?;
        if let (Some(id), Some(kept)) = (row["id"].as_str(), row["duplicate_of"].as_str()) {
            writeln!(output, "{id} duplicates {kept}, Jaccard {}", row["jaccard"])?;
        }
    }
    Ok(())
}

/// Writes three notes, two of them near-duplicates, and returns their folder.
pub(crate) fn write_notes(parent: &Path) -> io::Result<PathBuf> {
    let lighthouse = "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back on its bearing.";
    let folder = parent.join("notes");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("draft.txt"), lighthouse)?;
    fs::write(folder.join("final.txt"), format!("{lighthouse} Lit in May."))?;
    fs::write(
        folder.join("ferry.txt"),
        "The ferry to the northern islands runs every other hour until the end of the season.",
    )?;
    Ok(folder)
}
