//! Creates the directories of a service, and checks that the backups are not inside the directory of the collections.

use std::io::ErrorKind;
use std::path::Path;

use crate::error::ServeError;

/// Creates a directory and its parents unless they exist. If a file is at `path`, the error calls the directory
/// `expected`.
pub(crate) fn create(path: &Path, expected: &'static str) -> Result<(), ServeError> {
    let path = path.to_owned();
    std::fs::create_dir_all(&path).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => ServeError::NotADirectory { path, expected },
        _ => ServeError::Directory { path, source },
    })
}

/// Creates the directory for backups. Refuses a directory inside that of the collections, because the service would
/// open the backups as collections at its next start.
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
