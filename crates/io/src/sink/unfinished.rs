//! Manages the marker of an unfinished run in an output directory, and deletes the files of a run that does not finish.
//!
//! The marker is the first file that a run creates. It names every output file before that file is created, so that
//! exactly the files of the run can be deleted and never other files. A run that fails deletes its own files. The files
//! of a killed run are deleted by the next run in the same directory. The process of a run locks the marker, which
//! distinguishes a running run from a killed one.
//!
//! Some runs change a store: a collection or the state of a stream. Their output is no longer deleted once it is
//! [complete](Unfinished::declare_whole): see [`claim`](super::claim).
//!
//! A finished run replaces its marker by a list of its files. A later run needs the list to replace the whole result.
//! The later run writes to a directory inside the output directory ([`REPLACEMENT`]), which has its own marker, and
//! leaves the earlier result unchanged. Once the new output is complete, the names of the earlier files are added to
//! the marker, and the marker is [renamed](Unfinished::put_in_place) into the output directory, in one step. Then the
//! earlier files are deleted and the new files are moved to their places. If the later run is killed before the rename,
//! the earlier result is intact, and the next run deletes the inner directory. If it is killed after the rename, the
//! output directory contains an unfinished run.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use twinprint_index::storage::{Disk, Storage as _};

use super::claim::{self, OpenClaim, RunClaim};
use super::error::SinkError;
use super::run_files::{MarkerEntries, REPLACED_PREFIX, RunFiles};
use crate::markers::{FILE_LIST, PARTIAL, REPLACEMENT, TEMPORARY, UNFINISHED};
use crate::work::MadeDirs;

/// The marker of a run. If it is dropped before [`finish`](Self::finish), the files of the run are deleted.
#[derive(Debug)]
pub(super) struct Unfinished {
    root: PathBuf,
    marker: Mutex<File>,
    /// True if the files must not be deleted, because the run has finished, or because the next run must ask the store
    /// whether it has ended.
    settled: AtomicBool,
    /// True if the directory contained files of an unfinished run, which were deleted.
    pub(super) replaced: bool,
    /// The finished result that this run will replace. `None` once the new files have replaced it.
    earlier: Mutex<Option<EarlierResult>>,
    /// The output directory and the directories above it that this run created. Those that are empty are removed at the
    /// end.
    made: MadeDirs,
}

/// A finished result that a run will replace.
#[derive(Debug)]
struct EarlierResult {
    /// The list of the result's files. It is locked, so that a second run that would replace the same result fails.
    _list: File,
    entries: MarkerEntries,
}

impl Unfinished {
    /// Creates the marker in the empty directory `root`.
    pub(super) fn begin(root: &Path, made: MadeDirs) -> Result<Self, SinkError> {
        Ok(Self::new(root, new_marker(root)?, made, false))
    }

    /// Opens and locks the marker of a killed run in `root`.
    pub(super) fn abandoned(root: &Path) -> Result<AbandonedDir, SinkError> {
        let mut marker = open_locked(root, UNFINISHED)?;
        let entries = MarkerEntries::read(&mut marker).map_err(failed(&root.join(UNFINISHED), "read it"))?;
        Ok(AbandonedDir {
            root: root.to_owned(),
            marker,
            entries,
        })
    }

