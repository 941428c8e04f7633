//! A full check of an index: every byte of every file that the manifest names.

use std::path::{Path, PathBuf};

use twinprint_fingerprint::Width;

use super::files::Files;
use super::open::{required, view};
use super::{Options, StoreError};

/// The result of a successful check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// The number of commits and compactions so far.
    pub generation: u64,
    /// Segments.
    pub segments: usize,
    /// Ids stored, deleted ones counted.
    pub rows: u64,
    /// Ids that lookups find.
    pub living: u64,
    /// Segments that the manifest does not bind by a digest, because an earlier version wrote it. The next commit of a change or the next
    /// [compaction](super::Index::compact) binds them.
    pub unbound: usize,
    /// Files that an interrupted writer left; the next one removes them.
    pub left_over: Vec<PathBuf>,
}

/// Reads and verifies the whole last commit of an index without a writer. O(rows) time.
///
/// # Errors
/// The first mismatch, with its file.
pub fn check<W: Width>(directory: &Path) -> Result<CheckReport, StoreError> {
    let files = Files::new(directory, &Options::default().storage);
    let manifest = required(&files)?;
    let view = view::<W>(&files, &manifest)?;
    let mut living = 0;
    for live in &view.segments {
        live.segment.check()?;
        for row in &live.segment {
            let (_, id) = row?;
            if !live.entry.ids.contains(&id) {
                return Err(StoreError::Damaged {
                    path: files.manifest(),
                    what: "a segment has ids outside of the range it names",
                });
            }
            living += u64::from(!live.tombstones.holds(id, 0));
        }
    }
    Ok(CheckReport {
        generation: manifest.generation,
        segments: view.segments.len(),
        rows: manifest.segments.iter().map(|e| e.rows).sum(),
        living,
        unbound: manifest.segments.iter().filter(|e| !e.is_bound()).count(),
        left_over: files.left_over(Some(&manifest))?,
    })
}
