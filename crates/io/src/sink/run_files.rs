//! Finds the files of a run in its output directory. The marker or the list of files names them. All other files there
//! are foreign: the run did not write them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use twinprint_index::storage::{Disk, Storage as _, folder};

use super::claim::{self, OpenClaim};
use super::error::SinkError;
use crate::markers::{FILE_LIST, PARTIAL, REPLACEMENT, TEMPORARY, UNFINISHED, WORK_DIR};

/// The prefix of a marker entry for a file of an earlier result that the run replaces. The file is deleted with the run
/// but is not output of the run.
pub(super) const REPLACED_PREFIX: &[u8] = b"/old ";

/// The entries of the marker of a run, or of a list of files.
#[derive(Debug, Default)]
pub(super) struct MarkerEntries {
    /// The paths of the run's files, relative to the output directory.
    pub(super) files: HashSet<Vec<u8>>,
    /// The paths of the files of an earlier result that the run replaces, relative to the output directory.
    old: HashSet<Vec<u8>>,
    /// The directories that contain these files, and the directories above them.
    dirs: HashSet<Vec<u8>>,
    pub(super) claim: Option<OpenClaim>,
}

impl MarkerEntries {
    /// Reads all entries of a marker or a list of files.
    pub(super) fn read(marker: &mut File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        marker.rewind()?;
        marker.read_to_end(&mut bytes)?;
        Ok(Self::parse(&bytes))
    }

    /// The entries in the content of a marker or a list of files.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        // The last entry may lack its terminator, because the process was killed while it was written. The file of that
        // entry was not created yet, so the entry is ignored.
        let parts = || {
            bytes
                .split_inclusive(|&byte| byte == 0)
                .filter_map(|entry| entry.strip_suffix(&[0]))
        };
        let mut entries = Self {
            claim: claim::open(parts()),
            ..Self::default()
        };
        for entry in parts().filter(|entry| !entry.is_empty()) {
            let (file, names) = match entry.strip_prefix(REPLACED_PREFIX) {
                Some(old) => (old, &mut entries.old),
                None if claim::is_claim(entry) => continue,
                None => (entry, &mut entries.files),
            };
            names.insert(file.to_owned());
            let is_separator = |&(_, byte): &(usize, &u8)| std::path::is_separator(char::from(*byte));
            let above = file.iter().enumerate().filter(is_separator);
            entries.dirs.extend(above.map(|(end, _)| file[..end].to_owned()));
        }
        entries
    }

    /// The content of a marker or a list with these entries: each ends with a zero byte, the only byte that no file name
    /// contains.
    pub(super) fn format(entries: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for entry in entries {
            bytes.extend_from_slice(entry.as_ref());
            bytes.push(0);
        }
        bytes
    }

    /// True if a file is named, also as one of the result that is replaced.
    pub(super) fn has(&self, file: &[u8]) -> bool {
        self.files.contains(file) || self.old.contains(file)
    }
}

/// The contents of the output directory of a run, except for the marker.
#[derive(Default)]
struct DirScan {
    files: RunFiles,
    foreign: Vec<PathBuf>,
}

/// The files and directories that a run has created.
#[derive(Default)]
pub(super) struct RunFiles {
    files: Vec<PathBuf>,
    /// The directories that the run created. The deepest come first.
    dirs: Vec<PathBuf>,
    work_dirs: Vec<PathBuf>,
    /// The directory with new files, if the run was to replace an earlier result.
    replacement: Option<PathBuf>,
}

impl DirScan {
    /// Lists the directory `below`, a path relative to `root`, and all its subdirectories that belong to the run.
    fn scan_dir(&mut self, root: &Path, below: &Path, entries: &MarkerEntries) -> io::Result<()> {
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
                self.files.files.push(entry.path());
            } else if top && is_dir && name.starts_with(WORK_DIR.as_bytes()) {
                self.files.work_dirs.push(entry.path());
            } else if top && is_dir && name == REPLACEMENT.as_bytes() {
                self.files.replacement = Some(entry.path());
            } else if is_dir && entries.dirs.contains(relative_name) {
                self.scan_dir(root, &relative, entries)?;
                self.files.dirs.push(entry.path());
            } else if !is_dir && (entries.has(relative_name) || is_temporary(name)) {
                self.files.files.push(entry.path());
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

impl RunFiles {
    /// Finds the files of a run. Files that the run did not write are ignored.
    pub(super) fn find(root: &Path, entries: &MarkerEntries) -> io::Result<Self> {
        let mut scan = DirScan::default();
        scan.scan_dir(root, Path::new(""), entries)?;
        Ok(scan.files)
    }

    /// Finds the files of a run, and checks that the directory contains no others.
    ///
    /// # Errors
    /// [`SinkError::Foreign`] if the directory contains a file that the run did not write.
    pub(super) fn find_all(root: &Path, entries: &MarkerEntries) -> Result<Self, SinkError> {
        let mut scan = DirScan::default();
        let found = scan.scan_dir(root, Path::new(""), entries);
        found.map_err(|source| SinkError::Io {
            path: root.to_owned(),
            action: "list the files of an earlier run in it",
            source,
        })?;
        match scan.foreign.into_iter().next() {
            None => Ok(scan.files),
            Some(entry) => Err(SinkError::Foreign {
                path: root.to_owned(),
                entry,
            }),
        }
    }

    /// The paths of the files relative to `root`, in order.
    pub(super) fn relative(&self, root: &Path) -> Vec<PathBuf> {
        let relative = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).to_owned();
        let mut names: Vec<PathBuf> = self.files.iter().map(relative).collect();
        names.sort_unstable();
        names
    }

    /// Makes the files, their directories and the name of the output directory durable.
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

    /// Returns the same files without the directory that contains their replacement.
    pub(super) fn without_replacement(self) -> Self {
        Self {
            replacement: None,
            ..self
        }
    }

    pub(super) fn delete(self) -> io::Result<()> {
        let delete = |path: &Path, result: io::Result<()>| match result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // The directory stays, because it contains a file that the run did not write.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!("{}: {error}", path.display()),
            )),
            Ok(()) => Ok(()),
        };
        for path in self.work_dirs.iter().chain(&self.replacement) {
            delete(path, fs::remove_dir_all(path))?;
        }
        for path in &self.files {
            delete(path, fs::remove_file(path))?;
        }
        // The list has the deepest directories first, so each directory is empty when it is removed.
        for path in &self.dirs {
            delete(path, fs::remove_dir(path))?;
        }
        Ok(())
    }
}
