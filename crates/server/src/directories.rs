//! The directories of a service: created if missing, and checked not to contain each other.

use std::io::ErrorKind;
use std::path::Path;

use crate::error::ServeError;

/// Creates a directory and its parents. The directory may exist. `expected` names it in the error about a file at `path`.
pub(crate) fn create(path: &Path, expected: &'static str) -> Result<(), ServeError> {
    let path = path.to_owned();
    std::fs::create_dir_all(&path).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => ServeError::NotADirectory { path, expected },
        _ => ServeError::Directory { path, source },
    })
}

/// Creates the backup directory. Refuses one inside the directory of the collections: the next start would serve the backups.
pub(crate) fn create_backup_dir(collections: &Path, backups: &Path) -> Result<(), ServeError> {
    let failed = |source| ServeError::Directory {
        path: backups.to_owned(),
        source,
    };
    create(backups, "the directory for backups")?;
    let outer = collections.canonicalize().map_err(failed)?;
    let inner = backups.canonicalize().map_err(failed)?;
    if inner.starts_with(outer) {
        return Err(ServeError::BackupsInsideCollections(backups.to_owned()));
    }
    Ok(())
}
