//! The directory of an index and the files in it.
//!
//! ```text
//! manifest        which of the others are the index
//! 00000007.seg    a segment
//! 00000009.del    ids deleted from one
//! lock            locked by who writes
//! *.tmp           a file that is not whole
//! *.seg.resume    how far a segment is that is being built
//! ```
//!
//! A file is written under a temporary name, synced, renamed, and its directory synced. The manifest comes last, so whatever it names is durable
//! before it is; what it no longer names is removed after. A kill at any moment leaves the files of one manifest and perhaps
//! others, which the next writer removes: only names that this module gives, so that nobody else's file is touched. A build of a whole
//! index may leave its segment before there is a manifest; whoever makes an index of it goes on from there.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::StoreError;
use super::manifest::{self, Manifest, Wrong};
use super::tombstones;
use crate::segment;
use crate::storage::Storage;

/// The number of the first file.
pub(super) const FIRST: u64 = 1;
/// The name of the manifest.
const MANIFEST: &str = "manifest";
/// The name of the file that is locked.
const LOCK: &str = "lock";
/// How names of files that are not whole end.
const TEMPORARY: &str = "tmp";
/// How names of journals of builds end, behind the segment's.
const JOURNAL: &str = "resume";
/// How names of segments end.
const SEGMENT: &str = "seg";
/// How names of files of deleted ids end.
const TOMBSTONES: &str = "del";

/// A directory that holds an index or is about to.
#[derive(Clone, Debug)]
pub(super) struct Files {
    root: PathBuf,
    pub(super) storage: Arc<dyn Storage>,
}

impl Files {
    pub(super) fn new(root: &Path, storage: &Arc<dyn Storage>) -> Self {
        Self {
            root: root.to_owned(),
            storage: storage.clone(),
        }
    }

    /// The directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where the segment of a number is.
    pub(super) fn segment(&self, number: u64) -> PathBuf {
        self.root.join(format!("{number:08}.{SEGMENT}"))
    }

    /// Whether an index was to be made of one segment, which did not come to its end.
    pub(super) fn unfinished(&self) -> bool {
        // A whole segment may be that of an index whose manifest was lost, which nobody must be told to build again.
        let unfinished = segment::unfinished(&self.segment(FIRST));
        unfinished.iter().any(|path| path.exists())
    }

    /// Where the tombstones of a number are.
    pub(super) fn tombstones(&self, number: u64) -> PathBuf {
        self.root.join(format!("{number:08}.{TOMBSTONES}"))
    }

    /// Where the manifest is.
    pub(super) fn manifest(&self) -> PathBuf {
        self.root.join(MANIFEST)
    }

    /// Makes the directory where it is not there.
    pub(super) fn create(&self) -> Result<(), StoreError> {
        let made = self.storage.create_dir_all(&self.root);
        made.map_err(StoreError::io(&self.root, "make it"))
    }

