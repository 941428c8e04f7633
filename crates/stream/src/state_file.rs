//! The file of a state. One run at a time may use it, and it is replaced as a whole or not at all.
//!
//! The next state is written to a temporary file in the same directory, whose name is derived from the name of the
//! state file. The run locks the temporary file from its beginning to its end. So if two runs continue from one state,
//! the second is refused, because its state would not have the documents of the first run. Two states in one directory
//! have different temporary files. If a killed run left a temporary file behind, the next run reuses it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use twinprint_fingerprint::HashKey;
use twinprint_index::storage::{Disk, Storage, folder};

use super::error::StateError;
use twinprint_io::work::MadeDirs;

/// A state file that this run has locked. If this value is dropped before [`keep`](Self::keep), the file stays
/// unchanged.
#[derive(Debug)]
pub(super) struct StateFile {
    /// The path of the state file as given, for messages.
    path: PathBuf,
    /// The path of the state file with symbolic links resolved.
    target: PathBuf,
    /// The path of the temporary file for the next state.
    next: PathBuf,
    /// The open temporary file, which is locked.
    file: File,
    /// True once the temporary file has replaced the state file.
    kept: bool,
    /// The directories that were created for the file. Those that stay empty are removed again.
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
        // A symbolic link is not replaced, but the file that it leads to.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let made = MadeDirs::missing(folder(&target));
        Disk.create_dir_all(folder(&target)).map_err(failed)?;
        // The name of the temporary file has a hash of the state file's name, because that name may already be as long
        // as the file system allows.
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
            // A file system without locks is treated as if no other run used the file.
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                return Err(StateError::InUse {
                    path: path.to_owned(),
                });
            }
            // The run that had the lock before may have renamed or deleted the file since it was opened here.
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

    /// The path of the state file as given.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the next state durably to the temporary file. The state file itself is not replaced yet.
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

    /// Replaces the state file by the next state, which [`write`](Self::write) has written.
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
            // A temporary file that cannot be deleted now does no harm: the next run overwrites it.
            let _ = fs::remove_file(&self.next);
        }
    }
}

/// True if the file at `path` is the open file `file`.
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
