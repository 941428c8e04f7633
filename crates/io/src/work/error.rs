//! Errors of the temporary files of a run.

use std::io;
use std::path::{Path, PathBuf};

/// A temporary file or the work directory of a run failed. The usual cause is a full disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// The spool of canonical texts cannot be written or read.
    #[error("{}: the temporary file of texts cannot be written or read ({source})", .path.display())]
    Spool {
        /// The path of the spool.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
    /// A temporary file other than the spool cannot be written or read.
    #[error("{}: a temporary file in this directory cannot be written or read ({source})", .path.display())]
    File {
        /// The path of the work directory.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The work directory cannot be created.
    #[error("{}: the directory for temporary files cannot be created ({source})", .path.display())]
    Dir {
        /// The parent directory of the work directory.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
}

impl WorkError {
    /// Creates the error of a temporary file in the work directory `path`.
    pub fn file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }

    /// Creates the error of the spool at `path`.
    pub fn spool(path: &Path, source: io::Error) -> Self {
        Self::Spool {
            path: path.to_owned(),
            source,
        }
    }
}
