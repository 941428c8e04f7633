//! Errors of temporary files.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of the temporary files of a run. The usual cause is a full disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// The spool of normalised texts cannot be written or read.
    #[error("{}: the temporary file of texts failed ({source})", .path.display())]
    Spool {
        /// The spool file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another temporary file cannot be written or read.
    #[error("{}: a temporary file failed ({source})", .path.display())]
    File {
        /// The work directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The work directory cannot be created.
    #[error("{}: the directory for temporary files cannot be created ({source})", .path.display())]
    Dir {
        /// The directory in which it was to be created.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl WorkError {
    /// A failure of a temporary file in the work directory `path`.
    pub fn file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }

    /// A failure of the spool file `path`.
    pub fn spool(path: &Path, source: io::Error) -> Self {
        Self::Spool {
            path: path.to_owned(),
            source,
        }
    }
}
