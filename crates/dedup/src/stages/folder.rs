//! The folder of a staged run: one folder for the output of each task.
//!
//! A task writes to a temporary folder, which is renamed when its output is whole. So a task whose folder has its final name
//! never runs again, and the files of a task that was killed are never read. Two processes may run one task at the same
//! time: both write the same rows, and the first rename wins. A running task holds a lock on a file in its temporary
//! folder, so that only the folders of killed tasks are deleted.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use twinprint_io::work::{WorkError, mark_unfinished};

use crate::error::DedupError;
use crate::rows::{Row, RowFile};

/// The file with the summary of a task.
const SUMMARY: &str = "summary.json";
/// The file that a running task locks.
const LOCK: &str = "lock";
/// The beginning of the name of the folder of a task that is not whole.
const PARTIAL: &str = ".partial-";

/// A stage of a run on disk, in the order in which stages run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Documents of a part of the input, with fingerprints and canonical texts.
    Analyse,
    /// Classes of equal texts, of a range of text hashes.
    Classes,
    /// Classes in keep order.
    Items,
    /// The items that duplicate documents of an index or a collection.
    Against,
    /// The radius, and the rows of the join.
    Parameters,
    /// Pairs of rows within the radius, of two blocks of rows.
    Join,
    /// Candidate pairs of items.
    Candidates,
    /// Verified pairs, of two blocks of items.
    Verify,
    /// The leader of each follower.
    Lead,
    /// The decision on each class.
    Groups,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 10] = [
        Self::Analyse,
        Self::Classes,
        Self::Items,
        Self::Against,
        Self::Parameters,
        Self::Join,
        Self::Candidates,
        Self::Verify,
        Self::Lead,
        Self::Groups,
    ];

    /// The name of the stage.
    ///
    /// ```
    /// use twinprint_dedup::Stage;
    ///
    /// assert_eq!(Stage::Join.name(), "join");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Analyse => "analyse",
            Self::Classes => "classes",
            Self::Items => "items",
            Self::Against => "against",
            Self::Parameters => "parameters",
            Self::Join => "join",
            Self::Candidates => "candidates",
            Self::Verify => "verify",
            Self::Lead => "lead",
            Self::Groups => "groups",
        }
    }

    /// The name of the folder of the stage.
    fn folder(self) -> String {
        format!("{}-{}", self as u8 + 1, self.name())
    }
}

/// A task of a stage, by its number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) stage: Stage,
    pub(crate) number: u32,
}

impl Task {
    pub(crate) fn new(stage: Stage, number: u32) -> Self {
        Self { stage, number }
    }

    /// The only task of a stage that has one.
    pub(crate) fn only(stage: Stage) -> Self {
        Self::new(stage, 0)
    }
}

/// The folder of a staged run.
#[derive(Clone, Debug)]
pub(crate) struct StageFolder {
    root: PathBuf,
}

