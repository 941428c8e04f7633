//! The file of a state, held by one run at a time and replaced as a whole or not at all.
//!
//! What will replace it stands beside it under a name of its own and is locked from the beginning of the run to its end. So of two runs that
//! would go on from one state, of which the later would undo the other's documents, the second is refused; two states in one folder do
//! not meet; and what a killed run left there is taken over by the next.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use twinprint_fingerprint::HashKey;
use twinprint_index::storage::{Disk, Storage, folder};

use super::state::StateError;
use twinprint_io::work::MadeDirs;

/// A state file that nobody else replaces meanwhile; dropped before [`keep`](Self::keep), it is as before.
#[derive(Debug)]
pub(super) struct StateFile {
    /// As it was given, for messages.
    path: PathBuf,
    /// Where it is, behind links.
    target: PathBuf,
    /// What will replace it.
    next: PathBuf,
    file: File,
    kept: bool,
    /// The directories that were made for it.
    _made: MadeDirs,
}

impl StateFile {
    /// Holds the file at `path`, which need not be there.
    pub(super) fn hold(path: &Path) -> Result<Self, StateError> {
        let foreign = || StateError::Foreign {
            path: path.to_owned(),
        };
        let failed = |source| StateError::Write {
            path: path.to_owned(),
            source,
        };
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(foreign());
        }
        // A link stays one.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let made = MadeDirs::missing(folder(&target));
        Disk.create_dir_all(folder(&target)).map_err(failed)?;
        // Short, since the name may be as long as the file system allows.
        let name = target.file_name().ok_or_else(foreign)?.as_encoded_bytes();
        let name = twinprint_fingerprint::hash_one(&HashKey::PUBLIC, name) as u64;
        let next = folder(&target).join(format!(".twinprint-{name:016x}.partial"));
        loop {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&next)
                .map_err(failed)?;
            // A file system without locks cannot tell; then nobody else is taken to be there.
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                return Err(StateError::InUse {
                    path: path.to_owned(),
                });
            }
            // Whoever held it before may have made a state of it, or deleted it, since it was opened.
            if is_still(&file, &next).map_err(failed)? {
                return Ok(Self {
                    path: path.to_owned(),
                    target,
                    next,
                    file,
                    kept: false,
                    _made: made,
                });
            }
        }
    }

    /// The file, as it was given.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the next state, durably, without replacing the one that is there.
    pub(super) fn write(&mut self, parts: &[&[u8]]) -> Result<(), StateError> {
        let mut write = || {
            self.file.set_len(0)?;
            self.file.rewind()?;
            for part in parts {
                self.file.write_all(part)?;
            }
            self.file.sync_all()
        };
        write().map_err(|source| StateError::Write {
            path: self.path.clone(),
            source,
        })
    }

    /// Puts what was [written](Self::write) in the place of the state.
    pub(super) fn keep(mut self) -> Result<(), StateError> {
        // Once it is renamed, what stands under its former name is another run's.
        let renamed = fs::rename(&self.next, &self.target).map(|()| self.kept = true);
        let replaced = renamed.and_then(|()| Disk.sync_dir(folder(&self.target)));
        replaced.map_err(|source| StateError::Write {
            path: self.path.clone(),
            source,
        })
    }
}

impl Drop for StateFile {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be deleted now is taken over by the next run.
            let _ = fs::remove_file(&self.next);
        }
    }
}

/// Whether an open file is what stands at a path now.
#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((own.dev(), own.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_still(_: &File, path: &Path) -> io::Result<bool> {
    Ok(path.exists())
}
