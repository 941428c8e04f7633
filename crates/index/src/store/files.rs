//! The directory of an index and the files in it.
//!
//! ```text
//! manifest             the list of the files of the index
//! 00000007.seg         a segment
//! 00000009.del         ids deleted from one
//! 00000010.names       the names of ids
//! lock                 locked by the process that writes
//! writing              the marker of that process
//! *.tmp                a file that is not complete
//! 00000001.seg.new     the only segment of an index that has no manifest yet
//! *.resume             the journal of a segment that is being built
//! ```
//!
//! A file is written under a temporary name, synced and renamed, and then its directory is synced. The manifest comes
//! last, so the files that it names are durable before it is; files that it no longer names are removed afterwards. A
//! kill at any moment leaves the files of one manifest, possibly other files, and the marker of the writer. If the
//! marker fits the manifest, the next writer removes the other files, but only those whose names the store itself
//! gives. Without such a marker it refuses an index with complete files that the manifest does not name.
//!
//! In a directory without a manifest, segments and files of deleted ids are never removed, because they may be an index
//! whose manifest was lost. So a new index is created only if there are none, and its segment gets its final name only
//! after `manifest.tmp` names it ([`Files::publish_first`]).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::StoreError;
use super::file_names::{
    LOCK_NAME, MANIFEST_NAME, NAMES_ENDING, NEW_ENDING, SEGMENT_ENDING, TOMBSTONES_ENDING, temporary,
};
use super::manifest::{self, Manifest, ManifestError, NamesFile, TombstoneFile};
use super::names::{NameWriter, Names};
use super::tombstones;
use crate::digest::Digest;
use crate::segment::with_ending;
use crate::storage::Storage;

/// The number of the first file of an index.
pub(super) const FIRST_FILE_NUMBER: u64 = 1;
/// The generation of the first manifest.
pub(super) const FIRST_GENERATION: u64 = 1;
/// The content of a file of deleted ids.
pub(super) struct DeletedIds {
    /// The deleted ids, ascending.
    pub(super) ids: Vec<u64>,
    /// The digest of the whole file.
    pub(super) digest: Digest,
}