impl StageFolder {
    /// Opens a folder, which is created if it is missing.
    pub(crate) fn open(root: &Path) -> Result<Self, DedupError> {
        let made = fs::create_dir_all(root).and_then(|()| mark_unfinished(root));
        made.map_err(|error| WorkError::file(root, error))?;
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// The folder of the whole output of a task.
    pub(crate) fn path(&self, task: Task) -> PathBuf {
        self.root
            .join(task.stage.folder())
            .join(format!("{:05}", task.number))
    }

    /// A file of the output of a task.
    pub(crate) fn file(&self, task: Task, name: &str) -> PathBuf {
        self.path(task).join(name)
    }

    /// The files of one name in the outputs of the first `tasks` tasks of a stage.
    pub(crate) fn files(&self, stage: Stage, tasks: u32, name: &str) -> impl Iterator<Item = PathBuf> {
        (0..tasks).map(move |number| self.file(Task::new(stage, number), name))
    }

    /// Opens the [`files`](Self::files) of one name as rows.
    pub(crate) fn rows_of<R: Row>(
        &self,
        stage: Stage,
        tasks: u32,
        name: &str,
    ) -> Result<Vec<RowFile<R>>, DedupError> {
        self.files(stage, tasks, name)
            .map(|path| RowFile::open(&path))
            .collect()
    }

    /// True if the output of a task is whole.
    pub(crate) fn is_whole(&self, task: Task) -> bool {
        self.path(task).is_dir()
    }

    /// The summary of a task whose output is whole.
    pub(crate) fn summary<T: DeserializeOwned>(&self, task: Task) -> Result<T, DedupError> {
        let path = self.file(task, SUMMARY);
        let read = fs::read(&path).and_then(|bytes| Ok(serde_json::from_slice(&bytes)?));
        Ok(read.map_err(|error| WorkError::file(&path, error))?)
    }

    /// Runs a task unless its output is whole: `write` writes its files to the given folder and returns the summary.
    pub(crate) fn run<T: Serialize + DeserializeOwned>(
        &self,
        task: Task,
        write: impl FnOnce(&Path) -> Result<T, DedupError>,
    ) -> Result<T, DedupError> {
        if self.is_whole(task) {
            return self.summary(task);
        }
        let stage = self.root.join(task.stage.folder());
        let failed = |error| WorkError::file(&stage, error);
        fs::create_dir_all(&stage).map_err(failed)?;
        let prefix = format!("{PARTIAL}{:05}-", task.number);
        Self::clear(&stage, &prefix)?;
        let partial = tempfile::Builder::new()
            .prefix(&prefix)
            .tempdir_in(&stage)
            .map_err(failed)?;
        let lock = File::create(partial.path().join(LOCK)).map_err(failed)?;
        // On a file system without locks, killed tasks leave their folders.
        let _locked = lock.try_lock();
        let summary = write(partial.path())?;
        let bytes = serde_json::to_vec_pretty(&summary).map_err(|error| failed(error.into()))?;
        fs::write(partial.path().join(SUMMARY), bytes).map_err(failed)?;
        drop(lock);
        fs::remove_file(partial.path().join(LOCK)).map_err(failed)?;
        sync(partial.path()).map_err(failed)?;
        match fs::rename(partial.path(), self.path(task)) {
            Ok(()) => {
                // The folder has another name now, so there is nothing to delete.
                let _renamed = partial.keep();
                Ok(summary)
            }
            // Another process has finished the task.
            Err(_) if self.is_whole(task) => self.summary(task),
            Err(error) => Err(failed(error).into()),
        }
    }

    /// Deletes what killed runs of a task have left.
    fn clear(stage: &Path, prefix: &str) -> Result<(), DedupError> {
        let failed = |error| WorkError::file(stage, error);
        for entry in fs::read_dir(stage).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_partial = entry.file_name().to_string_lossy().starts_with(prefix);
            let lock = File::open(entry.path().join(LOCK));
            // A folder without a lock file belongs to a task that was killed, or that another process begins or ends at this
            // moment. In the second case that process fails, and the same command goes on.
            let is_running = lock.is_ok_and(|lock| lock.try_lock().is_err());
            if is_partial && !is_running {
                match fs::remove_dir_all(entry.path()) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error).into()),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The bytes of the outputs of all tasks.
    pub(crate) fn bytes(&self) -> Result<u64, DedupError> {
        let (mut bytes, mut folders) = (0, vec![self.root.clone()]);
        while let Some(folder) = folders.pop() {
            let failed = |error| WorkError::file(&folder, error);
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let metadata = entry.metadata().map_err(failed)?;
                if metadata.is_dir() {
                    folders.push(entry.path());
                } else {
                    bytes += metadata.len();
                }
            }
        }
        Ok(bytes)
    }

    /// Deletes the folder with all outputs.
    pub(crate) fn remove(self) -> Result<(), DedupError> {
        Ok(fs::remove_dir_all(&self.root).map_err(|error| WorkError::file(&self.root, error))?)
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
    use super::*;

    #[test]
    fn a_whole_task_never_runs_again_and_a_partial_one_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = StageFolder::open(&dir.path().join("work")).unwrap();
        let task = Task::new(Stage::Join, 3);
        let failed = folder.run(task, |path| {
            fs::write(path.join("rows"), "half").unwrap();
            Err::<u32, _>(DedupError::cancelled())
        });
        assert!(failed.is_err() && !folder.is_whole(task));
        let killed = dir.path().join("work/6-join/.partial-00003-killed");
        fs::create_dir(&killed).unwrap();
        let summary = folder.run(task, |path| {
            fs::write(path.join("rows"), "whole").unwrap();
            Ok(7)
        });
        assert_eq!(summary.unwrap(), 7);
        assert!(!killed.exists());
        assert_eq!(
            folder
                .run(task, |_| Err::<u32, _>(DedupError::cancelled()))
                .unwrap(),
            7
        );
        assert_eq!(fs::read_to_string(folder.file(task, "rows")).unwrap(), "whole");
        assert_eq!(dir.path().join("work/6-join").read_dir().unwrap().count(), 1);
        folder.remove().unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }
}