    /// Becomes the only writer until the lock is dropped. A file system without locks cannot tell of another one.
    pub(super) fn lock(&self) -> Result<File, StoreError> {
        let path = self.root.join(LOCK);
        // Not through the storage: the file has no content to lose.
        let opened = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let file = opened.map_err(StoreError::io(&path, "open it for writing"))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
                path: self.root.clone(),
            }),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
        }
    }

    /// The manifest, if there is one.
    pub(super) fn read_manifest(&self) -> Result<Option<Manifest>, StoreError> {
        let path = self.manifest();
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(StoreError::io(&path, "read it"))?,
        };
        let decoded = Manifest::decode(&bytes).map_err(|wrong| match wrong {
            Wrong::Damaged(what) => StoreError::Damaged { path, what },
            Wrong::Version(got) => StoreError::Version {
                path,
                got,
                expected: manifest::VERSION,
            },
        })?;
        Ok(Some(decoded))
    }

    /// Replaces the manifest; whatever it names must be durable.
    pub(super) fn write_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        self.write(&self.manifest(), &manifest.encode())
    }

    /// The ids in a file of tombstones.
    pub(super) fn read_tombstones(&self, number: u64) -> Result<Vec<u64>, StoreError> {
        let path = self.tombstones(number);
        let bytes = fs::read(&path).map_err(StoreError::io(&path, "read it"))?;
        tombstones::decode(&bytes).ok_or(StoreError::Damaged {
            path,
            what: "it is not a whole file of deleted ids",
        })
    }

    /// Writes a file of tombstones.
    pub(super) fn write_tombstones(&self, number: u64, ids: &[u64]) -> Result<(), StoreError> {
        self.write(&self.tombstones(number), &tombstones::encode(ids))
    }

    /// Writes a whole file.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let temporary = path.with_extension(TEMPORARY);
        let written = self.storage.create(&temporary).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync()
        });
        written.map_err(StoreError::io(&temporary, "write it"))?;
        let renamed = self.storage.rename(&temporary, path);
        renamed.map_err(StoreError::io(path, "rename a file to it"))?;
        let synced = self.storage.sync_dir(&self.root);
        synced.map_err(StoreError::io(&self.root, "make its new names durable"))
    }

    /// Removes what no manifest names any more. What cannot be removed is left to the next writer.
    pub(super) fn remove(&self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            let _left_over = self.storage.remove(&path);
        }
    }

    /// Files of an index that a manifest does not name: what a kill left.
    pub(super) fn left_over(&self, manifest: Option<&Manifest>) -> Result<Vec<PathBuf>, StoreError> {
        let named: Vec<PathBuf> = manifest
            .iter()
            .flat_map(|m| &m.segments)
            .flat_map(|e| {
                let tombstones = e.tombstones.map(|number| self.tombstones(number));
                [Some(self.segment(e.number)), tombstones]
            })
            .flatten()
            .collect();
        let entries = fs::read_dir(&self.root).map_err(StoreError::io(&self.root, "list it"))?;
        let mut left = Vec::new();
        for entry in entries {
            let path = entry.map_err(StoreError::io(&self.root, "list it"))?.path();
            if path.file_name().is_some_and(is_ours) && !named.contains(&path) {
                left.push(path);
            }
        }
        left.sort();
        Ok(left)
    }
}

/// Whether this module gives such names, the manifest's and the lock's aside.
fn is_ours(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_number = |stem: &str| stem.len() >= 8 && stem.bytes().all(|b| b.is_ascii_digit());
    let is_segment = |name: &str| name.strip_suffix(&format!(".{SEGMENT}")).is_some_and(is_number);
    let is_journal = |name: &str| name.strip_suffix(&format!(".{JOURNAL}")).is_some_and(is_segment);
    if let Some(whole) = name.strip_suffix(&format!(".{TEMPORARY}")) {
        // A segment and its journal are written beside their names, the others in place of their ending.
        return whole == MANIFEST || is_number(whole) || is_segment(whole) || is_journal(whole);
    }
    if is_journal(name) {
        return true;
    }
    let ending = name.rsplit_once('.');
    ending.is_some_and(|(stem, ending)| is_number(stem) && [SEGMENT, TOMBSTONES].contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_given_here_are_removed() {
        for ours in [
            "00000001.seg",
            "123456789.del",
            "00000001.seg.tmp",
            "00000001.seg.resume",
            "00000001.seg.resume.tmp",
            "00000001.tmp",
            "manifest.tmp",
        ] {
            assert!(is_ours(OsStr::new(ours)), "{ours}");
        }
        for others in [
            "manifest",
            "lock",
            "notes.tmp",
            "1.seg",
            "00000001.txt",
            "00000001",
            "my.seg",
            "a.del.tmp",
            "00000001.resume",
            "a.seg.resume",
        ] {
            assert!(!is_ours(OsStr::new(others)), "{others}");
        }
    }
}
