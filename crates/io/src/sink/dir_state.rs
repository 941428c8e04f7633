//! The state that an output directory shares with its files: paths, storage and counters.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use twinprint_index::storage::Storage;

use super::error::SinkError;
use super::unfinished::Unfinished;

/// The state of an output directory.
#[derive(Debug)]
pub(super) struct DirState {
    pub(super) root: PathBuf,
    /// The directory that files are written to: the root, or a directory in it until its files replace an earlier result.
    pub(super) files_dir: PathBuf,
    pub(super) storage: Box<dyn Storage>,
    /// Numbers the temporary names.
    pub(super) next_temporary: AtomicU64,
    /// Bytes passed to the storage.
    pub(super) written: AtomicU64,
    /// Bytes that the whole output may need; 0 if that is not known.
    pub(super) expected: AtomicU64,
    /// The marker of a run that deletes its files unless it finishes.
    pub(super) unfinished: Option<Unfinished>,
}

impl DirState {
    pub(super) fn new(root: &Path, storage: Box<dyn Storage>, unfinished: Option<Unfinished>) -> Self {
        let files_dir = unfinished
            .as_ref()
            .map_or_else(|| root.to_owned(), Unfinished::files_dir);
        Self {
            root: root.to_owned(),
            files_dir,
            storage,
            next_temporary: AtomicU64::new(0),
            written: AtomicU64::new(0),
            expected: AtomicU64::new(0),
            unfinished,
        }
    }

    /// Adds the path to an error and, on a full disk, the number of bytes written and expected.
    pub(super) fn failed(&self, error: io::Error, path: &Path, action: &'static str) -> SinkError {
        // The error names the final path of the file instead of the temporary one.
        let path = match path.strip_prefix(&self.files_dir) {
            Ok(file) if file != Path::new("") => self.root.join(file),
            _ => path.to_owned(),
        };
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                let expected = Some(self.expected.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0);
                SinkError::NoSpace {
                    path,
                    written: self.written.load(Ordering::Relaxed),
                    expected,
                }
            }
            _ => SinkError::Io {
                path,
                action,
                source: error,
            },
        }
    }
}
