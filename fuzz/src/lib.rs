//! What every fuzz target does with its bytes: they are a file, read as a run of `dedup` reads it, and copied as a run copies it.
//!
//! Beside not panicking, not hanging and not taking memory, reading must count what it yields, and copying must find again
//! what was read.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use tempfile::TempDir;
use twinprint::sink::{Fate, copy_records};
use twinprint::source::{RecordKind, SourceOptions, Sources};

/// Small, so that the limit is met.
const MAX_DOCUMENT: u64 = 1 << 16;

/// Where the files go: memory, where there is a file system of it.
fn directory() -> &'static PathBuf {
    static DIRECTORY: OnceLock<TempDir> = OnceLock::new();
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let root = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let directory = TempDir::new_in(root).expect("a directory can be made");
        let path = directory.path().to_owned();
        DIRECTORY.get_or_init(|| directory);
        path
    })
}

/// Reads `bytes` as a file of this name and copies every second record.
pub fn read_and_copy(name: &str, bytes: &[u8]) {
    let path = directory().join(name);
    fs::write(&path, bytes).expect("the file can be written");
    let options = SourceOptions {
        max_document: MAX_DOCUMENT,
        ..SourceOptions::default()
    };
    let inputs = [path.to_string_lossy().into_owned()];
    let Ok(sources) = Sources::discover(&inputs, &options, directory()) else {
        return;
    };
    let mut fates = Vec::new();
    for batch in sources.read(1 << 20) {
        let Ok(batch) = batch else { return };
        for chunk in &batch.chunks {
            assert_eq!(chunk.first_ordinal(), fates.len() as u64, "ordinals run without gaps");
            chunk.documents(&options, &mut |record| match record.kind {
                RecordKind::Blank | RecordKind::Other { .. } => {}
                RecordKind::Rejected { reason } => {
                    assert!(!reason.to_string().is_empty());
                    fates.push(Fate::Reject);
                }
                RecordKind::Document { .. } => {
                    fates.push(if fates.len() % 2 == 0 { Fate::Keep } else { Fate::Remove });
                }
            });
            assert_eq!(
                chunk.first_ordinal() + chunk.records(),
                fates.len() as u64,
                "a chunk has as many records as it says"
            );
        }
    }
    let out = directory().join(format!("{name}.out"));
    let fate = |ordinal: u64| fates.get(ordinal as usize).copied().unwrap_or(Fate::Reject);
    // An error is an answer; what counts is that there is one.
    let _copied = copy_records(&sources, &fate, &out, &|_| {});
    let _gone = fs::remove_dir_all(&out);
}
