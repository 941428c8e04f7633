//! The output directory of a run.
//!
//! Invariant: a file has its final name only once it is complete. Until [`OutputFile::finish`] it has a temporary name in the same
//! directory. A file that is dropped before that, or whose write failed, is deleted.

use std::fs;
use std::io;
use std::path::{Component, Path};
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

/// The treatment of a finished result in the output directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// The result stays and the run is refused.
    #[default]
    Refuse,
    /// The new result replaces the earlier one once the new one is complete, provided that twinprint wrote every file in the directory.
    Replace,
}

/// The output directory of one run. Clones share its counters.
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

/// The state of an output directory when a run starts.
#[derive(Debug)]
pub enum RunStart {
    /// The directory is empty.
    New(OutputDir),
    /// The directory has the whole output of an earlier run that has ended, with its marker still in place.
    Ended(OutputDir, OpenClaim),
}

impl OutputDir {
    /// Creates the directory, which must be new or empty.
    ///
    /// # Errors
    /// [`SinkError::NotEmpty`], [`SinkError::NotADirectory`], or [`SinkError::Io`].
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        Self::create_on(path, Disk)
    }

    /// Begins a run that either finishes or leaves no files: unless [`finish`](Self::finish) is called, the files are deleted when the
    /// last clone is dropped.
    ///
    /// Files of a killed run are deleted first, see [`replaced`](Self::replaced). With [`Existing::Replace`] the result of a finished run
    /// is deleted once the new one is complete.
    ///
    /// # Errors
    /// The same as for [`create`](Self::create); [`SinkError::InUse`], [`SinkError::Foreign`], [`SinkError::NotAResult`], [`SinkError::Undecided`].
    pub fn begin(path: &Path, existing: Existing) -> Result<Self, SinkError> {
        match Self::begin_or_resume(path, existing, |open| Err(open.undecided(path)))? {
            RunStart::New(dir) | RunStart::Ended(dir, _) => Ok(dir),
        }
    }

    /// Like [`begin`](Self::begin), for a caller that can find out whether a run with an open claim has ended.
    ///
    /// # Errors
    /// The same as for [`begin`](Self::begin), without [`SinkError::Undecided`]; the error of `has_ended`.
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

    /// Records in the marker, before anything is written, that the run changes a store.
    ///
    /// # Errors
    /// The error of the system.
    pub fn claim(&self, claim: &RunClaim) -> Result<(), SinkError> {
        self.mark("name the run in it", |unfinished| unfinished.claim(claim))
    }

    /// Makes all files durable and records that the output is complete. After this call only the store of the claim shows whether the run
    /// has ended, so the output stays in place even if the run fails. The next run in the directory asks the store.
    ///
    /// # Errors
    /// The error of the system.
    pub fn declare_whole(&self, digest: u128) -> Result<(), SinkError> {
        self.put_in_place()?;
        self.mark("sync the output", |unfinished| unfinished.declare_whole(digest))
    }

    /// Replaces an earlier result by the files of this run.
    fn put_in_place(&self) -> Result<(), SinkError> {
        let unfinished = self.state.unfinished.as_ref();
        unfinished.map_or(Ok(()), Unfinished::put_in_place)
    }

    /// Changes the marker of a run that was [begun](Self::begin).
    fn mark(
        &self,
        action: &'static str,
        change: impl FnOnce(&Unfinished) -> io::Result<()>,
    ) -> Result<(), SinkError> {
        let changed = self.state.unfinished.as_ref().map_or(Ok(()), change);
        changed.map_err(|error| self.state.failed(error, &self.state.root, action))
    }

    /// Refuses inputs in an output directory whose files [`begin`](Self::begin) would delete.
    ///
    /// # Errors
    /// [`SinkError::InputInside`].
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

    /// Ends a run that was [begun](Self::begin), so that its files stay.
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

    /// True if the directory had files of an unfinished run, which were deleted.
    pub fn replaced(&self) -> bool {
        self.state
            .unfinished
            .as_ref()
            .is_some_and(|unfinished| unfinished.replaced)
    }

    /// Like [`create`](Self::create), on a given storage.
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
            // A missing directory is created below. For any other error, creating the directory fails too and returns
            // the reason.
            _ => {}
        }
        let dir = Self::on(path, Box::new(storage), None);
        dir.create_dir(path)?;
        Ok(dir)
    }

    /// Opens a directory and creates it if it is missing. Files of the same names are replaced.
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

    /// The directory that files are written to until the run finishes. It is the place for temporary files, since it is deleted if
    /// the run fails.
    pub fn files_dir(&self) -> &Path {
        &self.state.files_dir
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.state.root
    }

    /// Bytes written to its files so far.
    pub fn written(&self) -> u64 {
        self.state.written.load(Ordering::Relaxed)
    }

    /// Adds to the number of bytes that the whole output may need. The error of a full disk reports it.
    pub fn expect_bytes(&self, bytes: u64) {
        self.state.expected.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Begins a file at the path `relative` and creates the folders above it.
    ///
    /// # Errors
    /// [`SinkError::Outside`] unless `relative` is a plain path below the directory; [`SinkError::Io`].
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
        // The temporary name is short, because the final name may be as long as the file system allows.
        let temporary = folder.join(format!("{TEMPORARY}{number}{PARTIAL}"));
        // First tried without creating the folder, because it usually exists.
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