/// A directory that contains an index, or in which one is to be created.
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

    /// The path of the directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The path of the segment with a number.
    pub(super) fn segment(&self, number: u64) -> PathBuf {
        self.root.join(format!("{number:08}.{SEGMENT_ENDING}"))
    }

    /// The path of a new index's only segment until the index has a manifest.
    pub(super) fn new_segment(&self) -> PathBuf {
        with_ending(&self.segment(FIRST_FILE_NUMBER), &format!(".{NEW_ENDING}"))
    }

    /// The path of the file of names with a number.
    pub(super) fn names(&self, number: u64) -> PathBuf {
        self.root.join(format!("{number:08}.{NAMES_ENDING}"))
    }

    /// The path of the file of deleted ids with a number.
    pub(super) fn tombstones(&self, number: u64) -> PathBuf {
        self.root.join(format!("{number:08}.{TOMBSTONES_ENDING}"))
    }

    /// The path of the manifest.
    pub(super) fn manifest(&self) -> PathBuf {
        self.root.join(MANIFEST_NAME)
    }

    /// Creates the directory if it does not exist.
    pub(super) fn create(&self) -> Result<(), StoreError> {
        let made = self.storage.create_dir_all(&self.root);
        made.map_err(StoreError::io(&self.root, "create it"))
    }

    /// Locks the directory for one writer until the returned file is dropped. If the file system does not support
    /// locks, a second writer is not detected.
    pub(super) fn lock(&self) -> Result<File, StoreError> {
        let path = self.root.join(LOCK_NAME);
        // The lock file is opened directly, not through the storage, because it has no content that could be lost.
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

    /// Returns `true` if a process has locked the directory, now or before.
    pub(super) fn is_locked_or_was(&self) -> bool {
        self.root.join(LOCK_NAME).exists()
    }

    /// Reads the manifest; returns `None` if it does not exist.
    pub(super) fn read_manifest(&self) -> Result<Option<Manifest>, StoreError> {
        let path = self.manifest();
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(StoreError::io(&path, "read it"))?,
        };
        let decoded = Manifest::decode(&bytes).map_err(|wrong| match wrong {
            ManifestError::Damaged(what) => StoreError::Damaged { path, what },
            ManifestError::Version(got) => StoreError::Version {
                path,
                got,
                expected: manifest::VERSION,
            },
        })?;
        Ok(Some(decoded))
    }

    /// Replaces the manifest. All files that it names must be durable already.
    pub(super) fn write_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        self.write(&self.manifest(), &manifest.encode())
    }

    /// Renames the only segment of a new index, and its file of names, to their final names, and writes the first
    /// manifest, which names them.
    pub(super) fn publish_first(&self, manifest: &Manifest) -> Result<(), StoreError> {
        // The temporary manifest is durable before the files are renamed, so that an interruption between the steps can
        // be recognised.
        self.write_temporary(&self.manifest(), &manifest.encode())?;
        self.sync()?;
        let segment = (self.new_segment(), self.segment(FIRST_FILE_NUMBER));
        let names = manifest.names.map(|names| self.names(names.number));
        let names = names.map(|path| (temporary(&path), path));
        for (new, path) in [segment].into_iter().chain(names) {
            let renamed = self.storage.rename(&new, &path);
            renamed.map_err(StoreError::io(&path, "rename a file to it"))?;
        }
        self.sync()?;
        self.publish(&self.manifest())
    }

    /// Writes a file of names under its temporary name, durably. `write` pushes the names. If it fails, the file is
    /// removed.
    pub(super) fn write_new_names<E: From<StoreError>>(
        &self,
        number: u64,
        write: impl FnOnce(&mut NameWriter<'_>) -> Result<(), E>,
    ) -> Result<NamesFile, E> {
        let path = temporary(&self.names(number));
        let file = self.storage.create(&path);
        let file = file.map_err(StoreError::io(&path, "write it"))?;
        let mut writer = NameWriter::begin(file, &path)?;
        if let Err(error) = write(&mut writer) {
            drop(writer);
            self.remove([path]);
            return Err(error);
        }
        writer.finish()?;
        Ok(Names::open(&path)?.entry(number))
    }

    /// Gives a file of names its final name, durably.
    pub(super) fn publish_names(&self, names: &NamesFile) -> Result<(), StoreError> {
        self.publish(&self.names(names.number))
    }

    /// Opens and verifies the file of names that a manifest names.
    pub(super) fn read_names(&self, manifest: &Manifest) -> Result<Option<Names>, StoreError> {
        let names = manifest.names.as_ref();
        names
            .map(|named| Names::open_named(self.names(named.number), named))
            .transpose()
    }

    /// Reads a file of deleted ids, and checks that it is the one that the manifest names.
    pub(super) fn read_tombstones(&self, deleted: &TombstoneFile) -> Result<DeletedIds, StoreError> {
        let path = self.tombstones(deleted.number);
        let bytes = fs::read(&path).map_err(StoreError::io(&path, "read it"))?;
        let Some(ids) = tombstones::decode(&bytes) else {
            return Err(StoreError::Damaged {
                path,
                what: "it is not a whole file of deleted ids",
            });
        };
        let digest = Digest::of(&bytes);
        let is_named = deleted.digest.is_none_or(|named| named == digest);
        if is_named && ids.len() as u64 == deleted.count {
            Ok(DeletedIds { ids, digest })
        } else {
            Err(StoreError::OtherFile { path })
        }
    }

    /// Writes a file of deleted ids, which `ids` lists in ascending order.
    pub(super) fn write_tombstones(&self, number: u64, ids: &[u64]) -> Result<TombstoneFile, StoreError> {
        let bytes = tombstones::encode(ids);
        self.write(&self.tombstones(number), &bytes)?;
        Ok(TombstoneFile {
            number,
            count: ids.len() as u64,
            digest: Some(Digest::of(&bytes)),
        })
    }

    /// Writes a file under a temporary name, and then renames it to `path`, durably.
    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        self.write_temporary(path, bytes)?;
        self.publish(path)
    }

    /// Writes the file that will be called `path` under its temporary name, durably.
    fn write_temporary(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let temporary = temporary(path);
        let written = self.storage.create(&temporary).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync()
        });
        written.map_err(StoreError::io(&temporary, "write it"))
    }

    /// Renames a file from its temporary name to `path`, durably.
    fn publish(&self, path: &Path) -> Result<(), StoreError> {
        let renamed = self.storage.rename(&temporary(path), path);
        renamed.map_err(StoreError::io(path, "rename a file to it"))?;
        self.sync()
    }

    /// Makes renames and removals in the directory durable.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let synced = self.storage.sync_dir(&self.root);
        synced.map_err(StoreError::io(&self.root, "make its new names durable"))
    }

    /// Removes files that the manifest does not name. If a file cannot be removed, the next writer removes it.
    pub(super) fn remove(&self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            let _left_over = self.storage.remove(&path);
        }
    }
}