    /// Begins a run in `root` that will replace the result of a finished run. The result stays until the new output is
    /// complete.
    pub(super) fn replace(root: &Path) -> Result<Self, SinkError> {
        let mut list = open_locked(root, FILE_LIST)?;
        let entries = MarkerEntries::read(&mut list).map_err(failed(&root.join(FILE_LIST), "read it"))?;
        // The files are checked before any work is done, and again before any file is deleted.
        RunFiles::find_all(root, &entries)?;
        let next = root.join(REPLACEMENT);
        match fs::remove_dir_all(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&next, "delete the files of a killed run in it")(error));
            }
            _ => {}
        }
        fs::create_dir(&next).map_err(failed(&next, "create the directory"))?;
        let marker = new_marker(&next)?;
        let mut run = Self::new(root, marker, MadeDirs::default(), false);
        run.earlier = Mutex::new(Some(EarlierResult { _list: list, entries }));
        Ok(run)
    }

    fn new(root: &Path, marker: File, made: MadeDirs, replaced: bool) -> Self {
        Self {
            root: root.to_owned(),
            marker: Mutex::new(marker),
            settled: AtomicBool::new(false),
            replaced,
            earlier: Mutex::new(None),
            made,
        }
    }

    fn earlier(&self) -> MutexGuard<'_, Option<EarlierResult>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory that the run writes its files to.
    pub(super) fn files_dir(&self) -> PathBuf {
        if self.earlier().is_some() {
            self.root.join(REPLACEMENT)
        } else {
            self.root.clone()
        }
    }

    /// Replaces the earlier result by the files of this run, which must be complete. Does nothing if there is no
    /// earlier result.
    pub(super) fn put_in_place(&self) -> Result<(), SinkError> {
        let mut earlier = self.earlier();
        let Some(EarlierResult { entries, .. }) = &*earlier else {
            return Ok(());
        };
        let (root, next) = (&self.root, self.root.join(REPLACEMENT));
        // This fails, and the earlier result stays, if somebody added a file to the directory during the run.
        let old = RunFiles::find_all(root, entries)?;
        let marker = next.join(UNFINISHED);
        let note_old = |name: &Vec<u8>| self.append(&[REPLACED_PREFIX, name].concat(), false);
        let mut names = entries.files.iter();
        names
            .try_for_each(note_old)
            .and_then(|()| fs::rename(&marker, root.join(UNFINISHED)))
            .map_err(failed(&marker, "move it to the output directory"))?;
        let replaced = earlier.take();
        old.without_replacement()
            .delete()
            .map_err(failed(root, "delete the files of an earlier run in it"))?;
        move_all(&next, root)
            .and_then(|()| fs::remove_dir(&next))
            .map_err(failed(&next, "move its files to the output directory"))?;
        drop(replaced);
        Ok(())
    }

    /// Adds a file that is about to be created to the marker. `relative` is its path in the output directory.
    pub(super) fn note(&self, relative: &Path) -> io::Result<()> {
        self.append(relative.as_os_str().as_encoded_bytes(), false)
    }

    /// The files of the run so far, relative to the output directory, in order.
    pub(super) fn files(&self) -> io::Result<Vec<PathBuf>> {
        let Ok(mut marker) = self.marker.lock() else {
            return Ok(Vec::new());
        };
        let (dir, entries) = (self.files_dir(), MarkerEntries::read(&mut marker)?);
        Ok(RunFiles::find(&dir, &entries)?.relative(&dir))
    }

    /// Adds the claim of a run that changes a store to the marker. Must be called before any file is created.
    pub(super) fn claim(&self, claim: &RunClaim) -> io::Result<()> {
        self.append(claim::entry(claim).as_bytes(), true)
    }

    fn append(&self, entry: &[u8], durable: bool) -> io::Result<()> {
        let line = MarkerEntries::format([entry]);
        let Ok(mut marker) = self.marker.lock() else {
            return Ok(());
        };
        marker.write_all(&line)?;
        if durable { marker.sync_all() } else { Ok(()) }
    }

    /// Makes all files durable and records in the marker that the output is complete. From then on, a later run that
    /// finds the marker asks the store whether this run has ended.
    pub(super) fn declare_whole(&self, digest: u128) -> io::Result<()> {
        let entries = match self.marker.lock() {
            Ok(mut marker) => MarkerEntries::read(&mut marker)?,
            Err(_) => return Ok(()),
        };
        RunFiles::find(&self.root, &entries)?.sync(&self.root)?;
        self.made.parents().try_for_each(|dir| Disk.sync_dir(dir))?;
        self.settled.store(true, Ordering::Relaxed);
        self.append(claim::whole(digest).as_bytes(), true)
    }

    /// Replaces the marker by the list of the run's files. From then on the files stay.
    pub(super) fn finish(&self) -> io::Result<()> {
        if let Ok(mut marker) = self.marker.lock() {
            write_list(&self.root, &MarkerEntries::read(&mut marker)?)?;
        }
        // The marker is deleted as a whole, not emptied first, because it must name all files as long as it exists. A
        // process that has it open detects the deletion.
        fs::remove_file(self.root.join(UNFINISHED))?;
        self.settled.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// The output directory of a killed run, with its marker locked.
#[derive(Debug)]
pub(super) struct AbandonedDir {
    root: PathBuf,
    marker: File,
    entries: MarkerEntries,
}

impl AbandonedDir {
    /// The claim of the killed run if its output is complete. Only the store that the claim names knows whether that
    /// run has ended.
    pub(super) fn open_claim(&self) -> Option<&OpenClaim> {
        self.entries.claim.as_ref()
    }

    /// Deletes the files of the killed run and begins a new run.
    pub(super) fn replace(mut self) -> Result<Unfinished, SinkError> {
        let root = &self.root;
        RunFiles::find_all(root, &self.entries)?
            .delete()
            .map_err(failed(root, "delete the files of an earlier run in it"))?;
        self.marker
            .set_len(0)
            .and_then(|()| self.marker.rewind())
            .map_err(failed(&root.join(UNFINISHED), "write it"))?;
        Ok(Unfinished::new(root, self.marker, MadeDirs::default(), true))
    }

    /// Resumes the killed run, whose output is complete. Its files stay.
    pub(super) fn resume(self) -> Unfinished {
        let resumed = Unfinished::new(&self.root, self.marker, MadeDirs::default(), false);
        resumed.settled.store(true, Ordering::Relaxed);
        resumed
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.settled.load(Ordering::Relaxed) {
            return;
        }
        if self.earlier().is_some() {
            // The earlier result is unchanged. If the directory of new files cannot be deleted now, the next run
            // deletes it.
            let _deleted = fs::remove_dir_all(self.root.join(REPLACEMENT));
            return;
        }
        // If a file cannot be deleted now, the marker stays, and the next run deletes the file.
        let path = self.root.join(UNFINISHED);
        let _deleted = File::open(&path)
            .and_then(|mut marker| RunFiles::find(&self.root, &MarkerEntries::read(&mut marker)?))
            .and_then(RunFiles::delete)
            .and_then(|()| fs::remove_file(&path));
    }
}

/// Creates the marker of a run and locks it.
fn new_marker(root: &Path) -> Result<File, SinkError> {
    let path = root.join(UNFINISHED);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path);
    let marker = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => SinkError::InUse {
            path: root.to_owned(),
        },
        _ => failed(&path, "create it")(error),
    })?;
    lock(&marker, root)?;
    Ok(marker)
}

