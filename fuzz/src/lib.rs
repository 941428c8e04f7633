//! The fuzz targets for files of documents. The bytes are a file that is read and copied as a run of `dedup` does it.
//!
//! Reading and copying must not panic, hang or run out of memory. Reading must count the records that it yields, and copying must find
//! the same records.

mod fingerprints;
mod index;
mod journal;
mod segment;

use std::fs;
use std::path::PathBuf;
use std::sync::{Once, OnceLock};

use tempfile::TempDir;
use twinprint::sink::{RecordAction, copy_records};
use twinprint::source::{RecordKind, SourceError, SourceOptions, Sources};

pub use fingerprints::read_fingerprints;
pub use index::{open_index, open_names};
pub use journal::resume_build;
pub use segment::open_segment;

/// The size limit of a record: small, so that inputs exceed it.
const MAX_DOCUMENT: u64 = 1 << 16;

/// Returns the directory of the files: in memory if the machine has such a file system.
fn directory() -> &'static PathBuf {
    static DIRECTORY: OnceLock<TempDir> = OnceLock::new();
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let root = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let directory = TempDir::new_in(root).expect("a directory can be made");
        let path = directory.path().to_owned();
        DIRECTORY.get_or_init(|| directory);
        path
    })
}

/// Does [`read_and_copy`] for tables. Their decoders may panic on damaged files. The reader catches that, and only the file is lost, but
/// libFuzzer's panic hook would end the fuzzing first, so it is removed. A panic that is not caught still ends the fuzzing.
pub fn read_and_copy_table(name: &str, bytes: &[u8]) {
    remove_panic_hook();
    read_and_copy(name, bytes);
}

/// Removes libFuzzer's panic hook.
fn remove_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

/// Writes `bytes` as a file of this name.
pub fn put(name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory().join(name);
    fs::write(&path, bytes).expect("the file can be written");
    path
}

/// Reads `bytes` as a file of this name and copies every second record.
pub fn read_and_copy(name: &str, bytes: &[u8]) {
    let path = put(name, bytes);
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
        let batch = match batch {
            Ok(batch) => batch,
            Err(SourceError::ReaderStopped) => panic!("the reading thread panicked"),
            Err(_) => return,
        };
        for chunk in &batch.chunks {
            assert_eq!(
                chunk.first_ordinal(),
                fates.len() as u64,
                "ordinals are consecutive"
            );
            chunk.documents(&options, &mut |record| match record.kind {
                RecordKind::Blank | RecordKind::Other { .. } => {}
                RecordKind::Rejected { reason } => {
                    assert!(!reason.to_string().is_empty());
                    fates.push(RecordAction::Reject);
                }
                RecordKind::Document { .. } => {
                    fates.push(if fates.len() % 2 == 0 {
                        RecordAction::Keep
                    } else {
                        RecordAction::Remove
                    });
                }
            });
            assert_eq!(
                chunk.first_ordinal() + chunk.records(),
                fates.len() as u64,
                "a chunk has as many records as it declares"
            );
        }
    }
    let out = directory().join(format!("{name}.out"));
    let fate = |ordinal: u64| {
        fates
            .get(ordinal as usize)
            .copied()
            .unwrap_or(RecordAction::Reject)
    };
    // An error is a valid result; only a panic is not.
    let _copied = copy_records(&sources, &fate, &out, &|_| {});
    let _gone = fs::remove_dir_all(&out);
}
