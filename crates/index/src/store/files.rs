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

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::StoreError;
use super::file_names::{
    LOCK_NAME, MANIFEST_NAME, MARKER_NAME, NAMES_ENDING, NEW_ENDING, SEGMENT_ENDING, TOMBSTONES_ENDING,
    is_temporary, is_whole, temporary,
};
use super::manifest::{self, Manifest, ManifestError, NamesFile, TombstoneFile};
use super::marker::Marker;
use super::names::{NameWriter, Names};
use super::tombstones;
use crate::digest::Digest;
use crate::segment::{self, digest_of, with_ending};
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

    /// Returns `true` if the directory has files of a build of a new index that has not finished.
    pub(super) fn unfinished(&self) -> bool {
        let new = self.new_segment();
        let [file, journal] = segment::unfinished(&new);
        [new, file, journal].iter().any(|path| path.exists()) || !self.claimed().is_empty()
    }

    /// Returns those files of a new index that have their final names, if its build was interrupted after they were
    /// renamed and before the manifest was.
    pub(super) fn claimed(&self) -> Vec<PathBuf> {
        let Ok(manifest) = fs::read(temporary(&self.manifest())) else {
            return Vec::new();
        };
        // The first manifest names exactly one segment. A later one belongs to an index that was complete before.
        let Ok(manifest) = Manifest::decode(&manifest) else {
            return Vec::new();
        };
        let [entry] = &manifest.segments[..] else {
            return Vec::new();
        };
        if manifest.generation != FIRST_GENERATION || entry.deleted.is_some() {
            return Vec::new();
        }
        let segment = self.segment(entry.number);
        let is_segment = entry.digest.is_some() && digest_of(&segment).ok() == entry.digest;
        let names = manifest.names.and_then(|named| {
            let path = self.names(named.number);
            let names = Names::open(&path).ok()?;
            names.is_content_of(&named).then_some(path)
        });
        is_segment.then_some(segment).into_iter().chain(names).collect()
    }

    /// Returns a data file in this directory, which has no manifest, other than the [claimed](Self::claimed) ones.
    pub(super) fn unclaimed(&self) -> Result<Option<PathBuf>, StoreError> {
        let claimed = self.claimed();
        let mut whole = self.list(is_whole)?.into_iter();
        Ok(whole.find(|path| !claimed.contains(path)))
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

    /// Removes the [claimed](Self::claimed) files of an interrupted build, because they will be built again.
    pub(super) fn remove_claimed(&self) -> Result<(), StoreError> {
        let claimed = self.claimed();
        if claimed.is_empty() {
            return Ok(());
        }
        for path in claimed {
            let removed = self.storage.remove(&path);
            removed.map_err(StoreError::io(&path, "remove it"))?;
        }
        // The removal must be durable before the temporary manifest can be removed.
        self.sync()
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
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
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
    fn sync(&self) -> Result<(), StoreError> {
        let synced = self.storage.sync_dir(&self.root);
        synced.map_err(StoreError::io(&self.root, "make its new names durable"))
    }

    /// Removes files that the manifest does not name. If a file cannot be removed, the next writer removes it.
    pub(super) fn remove(&self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            let _left_over = self.storage.remove(&path);
        }
    }

    /// Returns the files that an interrupted writer may have left: those of an index that the manifest does not name.
    /// Without a manifest, only files with temporary names are returned, because the others may be an index whose
    /// manifest was lost.
    pub(super) fn left_over(&self, manifest: Option<&Manifest>) -> Result<Vec<PathBuf>, StoreError> {
        let mut left = manifest.map_or(Ok(Vec::new()), |manifest| self.unnamed(manifest))?;
        left.extend(self.list(is_temporary)?);
        left.sort();
        Ok(left)
    }

    /// Returns a segment or a file of deleted ids that the manifest does not name and that no interrupted writer of
    /// this index left.
    pub(super) fn foreign(&self, manifest: &Manifest) -> Result<Option<PathBuf>, StoreError> {
        // Writers of earlier versions wrote no marker, so their files are taken to be left over.
        if manifest.version < manifest::BOUND_VERSION || self.is_marked(manifest)? {
            return Ok(None);
        }
        let unnamed = self.unnamed(manifest)?.into_iter().next();
        // A writer may have written a marker since the first check, so a reader checks again.
        Ok(if unnamed.is_some() && self.is_marked(manifest)? {
            None
        } else {
            unnamed
        })
    }

    /// Returns `true` if the directory has a marker, and the writer of the marker may have written the manifest.
    fn is_marked(&self, manifest: &Manifest) -> Result<bool, StoreError> {
        let path = self.root.join(MARKER_NAME);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            read => read.map_err(StoreError::io(&path, "read it"))?,
        };
        let marker = Marker::decode(&bytes);
        Ok(match marker {
            None => false,
            Some(marker) => marker.fits(self.marker(manifest)?),
        })
    }

    /// Returns the marker of a writer that opens the index with this manifest.
    fn marker(&self, manifest: &Manifest) -> Result<Marker, StoreError> {
        let path = self.manifest();
        let bytes = fs::read(&path).map_err(StoreError::io(&path, "read it"))?;
        Ok(Marker {
            generation: manifest.generation,
            manifest: Digest::of(&bytes),
        })
    }

    /// Writes the marker of a writer that opens the index with this manifest. It replaces an earlier marker.
    pub(super) fn write_marker(&self, manifest: &Manifest) -> Result<(), StoreError> {
        self.write(&self.root.join(MARKER_NAME), &self.marker(manifest)?.encode())
    }

    /// Removes the marker of the writer, unless the directory still has files that the manifest does not name.
    pub(super) fn remove_marker(&self) -> Result<(), StoreError> {
        let Some(manifest) = self.read_manifest()? else {
            return Ok(());
        };
        if self.unnamed(&manifest)?.is_empty() {
            // Earlier removals must be durable before the marker is removed.
            self.sync()?;
            self.remove([self.root.join(MARKER_NAME)]);
        }
        Ok(())
    }

    /// Removes the files that an interrupted writer left. The marker stays, because the next writer replaces it.
    pub(super) fn remove_left_over(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let left = self.left_over(Some(manifest))?.into_iter();
        let marker = self.root.join(MARKER_NAME);
        self.remove(left.filter(|path| *path != marker));
        Ok(())
    }

    /// Returns the segments and files of deleted ids and of names that a manifest does not name, in the order of their
    /// names.
    fn unnamed(&self, manifest: &Manifest) -> Result<Vec<PathBuf>, StoreError> {
        let named: Vec<PathBuf> = manifest
            .segments
            .iter()
            .flat_map(|e| {
                let tombstones = e.deleted.map(|deleted| self.tombstones(deleted.number));
                [Some(self.segment(e.number)), tombstones]
            })
            .chain([manifest.names.map(|names| self.names(names.number))])
            .flatten()
            .collect();
        let mut whole = self.list(is_whole)?;
        whole.retain(|path| !named.contains(path));
        Ok(whole)
    }

    /// Returns the files in the directory whose names satisfy a predicate, in the order of their names.
    fn list(&self, is_such: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, StoreError> {
        let entries = fs::read_dir(&self.root).map_err(StoreError::io(&self.root, "list it"))?;
        let mut such = Vec::new();
        for entry in entries {
            let path = entry.map_err(StoreError::io(&self.root, "list it"))?.path();
            if path.file_name().and_then(OsStr::to_str).is_some_and(&is_such) {
                such.push(path);
            }
        }
        such.sort();
        Ok(such)
    }
}
