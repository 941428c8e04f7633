//! Marks an output directory as that of a run that is not finished, and deletes the files of such a run.
//!
//! The marker is the first file of a run. It names every output file before that file is begun, so only files of the run are deleted, never one
//! that somebody put there. A run that fails deletes its files itself. The files of a killed run are deleted by the next run into the same
//! directory. A lock on the marker distinguishes a live run from a dead one.
//!
//! The output of a run that changes a store is not deleted once it is [whole](Unfinished::declare_whole): see [`claim`](super::claim).
//!
//! A finished run replaces the marker by a list of its files, so that a later run can replace the whole result. That run writes to a
//! directory of its own in there ([`REPLACEMENT`]), with a marker of its own, and the earlier result stays as it is. Once the new output is whole, the
//! marker gets the names of the earlier files too and [takes its place](Unfinished::put_in_place) beside the list, in one step; then the earlier
//! files go and the new ones are moved. Killed before that step, the run leaves the earlier result and a directory that the next run
//! deletes; killed after it, it leaves an unfinished run.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use twinprint_index::storage::{Disk, Storage as _};

use super::claim::OpenClaim;
use super::claim::{self, Claim};
use super::error::SinkError;
use super::left::{Noted, OLD, Ours};
use crate::markers::{FILE_LIST, PARTIAL, REPLACEMENT, TEMPORARY, UNFINISHED};
use crate::work::MadeDirs;

/// The marker of a run; dropped before [`finish`](Self::finish), it deletes what the run wrote.
#[derive(Debug)]
pub(super) struct Unfinished {
    root: PathBuf,
    marker: Mutex<File>,
    /// The files stay where they are: the run is finished, or the next one is to find out whether it is.
    settled: AtomicBool,
    /// Files of an unfinished run were deleted.
    pub(super) replaced: bool,
    /// The finished result that this run will replace, until the new files are put in its place.
    earlier: Mutex<Option<Earlier>>,
    /// The directory and those above it that were not there before. They stay where the directory is not empty.
    made: MadeDirs,
}

/// A finished result.
#[derive(Debug)]
struct Earlier {
    /// Its list, locked: of two runs that would replace it the second is refused.
    _list: File,
    noted: Noted,
}

impl Unfinished {
    /// Marks `root`, an empty directory.
    pub(super) fn begin(root: &Path, made: MadeDirs) -> Result<Self, SinkError> {
        Ok(Self::new(root, new_marker(root)?, made, false))
    }

    /// Holds the directory of a run that was killed.
    pub(super) fn abandoned(root: &Path) -> Result<Abandoned, SinkError> {
        let mut marker = hold(root, UNFINISHED)?;
        let noted = Noted::read(&mut marker).map_err(failed(&root.join(UNFINISHED), "read it"))?;
        Ok(Abandoned {
            root: root.to_owned(),
            marker,
            noted,
        })
    }

