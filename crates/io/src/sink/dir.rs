//! The output directory and the files in it.
//!
//! Invariant: a file stands under its final name only once it is whole. Until [`OutputFile::finish`] it has a
//! temporary name in the same directory; dropped before that, or after a failed write, it is deleted.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use twinprint_index::storage::{Disk, Storage};

use super::claim::Claim;
use super::claim::OpenClaim;
use super::error::SinkError;
use super::file::OutputFile;
use super::unfinished::Unfinished;
use crate::markers::{self, PARTIAL, TEMPORARY};
use crate::work::MadeDirs;

/// The treatment of a finished result in the output directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the run is refused.
    #[default]
    Refuse,
    /// The new result replaces it once that is whole, if twinprint wrote all of it.
    Replace,
}

/// A directory for the output of one job. Clones share its counters.
#[derive(Debug, Clone)]
pub struct OutputDir {
    shared: Arc<Shared>,
}

/// An output directory at the beginning of a run.
#[derive(Debug)]
pub enum Begun {
    /// It is empty.
    New(OutputDir),
    /// It holds the whole output of a run that has ended, of which only the marker is left.
    Ended(OutputDir, OpenClaim),
}

#[derive(Debug)]
pub(super) struct Shared {
    root: PathBuf,
    /// The directory that files are written to: the root, or one in there until they replace an earlier result.
    place: PathBuf,
    pub(super) storage: Box<dyn Storage>,
    /// Numbers the temporary names.
    files: AtomicU64,
    /// Bytes that went through to the storage.
    pub(super) written: AtomicU64,
    expected: AtomicU64,
    /// For a run that deletes its files unless it comes to its end.
    unfinished: Option<Unfinished>,
}

