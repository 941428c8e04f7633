//! The temporary folder of a running task.
//!
//! A running task holds a lock on a file in the folder: from before the folder has a name with the number of the task until
//! after it has its final name. So a process that begins the same task deletes only what killed processes have left.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The file that a running task locks.
pub(super) const LOCK: &str = "lock";
/// The beginning of the name of the folder of a task that is not whole.
const PARTIAL: &str = ".partial-";
/// The beginning of the name of a folder that has no lock yet.
const BEGUN: &str = ".begun-";

/// The temporary folder of a running task. It is deleted unless the task ends.
pub(super) struct PartialTask {
    /// `None` once the folder has its final name.
    path: Option<PathBuf>,
    /// The lock, which is released when this is dropped. On a file system without locks, killed tasks leave their folders.
    _lock: File,
}

impl PartialTask {
    /// Makes a folder for a task of the stage whose folder is `stage`. Deletes what killed runs of the task have left.
    pub(super) fn begin(stage: &Path, task: u32) -> io::Result<Self> {
        let prefix = format!("{PARTIAL}{task:05}-");
        clear(stage, &prefix)?;
        let begun = tempfile::Builder::new().prefix(BEGUN).tempdir_in(stage)?;
        let lock = File::create(begun.path().join(LOCK))?;
        let _locked = lock.try_lock();
        let name = begun.path().file_name().unwrap_or_default().to_string_lossy();
        let path = stage.join(format!("{prefix}{}", name.trim_start_matches(BEGUN)));
        fs::rename(begun.path(), &path)?;
        let _renamed = begun.keep();
        Ok(Self {
            path: Some(path),
            _lock: lock,
        })
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// Gives the folder its final name.
    pub(super) fn end(mut self, path: &Path) -> io::Result<()> {
        sync(self.path())?;
        fs::rename(self.path(), path)?;
        self.path = None;
        // A process that is killed before this leaves the lock, which nothing reads.
        fs::remove_file(path.join(LOCK))
    }
}

impl Drop for PartialTask {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // The next run of the task deletes what is left.
            let _deleted = fs::remove_dir_all(path);
        }
    }
}

/// Deletes what killed runs of a task have left.
fn clear(stage: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(stage)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            match File::open(entry.path().join(LOCK)) {
                // The task is running.
                Ok(lock) if lock.try_lock().is_err() => {}
                // Without a lock, the folder is being deleted, or its deletion was interrupted.
                _ => delete(&entry.path())?,
            }
        }
    }
    Ok(())
}

/// Deletes a folder, which another process may delete at the same time.
pub(super) fn delete(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Writes the files of a folder to disk, so that they are whole when the folder gets its final name, even if the machine
/// fails then.
fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        File::options().append(true).open(entry?.path())?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::folder::{Stage, StageFolder, Task};
    use super::*;

    #[test]
    fn processes_that_run_the_same_task_do_not_disturb_one_another() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..20 {
            let task = Task::new(Stage::Classes, number);
            std::thread::scope(|scope| {
                let run = || {
                    let folder = StageFolder::open(dir.path()).unwrap();
                    let sum = folder.run(task, |path| {
                        for file in 0..20 {
                            fs::write(path.join(file.to_string()), "rows").unwrap();
                        }
                        Ok(number)
                    });
                    assert_eq!(sum.unwrap(), number);
                };
                for _ in 0..8 {
                    scope.spawn(run);
                }
            });
        }
        let left = dir.path().join("2-classes").read_dir().unwrap().count();
        assert_eq!(left, 20);
    }

    #[test]
    fn the_folder_of_a_running_task_stays() {
        let dir = tempfile::tempdir().unwrap();
        let running = PartialTask::begin(dir.path(), 7).unwrap();
        let other = PartialTask::begin(dir.path(), 7).unwrap();
        assert!(running.path().is_dir() && other.path().is_dir());
        fs::write(running.path().join("rows"), "").unwrap();
        running.end(&dir.path().join("00007")).unwrap();
        assert!(other.end(&dir.path().join("00007")).is_err());
        let names = dir
            .path()
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["00007"]);
    }
}
