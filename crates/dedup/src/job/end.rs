//! The end of a run: its result stays in the output directory, or is copied to object storage.

use std::sync::Mutex;

use super::Runner;
use crate::error::DedupError;
use twinprint_io::progress::Unit;
use twinprint_io::sink::{ObjectCopy, OutputDir};

impl<'j> Runner<'j> {
    /// Copies the complete result to object storage, if that is its place.
    pub(super) fn copy_result(&mut self, dir: &OutputDir) -> Result<Option<ObjectCopy<'j>>, DedupError> {
        let Some(to) = self.to else { return Ok(None) };
        let copy = self.stage("copy", dir.written(), Unit::Bytes, |run| {
            // Files are copied on all threads, and progress is reported by one at a time.
            let progress = Mutex::new(run.progress);
            let advance = |bytes| {
                if let Ok(progress) = progress.lock() {
                    progress.advance(bytes);
                }
            };
            Ok(to.copy(dir, run.options.existing, &advance)?)
        })?;
        Ok(Some(copy))
    }
}

/// Ends the output: the copy is whole and the files on disk are deleted with `dir`, or there is none and they stay.
pub(super) fn end_output(dir: &OutputDir, copy: Option<ObjectCopy<'_>>) -> Result<(), DedupError> {
    match copy {
        Some(copy) => Ok(copy.finish()?),
        None => Ok(dir.finish()?),
    }
}
