//! The file of a state, held by one run at a time and replaced as a whole or not at all.
//!
//! The next state is written to a temporary file in the same directory, whose name is derived from the name of the state file. The run locks
//! the temporary file from its beginning to its end. So if two runs continue from one state, the second is refused, because it would undo the
//! first one's documents. Two states in one directory have different temporary files. A temporary file that a killed run left behind is reused by
//! the next run.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use twinprint_fingerprint::HashKey;
use twinprint_index::storage::{Disk, Storage, folder};

use super::error::StateError;
use twinprint_io::work::MadeDirs;

/// A state file that no other run can replace. If this is dropped before [`keep`](Self::keep), the file is as before.
#[derive(Debug)]
pub(super) struct StateFile {
    /// The path as given, for messages.
    path: PathBuf,
    /// The path with symbolic links resolved.
    target: PathBuf,
    /// The path of the temporary file.
    next: PathBuf,
    /// The temporary file, locked.
    file: File,
    /// True once the temporary file has replaced the state.
    kept: bool,
    /// Directories created for the file, removed again if they stay empty.
    _made: MadeDirs,
}

impl StateFile {
    /// Locks the state file at `path`, which need not exist.
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
        // A symbolic link stays a link: its target is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let made = MadeDirs::missing(folder(&target));
        Disk.create_dir_all(folder(&target)).map_err(failed)?;
        // The name is hashed, because it may already be as long as the file system allows.
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
            // On a file system without locks, no other run is assumed.
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                return Err(StateError::InUse {
                    path: path.to_owned(),
                });
            }
            // The previous holder of the lock may have renamed or deleted the file since it was opened here.
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

    /// The path of the file, as given.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the next state durably, without replacing the state.
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

    /// Replaces the state by the [written](Self::write) one.
    pub(super) fn keep(mut self) -> Result<(), StateError> {
        // After the rename, a file at the temporary path belongs to another run.
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
            // A file that cannot be deleted now is reused by the next run.
            let _ = fs::remove_file(&self.next);
        }
    }
}

/// True if `path` still names the open file.
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
