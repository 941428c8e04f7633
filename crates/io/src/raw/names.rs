//! Reads the names of fingerprints: the strings in the column of ids of Parquet files.

use super::table::TableNames;
use super::{RawError, RawFile};

/// Reads the names of fingerprints, in the order of the fingerprints.
pub struct NameRows<'f> {
    files: std::slice::Iter<'f, RawFile>,
    open: Option<TableNames<'f>>,
}

impl std::fmt::Debug for NameRows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NameRows").finish_non_exhaustive()
    }
}

impl<'f> NameRows<'f> {
    pub(super) fn new(files: &'f [RawFile]) -> Self {
        Self {
            files: files.iter(),
            open: None,
        }
    }

    /// Appends the names of the next `count` fingerprints, or of all that are left.
    ///
    /// # Errors
    /// A file cannot be read, or a fingerprint has no name.
    pub fn fill(&mut self, count: usize, out: &mut Vec<String>) -> Result<(), RawError> {
        let end = out.len().saturating_add(count);
        while out.len() < end {
            if self.open.is_none() {
                self.open = match self.files.next() {
                    None => return Ok(()),
                    Some(RawFile::Numbers(_)) => None,
                    Some(RawFile::Table(table)) => Some(table.names()),
                };
            }
            let before = out.len();
            if let Some(open) = &mut self.open {
                open.fill(end - before, out)?;
                if out.len() == before {
                    self.open = None;
                }
            }
        }
        Ok(())
    }
}
