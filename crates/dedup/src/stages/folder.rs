//! The folder of a staged run: one folder for the output of each task.
//!
//! A task writes to a temporary folder, which is renamed when its output is whole. So a task whose folder has its final name
//! never runs again, and the files of a task that was killed are never read. Two processes may run one task at the same
//! time: both write the same rows, and the first rename wins.
//!
//! A run over more files than an earlier one has a folder of its own for its stages, except for [`Stage::Analyse`], whose
//! tasks belong to both runs.
//!
//! The folder of a task lists its files with their sizes, and a file is compared with the list when it is opened.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use twinprint_index::OpenFiles;
use twinprint_io::work::{WorkError, mark_unfinished};

use super::manifest::Manifest;
use super::partial::{LOCK, PartialTask, delete};
use crate::error::{DedupError, StageDamage};
use crate::rows::{BlockFile, Row, RowFile};

/// The beginning of the name of a folder that is being deleted.
const DELETED: &str = ".deleted-";
/// The beginning of the name of the folder of a run over more files than the first one.
pub(super) const RUN: &str = "run-";
/// The stages whose outputs a later run over more files uses.
const LATER: [Stage; 4] = [Stage::Analyse, Stage::Items, Stage::Candidates, Stage::Verify];

/// A stage of a run on disk, in the order in which stages run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// The duplicates drawn for a sample of texts, of a block of items.
    Recall,
    /// The fingerprints of a block of texts, by which partial copies are found.
    Winnow,
    /// These fingerprints, if several texts have them.
    Shared,
    /// The passages that many texts share.
    Passages,
    /// Pairs of texts of which one contains a share of the other, of two blocks of texts.
    Parts,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 15] = [
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
        Self::Recall,
        Self::Winnow,
        Self::Shared,
        Self::Passages,
        Self::Parts,
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
            Self::Recall => "recall",
            Self::Winnow => "winnow",
            Self::Shared => "shared",
            Self::Passages => "passages",
            Self::Parts => "parts",
        }
    }

    /// True if the stage has one task in any run, unless it has none.
    ///
    /// ```
    /// use twinprint_dedup::Stage;
    ///
    /// assert!(Stage::Lead.has_one_task() && !Stage::Join.has_one_task());
    /// ```
    pub fn has_one_task(self) -> bool {
        match self {
            Self::Items
            | Self::Parameters
            | Self::Candidates
            | Self::Lead
            | Self::Groups
            | Self::Shared
            | Self::Passages => true,
            Self::Analyse
            | Self::Classes
            | Self::Against
            | Self::Join
            | Self::Verify
            | Self::Recall
            | Self::Winnow
            | Self::Parts => false,
        }
    }

    /// The name of the folder of the stage.
    pub(super) fn folder(self) -> String {
        format!("{}-{}", self as u8 + 1, self.name())
    }
}

/// A task of a stage, by its number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// The folder of the stages after [`Stage::Analyse`].
    run: PathBuf,
    /// The files that are open.
    open: Arc<OpenFiles>,
    /// The lists of the files of tasks, as far as they were needed.
    manifests: Arc<Mutex<HashMap<Task, Arc<Manifest>>>>,
}

impl StageFolder {
    /// Opens a folder, which is created if it is missing.
    pub(crate) fn open(root: &Path) -> Result<Self, DedupError> {
        let made = fs::create_dir_all(root).and_then(|()| mark_unfinished(root));
        made.map_err(|error| WorkError::file(root, error))?;
        Ok(Self {
            root: root.to_owned(),
            run: root.to_owned(),
            open: Arc::default(),
            manifests: Arc::default(),
        })
    }

    /// The same folder, with the stages after [`Stage::Analyse`] of a run that has a folder of its own for them, unless
    /// `run` is empty.
    pub(super) fn of_run(&self, run: &str) -> Self {
        Self {
            root: self.root.clone(),
            run: if run.is_empty() {
                self.root.clone()
            } else {
                self.root.join(run)
            },
            open: Arc::clone(&self.open),
            manifests: Arc::default(),
        }
    }

    /// The folder of the whole output of a task.
    pub(crate) fn path(&self, task: Task) -> PathBuf {
        self.stage(task.stage).join(format!("{:05}", task.number))
    }

    fn stage(&self, stage: Stage) -> PathBuf {
        let folder = if stage == Stage::Analyse {
            &self.root
        } else {
            &self.run
        };
        folder.join(stage.folder())
    }

    /// The list of the files of a task whose output is whole.
    fn manifest(&self, task: Task) -> Result<Arc<Manifest>, DedupError> {
        let known = |manifest: Option<Arc<Manifest>>| {
            let mut manifests = self.manifests.lock().unwrap_or_else(PoisonError::into_inner);
            match manifest {
                Some(manifest) => manifests.insert(task, Arc::clone(&manifest)).or(Some(manifest)),
                None => manifests.get(&task).map(Arc::clone),
            }
        };
        if let Some(manifest) = known(None) {
            return Ok(manifest);
        }
        let manifest = Arc::new(Manifest::read(&self.path(task))?);
        known(Some(Arc::clone(&manifest)));
        Ok(manifest)
    }

