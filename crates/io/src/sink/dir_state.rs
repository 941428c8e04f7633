//! The state that an output directory shares with its open files: paths, storage and counters.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use twinprint_index::storage::Storage;

use super::error::SinkError;
use super::unfinished::Unfinished;

/// The state of an output directory that its open files share.
#[derive(Debug)]
pub(super) struct DirState {
    pub(super) root: PathBuf,
    /// The directory that files are written to. It is the output directory or, if an earlier result will be replaced, a
    /// directory inside it.
    pub(super) files_dir: PathBuf,
    pub(super) storage: Box<dyn Storage>,
    /// The number that the next temporary file name contains.
    pub(super) next_temporary: AtomicU64,
    /// The number of bytes passed to the storage so far.
    pub(super) written: AtomicU64,
    /// The number of bytes that the whole output may need. 0 if it is unknown.
    pub(super) expected: AtomicU64,
    /// The marker of the run, if the files of the run are deleted unless it finishes.
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

    /// Converts an error of the system to a [`SinkError`] with the path. On a full disk the error states the numbers of
    /// bytes written and expected.
    pub(super) fn failed(&self, error: io::Error, path: &Path, action: &'static str) -> SinkError {
        // The error names the final path of the file, not the temporary one.
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
