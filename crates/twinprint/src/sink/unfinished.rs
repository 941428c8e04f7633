//! Marks an output directory as that of a run that is not finished, and deletes the files of such a run.
//!
//! The marker is the first file of a run. It names every output file before that file is begun, so only files of the run are deleted, never one
//! that somebody put there. A run that fails deletes its files itself. The files of a killed run are deleted by the next run into the same
//! directory. A lock on the marker tells a dead run from a live one.
//!
//! A finished run replaces the marker by a list of its files, so that a later run can replace the whole result. That run first turns the list
//! into a marker: killed at any moment, it leaves a finished result or an unfinished run.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::SinkError;
use crate::made_dirs::MadeDirs;

/// The name of the marker.
const MARKER: &str = ".twinprint-unfinished";
/// The name of the list of the files of a finished run.
const LIST: &str = ".twinprint-output";
/// The beginning and the end of the names of files that are not whole yet.
pub(super) const TEMPORARY: &str = ".twinprint-";
pub(super) const PARTIAL: &str = ".partial";
/// How the names of work directories begin; they stand in the output directory unless the user names another place.
pub(crate) const WORK_DIR: &str = ".twinprint-work-";

/// The marker of a run; dropped before [`finish`](Self::finish), it deletes what the run wrote.
#[derive(Debug)]
pub(crate) struct Unfinished {
    root: PathBuf,
    marker: Mutex<File>,
    finished: AtomicBool,
    /// Files of an earlier run were deleted.
    pub(super) replaced: bool,
    /// The directory and those above it that were not there before. They stay where the directory is not empty.
    _made: MadeDirs,
}

impl Unfinished {
    /// Whether a run was begun in `root` and not finished.
    pub(crate) fn is_in(root: &Path) -> bool {
        fs::symlink_metadata(root.join(MARKER)).is_ok_and(|metadata| metadata.is_file())
    }

    /// Whether `root` holds the result of a finished run.
    pub(crate) fn is_result(root: &Path) -> bool {
        fs::symlink_metadata(root.join(LIST)).is_ok_and(|metadata| metadata.is_file())
    }

    /// Marks `root`, an empty directory.
    pub(super) fn begin(root: &Path, made: MadeDirs) -> Result<Self, SinkError> {
        let path = root.join(MARKER);
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
        Ok(Self::new(root, marker, made, false))
    }

    /// Takes over `root` from a run that was killed, having deleted its files.
    pub(super) fn take_over(root: &Path) -> Result<Self, SinkError> {
        let marker = claim(root, MARKER)?;
        Self::clear(root, marker)
    }

    /// Takes over `root` from a finished run, having deleted its files.
    pub(super) fn replace(root: &Path) -> Result<Self, SinkError> {
        let mut list = claim(root, LIST)?;
        // Checked before anything changes, so that a refused run leaves the result as it was.
        Left::of_ours(root, &mut list)?;
        let path = root.join(LIST);
        fs::rename(&path, root.join(MARKER)).map_err(failed(&path, "rename it"))?;
        Self::clear(root, list)
    }

    /// Deletes the files that a marker names, and begins a run with the marker.
    fn clear(root: &Path, mut marker: File) -> Result<Self, SinkError> {
        Left::of_ours(root, &mut marker)?
            .delete()
            .map_err(failed(root, "delete the files of an earlier run in it"))?;
        marker
            .set_len(0)
            .and_then(|()| marker.rewind())
            .map_err(failed(&root.join(MARKER), "write it"))?;
        Ok(Self::new(root, marker, MadeDirs::default(), true))
    }

    fn new(root: &Path, marker: File, made: MadeDirs, replaced: bool) -> Self {
        Self {
            root: root.to_owned(),
            marker: Mutex::new(marker),
            finished: AtomicBool::new(false),
            replaced,
            _made: made,
        }
    }

    /// Notes that a file of this name, relative to the directory, is about to be made.
    pub(super) fn note(&self, relative: &Path) -> io::Result<()> {
        let mut line = relative.as_os_str().as_encoded_bytes().to_owned();
        // The one byte that no name has.
        line.push(0);
        match self.marker.lock() {
            Ok(mut marker) => marker.write_all(&line),
            Err(_) => Ok(()),
        }
    }

    /// Replaces the marker by the list of the run's files, which stay.
    pub(super) fn finish(&self) -> io::Result<()> {
        if let Ok(mut marker) = self.marker.lock() {
            write_list(&self.root, &mut marker)?;
            // Emptied before it goes: another process may have it open, and must find nothing to delete.
            marker.set_len(0)?;
        }
        fs::remove_file(self.root.join(MARKER))?;
        self.finished.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.finished.load(Ordering::Relaxed) {
            return;
        }
        // What cannot be deleted now is left to the next run, which finds the marker.
        let path = self.root.join(MARKER);
        let _cleared = File::open(&path)
            .and_then(|mut marker| Left::find(&self.root, &mut marker))
            .and_then(|left| left.ours.delete())
            .and_then(|()| fs::remove_file(&path));
    }
}

