//! The marker of this process while it writes to an index.

use super::StoreError;
use super::files::Files;
use super::manifest::Manifest;

/// A marker that is removed when the writer ends, unless the directory has files that the manifest does not name.
#[derive(Debug)]
pub(super) struct MarkerGuard(Files);

impl MarkerGuard {
    /// Writes the marker of a writer that opens the index with this manifest.
    pub(super) fn begin(files: &Files, manifest: &Manifest) -> Result<Self, StoreError> {
        files.write_marker(manifest)?;
        Ok(Self(files.clone()))
    }
}

impl Drop for MarkerGuard {
    fn drop(&mut self) {
        // If the marker cannot be removed, the next writer finds it, and removes the files that are left over.
        let _left_to_the_next = self.0.remove_marker();
    }
}