impl OutputDir {
    /// Makes the directory, which must be new or empty.
    ///
    /// # Errors
    /// [`SinkError::NotEmpty`], [`SinkError::NotADirectory`], or what the system says.
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        Self::create_on(path, Disk)
    }

    /// As [`create`](Self::create), for a run that finishes or leaves nothing: unless [`finish`](Self::finish) is called, its files
    /// are deleted with the last clone. The files of a killed run are deleted first, see [`replaced`](Self::replaced). The result of
    /// a finished one goes under [`Existing::Replace`], but not before the new one is whole.
    ///
    /// # Errors
    /// As [`create`](Self::create); [`SinkError::InUse`], [`SinkError::Foreign`], [`SinkError::NotAResult`], [`SinkError::Undecided`].
    pub fn begin(path: &Path, existing: Existing) -> Result<Self, SinkError> {
        match Self::begin_or_resume(path, existing, |open| Err(open.undecided(path)))? {
            Begun::New(dir) | Begun::Ended(dir, _) => Ok(dir),
        }
    }

    /// As [`begin`](Self::begin), for a caller that can find out whether a run with an open claim has ended.
    pub fn begin_or_resume<E: From<SinkError>>(
        path: &Path,
        existing: Existing,
        has_ended: impl FnOnce(&OpenClaim) -> Result<bool, E>,
    ) -> Result<Begun, E> {
        let begun = |unfinished| Self::on(path, Box::new(Disk), Some(unfinished));
        if markers::is_unfinished(path) {
            let abandoned = Unfinished::abandoned(path)?;
            if let Some(open) = abandoned.open_claim().cloned()
                && has_ended(&open)?
            {
                return Ok(Begun::Ended(begun(abandoned.resume()), open));
            }
            return Ok(Begun::New(begun(abandoned.replace()?)));
        }
        if existing == Existing::Replace && markers::is_result(path) {
            return Ok(Begun::New(begun(Unfinished::replace(path)?)));
        }
        let made = MadeDirs::missing(path);
        Self::create(path).map_err(|error| match error {
            SinkError::NotEmpty { path } if existing == Existing::Replace => SinkError::NotAResult { path },
            error => error,
        })?;
        Ok(Begun::New(begun(Unfinished::begin(path, made)?)))
    }

    /// Notes, before anything is written, that the run changes a store.
    ///
    /// # Errors
    /// The error of the system.
    pub fn claim(&self, claim: &Claim) -> Result<(), SinkError> {
        self.mark("name the run in it", |unfinished| unfinished.claim(claim))
    }

    /// Makes all files durable and notes that the output is whole. From here on the store of the claim shows whether the run has
    /// ended, so the output stays where it is, even if the run fails, until somebody asks.
    ///
    /// # Errors
    /// The error of the system.
    pub fn declare_whole(&self, digest: u128) -> Result<(), SinkError> {
        self.put_in_place()?;
        self.mark("sync the output", |unfinished| unfinished.declare_whole(digest))
    }

    /// Replaces an earlier result by the files of this run.
    fn put_in_place(&self) -> Result<(), SinkError> {
        let unfinished = self.shared.unfinished.as_ref();
        unfinished.map_or(Ok(()), Unfinished::put_in_place)
    }

    /// Changes the marker of a run that was [begun](Self::begin).
    fn mark(
        &self,
        action: &'static str,
        change: impl FnOnce(&Unfinished) -> io::Result<()>,
    ) -> Result<(), SinkError> {
        let changed = self.shared.unfinished.as_ref().map_or(Ok(()), change);
        changed.map_err(|error| self.shared.failed(error, &self.shared.root, action))
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

    /// Ends a run that was [begun](Self::begin): its files stay.
    ///
    /// # Errors
    /// The error of the system.
    pub fn finish(&self) -> Result<(), SinkError> {
        self.put_in_place()?;
        self.mark("take the mark of an unfinished run from it", |unfinished| {
            unfinished.finish()?;
            self.shared.storage.sync_dir(&self.shared.root)
        })
    }

    /// Whether the directory held what an unfinished run had left, which was deleted.
    pub fn replaced(&self) -> bool {
        self.shared
            .unfinished
            .as_ref()
            .is_some_and(|unfinished| unfinished.replaced)
    }

    /// As [`create`](Self::create), on a storage of the caller's.
    ///
    /// # Errors
    /// As [`create`](Self::create).
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
            // A directory that is not there is made below; for others that fails and says why.
            _ => {}
        }
        let dir = Self::on(path, Box::new(storage), None);
        dir.create_dir(path)?;
        Ok(dir)
    }

    /// Takes a directory as it is, making it if need be; files of the same names are replaced.
    ///
    /// # Errors
    /// The error of the system.
    pub fn open(path: &Path) -> Result<Self, SinkError> {
        let dir = Self::on(path, Box::new(Disk), None);
        dir.create_dir(path)?;
        Ok(dir)
    }

    fn on(path: &Path, storage: Box<dyn Storage>, unfinished: Option<Unfinished>) -> Self {
        let place = unfinished
            .as_ref()
            .map_or_else(|| path.to_owned(), Unfinished::place);
        let (files, written, expected) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self {
            shared: Arc::new(Shared {
                root: path.to_owned(),
                place,
                storage,
                files,
                written,
                expected,
                unfinished,
            }),
        }
    }

    /// The directory that files are written to, for temporary ones: it goes if the run fails.
    pub fn place(&self) -> &Path {
        &self.shared.place
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.shared.root
    }

    /// Bytes written to its files so far.
    pub fn written(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed)
    }

    /// Adds to the bytes that the whole output may need, which the error of a full disk names.
    pub fn expect_bytes(&self, bytes: u64) {
        self.shared.expected.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Begins a file at `relative`, making the folders above it.
    ///
    /// # Errors
    /// [`SinkError::Outside`] unless `relative` is a plain path below the directory; what the system says.
    pub fn file(&self, relative: impl AsRef<Path>) -> Result<OutputFile, SinkError> {
        let relative = relative.as_ref();
        let plain = relative.components().all(|c| matches!(c, Component::Normal(_)));
        let path = self.shared.place.join(relative);
        let (true, Some(folder), Some(_)) = (plain, path.parent(), relative.file_name()) else {
            return Err(SinkError::Outside {
                path: relative.to_owned(),
            });
        };
        if let Some(unfinished) = &self.shared.unfinished {
            unfinished
                .note(relative)
                .map_err(|e| self.shared.failed(e, &path, "note that it is begun"))?;
        }
        let number = self.shared.files.fetch_add(1, Ordering::Relaxed);
        // Short, since the final name may be as long as the file system allows.
        let temporary = folder.join(format!("{TEMPORARY}{number}{PARTIAL}"));
        // Most files go where others have gone before, so that their folder is there already.
        let created = self.shared.storage.create(&temporary).or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            self.shared.storage.create_dir_all(folder)?;
            self.shared.storage.create(&temporary)
        });
        let file = created.map_err(|e| self.shared.failed(e, &path, "create it"))?;
        let shared = Arc::clone(&self.shared);
        Ok(OutputFile::new(shared, path, temporary, file))
    }

    fn create_dir(&self, path: &Path) -> Result<(), SinkError> {
        let made = self.shared.storage.create_dir_all(path);
        made.map_err(|error| self.shared.failed(error, path, "create the directory"))
    }
}

impl Shared {
    /// Gives an error its file and, on a full disk, its sizes.
    pub(super) fn failed(&self, error: io::Error, path: &Path, action: &'static str) -> SinkError {
        // By its final name.
        let path = match path.strip_prefix(&self.place) {
            Ok(file) if file != Path::new("") => self.root.join(file),
            _ => path.to_owned(),
        };
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                let expected = Some(self.expected.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0);
                SinkError::NoSpace {
                    path,
                    written: self.written.load(Ordering::Relaxed),
                    expected,
                }
            }
            _ => SinkError::Io {
                path,
                action,
                source: error,
            },
        }
    }
}
