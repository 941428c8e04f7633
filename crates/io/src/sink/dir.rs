//! The output directory of a run.
//!
//! Invariant: a file has its final name only once it is complete. Until [`OutputFile::finish`] it has a temporary name
//! in the same directory. If the file is dropped before that, or a write to it fails, it is deleted.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use twinprint_index::storage::{Disk, Storage};

use super::claim::{OpenClaim, RunClaim};
use super::dir_state::DirState;
use super::error::SinkError;
use super::file::OutputFile;
use super::unfinished::Unfinished;
use crate::markers::{self, PARTIAL, TEMPORARY};
use crate::work::MadeDirs;

/// The treatment of a finished result that is already in the output directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// The existing result stays, and the new run fails at its start.
    #[default]
    Refuse,
    /// The new result replaces the existing one as soon as the new one is complete. Requires that twinprint wrote every
    /// file in the directory.
    Replace,
}

/// The output directory of one run. Clones refer to the same directory and share its counters.
///
/// ```
/// use twinprint_io::sink::{Existing, OutputDir};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let room = tempfile::tempdir()?;
/// # let path = room.path().join("out");
/// let dir = OutputDir::begin(&path, Existing::Refuse)?;
/// let mut file = dir.file("reports/summary.txt")?;
/// file.append(b"2 documents\n")?;
/// // The file gets its final name, and the run ends: without this call its files are deleted.
/// file.finish()?;
/// dir.finish()?;
/// assert_eq!(std::fs::read(path.join("reports/summary.txt"))?, b"2 documents\n");
///
/// // A later run replaces the result only if it is asked to.
/// assert!(OutputDir::begin(&path, Existing::Refuse).is_err());
/// OutputDir::begin(&path, Existing::Replace)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct OutputDir {
    state: Arc<DirState>,
}

/// The start of a run in an output directory: a new run, or the continuation of one that has ended.
#[derive(Debug)]
pub enum RunStart {
    /// The run starts from the beginning. Files of an earlier unfinished run, if any, were deleted.
    New(OutputDir),
    /// The directory contains the complete output of an earlier run with a claim. That run has ended according to its
    /// store, but was killed before it removed its marker.
    Ended(OutputDir, OpenClaim),
}

