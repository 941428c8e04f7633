//! Files in the directory of an index that no manifest names: those that an interrupted writer left, which the next
//! writer removes, and those of another index, which are never removed. The documentation of [`files`](super::files) has
//! the rules.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::StoreError;
use super::file_names::{MARKER_NAME, is_temporary, is_whole, temporary};
use super::files::{FIRST_GENERATION, Files};
use super::manifest::{self, Manifest};
use super::marker::Marker;
use super::names::Names;
use crate::digest::Digest;
use crate::segment::{self, digest_of};

impl Files {
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
        let path = self.root().join(MARKER_NAME);
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
        self.write(&self.root().join(MARKER_NAME), &self.marker(manifest)?.encode())
    }

    /// Removes the marker of the writer, unless the directory still has files that the manifest does not name.
    pub(super) fn remove_marker(&self) -> Result<(), StoreError> {
        let Some(manifest) = self.read_manifest()? else {
            return Ok(());
        };
        if self.unnamed(&manifest)?.is_empty() {
            // Earlier removals must be durable before the marker is removed.
            self.sync()?;
            self.remove([self.root().join(MARKER_NAME)]);
        }
        Ok(())
    }

    /// Removes the files that an interrupted writer left. The marker stays, because the next writer replaces it.
    pub(super) fn remove_left_over(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let left = self.left_over(Some(manifest))?.into_iter();
        let marker = self.root().join(MARKER_NAME);
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
        let entries = fs::read_dir(self.root()).map_err(StoreError::io(self.root(), "list it"))?;
        let mut such = Vec::new();
        for entry in entries {
            let path = entry.map_err(StoreError::io(self.root(), "list it"))?.path();
            if path.file_name().and_then(OsStr::to_str).is_some_and(&is_such) {
                such.push(path);
            }
        }
        such.sort();
        Ok(such)
    }
}