/// Writes the list of the files that a marker names, in the order of their names: threads note them in any order.
fn write_list(root: &Path, marker: &mut File) -> io::Result<()> {
    let mut noted = Vec::new();
    marker.rewind()?;
    marker.read_to_end(&mut noted)?;
    let mut names: Vec<&[u8]> = noted
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    let mut list = names.join(&0);
    list.push(0);
    let temporary = root.join(format!("{TEMPORARY}list{PARTIAL}"));
    let mut file = File::create(&temporary)?;
    file.write_all(&list)?;
    file.sync_all()?;
    fs::rename(&temporary, root.join(LIST))
}

/// Opens the marker or the list of a directory for this process alone.
fn claim(root: &Path, name: &str) -> Result<File, SinkError> {
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

/// What is in the directory of an unfinished run, besides the marker.
#[derive(Default)]
struct Left {
    ours: Ours,
    foreign: Vec<PathBuf>,
}

/// What the run wrote.
#[derive(Default)]
struct Ours {
    files: Vec<PathBuf>,
    /// Directories it made, those below before those above.
    dirs: Vec<PathBuf>,
    work_dirs: Vec<PathBuf>,
}

impl Left {
    /// The files of a run, in whose directory there must be no others.
    fn of_ours(root: &Path, marker: &mut File) -> Result<Ours, SinkError> {
        let left =
            Self::find(root, marker).map_err(failed(root, "list the files of an earlier run in it"))?;
        match left.foreign.into_iter().next() {
            None => Ok(left.ours),
            Some(entry) => Err(SinkError::Foreign {
                path: root.to_owned(),
                entry,
            }),
        }
    }

    fn find(root: &Path, marker: &mut File) -> io::Result<Self> {
        let mut noted = Vec::new();
        marker.rewind()?;
        marker.read_to_end(&mut noted)?;
        let files: HashSet<&[u8]> = noted.split(|&byte| byte == 0).collect();
        let is_separator = |&(_, byte): &(usize, &u8)| std::path::is_separator(char::from(*byte));
        let above = |file: &&'_ [u8]| -> Vec<usize> {
            let ends = file.iter().enumerate().filter(is_separator);
            ends.map(|(end, _)| end).collect()
        };
        let dirs = files
            .iter()
            .flat_map(|file| above(file).into_iter().map(|end| &file[..end]))
            .collect();
        let mut left = Self::default();
        left.look(root, Path::new(""), &Noted { files, dirs })?;
        Ok(left)
    }

    /// Looks through one directory, `below` the root.
    fn look(&mut self, root: &Path, below: &Path, noted: &Noted<'_>) -> io::Result<()> {
        let top = below.as_os_str().is_empty();
        for entry in fs::read_dir(root.join(below))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            let relative = below.join(entry.file_name());
            let relative_name = relative.as_os_str().as_encoded_bytes();
            let is_dir = entry.file_type()?.is_dir();
            if top && name == MARKER.as_bytes() {
                continue;
            }
            if top && !is_dir && name == LIST.as_bytes() {
                self.ours.files.push(entry.path());
            } else if top && is_dir && name.starts_with(WORK_DIR.as_bytes()) {
                self.ours.work_dirs.push(entry.path());
            } else if is_dir && noted.dirs.contains(relative_name) {
                self.look(root, &relative, noted)?;
                self.ours.dirs.push(entry.path());
            } else if !is_dir && (noted.files.contains(relative_name) || is_temporary(name)) {
                self.ours.files.push(entry.path());
            } else {
                self.foreign.push(entry.path());
            }
        }
        Ok(())
    }
}

/// The names in a marker, and the directories above them.
struct Noted<'m> {
    files: HashSet<&'m [u8]>,
    dirs: HashSet<&'m [u8]>,
}

impl Ours {
    fn delete(self) -> io::Result<()> {
        let delete = |path: &Path, result: io::Result<()>| match result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // Somebody else's file is in it.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!("{}: {error}", path.display()),
            )),
            Ok(()) => Ok(()),
        };
        for path in &self.work_dirs {
            delete(path, fs::remove_dir_all(path))?;
        }
        for path in &self.files {
            delete(path, fs::remove_file(path))?;
        }
        // Those below were found before those above.
        for path in &self.dirs {
            delete(path, fs::remove_dir(path))?;
        }
        Ok(())
    }
}

fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(TEMPORARY.as_bytes()) && name.ends_with(PARTIAL.as_bytes())
}
