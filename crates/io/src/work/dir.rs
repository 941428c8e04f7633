//! The work directory, which contains the temporary files of a run.
//!
//! The work directory is deleted at the end of the run. If the run is killed, the next run with the same parent
//! directory deletes it. Each run locks a file in its work directory. The system releases the lock when the process
//! ends, even if it is killed. The lock file is deleted last, so the remains of a killed run can always be
//! distinguished from the directory of a run in progress.
//!
//! If a run created parent directories of its work directory, they are removed as well. The name of the work directory
//! contains their number. With it, the last of several concurrent runs can remove the parent directories, and a run can
//! remove those of a killed run. If a run is killed while it creates or removes directories, empty directories may
//! remain.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use tempfile::TempDir;
use twinprint_index::storage::{Disk, Storage};

use super::WorkError;
use crate::markers::WORK_DIR;
use crate::work::MadeDirs;

/// The name of the lock file in a work directory.
const LOCK: &str = "lock";
/// The number of attempts to create a work directory. An attempt fails if another run deletes the new directory before
/// it is locked.
const MAX_ATTEMPTS: u32 = 8;

/// A directory for temporary files. It is deleted with its contents when it is dropped.
///
/// ```
/// use twinprint_io::work::WorkDir;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let room = tempfile::tempdir()?;
/// let work = WorkDir::create(room.path())?;
/// let path = work.path().to_owned();
/// std::fs::write(path.join("run-0"), "sorted rows")?;
/// drop(work);
/// assert!(!path.exists());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct WorkDir {
    // The lock file is closed before the directory is deleted, which some systems require.
    _lock: File,
    dir: TempDir,
    // This field is dropped after `dir`, which is inside these directories.
    _made: MadeDirs,
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // If a file cannot be deleted now, the next run deletes it.
        let _deleted = empty(self.dir.path());
    }
}

impl WorkDir {
    /// Creates a work directory in `parent`, and deletes the work directories of killed runs there. `parent` is created
    /// if it is missing.
    ///
    /// # Errors
    /// [`WorkError::Dir`].
    pub fn create(parent: &Path) -> Result<Self, WorkError> {
        let made = (0..MAX_ATTEMPTS)
            .find_map(|_| Self::locked(parent).transpose())
            .unwrap_or_else(|| Err(io::Error::other("its lock is always held by another")));
        made.map_err(|source| WorkError::Dir {
            path: parent.to_owned(),
            source,
        })
    }

    /// Creates a work directory in the temporary directory of the system, for runs without an output directory.
    ///
    /// # Errors
    /// [`WorkError::Dir`] if the directory cannot be created.
    pub fn temporary() -> Result<Self, WorkError> {
        Self::create(&std::env::temp_dir())
    }

    /// The path of the work directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Creates and locks a new work directory. Returns `None` if another run deleted it before it was locked, or
    /// removed its parent.
    fn locked(parent: &Path) -> io::Result<Option<Self>> {
        let mut made = MadeDirs::missing(parent);
        Disk.create_dir_all(parent)?;
        made.take_over(parent, clear(parent));
        let prefix = format!("{WORK_DIR}{}-", made.count());
        let new = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent);
        let dir = match new {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            new => new?,
        };
        let lock = match File::create(dir.path().join(LOCK)) {
            // Another run has deleted the directory before the lock file was created, because it was empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock?,
        };
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Another run locked the file first, deleted the directory and released the lock.
            _ if !dir.path().join(LOCK).exists() => return Ok(None),
            // On a file system without locks, no other run can lock the file either, so the directory is safe.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        Ok(Some(Self {
            _lock: lock,
            dir,
            _made: made,
        }))
    }
}

/// Deletes the contents of a work directory except for its lock file.
fn empty(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != LOCK {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Deletes the work directories in `parent` that are empty or whose lock is free. Directories without a lock file, or
/// that cannot be deleted, stay. Returns the largest number of path components of `parent` that one of these runs
/// created.
fn clear(parent: &Path) -> usize {
    let mut made = 0;
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Some(rest) = name.strip_prefix(WORK_DIR) else {
            continue;
        };
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let theirs = rest.split_once('-').and_then(|(count, _)| count.parse().ok());
        made = made.max(theirs.unwrap_or(0));
        let path = entry.path();
        let _deleted = match File::options().write(true).open(path.join(LOCK)) {
            Ok(lock) if lock.try_lock().is_ok() => empty(&path).and_then(|()| fs::remove_dir_all(&path)),
            Ok(_) => Ok(()),
            // This fails if the directory is not empty.
            Err(_) => fs::remove_dir(&path),
        };
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_dead_runs_are_deleted() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(format!("{WORK_DIR}{name}"));
        for name in ["dead", "new"] {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join("texts"), "left").unwrap();
        }
        fs::create_dir(path("empty")).unwrap();
        fs::write(path("dead").join(LOCK), "").unwrap();
        fs::create_dir(parent.path().join("mine")).unwrap();
        fs::write(parent.path().join("mine/lock"), "").unwrap();
        let first = WorkDir::create(parent.path()).unwrap();
        assert!(
            !path("dead").exists()
                && !path("empty").exists()
                && path("new").exists()
                && parent.path().join("mine/lock").exists()
        );
        let second = WorkDir::create(parent.path()).unwrap();
        assert!(first.path().exists() && first.path() != second.path());
        let first_path = first.path().to_owned();
        drop(first);
        assert!(!first_path.exists() && second.path().exists());
    }

    #[test]
    fn the_last_run_removes_the_parent_directories() {
        let temp = tempfile::tempdir().unwrap();
        let parent = temp.path().join("new/dir");
        let first = WorkDir::create(&parent).unwrap();
        let second = WorkDir::create(&parent).unwrap();
        drop(first);
        assert!(second.path().exists());
        drop(second);
        assert!(!temp.path().join("new").exists());

        // A killed run created both directories.
        let dead = parent.join(format!("{WORK_DIR}2-dead"));
        fs::create_dir_all(&dead).unwrap();
        drop(WorkDir::create(&parent).unwrap());
        assert!(!temp.path().join("new").exists());

        fs::create_dir_all(&parent).unwrap();
        fs::write(parent.join("mine"), "").unwrap();
        drop(WorkDir::create(&parent.join("below")).unwrap());
        assert!(parent.join("mine").exists() && !parent.join("below").exists());

        let file = parent.join("mine");
        let error = WorkDir::create(&file).unwrap_err().to_string();
        assert!(error.contains("not a directory"), "{error}");
        assert!(file.exists());
    }

    #[test]
    fn the_lock_is_deleted_last() {
        let parent = tempfile::tempdir().unwrap();
        let work = WorkDir::create(parent.path()).unwrap();
        fs::create_dir(work.path().join("below")).unwrap();
        for name in ["a", "zz", "below/texts"] {
            fs::write(work.path().join(name), "").unwrap();
        }
        empty(work.path()).unwrap();
        let remaining: Vec<_> = fs::read_dir(work.path()).unwrap().collect();
        assert_eq!(remaining.len(), 1);
        assert!(work.path().join(LOCK).exists());
    }
}
