//! Marks an output directory as that of a run that is not finished, and clears away what such a run leaves.
//!
//! The marker is the first file of a run and the last to go. It names every output file before that file is begun, so that what is
//! deleted is what the run wrote and nothing else: not even a file that somebody put beside it. A run that fails deletes its files itself; what a
//! killed one left is deleted by the next run into the same directory. A lock on the marker tells a dead run from one that is still going.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::SinkError;

/// The name of the marker.
const MARKER: &str = ".twinprint-unfinished";
/// How the names of work directories begin; they stand in the output directory unless the user names another place.
pub(crate) const WORK_DIR: &str = ".twinprint-work-";

/// The marker of a run; dropped before [`finish`](Self::finish), it deletes what the run wrote.
#[derive(Debug)]
pub(crate) struct Unfinished {
    root: PathBuf,
    marker: Mutex<File>,
    /// The directory was not there before.
    made_root: bool,
    finished: AtomicBool,
    /// What an earlier run left was deleted.
    pub(super) replaced: bool,
}

impl Unfinished {
    /// Whether a run was begun in `root` and not finished.
    pub(crate) fn is_in(root: &Path) -> bool {
        fs::symlink_metadata(root.join(MARKER)).is_ok_and(|metadata| metadata.is_file())
    }

    /// Marks `root`, an empty directory.
    pub(super) fn begin(root: &Path, made_root: bool) -> Result<Self, SinkError> {
        let path = root.join(MARKER);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let marker = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => SinkError::InUse {
                path: root.to_owned(),
            },
            _ => failed(&path, "create it")(error),
        })?;
        lock(&marker, root)?;
        Ok(Self::new(root, marker, made_root, false))
    }

    /// Takes over `root` from a run that was killed, having deleted what that one wrote.
    pub(super) fn take_over(root: &Path) -> Result<Self, SinkError> {
        let path = root.join(MARKER);
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let mut marker = file.map_err(failed(&path, "open it"))?;
        lock(&marker, root)?;
        let left = Left::find(root, &mut marker)
            .map_err(failed(root, "look through what an unfinished run left in it"))?;
        if let Some(entry) = left.foreign.into_iter().next() {
            return Err(SinkError::Foreign {
                path: root.to_owned(),
                entry,
            });
        }
        left.ours
            .delete()
            .map_err(failed(root, "delete what an unfinished run left in it"))?;
        marker
            .set_len(0)
            .and_then(|()| marker.rewind())
            .map_err(failed(&path, "write it"))?;
        Ok(Self::new(root, marker, false, true))
    }

    fn new(root: &Path, marker: File, made_root: bool, replaced: bool) -> Self {
        Self {
            root: root.to_owned(),
            marker: Mutex::new(marker),
            made_root,
            finished: AtomicBool::new(false),
            replaced,
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

    /// Takes the mark away: the files stay.
    pub(super) fn finish(&self) -> io::Result<()> {
        if let Ok(marker) = self.marker.lock() {
            // Emptied first, so that whoever has it open finds nothing to delete.
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
        let cleared = File::open(&path)
            .and_then(|mut marker| Left::find(&self.root, &mut marker))
            .and_then(|left| left.ours.delete())
            .and_then(|()| fs::remove_file(&path));
        if cleared.is_ok() && self.made_root {
            // Stays where it is not empty.
            let _ = fs::remove_dir(&self.root);
        }
    }
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
            if top && is_dir && name.starts_with(WORK_DIR.as_bytes()) {
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
    name.starts_with(b".twinprint-") && name.ends_with(b".partial")
}
