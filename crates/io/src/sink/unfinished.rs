//! The marker of an unfinished run in an output directory, and the deletion of the files of such a run.
//!
//! The marker is the first file of a run. It names every output file before that file is begun, so only files of the run are deleted, never a
//! foreign file. A run that fails deletes its files itself. The files of a killed run are deleted by the next run into the same
//! directory. A lock on the marker distinguishes a live run from a dead one.
//!
//! The output of a run that changes a store is not deleted once it is [whole](Unfinished::declare_whole): see [`claim`](super::claim).
//!
//! A finished run replaces the marker by a list of its files, so that a later run can replace the whole result. The later run writes to a
//! directory inside the output directory ([`REPLACEMENT`]), which has its own marker, and leaves the earlier result as it is. Once the new
//! output is complete, the names of the earlier files are added to the marker and the marker is
//! [renamed](Unfinished::put_in_place) into the output directory, in one step. Then the earlier files are deleted and the new files are
//! moved. A run that is killed before the rename leaves the earlier result and a directory that the next run deletes. A run that is killed after
//! it leaves an unfinished run.

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

/// The marker of a run. If it is dropped before [`finish`](Self::finish), it deletes the files of the run.
#[derive(Debug)]
pub(super) struct Unfinished {
    root: PathBuf,
    marker: Mutex<File>,
    /// True if the files must stay: the run has finished, or the next run must find out whether it has.
    settled: AtomicBool,
    /// True if files of an unfinished run were deleted.
    pub(super) replaced: bool,
    /// The finished result that this run will replace, until the new files are put in its place.
    earlier: Mutex<Option<EarlierResult>>,
    /// The output directory and the directories above it that this run created. They stay unless they are empty.
    made: MadeDirs,
}

/// A finished result.
#[derive(Debug)]
struct EarlierResult {
    /// The list of its files, locked: of two runs that would replace the result, the second is refused.
    _list: File,
    entries: MarkerEntries,
}

impl Unfinished {
    /// Marks the empty directory `root`.
    pub(super) fn begin(root: &Path, made: MadeDirs) -> Result<Self, SinkError> {
        Ok(Self::new(root, new_marker(root)?, made, false))
    }

    /// Locks the directory of a killed run.
    pub(super) fn abandoned(root: &Path) -> Result<AbandonedDir, SinkError> {
        let mut marker = open_locked(root, UNFINISHED)?;
        let entries = MarkerEntries::read(&mut marker).map_err(failed(&root.join(UNFINISHED), "read it"))?;
        Ok(AbandonedDir {
            root: root.to_owned(),
            marker,
            entries,
        })
    }

    /// Begins a run in `root` that replaces the result of a finished run.
    pub(super) fn replace(root: &Path) -> Result<Self, SinkError> {
        let mut list = open_locked(root, FILE_LIST)?;
        let entries = MarkerEntries::read(&mut list).map_err(failed(&root.join(FILE_LIST), "read it"))?;
        // Checked before any work is done, and again before anything is deleted.
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

    /// The directory that the run writes to.
    pub(super) fn files_dir(&self) -> PathBuf {
        if self.earlier().is_some() {
            self.root.join(REPLACEMENT)
        } else {
            self.root.clone()
        }
    }

    /// Replaces the earlier result, if there is one, by the files of this run, which must be complete.
    pub(super) fn put_in_place(&self) -> Result<(), SinkError> {
        let mut earlier = self.earlier();
        let Some(EarlierResult { entries, .. }) = &*earlier else {
            return Ok(());
        };
        let (root, next) = (&self.root, self.root.join(REPLACEMENT));
        // If a foreign file was added during the run, this fails and the earlier result stays.
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

    /// Adds the name of a file that is about to be created, relative to the directory.
    pub(super) fn note(&self, relative: &Path) -> io::Result<()> {
        self.append(relative.as_os_str().as_encoded_bytes(), false)
    }

    /// Adds the claim of a run that changes a store, before anything else.
    pub(super) fn claim(&self, claim: &RunClaim) -> io::Result<()> {
        self.append(claim::entry(claim).as_bytes(), true)
    }

    fn append(&self, entry: &[u8], durable: bool) -> io::Result<()> {
        let mut line = entry.to_owned();
        // The entry ends with a zero, the only byte that no file name contains.
        line.push(0);
        let Ok(mut marker) = self.marker.lock() else {
            return Ok(());
        };
        marker.write_all(&line)?;
        if durable { marker.sync_all() } else { Ok(()) }
    }

    /// Makes all files durable and records that the output is complete. From then on, a run that finds the marker asks the store whether
    /// this run has ended.
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

    /// Replaces the marker by the list of the run's files, which then stay.
    pub(super) fn finish(&self) -> io::Result<()> {
        if let Ok(mut marker) = self.marker.lock() {
            write_list(&self.root, &MarkerEntries::read(&mut marker)?)?;
        }
        // The marker is deleted in one step, because it must name all files as long as it exists. A process that has it
        // open notices the deletion.
        fs::remove_file(self.root.join(UNFINISHED))?;
        self.settled.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// The directory of a killed run, locked.
#[derive(Debug)]
pub(super) struct AbandonedDir {
    root: PathBuf,
    marker: File,
    entries: MarkerEntries,
}

impl AbandonedDir {
    /// The claim of the run if its output is complete. Only the store knows whether such a run has ended.
    pub(super) fn open_claim(&self) -> Option<&OpenClaim> {
        self.entries.claim.as_ref()
    }

    /// Deletes the files of the run and begins a new one.
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

    /// Continues the killed run, whose output is complete.
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
            // The earlier result is unchanged. The next run deletes a directory that cannot be deleted now.
            let _deleted = fs::remove_dir_all(self.root.join(REPLACEMENT));
            return;
        }
        // The next run finds the marker and deletes files that cannot be deleted now.
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

/// Moves the contents of one directory to another. Directories of the same name are merged.
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

/// Writes the list of the files that a marker names. It is sorted, because threads add names in any order.
fn write_list(root: &Path, entries: &MarkerEntries) -> io::Result<()> {
    let mut names: Vec<&[u8]> = entries.files.iter().map(Vec::as_slice).collect();
    names.sort_unstable();
    let mut list = names.join(&0);
    list.push(0);
    let temporary = root.join(format!("{TEMPORARY}list{PARTIAL}"));
    let mut file = File::create(&temporary)?;
    file.write_all(&list)?;
    file.sync_all()?;
    fs::rename(&temporary, root.join(FILE_LIST))
}

/// Opens the marker or the list of a directory and locks it for this process.
fn open_locked(root: &Path, name: &str) -> Result<File, SinkError> {
    let path = root.join(name);
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let file = file.map_err(failed(&path, "open it"))?;
    lock(&file, root)?;
    // Before the lock was free, its owner may have finished or another run may have replaced the file.
    if fs::symlink_metadata(&path).is_err() {
        return Err(SinkError::InUse {
            path: root.to_owned(),
        });
    }
    Ok(file)
}

/// Locks the marker. On a file system without locks, the run of an existing marker is assumed to be dead.
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
