//! The files in the directory of an unfinished or finished run: those of the run, by the marker or the list that names them, and others.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use twinprint_index::storage::{Disk, Storage as _, folder};

use super::claim::{self, OpenClaim};
use super::error::SinkError;
use crate::markers::{FILE_LIST, PARTIAL, REPLACEMENT, TEMPORARY, UNFINISHED, WORK_DIR};

/// The beginning of an entry for a file of the earlier result that a run replaces. It must go, and is no part of the run's own output.
pub(super) const OLD: &[u8] = b"/old ";

/// The entries of a marker.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// Names of files, relative to the directory.
    pub(super) files: HashSet<Vec<u8>>,
    /// Names of files of an earlier result, likewise.
    old: HashSet<Vec<u8>>,
    /// The directories above all these.
    dirs: HashSet<Vec<u8>>,
    pub(super) claim: Option<OpenClaim>,
}

impl Noted {
    /// Reads a marker from its beginning to its end.
    pub(super) fn read(marker: &mut File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        marker.rewind()?;
        marker.read_to_end(&mut bytes)?;
        // An entry without an end was cut off by a kill, before its file was made.
        let entries = || {
            bytes
                .split_inclusive(|&byte| byte == 0)
                .filter_map(|entry| entry.strip_suffix(&[0]))
        };
        let mut noted = Self {
            claim: claim::open(entries()),
            ..Self::default()
        };
        for entry in entries().filter(|entry| !entry.is_empty()) {
            let (file, names) = match entry.strip_prefix(OLD) {
                Some(old) => (old, &mut noted.old),
                None if claim::is_claim(entry) => continue,
                None => (entry, &mut noted.files),
            };
            names.insert(file.to_owned());
            let is_separator = |&(_, byte): &(usize, &u8)| std::path::is_separator(char::from(*byte));
            let above = file.iter().enumerate().filter(is_separator);
            noted.dirs.extend(above.map(|(end, _)| file[..end].to_owned()));
        }
        Ok(noted)
    }

    fn has(&self, file: &[u8]) -> bool {
        self.files.contains(file) || self.old.contains(file)
    }
}

/// The content of the directory of a run, besides the marker.
#[derive(Default)]
struct Left {
    ours: Ours,
    foreign: Vec<PathBuf>,
}

/// The files of a run.
#[derive(Default)]
pub(super) struct Ours {
    files: Vec<PathBuf>,
    /// Directories it made, those below before those above.
    dirs: Vec<PathBuf>,
    work_dirs: Vec<PathBuf>,
    /// The directory in which a run was writing that was to replace a result.
    next: Option<PathBuf>,
}

impl Left {
    /// Looks through one directory, `below` the root.
    fn look(&mut self, root: &Path, below: &Path, noted: &Noted) -> io::Result<()> {
        let top = below.as_os_str().is_empty();
        for entry in fs::read_dir(root.join(below))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            let relative = below.join(entry.file_name());
            let relative_name = relative.as_os_str().as_encoded_bytes();
            let is_dir = entry.file_type()?.is_dir();
            if top && name == UNFINISHED.as_bytes() {
                continue;
            }
            if top && !is_dir && name == FILE_LIST.as_bytes() {
                self.ours.files.push(entry.path());
            } else if top && is_dir && name.starts_with(WORK_DIR.as_bytes()) {
                self.ours.work_dirs.push(entry.path());
            } else if top && is_dir && name == REPLACEMENT.as_bytes() {
                self.ours.next = Some(entry.path());
            } else if is_dir && noted.dirs.contains(relative_name) {
                self.look(root, &relative, noted)?;
                self.ours.dirs.push(entry.path());
            } else if !is_dir && (noted.has(relative_name) || is_temporary(name)) {
                self.ours.files.push(entry.path());
            } else {
                self.foreign.push(entry.path());
            }
        }
        Ok(())
    }
}

fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(TEMPORARY.as_bytes()) && name.ends_with(PARTIAL.as_bytes())
}

impl Ours {
    /// The files of a run, whatever else is there.
    pub(super) fn find(root: &Path, noted: &Noted) -> io::Result<Self> {
        let mut left = Left::default();
        left.look(root, Path::new(""), noted)?;
        Ok(left.ours)
    }

    /// The files of a run, in whose directory there must be no others.
    pub(super) fn alone(root: &Path, noted: &Noted) -> Result<Self, SinkError> {
        let mut left = Left::default();
        let found = left.look(root, Path::new(""), noted);
        found.map_err(|source| SinkError::Io {
            path: root.to_owned(),
            action: "list the files of an earlier run in it",
            source,
        })?;
        match left.foreign.into_iter().next() {
            None => Ok(left.ours),
            Some(entry) => Err(SinkError::Foreign {
                path: root.to_owned(),
                entry,
            }),
        }
    }

    /// Makes files, their directories and the name of the root durable.
    pub(super) fn sync(&self, root: &Path) -> io::Result<()> {
        let sync = |path: &Path| {
            let synced = File::open(path).and_then(|file| file.sync_all());
            synced.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
        };
        self.files.par_iter().try_for_each(|path| sync(path))?;
        self.dirs.par_iter().try_for_each(|path| Disk.sync_dir(path))?;
        Disk.sync_dir(root)?;
        Disk.sync_dir(folder(root))
    }

    /// Without what will replace them.
    pub(super) fn but_for_next(self) -> Self {
        Self { next: None, ..self }
    }

    pub(super) fn delete(self) -> io::Result<()> {
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
        for path in self.work_dirs.iter().chain(&self.next) {
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