impl OutputDir {
    /// Creates an output directory, or opens one that is empty.
    ///
    /// # Errors
    /// [`SinkError::NotEmpty`], [`SinkError::NotADirectory`], or [`SinkError::Io`].
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        Self::create_on(path, Disk)
    }

    /// Begins a run that leaves either its complete output or no files. If the last clone is dropped before
    /// [`finish`](Self::finish) was called, the files of the run are deleted.
    ///
    /// If the directory contains files of a killed run, they are deleted first, and [`replaced`](Self::replaced)
    /// returns true. With [`Existing::Replace`], the result of a finished run is deleted once the new result is
    /// complete.
    ///
    /// # Errors
    /// The same as for [`create`](Self::create); [`SinkError::InUse`], [`SinkError::Foreign`],
    /// [`SinkError::NotAResult`], [`SinkError::Undecided`].
    pub fn begin(path: &Path, existing: Existing) -> Result<Self, SinkError> {
        match Self::begin_or_resume(path, existing, |open| Err(open.undecided(path)))? {
            RunStart::New(dir) | RunStart::Ended(dir, _) => Ok(dir),
        }
    }

    /// Like [`begin`](Self::begin), but calls `has_ended` if the directory contains the complete output of a killed run
    /// with a claim. `has_ended` asks the store that the claim names whether that run has ended.
    ///
    /// # Errors
    /// The same as for [`begin`](Self::begin), except for [`SinkError::Undecided`]; the error of `has_ended`.
    pub fn begin_or_resume<E: From<SinkError>>(
        path: &Path,
        existing: Existing,
        has_ended: impl FnOnce(&OpenClaim) -> Result<bool, E>,
    ) -> Result<RunStart, E> {
        let begun = |unfinished| Self::on(path, Box::new(Disk), Some(unfinished));
        if markers::is_unfinished(path) {
            let abandoned = Unfinished::abandoned(path)?;
            if let Some(open) = abandoned.open_claim().cloned()
                && has_ended(&open)?
            {
                return Ok(RunStart::Ended(begun(abandoned.resume()), open));
            }
            return Ok(RunStart::New(begun(abandoned.replace()?)));
        }
        if existing == Existing::Replace && markers::is_result(path) {
            return Ok(RunStart::New(begun(Unfinished::replace(path)?)));
        }
        let made = MadeDirs::missing(path);
        Self::create(path).map_err(|error| match error {
            SinkError::NotEmpty { path } if existing == Existing::Replace => SinkError::NotAResult { path },
            error => error,
        })?;
        Ok(RunStart::New(begun(Unfinished::begin(path, made)?)))
    }

    /// Records in the marker, before any output is written, that the run changes a store: a collection or the state of
    /// a stream.
    ///
    /// # Errors
    /// The error of the system.
    pub fn claim(&self, claim: &RunClaim) -> Result<(), SinkError> {
        self.mark("name the run in it", |unfinished| unfinished.claim(claim))
    }

    /// Makes all files durable and records in the marker that the output is complete. `digest` identifies the input of
    /// the run. From then on only the store that the claim names shows whether the run has ended. The output therefore
    /// stays even if the run fails, and the next run in the directory asks the store.
    ///
    /// # Errors
    /// The error of the system.
    pub fn declare_whole(&self, digest: u128) -> Result<(), SinkError> {
        self.put_in_place()?;
        self.mark("sync the output", |unfinished| unfinished.declare_whole(digest))
    }

    /// The files of a run so far, relative to [`files_dir`](Self::files_dir), in order. Empty if the run was not started with
    /// [`begin`](Self::begin).
    pub(super) fn run_files(&self) -> Result<Vec<PathBuf>, SinkError> {
        let unfinished = self.state.unfinished.as_ref();
        let files = unfinished.map_or_else(|| Ok(Vec::new()), Unfinished::files);
        files.map_err(|error| self.state.failed(error, &self.state.root, "list its files"))
    }

    /// Replaces an earlier result, if there is one, by the files of this run.
    fn put_in_place(&self) -> Result<(), SinkError> {
        let unfinished = self.state.unfinished.as_ref();
        unfinished.map_or(Ok(()), Unfinished::put_in_place)
    }

    /// Calls `change` with the marker of the run. Does nothing if the run was not started with [`begin`](Self::begin).
    fn mark(
        &self,
        action: &'static str,
        change: impl FnOnce(&Unfinished) -> io::Result<()>,
    ) -> Result<(), SinkError> {
        let changed = self.state.unfinished.as_ref().map_or(Ok(()), change);
        changed.map_err(|error| self.state.failed(error, &self.state.root, action))
    }

    /// Checks that no input is a file in the output directory that [`begin`](Self::begin) would delete.
    ///
    /// # Errors
    /// [`SinkError::InputInside`] for the first input that would be deleted.
    pub fn check_inputs<'i>(
        path: &Path,
        inputs: impl IntoIterator<Item = &'i Path>,
    ) -> Result<(), SinkError> {
        let Ok(root) = fs::canonicalize(path) else {
            return Ok(());
        };
        if !root.is_dir() {
            return Ok(());
        }
        let inside = |input: &&Path| fs::canonicalize(input).is_ok_and(|input| input.starts_with(&root));
        match inputs.into_iter().find(inside) {
            None => Ok(()),
            Some(input) => Err(SinkError::InputInside {
                path: path.to_owned(),
                input: input.to_owned(),
            }),
        }
    }

    /// Ends a run that was started with [`begin`](Self::begin). Its files stay from then on.
    ///
    /// # Errors
    /// The error of the system.
    pub fn finish(&self) -> Result<(), SinkError> {
        self.put_in_place()?;
        self.mark("remove the marker of an unfinished run from it", |unfinished| {
            unfinished.finish()?;
            self.state.storage.sync_dir(&self.state.root)
        })
    }

    /// Returns true if the directory contained files of an unfinished run, which were deleted.
    pub fn replaced(&self) -> bool {
        self.state
            .unfinished
            .as_ref()
            .is_some_and(|unfinished| unfinished.replaced)
    }

    /// Like [`create`](Self::create), but writes to the given storage, such as one that simulates faults in tests.
    ///
    /// # Errors
    /// The same as for [`create`](Self::create).
    pub fn create_on(path: &Path, storage: impl Storage + 'static) -> Result<Self, SinkError> {
        let first = fs::read_dir(path).map(|mut entries| entries.next());
        match first {
            Ok(Some(_)) => {
                return Err(SinkError::NotEmpty {
                    path: path.to_owned(),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(SinkError::NotADirectory {
                    path: path.to_owned(),
                });
            }
            // If the directory is missing, it is created below. After any other error, that creation fails as well and
            // reports the reason.
            _ => {}
        }
        let dir = Self::on(path, Box::new(storage), None);
        dir.create_dir(path)?;
        Ok(dir)
    }

    /// Opens a directory, which is created if it is missing. New files replace existing files of the same names.
    ///
    /// # Errors
    /// The error of the system.
    pub fn open(path: &Path) -> Result<Self, SinkError> {
        let dir = Self::on(path, Box::new(Disk), None);
        dir.create_dir(path)?;
        Ok(dir)
    }

    fn on(path: &Path, storage: Box<dyn Storage>, unfinished: Option<Unfinished>) -> Self {
        Self {
            state: Arc::new(DirState::new(path, storage, unfinished)),
        }
    }

    /// The directory that files are written to until the run finishes. Temporary files belong there, because it is
    /// deleted if the run fails.
    pub fn files_dir(&self) -> &Path {
        &self.state.files_dir
    }

    /// The path of the output directory.
    pub fn path(&self) -> &Path {
        &self.state.root
    }

    /// The number of bytes written to the files of the directory so far.
    pub fn written(&self) -> u64 {
        self.state.written.load(Ordering::Relaxed)
    }

    /// Adds `bytes` to the number of bytes that the whole output may need. If the disk is full, the error states that
    /// number.
    pub fn expect_bytes(&self, bytes: u64) {
        self.state.expected.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Creates a file at the path `relative` in the directory, with the folders above it. It has a temporary name until
    /// [`OutputFile::finish`].
    ///
    /// # Errors
    /// [`SinkError::Outside`] if `relative` is absolute or contains `..`; [`SinkError::Io`].
    pub fn file(&self, relative: impl AsRef<Path>) -> Result<OutputFile, SinkError> {
        let relative = relative.as_ref();
        let plain = relative.components().all(|c| matches!(c, Component::Normal(_)));
        let path = self.state.files_dir.join(relative);
        let (true, Some(folder), Some(_)) = (plain, path.parent(), relative.file_name()) else {
            return Err(SinkError::Outside {
                path: relative.to_owned(),
            });
        };
        if let Some(unfinished) = &self.state.unfinished {
            unfinished
                .note(relative)
                .map_err(|e| self.state.failed(e, &path, "record it in the marker"))?;
        }
        let number = self.state.next_temporary.fetch_add(1, Ordering::Relaxed);
        // The temporary name is short, because the final name may already be as long as the file system allows.
        let temporary = folder.join(format!("{TEMPORARY}{number}{PARTIAL}"));
        // The file is created first without its folder, because the folder usually exists.
        let created = self.state.storage.create(&temporary).or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            self.state.storage.create_dir_all(folder)?;
            self.state.storage.create(&temporary)
        });
        let file = created.map_err(|e| self.state.failed(e, &path, "create it"))?;
        let state = Arc::clone(&self.state);
        Ok(OutputFile::new(state, path, temporary, file))
    }

    fn create_dir(&self, path: &Path) -> Result<(), SinkError> {
        let made = self.state.storage.create_dir_all(path);
        made.map_err(|error| self.state.failed(error, path, "create the directory"))
    }
}