/// Moves the contents of the directory `from` to `to`. Subdirectories that exist in both are merged.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() && target.is_dir() {
            move_all(&source, &target)?;
            fs::remove_dir(&source)?;
        } else {
            fs::rename(&source, &target)?;
        }
    }
    Ok(())
}

/// Writes the list of the files that a marker names. The list is sorted, because threads add names in any order.
fn write_list(root: &Path, entries: &MarkerEntries) -> io::Result<()> {
    let mut names: Vec<&[u8]> = entries.files.iter().map(Vec::as_slice).collect();
    names.sort_unstable();
    let temporary = root.join(format!("{TEMPORARY}list{PARTIAL}"));
    let mut file = File::create(&temporary)?;
    file.write_all(&MarkerEntries::format(names))?;
    file.sync_all()?;
    fs::rename(&temporary, root.join(FILE_LIST))
}

/// Opens the marker or the list of files in a directory and locks it for this process.
fn open_locked(root: &Path, name: &str) -> Result<File, SinkError> {
    let path = root.join(name);
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let file = file.map_err(failed(&path, "open it"))?;
    lock(&file, root)?;
    // While this process waited for the lock, its owner may have finished, or another run may have replaced the file.
    if fs::symlink_metadata(&path).is_err() {
        return Err(SinkError::InUse {
            path: root.to_owned(),
        });
    }
    Ok(file)
}

/// Locks the marker, and fails if another process has locked it. On a file system without locks, the run of an existing
/// marker is assumed to have been killed.
fn lock(marker: &File, root: &Path) -> Result<(), SinkError> {
    match marker.try_lock() {
        Err(TryLockError::WouldBlock) => Err(SinkError::InUse {
            path: root.to_owned(),
        }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> SinkError {
    move |source| SinkError::Io {
        path: path.to_owned(),
        action,
        source,
    }
}
