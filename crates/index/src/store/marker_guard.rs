//! The marker of this process while it writes to an index.

use super::StoreError;
use super::files::Files;
use super::manifest::Manifest;

/// A marker that is removed when the writer ends, unless files are left that the manifest does not name.
#[derive(Debug)]
pub(super) struct MarkerGuard(Files);

impl MarkerGuard {
    /// Writes the marker of a writer that begins with a manifest.
    pub(super) fn begin(files: &Files, manifest: &Manifest) -> Result<Self, StoreError> {
        files.write_marker(manifest)?;
        Ok(Self(files.clone()))
    }
}

impl Drop for MarkerGuard {
    fn drop(&mut self) {
        // After an error the marker stays, and the next writer removes the files that are left.
        let _left_to_the_next = self.0.remove_marker();
    }
}