    /// Begins a run in `root` that will replace the result of a finished one.
    pub(super) fn replace(root: &Path) -> Result<Self, SinkError> {
        let mut list = hold(root, FILE_LIST)?;
        let noted = Noted::read(&mut list).map_err(failed(&root.join(FILE_LIST), "read it"))?;
        // Checked before any work is done; and again before anything is deleted.
        Ours::alone(root, &noted)?;
        let next = root.join(REPLACEMENT);
        match fs::remove_dir_all(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&next, "delete what a killed run left in it")(error));
            }
            _ => {}
        }
        fs::create_dir(&next).map_err(failed(&next, "create the directory"))?;
        let marker = new_marker(&next)?;
        let mut run = Self::new(root, marker, MadeDirs::default(), false);
        run.earlier = Mutex::new(Some(Earlier { _list: list, noted }));
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

    fn earlier(&self) -> MutexGuard<'_, Option<Earlier>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory that the run writes to.
    pub(super) fn place(&self) -> PathBuf {
        if self.earlier().is_some() {
            self.root.join(REPLACEMENT)
        } else {
            self.root.clone()
        }
    }

    /// Replaces an earlier result by the files of this run, which are whole.
    pub(super) fn put_in_place(&self) -> Result<(), SinkError> {
        let mut earlier = self.earlier();
        let Some(Earlier { noted, .. }) = &*earlier else {
            return Ok(());
        };
        let (root, next) = (&self.root, self.root.join(REPLACEMENT));
        // Somebody may have put a file there meanwhile; then the earlier result stays.
        let old = Ours::alone(root, noted)?;
        let marker = next.join(UNFINISHED);
        let note_old = |name: &Vec<u8>| self.append(&[OLD, name].concat(), false);
        let mut names = noted.files.iter();
        names
            .try_for_each(note_old)
            .and_then(|()| fs::rename(&marker, root.join(UNFINISHED)))
            .map_err(failed(&marker, "move it to the output directory"))?;
        let replaced = earlier.take();
        old.but_for_next()
            .delete()
            .map_err(failed(root, "delete the files of an earlier run in it"))?;
        move_all(&next, root)
            .and_then(|()| fs::remove_dir(&next))
            .map_err(failed(&next, "move its files to the output directory"))?;
        drop(replaced);
        Ok(())
    }

    /// Notes that a file of this name, relative to the directory, is about to be made.
    pub(super) fn note(&self, relative: &Path) -> io::Result<()> {
        self.append(relative.as_os_str().as_encoded_bytes(), false)
    }

    /// Notes, before anything else, that the run changes a store.
    pub(super) fn claim(&self, claim: &Claim) -> io::Result<()> {
        self.append(claim::entry(claim).as_bytes(), true)
    }

    fn append(&self, entry: &[u8], durable: bool) -> io::Result<()> {
        let mut line = entry.to_owned();
        // The one byte that no name has.
        line.push(0);
        let Ok(mut marker) = self.marker.lock() else {
            return Ok(());
        };
        marker.write_all(&line)?;
        if durable { marker.sync_all() } else { Ok(()) }
    }

    /// Makes all files durable and notes that the output is whole: from then on a run that finds the marker asks the store
    /// whether the run came to its end.
    pub(super) fn declare_whole(&self, digest: u128) -> io::Result<()> {
        let noted = match self.marker.lock() {
            Ok(mut marker) => Noted::read(&mut marker)?,
            Err(_) => return Ok(()),
        };
        Ours::find(&self.root, &noted)?.sync(&self.root)?;
        self.made.parents().try_for_each(|dir| Disk.sync_dir(dir))?;
        self.settled.store(true, Ordering::Relaxed);
        self.append(claim::whole(digest).as_bytes(), true)
    }

    /// Replaces the marker by the list of the run's files, which stay.
    pub(super) fn finish(&self) -> io::Result<()> {
        if let Ok(mut marker) = self.marker.lock() {
            write_list(&self.root, &Noted::read(&mut marker)?)?;
        }
        // In one step: a marker that is there names all files. Whoever has it open sees that it is gone.
        fs::remove_file(self.root.join(UNFINISHED))?;
        self.settled.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// The directory of a run that was killed, held.
#[derive(Debug)]
pub(super) struct Abandoned {
    root: PathBuf,
    marker: File,
    noted: Noted,
}

impl Abandoned {
    /// The claim of the run, where only the store knows whether it came to its end.
    pub(super) fn open_claim(&self) -> Option<&OpenClaim> {
        self.noted.claim.as_ref()
    }

    /// Deletes the files of the run, for a new one.
    pub(super) fn replace(mut self) -> Result<Unfinished, SinkError> {
        let root = &self.root;
        Ours::alone(root, &self.noted)?
            .delete()
            .map_err(failed(root, "delete the files of an earlier run in it"))?;
        self.marker
            .set_len(0)
            .and_then(|()| self.marker.rewind())
            .map_err(failed(&root.join(UNFINISHED), "write it"))?;
        Ok(Unfinished::new(root, self.marker, MadeDirs::default(), true))
    }

    /// The run as it was: its output is whole.
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
            // The earlier result was not touched.
            let _left_to_the_next = fs::remove_dir_all(self.root.join(REPLACEMENT));
            return;
        }
        // What cannot be deleted now is left to the next run, which finds the marker.
        let path = self.root.join(UNFINISHED);
        let _cleared = File::open(&path)
            .and_then(|mut marker| Ours::find(&self.root, &Noted::read(&mut marker)?))
            .and_then(Ours::delete)
            .and_then(|()| fs::remove_file(&path));
    }
}

/// Makes the marker of a run, locked.
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

/// Moves what is in one directory to another. Directories that are in both become one.
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

/// Writes the list of the files that a marker names, in the order of their names: threads note them in any order.
fn write_list(root: &Path, noted: &Noted) -> io::Result<()> {
    let mut names: Vec<&[u8]> = noted.files.iter().map(Vec::as_slice).collect();
    names.sort_unstable();
    let mut list = names.join(&0);
    list.push(0);
    let temporary = root.join(format!("{TEMPORARY}list{PARTIAL}"));
    let mut file = File::create(&temporary)?;
    file.write_all(&list)?;
    file.sync_all()?;
    fs::rename(&temporary, root.join(FILE_LIST))
}

/// Opens the marker or the list of a directory for this process alone.
fn hold(root: &Path, name: &str) -> Result<File, SinkError> {
    let path = root.join(name);
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let file = file.map_err(failed(&path, "open it"))?;
    lock(&file, root)?;
    // Its owner may have finished, or another run may have replaced it, before the lock was free.
    if fs::symlink_metadata(&path).is_err() {
        return Err(SinkError::InUse {
            path: root.to_owned(),
        });
    }
    Ok(file)
}

/// A file system without locks cannot tell; then the run is taken for dead.
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
