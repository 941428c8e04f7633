//! The end of a run: its result stays in the output directory, or is copied to object storage.

use std::sync::Mutex;

use super::Runner;
use crate::error::DedupError;
use twinprint_io::progress::Unit;
use twinprint_io::sink::OutputDir;

impl Runner<'_> {
    /// Copies the complete result to object storage, if that is its place.
    pub(super) fn copy_result(&mut self, dir: &OutputDir) -> Result<(), DedupError> {
        let Some(to) = self.to else { return Ok(()) };
        self.stage("copy", dir.written(), Unit::Bytes, |run| {
            // Files are copied on all threads, and progress is reported by one at a time.
            let progress = Mutex::new(run.progress);
            let advance = |bytes| {
                if let Ok(progress) = progress.lock() {
                    progress.advance(bytes);
                }
            };
            Ok(to.copy(dir, run.options.existing, &advance)?)
        })
    }

    /// Ends the output directory. If the result has been copied, its files here are deleted with `dir`.
    pub(super) fn end_output(&self, dir: &OutputDir) -> Result<(), DedupError> {
        match self.to {
            Some(_) => Ok(()),
            None => Ok(dir.finish()?),
        }
    }
}