    /// A file of the output of a task, with the size that it had when it was written.
    ///
    /// # Errors
    /// [`DedupError::DamagedStage`] if the file is missing, or has another size.
    pub(crate) fn file(&self, task: Task, name: &str) -> Result<PathBuf, DedupError> {
        let path = self.path(task).join(name);
        let size = match fs::metadata(&path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(DedupError::damaged_stage(&path, StageDamage::Missing));
            }
            Err(error) => return Err(WorkError::file(&path, error).into()),
        };
        self.manifest(task)?.check(&path, size)?;
        Ok(path)
    }

    /// Opens a file of the output of a task.
    pub(crate) fn blocks(&self, task: Task, name: &str) -> Result<BlockFile, DedupError> {
        let file = BlockFile::open(&self.path(task).join(name), &self.open)?;
        self.manifest(task)?.check(file.path(), file.size())?;
        Ok(file)
    }

    /// Opens a file of the output of a task as rows.
    pub(crate) fn rows<R: Row>(&self, task: Task, name: &str) -> Result<RowFile<R>, DedupError> {
        RowFile::of(self.blocks(task, name)?)
    }

    /// Opens the files of one name in the outputs of the first `tasks` tasks of a stage as rows.
    pub(crate) fn rows_of<R: Row>(
        &self,
        stage: Stage,
        tasks: u32,
        name: &str,
    ) -> Result<Vec<RowFile<R>>, DedupError> {
        (0..tasks)
            .map(|number| self.rows(Task::new(stage, number), name))
            .collect()
    }

    /// True if the output of a task is whole.
    pub(crate) fn is_whole(&self, task: Task) -> bool {
        self.path(task).is_dir()
    }

    /// The summary of a task whose output is whole.
    pub(crate) fn summary<T: DeserializeOwned>(&self, task: Task) -> Result<T, DedupError> {
        self.manifest(task)?.summary(&self.path(task))
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
        let stage = self.stage(task.stage);
        let failed = |error| WorkError::file(&stage, error);
        fs::create_dir_all(&stage).map_err(failed)?;
        let partial = PartialTask::begin(&stage, task.number).map_err(failed)?;
        let summary = write(partial.path())?;
        Manifest::write(partial.path(), &summary, LOCK).map_err(failed)?;
        match partial.end(&self.path(task)) {
            Ok(()) => Ok(summary),
            // Another process has finished the task.
            Err(_) if self.is_whole(task) => self.summary(task),
            Err(error) => Err(failed(error).into()),
        }
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

    /// Deletes the folder with all outputs, those of other runs first, and the last stages first. If this is interrupted,
    /// the stages that are left are whole.
    pub(super) fn remove(&self) -> Result<(), DedupError> {
        self.delete_other_runs()?;
        self.delete_stages(&Stage::ALL)?;
        let removed = fs::remove_dir_all(&self.root);
        Ok(removed.map_err(|error| WorkError::file(&self.root, error))?)
    }

    /// Deletes the outputs that a later run over more files does not use.
    pub(super) fn keep_for_later(&self) -> Result<(), DedupError> {
        self.delete_other_runs()?;
        let unused: Vec<Stage> = Stage::ALL
            .into_iter()
            .filter(|stage| !LATER.contains(stage))
            .collect();
        self.delete_stages(&unused)
    }

    /// Deletes the outputs of other runs, but those of [`Stage::Analyse`] belong to all runs.
    fn delete_other_runs(&self) -> Result<(), DedupError> {
        let failed = |error| WorkError::file(&self.root, error);
        let mut runs = vec![self.root.clone()];
        for entry in fs::read_dir(&self.root).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with(RUN) {
                runs.push(entry.path());
            }
        }
        for run in runs.into_iter().filter(|run| *run != self.run) {
            let other = Self { run, ..self.clone() };
            other.delete_stages(&Stage::ALL[1..])?;
            if other.run != other.root {
                delete(&other.run).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Deletes the outputs of stages, the last ones first.
    fn delete_stages(&self, stages: &[Stage]) -> Result<(), DedupError> {
        let deleted = stages.iter().rev().try_for_each(|&stage| {
            let folder = self.stage(stage);
            let deleted = folder.with_file_name(format!("{DELETED}{}", stage.folder()));
            delete(&deleted)?;
            match fs::rename(folder, &deleted) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                renamed => renamed.and_then(|()| delete(&deleted)),
            }
        });
        Ok(deleted.map_err(|error| WorkError::file(&self.root, error))?)
    }
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
        let rows = folder.file(task, "rows").unwrap();
        assert_eq!(fs::read_to_string(&rows).unwrap(), "whole");
        fs::write(&rows, "cut").unwrap();
        let refused = folder.file(task, "rows").unwrap_err().to_string();
        assert!(refused.contains("3 bytes instead of 5"), "{refused}");
        assert_eq!(dir.path().join("work/6-join").read_dir().unwrap().count(), 1);
        folder.remove().unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn an_interrupted_deletion_leaves_whole_tasks_and_can_be_repeated() {
        let dir = tempfile::tempdir().unwrap();
        let folder = StageFolder::open(&dir.path().join("work")).unwrap();
        folder.run(Task::only(Stage::Items), |_| Ok(1)).unwrap();
        let left = folder.root.join(".deleted-3-items");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("rows"), "").unwrap();
        folder.remove().unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }
}
